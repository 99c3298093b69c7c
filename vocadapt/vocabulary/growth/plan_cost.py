"""What a plan costs a text, or saves: how much longer or shorter its tokenization becomes.

The tokens are chosen by some lines, and their cost is measured on others, the held-out ones: in
sample, a plan always looks better than on any other text.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.growth.growth import MeasuredText
from vocadapt.vocabulary.growth.word_tokenizations import compute_saved_fraction, tokenize_pretokens
from vocadapt.vocabulary.plan.forms import group_word_forms
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.planning import OVER_LIMIT, TOO_RARE


@dataclass(frozen=True)
class CostNumbers:
    """Change of the length of a text by a plan, as in `PlanCost`; held_out_lines: 0 if growth is
    that in sample.
    """

    growth: float
    growth_in_sample: float
    tokens_before: int
    tokens_after: int
    unknown: int
    held_out_lines: int


@dataclass(frozen=True)
class PlanCost:
    """Change of the length of a text by a plan.

    tokens_before, tokens_after: tokens of the held-out lines. growth: additional ones, as a
    fraction of those before; negative if the text becomes shorter. growth_in_sample: the same for
    the lines that the tokens were chosen by. unknown: running words of the held-out lines that
    become unknown. is_held_out: False if there are no held-out lines: then all numbers are those in
    sample.
    """

    tokens_before: int
    tokens_after: int
    growth_in_sample: float
    unknown: int = 0
    is_held_out: bool = True

    @property
    def growth(self) -> float:
        """Additional tokens of the held-out lines, as a fraction of those before."""
        return self.tokens_after / max(self.tokens_before, 1) - 1

    def summarize(self, held_out_lines: int) -> CostNumbers:
        """Return the numbers, and how many lines were held out."""
        return CostNumbers(
            self.growth,
            self.growth_in_sample,
            self.tokens_before,
            self.tokens_after,
            self.unknown,
            held_out_lines if self.is_held_out else 0,
        )


def measure_plan_cost(
    plan: VocabularyPlan, counts: Mapping[str, int], held_out: Mapping[str, int]
) -> PlanCost:
    """Measure how a plan changes the length of a text.

    counts: pre-tokens of the lines that the tokens were chosen by, with their counts. held_out:
    those of the held-out lines; {} if there are none. A trim keeps the tokens of all lines, so its
    own figures are used.
    """
    if plan.trim is not None:
        own = plan.trim
        measured = own.held_out or own
        unknown = measured.unknown_after - measured.unknown_before
        return PlanCost(
            measured.tokens, measured.tokens_after, own.growth, unknown, own.held_out is not None
        )
    before, after, unknown = _measure(plan, counts)
    in_sample = after / max(before, 1) - 1
    if held_out:
        before, after, unknown = _measure(plan, held_out)
    return PlanCost(before, after, in_sample, unknown, bool(held_out))


def measure_savings(
    plan: VocabularyPlan,
    splitter: Splitter,
    counts: Mapping[str, int],
    held_out: Mapping[str, int],
) -> PlanCost:
    """Measure what the words of word vectors save.

    The plan's words were chosen by their counts in all lines, on which the vectors were trained. So
    the same number of words is chosen again from the plan's candidates, by the lines that are not
    held out, and measured on those that are.
    """
    # 1. The candidates, and the words among them chosen by the lines that are not held out.
    base = plan.base
    rest = (word for reason in (OVER_LIMIT, TOO_RARE) for word in plan.left_out.get(reason, ()))
    main = [base.body(word.token) for word in plan.added if not word.form_of]
    candidates = {base.fold_word(word) for word in (*main, *rest)}
    groups = group_word_forms(base, splitter, counts)
    words = [group for group in groups if base.fold_word(group.word) in candidates][: len(main)]
    # 2. What they save in both parts.
    in_sample_text = tokenize_pretokens(base, counts)
    measured = tokenize_pretokens(base, held_out) if held_out else in_sample_text
    before = measured.statistics.tokens
    after = round((1 - compute_saved_fraction(words, measured)) * before)
    in_sample = -compute_saved_fraction(words, in_sample_text)
    return PlanCost(before, after, in_sample, is_held_out=bool(held_out))


def _measure(plan: VocabularyPlan, counts: Mapping[str, int]) -> tuple[int, int, int]:
    """Return the numbers of tokens before and after a plan, and of words that become unknown."""
    before, after = (MeasuredText.tokenize(one, counts) for one in (plan.base, plan.after))
    newly_unknown = after.tokenization.unknown & ~before.tokenization.unknown
    return before.tokens, after.tokens, round(float(after.table.counts @ newly_unknown))
