"""Saving and loading of fine-tuned runs: a model folder with both tokenizers, the run's record,
predictions and logits.

    run = load_run(Path("runs/ncbi"))
    run.predict([Sentence(("No", "fever", "."), None)])  # tags, both tokenizations pooled
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load_file, save_file

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import RECORD, hash_new_embeddings, save_tokenizers
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.heads import QUESTION
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.layers import get_embeddings
from vocadapt.models.model_files import INDEX, WHOLE
from vocadapt.models.network_class import run_quietly
from vocadapt.progress import Progress, silent
from vocadapt.system.files import check_file, check_path, open_file, parse_json, read_json_object
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.encoding.encoding import EncodingSettings
from vocadapt.training.encoding.model_tokenizers import ModelTokenizer, load_tokenizers
from vocadapt.training.examples.examples import UNITS, Example, Prediction, Split, name_fold
from vocadapt.training.finetune.finetune import PreparedTask, Run
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.predict import compute_logits
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.tokenizations import pool_logits, select_tokenization
from vocadapt.training.labels import Logits
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer
from vocadapt.training.tasks.kinds import TASK_KINDS, TaskKind, find_kind
from vocadapt.training.tasks.seen_examples import write_seen

if TYPE_CHECKING:
    import transformers

RUN = "run.json"
PREDICTIONS = "predictions.jsonl"
LOGITS = "logits.safetensors"


def save_run(run: Run, prepared: PreparedTask, folder: Path, weights: bool = True) -> None:
    """Write a run to a folder; without `weights` its record, predictions and logits only."""
    # 1. An ordinary model folder: a run can be loaded, adapted and fine-tuned like any model.
    folder.mkdir(parents=True, exist_ok=True)
    if weights:
        run_quietly(lambda: run.network.save_pretrained(folder))
        save_tokenizers(prepared.model, folder)
        _record_trained_embeddings(run, prepared.model, folder)
        write_seen(prepared.seen, folder)
    # 2. The record, and the predictions.
    text = json.dumps(_build_record(run, prepared), ensure_ascii=False, allow_nan=False)
    (folder / RUN).write_text(text, encoding="utf-8")
    if run.logits:
        _write_predictions(run, prepared.task.split("test"), folder)


def _build_record(run: Run, prepared: PreparedTask) -> dict[str, Any]:
    task = prepared.task
    return {
        "task": task.name,
        "kind": task.kind.name,
        "about": task.about,
        "outputs": run.outputs.names,
        "scorer": task.scorer.name,
        "rules": asdict(task.rules),
        "model": prepared.model.name,
        "seed": run.seed,
        "trained_on": run.tokenization,
        "settings": asdict(prepared.settings),
        "scores": {tokenization: score.to_dict() for tokenization, score in run.scores.items()},
        "dev": run.dev,
        "curve": run.curve,
        "seconds": run.seconds,
        "examples": run.examples,
        "training_seconds": run.training_seconds,
        "trainable": run.trainable,
        "fold": prepared.fold,
        "unit": task.unit,
        "frozen": run.frozen,
        "optimizer_bytes": run.optimizer_bytes,
        "old_embeddings": dict(run.old_embeddings),
        "collapsed": run.collapsed,
        "trained_labels": task.kind.count_labels(task.split("train").examples),
        "findings": run.findings,
    }


def _write_predictions(run: Run, test: Split, folder: Path) -> None:
    examples = test.examples
    predictions = {name: run.predict(test, name) for name in run.logits}
    with (folder / PREDICTIONS).open("w", encoding="utf-8", newline="\n") as file:
        for number, example in enumerate(examples):
            predicted = {name: values[number] for name, values in predictions.items()}
            line = {**asdict(example), "said": predicted}  # type: ignore[call-overload]
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    # The logits of all examples are one matrix; `sizes` are their numbers of rows.
    n_examples = len(examples)
    sizes = [len(rows) for rows in run.logits[run.main_tokenization][:n_examples]]
    logits = {name: np.concatenate(own[:n_examples]) for name, own in run.logits.items()}
    save_file({"sizes": np.array(sizes, dtype=np.int64), **logits}, folder / LOGITS)


def _record_trained_embeddings(run: Run, model: LanguageModel, folder: Path) -> None:
    """Replace the hash of the new embeddings in the record of an adapted model by that of the
    trained ones, so that a certificate accepts these.
    """
    if not (folder / RECORD).is_file():
        return
    record = read_json_object(folder / RECORD)
    record["rows"] = hash_new_embeddings(model, record, get_embeddings(run.network))
    text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    (folder / RECORD).write_text(text, encoding="utf-8")


@dataclass(frozen=True, eq=False)
class SavedRun:
    """A run in a folder; its network is loaded when needed."""

    folder: Path
    record: Mapping[str, Any]

    @property
    def kind(self) -> TaskKind:
        """Kind of the task."""
        return find_kind(str(self.record["kind"]))

    @property
    def about(self) -> str:
        """Remark on the task by its author; "" if there is none."""
        return str(self.record.get("about", ""))

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return int(self.record["seed"])

    @property
    def called(self) -> str:
        """Name of the run within its folder: "seed 1", or "seed 1, fold 3" for a k-fold task."""
        return name_fold(f"seed {self.seed}", self.record.get("fold", 0))

    @property
    def has_weights(self) -> bool:
        """Whether its weights were saved with it: without them it has predictions only."""
        return any(os.path.isfile(self.folder / name) for name in (WHOLE, INDEX))

    @property
    def unit(self) -> str:
        """Scored unit of a multi-label task: "example" or "document"."""
        return str(self.record.get("unit", UNITS[0]))

    @cached_property
    def outputs(self) -> Outputs:
        """Outputs of the network's head."""
        return Outputs(self.kind, tuple(self.record["outputs"]))

    @property
    def rules(self) -> Rules:
        """Conventions of the score."""
        rules = self.record["rules"]
        return Rules(tuple(rules["negative"]), rules["positive"], rules["untyped"])

    def scorer(self, name: str = "") -> Scorer:
        """Return a scorer by name; "" means the run's own."""
        return self.kind.scorer(name or str(self.record["scorer"]))

    @cached_property
    def model(self) -> LanguageModel:
        """The fine-tuned model."""
        return open_model(self.folder)

    def split_words(self, text: str) -> tuple[str, ...]:
        """Split a text into words, without normalizing them."""
        return tuple(text[start:end] for _, start, end in self.model.splitter.spans(text))

    @cached_property
    def network(self) -> "transformers.PreTrainedModel":
        """The fine-tuned network."""
        return self.model.reader

    @cached_property
    def tokenizers(self) -> dict[str, ModelTokenizer]:
        """Tokenizers of the model by name."""
        return load_tokenizers(self.model)

    @property
    def encoding(self) -> EncodingSettings:
        """Maximum sequence length and chunk size."""
        length = self.record["settings"]["length"]
        positions = count_positions(self.model.config) or length
        return EncodingSettings(min(length, positions), self.record["settings"]["chunk"])

    def apply_word_rule(self, examples: Iterable[Example], rule: str = "") -> tuple[Example, ...]:
        """Set the word rule of questions; "" means the rule used in training.

        Other examples are unchanged.
        """
        return self.kind.set_word_rule(examples, rule or self.word_rule)

    @property
    def word_rule(self) -> str:
        """Rule that splits a context into the words over which logits are pooled."""
        return str(self.record["settings"].get("word_rule", "code"))

    def logits(
        self, examples: Sequence[Example], progress: Progress = silent
    ) -> dict[str, tuple[Logits, ...]]:
        """Compute the logits of each example, (rows, outputs) float32, under every tokenization and
        pooled.
        """
        encoded = self.kind.encode(examples, self.tokenizers, self.encoding)
        pad = next(iter(self.tokenizers.values())).specials["pad"]
        return pool_logits(compute_logits(self.network, encoded, pad, progress))

    def predict(
        self, examples: Sequence[Example], tokenization: str = "", progress: Progress = silent
    ) -> list[Prediction]:
        """Predict labels or answers under a tokenization.

        "" means pooled, or the only tokenization. Raises InputError if the model does not have the
        tokenization.
        """
        predicted = self.predict_split(Split(tuple(examples)), progress)
        return predicted[select_tokenization(predicted, tokenization)]

    def predict_split(
        self, split: Split, progress: Progress = silent
    ) -> dict[str, list[Prediction]]:
        """Predict for the examples of a split, under every tokenization and pooled."""
        logits = self.logits((*split.examples, *split.collection), progress)
        return {name: self.outputs.predict_split(own, split) for name, own in logits.items()}

    @property
    def tested(self) -> bool:
        """Whether the run has test examples and predictions for them."""
        return (self.folder / PREDICTIONS).is_file()

    @cached_property
    def test_examples(self) -> int:
        """Number of test examples, counted without parsing them."""
        if not self.tested:
            return 0
        with open_file(self.folder / PREDICTIONS) as file:
            return sum(1 for line in file if line.strip())

    @property
    def test_predictions(self) -> "SavedPredictions":
        """The test examples and their predictions, cached for some runs; raises InputError if the
        run has none.
        """
        path = self.folder / PREDICTIONS
        if not self.tested:
            raise InputError(f"{self.folder}: the run had no test examples.", "Give a test file.")
        state = path.stat()
        return _read_predictions(path, self.kind.name, (state.st_size, state.st_mtime_ns))


