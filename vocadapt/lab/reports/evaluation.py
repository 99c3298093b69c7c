"""Scoring fine-tuned runs again: on other examples, or by another scorer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.steps.finetune import RunNumbers, describe_sample, summarize_runs
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import CheckedSettings, setting
from vocadapt.training.examples.context_windows import WORD_RULES
from vocadapt.training.examples.examples import Prediction, Split, sample_split
from vocadapt.training.finetune.run_files import SavedRun, load_runs
from vocadapt.training.finetune.tokenizations import CHOICES, select_tokenization
from vocadapt.training.tasks.predictions import build_tally
from vocadapt.training.tasks.seen_examples import count_seen, describe_seen, read_seen
from vocadapt.training.tasks.task import Task


@dataclass(frozen=True)
class EvaluateSettings(CheckedSettings):
    """Settings of scoring a run again.

    `test`: examples to score (None: the saved predictions of the run's test split).
    """

    test: Path | None = None
    limit: int = setting(0, "maximum number of examples, drawn at random", empty="all")
    tokenization: str = setting(
        "", "tokenization to score; mixed and both mean pooled", choices=CHOICES, empty="all"
    )
    scorer: str = setting("", "scorer to use instead of the task's")
    unseen: bool = setting(
        False,
        "require zero-shot examples: fail if the run was trained on any of them (for questions, on"
        " their context or the question)",
    )
    word_rule: str = setting(
        "",
        "question answering: rule that splits the context into the words over which logits are"
        " pooled",
        choices=WORD_RULES,
        empty="the run's",
    )


@dataclass(frozen=True, kw_only=True)
class EvaluateNumbers(RunNumbers):
    """Scores of a run on `examples` of `of` examples, of which `seen` were in its training.

    seen: None if not known; the maximum if runs were trained on different examples, as those of
    folds are. word_rule: of questions.
    """

    run: str
    examples: int
    of: int
    seen: int | None
    word_rule: str | None


def evaluate_runs(
    folder: Path, how: EvaluateSettings, progress: Progress = silent
) -> EvaluateNumbers:
    """Score a run, or all seeds of one.

    Raises InputError for examples without labels, for seen ones if only unseen ones are allowed,
    for a tokenization that the run does not have, and for a score that does not fit.
    """
    _check_settings_apply(how)
    runs = load_runs(folder)
    given = None
    kind = runs[0].kind
    if how.test:
        given = kind.read_split(how.test, unit=runs[0].unit)
    scores = []
    seen = list[int | None]()
    findings = dict[str, None]()
    for place, run in enumerate(runs):
        # The examples: the given ones, or the run's own test split.
        whole = given or run.test_predictions.split
        split = sample_split(whole, how.limit)
        if not split.labeled:
            raise InputError(
                f"{split.path}: holds no labels, so nothing can be scored.",
                "Use predict.",
                code="no-labels",
            )
        seen.append(_count_seen(run, whole, how.unseen))
        findings |= dict.fromkeys(_collect_findings(run, whole, split))
        step = part(progress, place / len(runs), (place + 1) / len(runs))
        scores.append(_score_run(run, split, how, step))

    most = None if None in seen else max(count or 0 for count in seen)
    if most is not None:
        findings[f"{most:,} of {len(whole):,} test examples were trained on."] = None
    rule = how.word_rule or runs[0].word_rule
    return EvaluateNumbers(
        **{**vars(summarize_runs(runs, scores)), "findings": tuple(findings)},
        run=str(folder),
        examples=len(split),
        of=len(whole),
        seen=most,
        word_rule=rule if kind.has_word_rule else None,
    )


def _check_settings_apply(how: EvaluateSettings) -> None:
    """Raise InputError for settings of other test examples if there are none."""
    if how.test is not None:
        return
    if how.limit:
        raise InputError(
            "A limit applies only to other examples than the run's own.",
            "Give test examples with the limit.",
        )
    if how.word_rule:
        raise InputError(
            "The saved predictions of the run's own test examples are scored: another word rule"
            " does not apply to them.",
            "Give test examples to predict again, or leave the word rule out.",
        )


def _score_run(
    run: SavedRun, split: Split, how: EvaluateSettings, progress: Progress
) -> dict[str, Any]:
    """Score the predictions of a run under each requested tokenization: those of its own test
    examples are saved, others are computed.
    """
    predicted: Mapping[str, Sequence[Prediction]]
    if how.test:
        split = replace(split, examples=run.apply_word_rule(split.examples, how.word_rule))
        predicted = run.predict_split(split, progress)
    else:
        predicted = run.test_predictions.predicted
    tokenizations = list(predicted)
    if how.tokenization:
        tokenizations = [select_tokenization(predicted, how.tokenization)]
    scorer = run.scorer(how.scorer)
    scores = {}
    for tokenization in tokenizations:
        tally = build_tally(split, predicted[tokenization], scorer, run.rules)
        scores[tokenization] = scorer.score_tally(tally, run.rules).to_dict()
    return scores


def _count_seen(run: SavedRun, split: Split, refuse: bool) -> int | None:
    """Count the examples that the run was trained on; None if its folder does not record it."""
    known = read_seen(run.folder)
    if known is None:
        if refuse:
            raise InputError(
                f"{run.folder} does not record its training examples, so it may have seen"
                " any of these.",
                "Fine-tune with vocadapt, or allow seen examples.",
            )
        return None
    count = count_seen(split.examples, known)
    if refuse and count:
        raise InputError(
            f"{split.path}: {describe_seen(split.examples, known)}",
            "Train on other examples, or test on others.",
        )
    return count


def _collect_findings(run: SavedRun, whole: Split, split: Split) -> list[str]:
    """Return notes on the examples: what was repaired, and whether they are a sample."""
    found = Task(str(run.record["task"]), run.kind, {"test": whole}, ()).findings
    if len(split) == len(whole):
        return list(found)
    return [*found, describe_sample("test", split, whole)]
