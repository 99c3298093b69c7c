"""The neighbors of one word before and after, as three cards."""

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.spaces.neighbors.change import (
    SHOWCASE_LENGTH,
    NeighborhoodChange,
    NeighborIn,
    WordChange,
)
from vocadapt.spaces.neighbors.search import list_neighbors
from vocadapt.ui.components import mistakes, word_links, word_query
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.parts.change.comparisons import ShownComparison, name_spaces
from vocadapt.ui.parts.change.word_list import LISTED, WORD
from vocadapt.ui.state import cache
from vocadapt.ui.text.markup import Card, draw_neighbor_cards, plain
from vocadapt.ui.text.number_formats import count, fraction


def select_examples(change: NeighborhoodChange, rows: Sequence[int]) -> list[str]:
    """Return the word that changed most convincingly, and the first longer ones of the list."""
    words = [change.words[row] for row in rows[:LISTED]]
    long = [word for word in words if len(word) >= SHOWCASE_LENGTH and word.isalpha()]
    first = [change.showcase] if change.showcase else []
    return list(dict.fromkeys([*first, *long]))[: word_query.EXAMPLES]


def draw_word(shown: ShownComparison, examples: list[str]) -> None:
    """Draw the three cards of the searched word."""
    change, baseline = shown.found.change, shown.found.baseline
    typed = word_query.draw_word_input(WORD, "Select or type a word", examples, change.index)
    words = tuple(dict.fromkeys((*change.words, *change.before.words, *change.after.words)))
    search = word_query.search_typed(WORD, typed, words)
    if search is None or search.word is None:
        return
    word = search.word
    with mistakes.show_errors():
        found = _find_word(shown, word)
        names = name_spaces(shown)
        before = frozenset[str]()
        if change.settings.among == "all":
            before = frozenset(change.before.words)
        random = _find_random_cosine(shown, "before"), _find_random_cosine(shown, "after")
        cards = build_three_cards(found, names, before, random)
        draw_neighbor_cards(cards, word_links.build_links(WORD))
        n_new = len(cards[-1].shared)
        row = change.index.get(word)
        if row is None:
            draw_note(
                f"**{plain(word)}** is only in {plain(names[1])}: it has no neighbors before."
            )
            return
        notes = [
            f"**{plain(word)}** keeps **{count(len(found.both))} of {change.settings.k}** neighbors"
        ]
        if n_new:
            notes.append(f":green[**underlined**]: {n_new} that {plain(names[0])} lacks")
        if change.counts is not None:
            notes.append(f"{count(int(change.counts[row]))} occurrences")
        if baseline is not None:
            verdict = ":violet[**changed**]" if baseline.below[row] else "within noise"
            notes.append(f"{fraction(baseline.overlap[row])} in the noise baseline")
            notes.append(f"quantile {fraction(baseline.quantile[row])}: {verdict}")
        st.markdown(f":small[{' · '.join(notes)}]")


def _find_word(shown: ShownComparison, word: str) -> WordChange:
    """Return the neighbors of a word before and after; of a word that only the space after has,
    those after.

    Raises InputError if the word is in neither list of candidates.
    """
    change = shown.found.change
    is_new = word not in change.index and word not in change.before.words
    if not is_new or word not in change.after.words:
        return change.word(word)
    space = cache.open_named_space(shown.spec.inputs["after"][0]).space
    if any(candidate not in space for candidate in (word, *change.after.words)):
        raise InputError(
            f"{name_spaces(shown)[1]} has changed since it was compared.",
            "Compare the spaces again.",
        )
    candidates = space.take(space.rows(change.after.words))
    gained = list_neighbors(candidates, candidates[word], change.settings.k, own=word)
    return WordChange(word, 0.0, (), (), tuple(NeighborIn(*one) for one in gained))


def _find_random_cosine(shown: ShownComparison, role: str) -> float | None:
    """Return the mean cosine of two random tokens of a space; None if it is gone."""
    with suppress(InputError):
        return cache.random_cosine_of(cache.open_named_space(shown.spec.inputs[role][0]).space)
    return None


def build_three_cards(
    found: WordChange,
    names: tuple[str, str],
    before: frozenset[str] = frozenset(),
    random_cosines: tuple[float | None, float | None] = (None, None),
) -> list[Card]:
    """Build the cards of the neighbors that a word lost, kept and gained.

    before: the candidates before; gained neighbors that are not among them are marked, unless it is
    empty. random_cosines: mean cosine of two random tokens in each space.
    """
    before_cosine, after_cosine = random_cosines
    mean = None
    if before_cosine is not None and after_cosine is not None:
        mean = (before_cosine + after_cosine) / 2
    both = [(one.word, (one.before + one.after) / 2) for one in found.both]
    lost = [(one.word, one.cosine) for one in found.only_before]
    gained = [(one.word, one.cosine) for one in found.only_after]
    new = frozenset(word for word, _ in gained) - before if before else frozenset()
    return [
        Card("Only before", names[0], "source", lost, empty="none", random_cosine=before_cosine),
        Card("In both", "mean of both cosines", "neutral", both, empty="none", random_cosine=mean),
        Card(
            "Only after", names[1], "changed", gained, new, empty="none", random_cosine=after_cosine
        ),
    ]