@dataclass(frozen=True, eq=False)
class SavedPredictions:
    """The test split of a run and the predictions for it by tokenization."""

    split: Split
    predicted: Mapping[str, list[Prediction]]


# A page may keep the records of thousands of runs in memory, but not their test examples.
@lru_cache(maxsize=192)
def _read_predictions(path: Path, kind: str, state: tuple[int, int]) -> SavedPredictions:
    """Read the test examples of a kind of task and their predictions; cached by `state`, size and
    time of the file.
    """
    with open_text_file(path) as source:
        rows = [
            parse_json(line, f"{path}, line {number:,}", "Fine-tune again.")
            for number, line in enumerate(source.lines(), 1)
        ]
    predictions: dict[str, list[Prediction]] = {name: [] for name in rows[0]["said"]}
    for row in rows:
        for name, of_split in predictions.items():
            value = row["said"][name]
            of_split.append(value if isinstance(value, str) else tuple(value))
    split = Split(tuple(map(find_kind(kind).example_from_json, rows)), path=path)
    return SavedPredictions(split, predictions)


def clear_predictions_cache() -> None:
    """Empty the cache of test examples and their predictions."""
    _read_predictions.cache_clear()


def load_run(folder: Path) -> SavedRun:
    """Load the run in a folder; raises InputError if there is none, or more than one."""
    found = load_runs(folder)
    if len(found) > 1:
        names = ", ".join(str(folder / run.folder.name) for run in found[:3])
        raise InputError(
            f"{folder} contains {len(found)} runs, one for each seed.", f"Choose one: {names}."
        )
    return found[0]


