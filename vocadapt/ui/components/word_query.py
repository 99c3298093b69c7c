"""Search fields for words that forgive errors, and neighbor queries for the word that was found."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

import streamlit as st

from vocadapt.lab.reports.example_words import read_demo_examples
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.alignment.cross_space import (
    CrossSpace,
    FourLists,
    ListSettings,
    find_shared_neighbors,
    resolve_word,
)
from vocadapt.spaces.neighbors.formulas import compute_formula, find_formula_neighbors
from vocadapt.spaces.neighbors.search import NeighborList
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.display import shorten_text
from vocadapt.text.formulas import Formula
from vocadapt.text.splitter import Splitter
from vocadapt.text.word_search import WordSearch, search_words
from vocadapt.ui.components import mistakes, word_links
from vocadapt.ui.components.blocks import draw_note, tsv
from vocadapt.ui.components.example_texts import draw_examples
from vocadapt.ui.state import address, cache
from vocadapt.ui.text.markup import Card, draw_word_links, plain
from vocadapt.ui.text.number_formats import count

EXAMPLES, SHORTEST, FREQUENT = 6, 6, 300
MIN_PIECES = 3  # wordpieces of an example: a word that the model splits into fewer shows little
MAX_SHOWN_TYPED = 100  # characters of a typed text in a message
MAX_MATCHES = 60  # words shown that match a regular expression
HOW_TO_SEARCH = (
    "Type a word, its beginning, or a regular expression such as `itis$`. A misspelled word gets"
    " suggestions."
)
HOW_TO_COMBINE = " Combine words with + and −: `king - man + woman`."


@dataclass(frozen=True)
class Answer:
    """Answer to a query: the four neighbor lists of a word, and the wordpieces that represent it in
    the model.
    """

    word: str
    lists: FourLists
    pieces: tuple[str, ...]


def draw_word_input(
    key: str,
    label: str,
    examples: Sequence[str],
    words: Container[str] = (),
    help: str | None = None,
    notes: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Show a text field with clickable examples; return the word, which is stored in the address.

    words: the words of the space. An example from the previous space is replaced if this space
    lacks it. notes: labels that differ from the example, by example.
    """
    first = next(iter(examples), "")
    address.restore_text(key, first)
    # The word in the field may be an example of the space that was selected before.
    word = st.session_state[key]
    offered_before = word in st.session_state.get(f"{key}_offered", ())
    if offered_before and word not in examples and word not in words:
        st.session_state[key] = first
    st.session_state[f"{key}_offered"] = tuple(examples)
    word = st.text_input(
        label,
        key=key,
        persist_state="session",
        label_visibility="visible" if help else "collapsed",
        placeholder=label,
        help=help,
    )
    address.write(key, [word])
    if examples:
        draw_examples(key, word, {notes.get(example, example): example for example in examples})
    return word.strip()


def draw_word_search(
    key: str,
    label: str,
    examples: Sequence[str],
    words: Sequence[str],
    splitter: Splitter | None = None,
    formulas: bool = False,
    notes: Mapping[str, str] = MappingProxyType({}),
) -> WordSearch | None:
    """Show a search field for words, with suggestions unless the text is a word or a formula;
    return what was found, None if nothing is typed or a message was shown.

    words: most important first. splitter: also finds a word as the model normalizes it. formulas:
    whether `a - b + c` is searched. notes: labels that differ from the example, by example.
    Draw it in a fragment: a click on a suggestion, or on a link with this key as its field, reruns
    only the fragment.
    """
    word_links.listen(key)
    help = HOW_TO_SEARCH + (HOW_TO_COMBINE if formulas else "")
    typed = draw_word_input(key, label, examples, words, help, notes)
    return search_typed(key, typed, words, splitter, formulas)


def search_typed(
    key: str,
    typed: str,
    words: Sequence[str],
    splitter: Splitter | None = None,
    formulas: bool = False,
) -> WordSearch | None:
    """Search a typed text as `draw_word_search` does, and draw suggestions; None if nothing is
    typed or a message was shown.
    """
    if not typed:
        return None
    found: WordSearch | None = None
    with mistakes.show_errors():
        found = search_words(typed, words, splitter, formulas)
        _draw_suggestions(key, found, len(words))
    return found


def _draw_suggestions(key: str, found: WordSearch, total: int) -> None:
    """Draw what a text that is no word may stand for: matching words, completions, spellings."""
    shown = plain(shorten_text(found.typed, MAX_SHOWN_TYPED))
    if found.matches is not None:
        n = len(found.matches)
        if not n:
            st.markdown(f"No word of {count(total)} matches {shown}.")
            return
        draw_note(
            f"{count(min(n, MAX_MATCHES))} of {count(n)} shown: words that match {shown}, among"
            f" {count(total)}"
        )
        draw_word_links(found.matches[:MAX_MATCHES], word_links.build_links(key))
        return
    if not found.is_unknown:
        return
    st.markdown(f"**{shown}** is not among the {count(total)} words.")
    offers = (
        ("Words with this beginning", found.completions),
        ("Did you mean", found.similar),
        ("Search one of its words", found.parts),
    )
    for title, words in offers:
        if words:
            draw_note(title)
            draw_word_links(words, word_links.build_links(key))


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=cache.STAMPS)
def examples_of(vectors: Artifact, model: LanguageModel | None, n: int = EXAMPLES) -> list[str]:
    """Return examples of words: those that the demo was measured on, or else frequent long words;
    first those that the model, if one is given, splits into many wordpieces.
    """
    measured = [example.word for example in read_demo_examples(vectors)]
    if measured:
        return measured
    words = cache.space_of(vectors).words
    long = (word for word in words if len(word) >= SHORTEST and word.isalpha())
    if model is None:
        return list(islice(long, n))
    found: list[str] = []
    split: list[str] = []
    for word in long:
        pieces = len(model.vocabulary.tokenize_word(word))
        if pieces >= MIN_PIECES:
            found.append(word)
        elif pieces > 1:
            split.append(word)
        if len(found) == n:
            break
    return (found + split)[:n]


