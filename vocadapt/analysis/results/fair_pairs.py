"""The default comparison: which run is compared with which baseline if nobody has chosen.

A comparison differs in one thing. Two runs of the same task and settings differ in the model, or in
the tokenization that they were trained on; two tokenizations of one run differ in nothing else.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from vocadapt.training.encoding.model_tokenizers import BASE
from vocadapt.training.finetune.tokenizations import choose_main_tokenization

# What two sides may differ in, besides the names of settings.
MODEL, TRAINED_ON = "model", "tokenization of the training examples"
TOKENIZATION, SEEDS = "tokenization", "seeds"
Side = tuple[str, str]  # name of a run, and the tokenization that it is scored under


@dataclass(frozen=True)
class RunDescription:
    """What the choice of a comparison needs to know of the runs of one model on a task.

    model: identity of the model. trained_on: tokenization of the training examples. tokenizations:
    those that the run is scored under, at least one. settings: everything else that the training
    depends on, apart from the seeds. collapsed: for each seed whether its run collapsed.
    """

    name: str
    task: str
    model: str
    trained_on: str
    tokenizations: tuple[str, ...]
    settings: Mapping[str, Any]
    seeds: tuple[int, ...]
    collapsed: tuple[bool, ...]

    @property
    def is_adapted(self) -> bool:
        """Whether the model has another tokenization than the base one."""
        return self.tokenizations != (BASE,)

    @property
    def main(self) -> Side:
        """The run under the tokenization that counts."""
        return self.name, choose_main_tokenization(self.tokenizations)

    @property
    def learned_seeds(self) -> tuple[int, ...]:
        """The seeds whose runs did not collapse."""
        pairs = zip(self.seeds, self.collapsed, strict=True)
        return tuple(seed for seed, collapsed in pairs if not collapsed)


@dataclass(frozen=True)
class FairPair:
    """The default comparison on a task.

    baseline: None if there is nothing to compare with. differences: in what the sides differ: codes
    of this module and names of settings. seeds: those that both sides have, without collapsed ones
    if others remain. collapsed: whether no run of the compared side learned. other_settings: names
    of the task's runs whose settings are those of neither side, newest first.
    """

    task: str
    compared: Side
    baseline: Side | None
    differences: tuple[str, ...]
    seeds: tuple[int, ...]
    collapsed: bool
    other_settings: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the compared run and of the baseline, if there is one."""
        sides = [self.compared]
        if self.baseline is not None:
            sides.append(self.baseline)
        return tuple(dict.fromkeys(name for name, _ in sides))

    @property
    def is_fair(self) -> bool:
        """Whether the two sides differ in one thing."""
        return len(self.differences) == 1

    @property
    def rank(self) -> tuple[int, int, int]:
        """What comparisons are ranked by, the best highest: their kind, few differences, many
        seeds.
        """
        kind = 1
        if self.baseline is None:
            kind = 0
        elif self.differences == (TOKENIZATION,):
            kind = 2
        elif self.differences in ((MODEL,), (TRAINED_ON,)):
            kind = 3
        return kind, -len(self.differences), len(self.seeds)


def choose_fair_pair(
    runs: Sequence[RunDescription], compared: Side | None = None
) -> FairPair | None:
    """Return the comparison that a page shows by default; None without runs.

    runs: scored runs of one or several tasks, newest first. compared: a side that was chosen; only
    its baseline is looked for.

    1. Collapsed runs take no part if another run learned.
    2. On each task, two runs of the same settings that differ in the model or in the tokenization
       trained on come first: those with most seeds in common, then a base model against an adapted
       one, then the newest. Next are two tokenizations of one run, then the two runs with the
       fewest differences, then a run alone.
    3. The newest of the tasks with the best kind of comparison is chosen.

    Example: base (4 epochs, seeds 1 2 3), adapted (4 epochs, seeds 1 2 3), and newer, adapted (2
    epochs, seed 1) -> base against the first adapted run; the newest has other settings.
    """
    # 1. The runs that take part: a chosen one always does.
    learned = [one for one in runs if one.learned_seeds] or runs
    if compared is not None:
        task = next((one.task for one in runs if one.name == compared[0]), "")
        names = {compared[0], *(one.name for one in learned)}
        learned = [one for one in runs if one.task == task and one.name in names]

    # 2. The best comparison of each task, the task with the newest run first.
    best = []
    for task in dict.fromkeys(one.task for one in learned):
        of_task = _keep_newest_of_equal([one for one in learned if one.task == task], compared)
        best.append(max(_list_pairs(of_task, compared), key=lambda pair: pair.rank))
    if not best:
        return None

    # 3. The best kind; of equal ones, max returns the first.
    pair = max(best, key=lambda pair: pair.rank[0])
    of_task = [one for one in runs if one.task == pair.task]
    return replace(pair, other_settings=list_other_settings(of_task, pair.runs))


