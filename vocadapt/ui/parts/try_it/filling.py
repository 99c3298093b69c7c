"""Blocks of the part Try it for a model that was not fine-tuned: the tokens of a sentence, the
masked word filled in under each tokenization, and the neighbors of a word.
"""

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.reports.example_words import find_new_word_sentences, list_example_texts
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.abilities import has_masked_head
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.neighbors.search import list_neighbors
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.training.encoding.model_tokenizers import BASE, ModelTokenizer, load_tokenizers
from vocadapt.training.finetune.tokenizations import label_tokenization
from vocadapt.training.prediction.fill_mask import Filling, fill_mask
from vocadapt.training.prediction.sentence_similarity import compare_sentences
from vocadapt.ui.components import example_texts, mistakes, word_links
from vocadapt.ui.components.blocks import (
    draw_code,
    draw_command,
    draw_heading,
    draw_metrics,
    draw_note,
    open_details,
)
from vocadapt.ui.parts.lens.view import build_chips
from vocadapt.ui.state import address, cache, preload
from vocadapt.ui.text import markup
from vocadapt.ui.text.number_formats import count, fraction
from vocadapt.vocabulary.families import Vocabulary

KEY = "try_text"  # key of the text input and query parameter
SECOND = "try_second"  # key of the second sentence and query parameter
WORD = "try_word"  # session key and query parameter: the word whose neighbors are shown
NEIGHBORS = 8
N_WORDS = 6  # words whose neighbors are offered
SHORTEST = 3  # letters of a word whose neighbors are shown, and of a neighbor
LONGEST = 2_000  # characters of a text; a longer one does not fit into a model
CONTENT_LENGTH = 5  # letters of a word that is masked in an example, if there is one
# Sentences with words of a field; one with a new word of the model comes first.
EXAMPLES = (
    "Patients with fever and tachycardia were treated with lidocaine.",
    "The patients received insulin or metformin.",
    "Bradycardia is a slow heart rate.",
)
MOST_CARDS = 3  # new words of a text whose neighbors are drawn
COLORS = {BASE: "source"}  # of the card of a tokenization; all others are green
NOTES = {BASE: "candidates: {} original wordpieces"}
NEW_NOTE = "candidates: {} wordpieces, new words included"
LEGEND = (
    ":small[:green[**framed**] :gray[= a new word, which the base tokenization splits · hover over"
    " a wordpiece for its id and position]]"
)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=cache.STAMPS)
def tokenizers_of(model: LanguageModel) -> dict[str, ModelTokenizer]:
    """Return the tokenizers of a model by the name of the tokenization."""
    return load_tokenizers(model)


@st.cache_data(max_entries=64, show_spinner="Filling in the masked word …", hash_funcs=cache.STAMPS)
def fill_cached(model: LanguageModel, text: str) -> dict[str, Filling]:
    """Return the most probable tokens at the mask of a text, by tokenization."""
    preload.wait()
    return fill_mask(model, text, tokenizers=tokenizers_of(model))


# Few: each is a copy of most embeddings of a model.
@st.cache_resource(max_entries=2, show_spinner=False, hash_funcs=cache.STAMPS)
def whole_words_of(model: LanguageModel) -> EmbeddingSpace:
    """Return the model's tokens of at least SHORTEST letters that begin a word, as a space."""
    vocabulary = model.vocabulary
    found = [
        id
        for id, token in enumerate(vocabulary.tokens)
        if vocabulary.position(token) in ("word start", "whole word") and _is_word(model, token)
    ]
    return model.space.take(np.array(found, dtype=np.int64))


def _find_mask(model: LanguageModel) -> str:
    """Return the mask of a model, "" if it cannot fill in a masked word."""
    return model.vocabulary.roles.get("mask", "") if has_masked_head(model) else ""


def _is_word(model: LanguageModel, token: str) -> bool:
    body = model.vocabulary.body(token)
    return len(body) >= SHORTEST and body.isalpha()


