"""How large an extension vocabulary should be: what the first n of its tokens do to a text, and how
often each stands in it.

exBERT (Tai et al. 2020) chose its 17 748 tokens by such a frequency curve. Tokens come in by one
order, so every size is the beginning of the same plan; the words of the text are laid out once, and
for each size only those are cut again that it touches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.vocabulary.growth.retokenization import Ints, word_table
from vocadapt.vocabulary.plan.plan import VocabularyPlan

STEPS = 9  # sizes between none and all, by halves
SELDOM = 20  # occurrences below which a row is hardly trained


@dataclass(frozen=True)
class ExtensionSize:
    """The text under the first `size` new tokens: its wordpieces, pieces a word, the share of it
    that is new tokens, and how many of these stand in it less than SELDOM times.
    """

    size: int
    tokens: int
    fertility: float
    new_share: float
    seldom: int


@dataclass(frozen=True, eq=False)
class ExtensionCurve:
    """The sizes looked at, smallest (0: the old vocabulary) first; `counts`: occurrences of every
    new token, as they come in.
    """

    sizes: tuple[ExtensionSize, ...]
    counts: Ints
    words: int

    @property
    def ranked(self) -> Ints:
        """The occurrences of the new tokens, most frequent first."""
        return np.sort(self.counts)[::-1]

    def shorter(self, at: ExtensionSize) -> float:
        """By what share of its old wordpieces the text gets shorter."""
        return 1 - at.tokens / max(self.sizes[0].tokens, 1)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        rows = [{**vars(at), "shorter": self.shorter(at)} for at in self.sizes]
        return {"words": self.words, "sizes": rows}


def extension_curve(
    plan: VocabularyPlan,
    counts: Mapping[str, int],
    sizes: Sequence[int] = (),
    progress: Progress = silent,
) -> ExtensionCurve:
    """Cut the words of a text under the beginnings of a plan that puts tokens behind the old ones;
    `sizes`: halves of all.

    Raises InputError for a plan that takes or moves tokens, and for a size beyond it.
    """
    total = len(plan.added)
    if plan.order is not None or not total:
        raise InputError(
            "A curve of sizes is of a plan that puts new tokens behind the old ones.",
            "Such as exbert-s3.",
        )
    if sizes and not 0 <= min(sizes) <= max(sizes) <= total:
        raise InputError(
            f"Sizes are from 0 to the {total:,} tokens that there are, got {min(sizes)} to"
            f" {max(sizes)}."
        )
    wanted = sorted({0, total, *(sizes or (total >> half for half in range(STEPS)))})
    table, old = word_table(plan.after, counts), len(plan.base)
    found, own = [], np.zeros(total, dtype=np.int64)
    for done, size in enumerate(wanted):
        gone = np.zeros(old + total, dtype=np.bool_)
        gone[old + size :] = True
        cut = table.cut(gone)
        own = table.token_counts(cut).astype(np.int64)[old:]
        tokens = round(float(table.counts @ cut.pieces))
        seldom = int((own[:size] < SELDOM).sum())
        fertility, share = tokens / max(sum(counts.values()), 1), float(own.sum()) / max(tokens, 1)
        found.append(ExtensionSize(size, tokens, fertility, share, seldom))
        progress((done + 1) / len(wanted), f"{size:,} of {total:,} tokens")
    return ExtensionCurve(tuple(found), own, sum(counts.values()))
