"""Measure how large an extension vocabulary should be: the effect of its first n tokens on a text,
and how often each of them occurs.

Tai et al. 2020 (exBERT) chose their 17,748 tokens by such a frequency curve. Tokens are added in a
fixed order, so every size is a prefix of the same plan: the words are tokenized under the whole
extended vocabulary, with the tokens after the prefix removed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.vocabulary.families.word_table import Ints
from vocadapt.vocabulary.plan.plan import VocabularyPlan

STEPS = 9  # default number of sizes above 0; each is half of the next
SELDOM = 20  # occurrences below which an embedding is hardly trained


@dataclass(frozen=True)
class ExtensionSize:
    """A text tokenized with the first `size` new tokens.

    tokens: wordpieces of the text; fertility: wordpieces per word; new_share: fraction of the
    wordpieces that are new tokens; seldom: new tokens that occur less than SELDOM times.
    """

    size: int
    tokens: int
    fertility: float
    new_share: float
    seldom: int


@dataclass(frozen=True, eq=False)
class ExtensionCurve:
    """A text tokenized with extension vocabularies of several sizes.

    sizes: smallest first; size 0 is the original vocabulary.
    counts: (new tokens,) int64, occurrences of each new token, in the order of the plan.
    words: running words of the text.
    """

    sizes: tuple[ExtensionSize, ...]
    counts: Ints
    words: int

    @property
    def ranked(self) -> Ints:
        """Occurrences of the new tokens, (new tokens,) int64, most frequent first."""
        return np.sort(self.counts)[::-1]

    def shorter(self, at: ExtensionSize) -> float:
        """Return the fraction of its original wordpieces by which the text gets shorter."""
        return 1 - at.tokens / max(self.sizes[0].tokens, 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as JSON values."""
        rows = [{**vars(at), "shorter": self.shorter(at)} for at in self.sizes]
        return {"words": self.words, "sizes": rows}


def measure_extension_curve(
    plan: VocabularyPlan,
    counts: Mapping[str, int],
    sizes: Sequence[int] = (),
    progress: Progress = silent,
) -> ExtensionCurve:
    """Tokenize the words of a text with prefixes of a plan that appends tokens.

    sizes: numbers of new tokens to try; if empty, all of them, a half, a quarter, and so on.
    Raises InputError for a plan that removes or moves tokens, and for a size beyond the plan.
    """
    total = len(plan.added)
    if plan.order is not None or not total:
        raise InputError(
            "The effect of extension sizes needs a plan that appends new tokens.",
            "Choose a recipe such as exbert-s3.",
        )
    if sizes and not 0 <= min(sizes) <= max(sizes) <= total:
        raise InputError(
            f"Sizes range from 0 to the {total:,} tokens of the plan, got {min(sizes)} to"
            f" {max(sizes)}."
        )
    wanted = sorted({0, total, *(sizes or (total >> half for half in range(STEPS)))})
    table, n_old = plan.after.build_word_table(counts), len(plan.base)
    n_words = sum(counts.values())
    curve: list[ExtensionSize] = []
    occurrences = np.zeros(total, dtype=np.int64)
    for done, size in enumerate(wanted):
        removed = np.zeros(n_old + total, dtype=np.bool_)
        removed[n_old + size :] = True
        tokenization = table.tokenize(removed)
        occurrences = table.count_occurrences(tokenization).astype(np.int64)[n_old:]
        tokens = round(float(table.counts @ tokenization.pieces))
        curve.append(
            ExtensionSize(
                size,
                tokens,
                fertility=tokens / max(n_words, 1),
                new_share=float(occurrences.sum()) / max(tokens, 1),
                seldom=int((occurrences[:size] < SELDOM).sum()),
            )
        )
        progress((done + 1) / len(wanted), f"{size:,} of {total:,} tokens")
    # The last size is the whole plan, so these are the occurrences of all its tokens.
    return ExtensionCurve(tuple(curve), occurrences, n_words)