def draw_text(model: LanguageModel, text: str, examples: Sequence[str]) -> None:
    """Draw the tokens of a text, what the model fills in for its mask or, without a head, its
    similarity to another text, and neighbors. examples: texts that are offered.
    """
    if not text.strip():
        st.markdown("Type a text above, or click an example.")
        return
    if len(text) > LONGEST:
        st.info(
            f"The text has {count(len(text))} characters, more than a model reads at once. Shorten"
            f" it to at most {count(LONGEST)}.",
            icon=":material/content_cut:",
        )
        return
    # 1. The tokens, which need no network.
    tokenizers = tokenizers_of(model)
    draw_lines([build_line(model.vocabulary, tokenizers, each, text) for each in tokenizers])
    # 2. The masked word and the neighbors of a word; without a head, what the model can do:
    #    neighbors of the new words, and the similarity of two sentences.
    if has_masked_head(model):
        _offer_masking(model, text)
        _draw_words(model, text)
    else:
        _draw_new_words(model, text)
        _draw_similarity(model, text, examples)
        draw_note(
            "This model cannot fill in a masked word: it was saved as"
            f" {markup.plain(model.architecture or 'no model class')}, without the"
            " masked-language-model head."
        )


@st.fragment
def _draw_new_words(model: LanguageModel, text: str) -> None:
    """Draw the neighbors of the new words of a text side by side, or of one word if it has no new
    one; a click on any word selects it.
    """
    offered = _list_offered_words(model, text, {})
    new = frozenset(_list_new_words(model))
    word = _choose_word(model, text, offered)
    draw_heading("Neighbors of the new words" if new.intersection(offered) else "Neighbors")
    if not word:
        st.markdown("No word of this sentence is a wordpiece of the model.")
        return
    links = word_links.build_links(WORD)
    markup.draw_word_links(offered, links)
    shown = [word, *(one for one in offered if one in new and one != word)]
    cards = [_build_neighbor_card(model, one) for one in shown[:MOST_CARDS]]
    markup.draw_neighbor_cards(cards, links)
    word_links.listen(WORD)


@st.fragment
def _draw_similarity(model: LanguageModel, text: str, examples: Sequence[str]) -> None:
    """Draw the similarity of the text and a second sentence under each tokenization."""
    draw_heading("Similarity of two sentences")
    other = next((example for example in examples if example != text), "")
    second = example_texts.draw_text("Second sentence", SECOND, other, {}, height=70)
    if not second.strip():
        return
    with mistakes.show_errors():
        found = compare_cached(model, text, second)
        draw_metrics(*((label_tokenization(name), fraction(own)) for name, own in found.items()))
        draw_note(
            "Cosine of the two sentences' embeddings, each the mean of the last hidden states of"
            " its wordpieces."
        )


@st.cache_data(max_entries=64, show_spinner="Reading the sentences …", hash_funcs=cache.STAMPS)
def compare_cached(model: LanguageModel, first: str, second: str) -> dict[str, float]:
    """Return the similarity of two sentences, by tokenization."""
    preload.wait()
    return compare_sentences(model, first, second, tokenizers_of(model))


def draw_details(name: str, text: str) -> None:
    """Draw Details & export: the tokens in a terminal, and the filling in Python."""
    with open_details():
        draw_command(["lens", text, "--model", name], "The tokens in a terminal")
        st.markdown("The predictions in Python")
        draw_code(
            "from vocadapt.models.language_model import open_model\n"
            "from vocadapt.training.prediction.fill_mask import fill_mask\n"
            f"print(fill_mask(open_model({name!r}), {text!r}))",
            "python",
        )


def find_examples(workspace: Workspace, model: LanguageModel) -> list[str]:
    """Return sentences of the workspace's texts with the most new words of a model, of its own text
    if this has any; [] if there are none, or the texts hold word counts only.
    """
    for corpus in list_example_texts(workspace, model):
        if found := _find_sentences(model, str(corpus.folder), corpus.stamp):
            return found
    return []


@st.cache_data(max_entries=16, show_spinner=False, hash_funcs=cache.STAMPS)
def _find_sentences(model: LanguageModel, folder: str, stamp: str) -> list[str]:
    """Return the sentences with the most new words. stamp: of the text, for the cache key."""
    text = read_corpus([folder])
    new = [token for token in _list_new_words(model) if _is_word(model, token)]
    if text.counted_by is not None or not new:
        return []
    return find_new_word_sentences(text, model, new)


