"""What a plan costs a text, or saves: how much longer or shorter its tokenization becomes.

The tokens are chosen by some lines, and their cost is measured on others, the held-out ones: in
sample, a plan always looks better than on any other text.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts
from vocadapt.vocabulary.growth.growth import MeasuredText
from vocadapt.vocabulary.growth.word_tokenizations import compute_saved_fraction, tokenize_pretokens
from vocadapt.vocabulary.plan.forms import group_word_forms
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.planning import OVER_LIMIT, TOO_RARE


@dataclass(frozen=True)
class PlanCost:
    """Change of the length of a text by a plan.

    growth: additional tokens of the held-out lines, as a fraction of those before; negative if the
    text becomes shorter. growth_in_sample: the same for the lines that the tokens were chosen by.
    tokens_before, tokens_after: tokens of the held-out lines. unknown: running words of these lines
    that become unknown. held_out_lines: their number; 0 if all numbers are those in sample.
    """

    growth: float
    growth_in_sample: float
    tokens_before: int
    tokens_after: int
    unknown: int
    held_out_lines: int


def measure_plan_cost(plan: VocabularyPlan, counts: WordCounts) -> PlanCost:
    """Measure how a plan changes the length of a text, from the counts of its pre-tokens.

    A trim keeps the tokens of all lines, so its own figures are used.
    """
    if plan.trim is not None:
        own = plan.trim
        measured = own.held_out or own
        in_sample = own.tokens_after / own.tokens - 1
        unknown = measured.unknown_after - measured.unknown_before
        held_out_lines = counts.held_out_lines if own.held_out else 0
        return _build_cost(
            measured.tokens, measured.tokens_after, in_sample, unknown, held_out_lines
        )
    before, after, unknown = _measure(plan, counts.in_sample)
    in_sample = after / max(before, 1) - 1
    if counts.held_out:
        before, after, unknown = _measure(plan, counts.held_out)
    return _build_cost(before, after, in_sample, unknown, counts.held_out_lines)


def measure_savings(plan: VocabularyPlan, splitter: Splitter, counts: WordCounts) -> PlanCost:
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
    groups = group_word_forms(base, splitter, counts.in_sample)
    words = [group for group in groups if base.fold_word(group.word) in candidates][: len(main)]
    # 2. What they save in both parts.
    in_sample_text = measured = tokenize_pretokens(base, counts.in_sample)
    if counts.held_out:
        measured = tokenize_pretokens(base, counts.held_out)
    before = measured.statistics.tokens
    after = round((1 - compute_saved_fraction(words, measured)) * before)
    in_sample = -compute_saved_fraction(words, in_sample_text)
    return _build_cost(before, after, in_sample, 0, counts.held_out_lines)


def _build_cost(
    before: int, after: int, in_sample: float, unknown: int, held_out_lines: int
) -> PlanCost:
    growth = after / max(before, 1) - 1
    return PlanCost(growth, in_sample, before, after, unknown, held_out_lines)


def _measure(plan: VocabularyPlan, counts: Mapping[str, int]) -> tuple[int, int, int]:
    """Return the numbers of tokens before and after a plan, and of words that become unknown."""
    before, after = (MeasuredText.tokenize(one, counts) for one in (plan.base, plan.after))
    newly_unknown = after.tokenization.unknown & ~before.tokenization.unknown
    return before.tokens, after.tokens, round(float(after.table.counts @ newly_unknown))