def load_runs(folder: Path) -> list[SavedRun]:
    """Load the run in a folder, or the runs of all seeds; raises InputError if there is none."""
    if os.path.exists(folder):
        check_path(folder)
    seeds = sorted((path.parent for path in folder.glob(f"seed-*/{RUN}")), key=_parse_numbers)
    folders = [folder] if os.path.isfile(folder / RUN) else seeds
    if not folders and (found := _open_foreign_model(folder)):
        return [found]
    if not folders:
        raise InputError(
            f"{folder}: expected a run, found no {RUN}.",
            "Give a folder that finetune wrote.",
            code="not-a-run",
        )
    return [SavedRun(each, read_json_object(each / RUN)) for each in folders]


def name_run_folder(seed: int, fold: int = 0) -> str:
    """Return the name of the folder of a run: seed-1, or seed-1-fold-3 for a k-fold task."""
    return f"seed-{seed}-fold-{fold}" if fold else f"seed-{seed}"


def name_run(folder: Path) -> str:
    """Return the name of a run from its folder: "seed 1", or "seed 1, fold 3"."""
    seed, fold = [*_parse_numbers(folder), 0][:2]
    return name_fold(f"seed {seed}", fold)


def _parse_numbers(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.name)]


def _open_foreign_model(folder: Path) -> SavedRun | None:
    """Open a model with a task head that another program fine-tuned, or that was adapted after
    fine-tuning; returns None for any other folder.
    """
    if not os.path.isfile(folder / "config.json"):
        return None
    config = open_model(folder).config
    architectures = str(config.get("architectures"))
    # The architecture names the head, such as BertForTokenClassification.
    for kind in TASK_KINDS.values():
        if kind.architecture and architectures.find(kind.architecture) > 0:
            break
    else:
        return None
    labels: Mapping[str, str] = config.get("id2label", {})
    names = tuple(labels[index] for index in sorted(labels, key=int))
    # A config does not name the two outputs of a question answering head.
    if kind.head == QUESTION:
        names = kind.name_outputs(())
    record = {
        "task": folder.name,
        "kind": kind.name,
        "outputs": names,
        "scorer": kind.default_scorer,
        "rules": asdict(DEFAULT_RULES),
        "seed": 0,
        "settings": asdict(FinetuneSettings()),
    }
    return SavedRun(folder, record)


def load_logits(folder: Path) -> dict[str, tuple[Logits, ...]]:
    """Load the saved logits of each test example, (rows, outputs) float32, by tokenization."""
    stored = load_file(check_file(folder / LOGITS))
    ends = np.cumsum(stored.pop("sizes"))[:-1]
    return {tokenization: tuple(np.split(rows, ends)) for tokenization, rows in stored.items()}