def mask_example(model: LanguageModel, sentence: str) -> str:
    """Return a sentence with one word masked: the longest old one with content, so that the new ones
    stay to be seen, or else the longest. A model that cannot fill it in gets the sentence as it is.
    """
    mask = _find_mask(model)
    if not mask:
        return sentence
    new = frozenset(_list_new_words(model))
    words = list(model.splitter.words(sentence))
    words.sort(
        key=lambda word: (
            len(word) < CONTENT_LENGTH,
            model.vocabulary.spell(word) in new,
            -len(word),
        )
    )
    masked = (mask_word(sentence, word, mask) for word in words)
    return next((text for text in masked if text != sentence), sentence)


def mask_word(text: str, word: str, mask: str) -> str:
    """Return a text with the first occurrence of a word replaced by the mask, in any casing.

    Example: "Euthymia was noted", "euthymia" -> "[MASK] was noted".
    """
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    return pattern.sub(lambda _: mask, text, count=1)


def _offer_masking(model: LanguageModel, text: str) -> None:
    """Draw a button that masks a word, for each new word of a text (or its longest words)."""
    mask = _find_mask(model)
    if not mask or mask in text:
        return
    new = frozenset(_list_new_words(model))
    words = dict.fromkeys(model.splitter.words(text))
    own = [word for word in words if mask_word(text, word, mask) != text and len(word) >= SHORTEST]
    own.sort(key=lambda word: (model.vocabulary.spell(word) not in new, -len(word)))
    if not own:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown("Mask a word, and see what the model predicts there:", width="content")
        for place, word in enumerate(own[:N_WORDS]):
            st.button(
                markup.plain(word[:60]),
                key=f"try_mask_{place}",
                on_click=st.session_state.update,
                args=({KEY: mask_word(text, word, mask)},),
            )


def draw_text_input(
    model: LanguageModel, own: Sequence[str], on_typed: Callable[[], None]
) -> tuple[str, list[str]]:
    """Draw the text input with examples; the first text has a new word of the model. Return the
    text and the examples.

    own: sentences of the user's own text, shown instead. on_typed: called when a text was typed.
    """
    sentences = list(own)
    if not own:
        new = frozenset(_list_new_words(model))
        sentences = sorted(EXAMPLES, key=lambda text: new.isdisjoint(_spell_words(model, text)))
    examples = [mask_example(model, sentence) for sentence in sentences]
    names = {f"Example {place}": text for place, text in enumerate(examples, 1)}
    label, help = "Sentence", None
    mask = _find_mask(model)
    if mask:
        label = f"Sentence with one {markup.plain(mask)}"
        help = f"Write {markup.plain(mask)} where the model should fill in a word."
    text = example_texts.draw_text(
        label, KEY, examples[0], names, height=90, on_change=on_typed, help=help
    )
    return text, examples


def _spell_words(model: LanguageModel, text: str) -> list[str]:
    """Return the words of a text as the tokens that they would be."""
    return [model.vocabulary.spell(word) for word in model.splitter.words(text)]


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=cache.STAMPS)
def _list_new_words(model: LanguageModel) -> list[str]:
    """Return the tokens that the base tokenization lacks, by id; none for an unadapted model."""
    base = tokenizers_of(model).get(BASE)
    if base is None:
        return []
    known = base.tokenizer.token_to_id
    return [token for token in model.vocabulary.tokens if known(token) is None]


def build_line(
    vocabulary: Vocabulary,
    tokenizers: Mapping[str, ModelTokenizer],
    name: str,
    text: str,
    about: str = "{} wordpieces",
) -> markup.TokenizationLine:
    """Return the tokens of a text under one tokenization; those that the base tokenization lacks
    are marked as new.

    about: the note, with a place for the number of tokens.
    """
    own = tokenizers[name]
    known = tokenizers.get(BASE, own).tokenizer.token_to_id
    chips = build_chips(own.tokenizer, vocabulary, text, lambda token: known(token) is not None)
    return markup.TokenizationLine(label_tokenization(name), about.format(count(len(chips))), chips)


