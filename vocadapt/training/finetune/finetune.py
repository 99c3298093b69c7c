"""Fine-tuning of a model on a task: training, then scores under each tokenization and pooled."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.abilities import check_ability
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.heads import initialize_biases, is_in_body, load_with_new_head
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings
from vocadapt.progress import Progress, part, silent
from vocadapt.system.files import temporary_folder
from vocadapt.training.callbacks import preserve_random_state
from vocadapt.training.encoding.encoding import (
    COUNTED_IN_EXAMPLES,
    NO_BASE,
    EncodedExamples,
    EncodingSettings,
    View,
)
from vocadapt.training.encoding.model_tokenizers import ModelTokenizer, load_tokenizers
from vocadapt.training.examples.examples import Example, Prediction, Split, sample_split
from vocadapt.training.finetune.outputs import Outputs, check_logits_size
from vocadapt.training.finetune.predict import compute_logits
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.tokenizations import (
    FinetuningDataset,
    check_tokenization,
    choose_main_tokenization,
    pool_logits,
)
from vocadapt.training.finetune.trainer import (
    DevScore,
    FitResult,
    fit,
    restrict_embeddings,
    separate_new_embeddings,
)
from vocadapt.training.labels import Logits, Targets
from vocadapt.training.scoring.counts import Score, check_cells
from vocadapt.training.scoring.summary import is_collapsed
from vocadapt.training.tasks.predictions import build_tally, score_baseline
from vocadapt.training.tasks.seen_examples import describe_seen, fingerprint_examples, read_seen
from vocadapt.training.tasks.task import Task
from vocadapt.training.trained_parameters import compare_old_embeddings, require_new_ids

if TYPE_CHECKING:
    import transformers

COLLAPSE_SAMPLE = 1_000  # maximum number of training examples to detect a collapsed run by


@dataclass(frozen=True, eq=False)
class PreparedTask:
    """A task encoded for a model, for any number of seeds.

    collapse_sample: training examples whose predictions show whether a run collapsed, and their
    encodings; None if there are dev scores. seen: fingerprints of all training examples, including
    those of earlier fine-tunings of the model. fold: number of the fold of a k-fold task, or 0.
    new_ids: ids of the new tokens in the training examples, if only their embeddings are trained.
    """

    model: LanguageModel
    task: Task
    settings: FinetuneSettings
    tokenization: str
    outputs: Outputs
    tokenizers: Mapping[str, ModelTokenizer]
    train: EncodedExamples
    targets: tuple[Targets, ...]
    dev: EncodedExamples | None
    test: EncodedExamples | None
    collapse_sample: tuple[Split, EncodedExamples] | None
    seen: frozenset[str]
    findings: tuple[str, ...]
    fold: int = 0
    new_ids: tuple[int, ...] = ()

    @property
    def pad(self) -> int:
        """Id of the padding token."""
        return next(iter(self.tokenizers.values())).specials["pad"]


@dataclass(frozen=True, eq=False)
class Run:
    """Result of a fine-tuning.

    logits, scores: of the test split by tokenization ("base", "adapted", "pooled"): the logits of
    its examples, then of its collection; scores are empty if it has no labels. dev: dev score after
    each epoch. curve: (step, mean loss). examples: number of examples trained on. seconds: total
    duration. training_seconds: that of the steps, without loading and scoring (see FitResult).
    collapsed: whether no dev score exceeded the majority baseline or, without dev scores, the
    predictions for the training examples do not at the end. optimizer_bytes: size of the
    optimizer's state. old_embeddings: if only new embeddings were trained, the number of old
    embeddings ("of"), and of those that are bit-equal ("bit_equal").
    """

    network: "transformers.PreTrainedModel"
    outputs: Outputs
    seed: int
    tokenization: str
    logits: Mapping[str, tuple[Logits, ...]]
    scores: Mapping[str, Score]
    dev: tuple[float, ...]
    curve: tuple[tuple[int, float], ...]
    seconds: float
    examples: int
    trainable: int
    frozen: int
    collapsed: bool
    training_seconds: float = 0.0
    findings: tuple[str, ...] = field(default=())
    optimizer_bytes: int = 0
    old_embeddings: Mapping[str, int] = field(default_factory=dict)

    @property
    def main_tokenization(self) -> str:
        """The tokenization that the run is compared by."""
        return choose_main_tokenization(self.logits)

    def predict(self, test: Split, tokenization: str = "") -> list[Prediction]:
        """Return the predictions for the examples of the test split under a tokenization."""
        return self.outputs.predict_split(self.logits[tokenization or self.main_tokenization], test)


def prepare(
    model: LanguageModel, task: Task, settings: FinetuneSettings, tokenization: str = ""
) -> PreparedTask:
    """Encode a task for a model.

    tokenization: "" means mixed if the model has two tokenizations, else its only one. Raises
    InputError if the model is not an encoder, if the task has no labeled training examples, or if
    the model does not have the tokenization.
    """
    # 1. Training examples, outputs and new tokens; checks before any long computation.
    check_ability(model, "finetune")
    new_ids = require_new_ids(model) if settings.only_new_embeddings else []
    task = _apply_word_rule(task, settings.word_rule)
    tokenizers = load_tokenizers(model)
    tokenization = check_tokenization(tokenization, list(tokenizers))
    examples = _list_training_examples(task, settings)
    outputs = Outputs.of(task.kind, examples)
    _check_task(task, outputs, examples, len(tokenizers))

    # 2. Encodings; without a dev split also of training examples that show whether a run collapsed.
    length = min(settings.length, count_positions(model.config) or settings.length)
    limits = EncodingSettings(length, settings.chunk)
    train, targets = task.kind.encode_for_training(examples, tokenizers, limits, outputs.index)
    scored = {name: task.splits[name] for name in ("dev", "test") if task.splits.get(name)}
    if "dev" in scored and (settings.with_dev or not scored["dev"].labeled):
        del scored["dev"]
    if "dev" not in scored:
        scored["collapse"] = sample_split(task.split("train"), COLLAPSE_SAMPLE)
    encoded = {
        name: task.kind.encode((*split.examples, *split.collection), tokenizers, limits)
        for name, split in scored.items()
    }
    collapse_sample = None
    if "collapse" in scored:
        collapse_sample = scored.pop("collapse"), encoded.pop("collapse")

    # 3. Findings.
    seen = fingerprint_examples(examples) | (read_seen(model.path) or frozenset())
    findings = [*task.findings, *_report_encoded(scored, seen, {"train": train, **encoded})]
    if settings.only_new_embeddings:
        n_new = len(new_ids)
        new_ids = _find_trained_ids(train, tokenization, new_ids)
        findings.append(
            f"Only the head and the embeddings of {len(new_ids):,} of {n_new:,} new tokens are"
            " trained: those that the training examples contain."
        )
    if "base" not in tokenizers:
        findings.append(f"1 of 2 {NO_BASE}.")
    if collapse_sample and len(collapse_sample[0]) < len(task.split("train")):
        findings.append(
            "There are no dev scores: whether a run collapsed is determined by its predictions for"
            f" {len(collapse_sample[0]):,} of {len(task.split('train')):,} training examples,"
            " drawn at random."
        )
    if length < settings.length:
        findings.append(f"The model accepts {length} wordpieces at most, not {settings.length}.")
    return PreparedTask(
        model=model,
        task=task,
        settings=settings,
        tokenization=tokenization,
        outputs=outputs,
        tokenizers=tokenizers,
        train=train,
        targets=targets,
        dev=encoded.get("dev"),
        test=encoded.get("test"),
        collapse_sample=collapse_sample,
        seen=seen,
        findings=tuple(findings),
        new_ids=tuple(new_ids),
    )


def _find_trained_ids(
    train: EncodedExamples, tokenization: str, new_ids: Sequence[int]
) -> list[int]:
    """Return the ids of the new tokens in the training examples, sorted.

    Raises InputError if there is none under the tokenization of the training.
    """
    views = train.views.get(tokenization) or _list_views(train)
    used = np.unique(np.concatenate([view.ids for view in views]))
    found: list[int] = np.intersect1d(used, np.array(new_ids)).tolist()
    if not found:
        raise InputError(
            "No new token occurs in the training examples, so no new embedding can be trained.",
            "Train all parameters, or the head only, or choose the adapted or mixed tokenization.",
            "trained",
            code="no-new-token",
        )
    return found


def _list_training_examples(task: Task, settings: FinetuneSettings) -> list[Example]:
    splits = [task.split("train")]
    if settings.with_dev and "dev" in task.splits:
        splits.append(task.splits["dev"])
    for split in splits:
        if not split.labeled:
            raise InputError(
                f"{split.path}: has no labels to train on.",
                "Give labeled training examples.",
                code="no-labels",
            )
    return [example for split in splits for example in split.examples]


def _report_encoded(
    held_out: Mapping[str, Split], seen: frozenset[str], encoded: Mapping[str, EncodedExamples]
) -> Iterator[str]:
    for name, split in held_out.items():
        if described := describe_seen(split.examples, seen):
            yield f"{name}: {described}"
    for name, own in encoded.items():
        for what, count in own.notes.items():
            total = ""
            if what in COUNTED_IN_EXAMPLES:
                total = f" of {len(own.sizes):,}"
            yield f"{name}: {count:,}{total} {what}."


def _apply_word_rule(task: Task, rule: str) -> Task:
    """Set the word rule of a question answering task.

    Raises InputError if another kind of task has a rule other than the default.
    """
    if not task.kind.has_word_rule and rule != FinetuneSettings().word_rule:
        raise InputError(
            f"The word rule {rule!r} applies to question answering only; this task is {task.kind}.",
            "Omit it.",
        )
    splits = {
        name: replace(split, examples=task.kind.set_word_rule(split.examples, rule))
        for name, split in task.splits.items()
    }
    return replace(task, splits=splits)


def finetune(
    prepared: PreparedTask, seed: int = 1, folder: Path | None = None, progress: Progress = silent
) -> Run:
    """Fine-tune a new copy of the model with a seed, and score it on the test split.

    Checkpoints are written to `folder`; if it holds one, training resumes from it. The global
    random state is left unchanged. Raises InputError if the loss is not finite.
    """
    # 1. The network with a new head, initialized by the seed.
    start = time.perf_counter()
    network = _load_network(prepared, seed)

    # 2. Train.
    frozen = freeze(network, prepared.settings)
    with temporary_folder() as temporary, preserve_random_state():
        fitted = _fit(network, prepared, seed, folder or Path(temporary), part(progress, 0.0, 0.95))
    trainable = sum(value.numel() for value in network.parameters() if value.requires_grad)
    n_separated = len(prepared.new_ids) * get_embeddings(network).shape[1]
    network.requires_grad_(True)
    old_embeddings = {}
    if prepared.settings.only_new_embeddings:
        old_embeddings = compare_old_embeddings(prepared.model, network, prepared.new_ids)

    # 3. Score on the test split, under each tokenization and pooled.
    logits, scores = {}, {}
    if prepared.test is not None:
        report = part(progress, 0.95, 1.0)
        logits = pool_logits(compute_logits(network, prepared.test, prepared.pad, report))
        task = prepared.task
        scores = compute_scores(task, task.split("test"), prepared.outputs, logits)
    return Run(
        network=network,
        outputs=prepared.outputs,
        seed=seed,
        tokenization=prepared.tokenization,
        logits=logits,
        scores=scores,
        dev=fitted.dev,
        curve=fitted.curve,
        seconds=time.perf_counter() - start,
        examples=fitted.examples,
        training_seconds=fitted.seconds,
        trainable=trainable + n_separated,
        frozen=frozen - n_separated,
        collapsed=_is_collapsed(prepared, fitted, network),
        findings=(*prepared.findings, *fitted.findings),
        optimizer_bytes=fitted.optimizer_bytes,
        old_embeddings=old_embeddings,
    )


def _load_network(prepared: PreparedTask, seed: int) -> "transformers.PreTrainedModel":
    kind = prepared.task.kind
    names = prepared.outputs.names
    network = load_with_new_head(prepared.model, kind.head, names, seed, kind.is_multilabel)
    if kind.is_multilabel:
        # Start at the smoothed frequency of each label.
        targets = np.concatenate(prepared.targets)
        initialize_biases(network, (targets.sum(axis=0) + 1.0) / (len(targets) + 2.0))
    return network


def compute_scores(
    task: Task, split: Split, outputs: Outputs, logits: Mapping[str, Sequence[Logits]]
) -> dict[str, Score]:
    """Score a split under every tokenization; empty if it has no labels."""
    scores = {}
    if split.labeled:
        for tokenization, of_examples in logits.items():
            predicted = outputs.predict_split(of_examples, split)
            tally = build_tally(split, predicted, task.scorer, task.rules)
            scores[tokenization] = task.scorer.score_tally(tally, task.rules)
    return scores


def freeze(network: "transformers.PreTrainedModel", settings: FinetuneSettings) -> int:
    """Freeze all parameters that the settings do not select for training.

    Returns the number of frozen parameters. Raises InputError if the model has fewer layers than
    the settings select.
    """
    layers = int(getattr(network.config, "num_hidden_layers", 0))
    if settings.top is not None and settings.top > layers:
        raise InputError(
            f"The model has {layers} layers, not {settings.top}.",
            f"Give top-{layers} at most.",
            code="missing-layer",
        )
    top = {str(layers - 1 - depth) for depth in range(settings.top or 0)}
    in_top_layer = re.compile(rf"\.(?:layer|layers)\.(?:{'|'.join(top) or '(?!)'})\.")
    for name, value in network.named_parameters():
        # The head, with the pooler, is always trained.
        in_encoder = is_in_body(network, name)
        if settings.only_new_embeddings:
            # `separate_new_embeddings` later separates the embeddings of new tokens for training.
            value.requires_grad = not in_encoder
        elif settings.freeze == "embeddings":
            value.requires_grad = ".embeddings." not in f".{name}"
        elif settings.freeze != "all":
            is_in_top = in_top_layer.search(name) is not None
            value.requires_grad = not in_encoder or is_in_top
    return sum(value.numel() for value in network.parameters() if not value.requires_grad)


def _fit(
    network: "transformers.PreTrainedModel",
    prepared: PreparedTask,
    seed: int,
    folder: Path,
    progress: Progress,
) -> FitResult:
    """Train with only the embeddings that the train and dev splits use.

    With two tokenizations, the dev score is that of the pooled predictions.
    """
    settings, task = prepared.settings, prepared.task
    ids = np.concatenate([view.ids for view in _list_views(prepared.train, prepared.dev)])
    with restrict_embeddings(network, ids, prepared.pad) as new_ids:
        pad = int(new_ids[prepared.pad])
        score: Callable[[], DevScore] | None = None
        baseline = None
        if prepared.dev is not None:
            dev = _replace_ids(prepared.dev, new_ids)
            score = partial(_score_dev, network, prepared, dev, pad)
            split = task.split("dev")
            baseline = score_baseline(task.kind, split, task.scorer, task.rules)
        dataset = FinetuningDataset(
            encoded=_replace_ids(prepared.train, new_ids),
            targets=prepared.targets,
            tokenization=prepared.tokenization,
            pad=pad,
            batch=settings.batch,
            epochs=settings.epochs,
            seed=seed,
            kind=task.kind,
            grouped=not settings.ungrouped,
        )
        with separate_new_embeddings(network, new_ids[list(prepared.new_ids)]):
            return fit(network, dataset, settings, folder, score, progress, baseline)


def _score_dev(
    network: "transformers.PreTrainedModel",
    prepared: PreparedTask,
    dev: EncodedExamples,
    pad: int,
) -> DevScore:
    split = prepared.task.split("dev")
    found = pool_logits(compute_logits(network, dev, pad))
    scores = compute_scores(prepared.task, split, prepared.outputs, found)
    main = choose_main_tokenization(scores)
    loss = prepared.outputs.compute_loss(found[main][: len(split)], split.examples)
    return DevScore(scores[main].value, loss)


def _list_views(*encoded: EncodedExamples | None) -> list[View]:
    by_tokenizer = chain.from_iterable(one.views.values() for one in encoded if one)
    return list(chain.from_iterable(by_tokenizer))


def _replace_ids(encoded: EncodedExamples, new_ids: Any) -> EncodedExamples:
    """Replace the ids of encoded examples; new_ids: (vocabulary,) int64."""
    views = {
        name: tuple(replace(view, ids=new_ids[view.ids].astype(np.int32)) for view in old_views)
        for name, old_views in encoded.views.items()
    }
    return replace(encoded, views=views)


def _is_collapsed(
    prepared: PreparedTask, fitted: FitResult, network: "transformers.PreTrainedModel"
) -> bool:
    """Return whether the run never exceeded the majority baseline on dev or, without dev scores,
    does not exceed it at the end on training examples. The test split is not used.
    """
    task = prepared.task
    if prepared.collapse_sample is None:
        split = task.split("dev")
        values = list(fitted.dev)
    else:
        split, encoded = prepared.collapse_sample
        logits = pool_logits(compute_logits(network, encoded, prepared.pad))
        scores = compute_scores(task, split, prepared.outputs, logits)
        values = [scores[choose_main_tokenization(scores)].value]
    return is_collapsed(values, score_baseline(task.kind, split, task.scorer, task.rules))


def _check_task(
    task: Task, outputs: Outputs, trained_on: Sequence[Example], n_tokenizations: int
) -> None:
    """Raise InputError before training if no label of the test split occurs in training, or if the
    results do not fit in memory.
    """
    # 1. Labels.
    known = task.kind.labels_of(trained_on)
    test = task.splits.get("test")
    if test and test.labeled:
        labels = task.kind.labels_of(test.examples)
        if labels and not labels & known:
            raise InputError(
                f"{task.name}: no label of the test split ({', '.join(sorted(labels)[:5])}) occurs"
                f" in the train split ({', '.join(sorted(known)[:5]) or 'none'}).",
                "Give training and test examples of one task.",
            )

    # 2. Sizes.
    if task.kind.is_multilabel:
        check_logits_size("train", len(trained_on), len(outputs.names), 1)
    for name, split in task.splits.items():
        if name == "train":
            continue
        rows = sum(map(task.kind.count_rows, split.examples))
        check_logits_size(name, rows, len(outputs.names), n_tokenizations)
        if split.labeled:
            check_cells(len(split), len(known | task.kind.labels_of(split.examples)))