def label_examples(vectors: Artifact) -> dict[str, str]:
    """Return the labels of examples that do not work, by example."""
    return {
        example.word: f"{example.word} (fails)"
        for example in read_demo_examples(vectors)
        if not example.works
    }


def query_across_spaces(
    spaces: CrossSpace, model: LanguageModel, typed: str, settings: ListSettings
) -> Answer:
    """Return the four neighbor lists of a word.

    A word that is not a wordpiece is represented in the model by the mean of its wordpieces. Raises
    InputError, with similar spellings, if neither space contains the word.
    """
    word = resolve_word(typed, model.splitter, spaces.words, spaces.pieces)
    pieces = model.vocabulary.tokenize_word(word)
    # 1. A wordpiece, or a word that is unknown to the model, is looked up directly.
    if word in spaces.pieces or len(pieces) == 1 or model.vocabulary.unknown in pieces:
        return Answer(word, spaces.lists(word, settings), (word,))
    # 2. Any other word is represented by the mean of its wordpieces.
    ids, names = model.vocabulary.ids, model.vocabulary.names
    lists = spaces.list_neighbors_of_pieces([names[ids[piece]] for piece in pieces], settings)
    # 3. The lists that start from the words use its own vector, if it has one.
    if word in spaces.words:
        own = spaces.lists(word, settings)
        lists = {**lists, "within_words": own["within_words"], "to_pieces": own["to_pieces"]}
    return Answer(word, lists, pieces)


def find_random_cosine(
    settings: ListSettings, space: EmbeddingSpace, other: EmbeddingSpace | None = None
) -> float | None:
    """Return the mean cosine of two random tokens of a space, or of one of each of two spaces; None
    if the scores are no cosines.
    """
    is_csls = other is not None and settings.csls
    if settings.metric != "cosine" or is_csls:
        return None
    return cache.random_cosine_of(space, other)


def build_four_cards(answer: Answer, spaces: CrossSpace, settings: ListSettings) -> list[Card]:
    """Build the cards of the four neighbor lists."""
    among = f"among {count(spaces.count_candidates(settings))} {settings.among}"
    across = find_random_cosine(settings, spaces.mapped_words, spaces.prepared_pieces)
    random_cosines = {
        "within_words": find_random_cosine(settings, spaces.words),
        "within_pieces": find_random_cosine(settings, spaces.ordinary),
        "to_pieces": across,
        "to_words": across,
    }
    both = find_shared_neighbors(answer.lists)
    query = "its own wordpiece"
    if answer.pieces != (answer.word,):
        query = f"mean of {' '.join(answer.pieces)}"
    no_vector = "No vector: too rare, or not in the text."
    no_piece = "No wordpiece."
    plans = (
        ("Words → words", "within the domain space", "domain", "within_words", no_vector),
        ("Words → wordpieces", f"its vector, aligned, {among}", "source", "to_pieces", no_vector),
        ("Wordpieces → words", f"{query}, aligned back", "domain", "to_words", no_piece),
        ("Wordpieces → wordpieces", f"{query}, {among}", "source", "within_pieces", no_piece),
    )
    lists: dict[str, NeighborList | None] = dict(answer.lists)  # type: ignore[arg-type]
    return [
        Card(
            title,
            note,
            kind,
            lists[key] or [],
            both,
            empty,
            settings.score_kind,
            random_cosine=random_cosines[key],
        )
        for title, note, kind, key, empty in plans
    ]


def build_formula_cards(formula: Formula, spaces: CrossSpace, settings: ListSettings) -> list[Card]:
    """Build the cards of a formula: its neighbors among the words, and once aligned."""
    vector = compute_formula(formula, spaces.words)
    candidates = count(spaces.count_candidates(settings))
    across = spaces.list_aligned_pieces(vector, settings)
    return [
        build_formula_card(formula, spaces.words, settings.k),
        Card(
            f"{formula} → wordpieces",
            f"the sum of the vectors, aligned, among {candidates} {settings.among}",
            "source",
            across,
            measure=settings.score_kind,
            random_cosine=find_random_cosine(settings, spaces.mapped_words, spaces.prepared_pieces),
        ),
    ]


def build_formula_card(formula: Formula, space: EmbeddingSpace, k: int) -> Card:
    """Build the card of the words nearest to a formula."""
    n = count(len(space) - len({term.word for term in formula.terms}))
    return Card(
        f"Nearest to {formula}",
        f"cosine to the sum of the unit vectors, among {n} words: its own words are left out",
        "domain",
        find_formula_neighbors(formula, space, k),
        random_cosine=cache.random_cosine_of(space),
    )


def format_four_lists(answer: Answer, settings: ListSettings) -> str:
    """Format the four neighbor lists as TSV, one line per neighbor."""
    measures = dict.fromkeys(answer.lists, settings.metric)
    if settings.csls:
        measures |= {"to_pieces": "CSLS", "to_words": "CSLS"}
    lists: dict[str, NeighborList | None] = dict(answer.lists)  # type: ignore[arg-type]
    rows: list[tuple[object, ...]] = []
    for name, listed in lists.items():
        for rank, (neighbor, score) in enumerate(listed or (), start=1):
            rows.append((answer.word, name, rank, neighbor, score, measures[name]))
    return tsv(("word", "list", "rank", "neighbor", "score", "measure"), rows)