def list_other_settings(
    runs: Sequence[RunDescription], compared: Collection[str]
) -> tuple[str, ...]:
    """Return the names of the runs whose settings are those of none of the compared runs."""
    settings = [one.settings for one in runs if one.name in compared]
    return tuple(one.name for one in runs if one.settings not in settings)


def list_differences(first: RunDescription, second: RunDescription) -> tuple[str, ...]:
    """Return what two runs of a task differ in.

    The tokenization trained on counts only if the model is the same, because each model has its
    own; seeds count only if none is in common.
    """
    found = []
    if first.model != second.model:
        found.append(MODEL)
    elif first.trained_on != second.trained_on:
        found.append(TRAINED_ON)
    if first.settings != second.settings:
        names = dict.fromkeys([*first.settings, *second.settings])
        found += [name for name in names if first.settings.get(name) != second.settings.get(name)]
    if not set(first.seeds) & set(second.seeds):
        found.append(SEEDS)
    return tuple(found)


def _keep_newest_of_equal(
    runs: Sequence[RunDescription], chosen: Side | None
) -> list[RunDescription]:
    """Keep the newest of runs that are equal in all that counts, and the chosen one."""
    newest: dict[tuple[Any, ...], RunDescription] = {}
    for one in runs:
        settings = tuple(sorted((name, repr(value)) for name, value in one.settings.items()))
        key = (one.model, one.trained_on, one.tokenizations, settings, one.seeds, one.collapsed)
        is_chosen = chosen is not None and one.name == chosen[0]
        newest.setdefault((*key, is_chosen), one)
    return list(newest.values())


def _list_pairs(runs: Sequence[RunDescription], chosen: Side | None) -> list[FairPair]:
    """List the comparisons of the runs of a task, those of base against adapted models first, then
    the newest first.
    """
    # 1. Each run alone, and two tokenizations of it.
    pairs = []
    for one in runs:
        side = one.main
        if chosen is not None and one.name != chosen[0]:
            continue
        if chosen is not None:
            side = chosen
        seeds = one.learned_seeds or one.seeds
        collapsed = not one.learned_seeds
        pairs.append(FairPair(one.task, side, None, (), seeds, collapsed))
        if BASE in one.tokenizations and side[1] != BASE:
            base = (one.name, BASE)
            pairs.append(FairPair(one.task, side, base, (TOKENIZATION,), seeds, collapsed))

    # 2. Every two runs.
    base_to_adapted, others = list[FairPair](), list[FairPair]()
    for before, after in _list_ordered_pairs(runs, chosen):
        differences = list_differences(before, after)
        common = [seed for seed in before.seeds if seed in after.seeds]
        if not differences or not common:  # the same again, or nothing that can be compared
            continue
        both = [seed for seed in before.learned_seeds if seed in after.learned_seeds]
        pair = FairPair(
            after.task,
            chosen or after.main,
            before.main,
            differences,
            tuple(both or common),
            not after.learned_seeds,
        )
        if after.is_adapted and not before.is_adapted:
            base_to_adapted.append(pair)
        else:
            others.append(pair)
    return [*base_to_adapted, *others, *pairs]


def _list_ordered_pairs(
    runs: Sequence[RunDescription], chosen: Side | None
) -> Iterator[tuple[RunDescription, RunDescription]]:
    """Yield (baseline, compared) for every two runs, newest first.

    A base model is the baseline of an adapted one; otherwise the older run is that of the newer
    one. A chosen run is always the compared one.
    """
    for newer, older in combinations(runs, 2):
        is_older_compared = older.is_adapted and not newer.is_adapted
        if chosen is not None:
            if chosen[0] not in (newer.name, older.name):
                continue
            is_older_compared = older.name == chosen[0]
        if is_older_compared:
            yield newer, older
        else:
            yield older, newer