def draw_lines(lines: Sequence[markup.TokenizationLine]) -> None:
    """Draw the tokens of a text under each tokenization, and their numbers."""
    markup.draw_tokenization_lines(lines)
    if len(lines) > 1:
        st.markdown(LEGEND)
    draw_metrics(*((f"Wordpieces, {line.name}", count(len(line.chips))) for line in lines))


@st.fragment
def _draw_words(model: LanguageModel, text: str) -> None:
    """Draw what fits the mask, and the neighbors of a word; a click on any word selects it."""
    with st.container(key="va_stacked_filling"):
        left, right = st.columns([2, 1], gap="large")
    with left:
        draw_heading("Predictions for the mask")
        filled = _fill(model, text)
    with right:
        draw_heading("Neighbors")
        words = _list_offered_words(model, text, filled)
        word = _choose_word(model, text, words)
    # The links are drawn last: their addresses contain the selected word.
    links = word_links.build_links(WORD)
    with left:
        _draw_fillings(model, filled, links)
    with right:
        if word:
            markup.draw_word_links(words, links)
            markup.draw_neighbor_cards([_build_neighbor_card(model, word)], links)
        else:
            st.markdown("No word of this sentence is a wordpiece of the model.")
    word_links.listen(WORD)


def _fill(model: LanguageModel, text: str) -> Mapping[str, Filling]:
    """Return the most probable words under each tokenization; if there are none, say why."""
    try:
        return fill_cached(model, text)
    except InputError as error:
        st.info(markup.plain(mistakes.format_in_one_line(error)), icon=":material/edit:")
        return {}


def _draw_fillings(
    model: LanguageModel, filled: Mapping[str, Filling], links: markup.Links
) -> None:
    """Draw a card for each tokenization: its most probable words with their probabilities."""
    new = frozenset(_list_new_words(model))
    cards = [
        markup.Card(
            label_tokenization(name),
            NOTES.get(name, NEW_NOTE).format(count(one.n_candidates)),
            COLORS.get(name, "good"),
            one.tokens,
            new,
            measure="probability",
        )
        for name, one in filled.items()
    ]
    if cards:
        markup.draw_neighbor_cards(cards, links)
    if len(cards) > 1:
        draw_note(
            "Probability of each wordpiece at the mask. Underlined: a new word; a model that was"
            " not pretrained after adapting rarely chooses one. Click a word for its neighbors."
        )


def _list_offered_words(
    model: LanguageModel, text: str, filled: Mapping[str, Filling]
) -> list[str]:
    """Return the tokens whose neighbors are offered: the new words of the text (or its longest
    words if it has no new one), and the first words of each filling.
    """
    vocabulary = model.vocabulary
    new = frozenset(_list_new_words(model))
    own = [
        token
        for token in _spell_words(model, text)
        if token in vocabulary.ids and _is_word(model, token)
    ]
    own.sort(key=len, reverse=True)
    new_words = [token for token in own if token in new]
    best = [[token for token, _ in one.tokens if _is_word(model, token)] for one in filled.values()]
    likely = [token for tokens in reversed(best) for token in tokens]
    return list(dict.fromkeys([*(new_words or own), *likely]))[:N_WORDS]


def _choose_word(model: LanguageModel, text: str, offered: Sequence[str]) -> str:
    """Return the word that was clicked or that a link selects; the first one offered for a new text
    or model, "" if there is none.
    """
    shown = (str(model.path), text)
    if st.session_state.get(f"{WORD}_of") != shown:
        st.session_state[f"{WORD}_of"] = shown
        st.session_state[WORD] = ""
    linked = address.read_link(WORD)
    if linked:
        st.session_state[WORD] = linked
    word = str(st.session_state.get(WORD) or "")
    if word not in model.space:
        word = next(iter(offered), "")
    address.write(WORD, [word] if word in model.space else [])
    return word


def _build_neighbor_card(model: LanguageModel, word: str) -> markup.Card:
    """Build the card of the nearest whole words of a word in the model's input embeddings."""
    space = whole_words_of(model)
    rows = list_neighbors(space, model.space[word], NEIGHBORS, own=word)
    new = frozenset(_list_new_words(model))
    note = "nearest whole words in the model's embeddings"
    random_cosine = cache.random_cosine_of(space)
    return markup.Card(
        word, note, "good" if word in new else "source", rows, new, random_cosine=random_cosine
    )
