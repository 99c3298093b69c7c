"""Fine-tuned runs as folders: a model folder with both tokenizers, the run's record, its
predictions and logits.

    run = load_run(Path("runs/ncbi"))
    run.predict([Sentence(("No", "fever", "."), None)])  # tags, both tokenizations pooled
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load_file, save_file

from vocadapt.errors import InputError
from vocadapt.files import check_file, check_path, open_file, parse_json, read_json_object
from vocadapt.models.adapted_model import save_tokenizers
from vocadapt.models.heads import QUESTION
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.loading import run_quietly
from vocadapt.progress import Progress, silent
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.finetune.encoding import EncodingSettings, ModelTokenizer, load_tokenizers
from vocadapt.training.finetune.finetune import PreparedTask, Run
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.tokenizations import pool_logits, select_tokenization
from vocadapt.training.labels import Logits
from vocadapt.training.prediction.predict import compute_logits
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer
from vocadapt.training.tasks.examples import UNITS, Example, Prediction, Split, name_fold
from vocadapt.training.tasks.kinds import TASK_KINDS, TaskKind, find_kind
from vocadapt.training.tasks.seen_examples import write_seen

if TYPE_CHECKING:
    import transformers

RUN, PREDICTIONS, LOGITS = "run.json", "predictions.jsonl", "logits.safetensors"


def save_run(run: Run, prepared: PreparedTask, folder: Path) -> None:
    """Write a run to a folder."""
    # 1. An ordinary model folder, so that a run can be opened, adapted and fine-tuned like any
    # model.
    folder.mkdir(parents=True, exist_ok=True)
    run_quietly(lambda: run.network.save_pretrained(folder))
    save_tokenizers(prepared.model, folder)
    write_seen(prepared.seen, folder)
    # 2. The record.
    task = prepared.task
    record = {
        "task": task.name,
        "kind": task.kind.name,
        "outputs": run.outputs.names,
        "scorer": task.scorer.name,
        "rules": asdict(task.rules),
        "model": prepared.model.name,
        "seed": run.seed,
        "tokenization": run.tokenization,
        "settings": asdict(prepared.settings),
        "scores": {tokenization: score.to_dict() for tokenization, score in run.scores.items()},
        "dev": run.dev,
        "curve": run.curve,
        "seconds": run.seconds,
        "examples": run.examples,
        "trainable": run.trainable,
        "fold": prepared.fold,
        "unit": task.unit,
        "frozen": run.frozen,
        "collapsed": run.collapsed,
        "findings": run.findings,
    }
    (folder / RUN).write_text(
        json.dumps(record, ensure_ascii=False, allow_nan=False), encoding="utf-8"
    )
    if not run.logits:
        return

    # 3. Predictions of the test split, a line for each example, and their logits.
    examples = task.split("test").examples
    predictions = {name: run.predict(examples, name) for name in run.logits}
    with (folder / PREDICTIONS).open("w", encoding="utf-8", newline="\n") as file:
        for place, example in enumerate(examples):
            predicted = {name: own[place] for name, own in predictions.items()}
            line = {**asdict(example), "said": predicted}  # type: ignore[call-overload]
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    # The logits of all examples are one matrix; their numbers of rows divide it again.
    sizes = [len(rows) for rows in run.logits[run.main_tokenization]]
    logits = {name: np.concatenate(own) for name, own in run.logits.items()}
    save_file({"sizes": np.array(sizes, dtype=np.int64), **logits}, folder / LOGITS)


@dataclass(frozen=True, eq=False)
class SavedRun:
    """A run in a folder: its record, and its network when needed."""

    folder: Path
    record: Mapping[str, Any]

    @property
    def kind(self) -> TaskKind:
        """Kind of its task."""
        return find_kind(str(self.record["kind"]))

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return int(self.record["seed"])

    @property
    def called(self) -> str:
        """Name of the run among those of its folder: "seed 1", or for a k-fold task "seed 1, fold
        3".
        """
        return name_fold(f"seed {self.seed}", self.record.get("fold", 0))

    @property
    def unit(self) -> str:
        """Scored unit of a multi-label task: "example" or "document"."""
        return str(self.record.get("unit", UNITS[0]))

    @cached_property
    def outputs(self) -> Outputs:
        """The outputs of its head."""
        return Outputs(self.kind, tuple(self.record["outputs"]))

    @property
    def rules(self) -> Rules:
        """Conventions of its score."""
        rules = self.record["rules"]
        return Rules(tuple(rules["negative"]), rules["positive"], rules["untyped"])

    def scorer(self, name: str = "") -> Scorer:
        """Return a scorer by name; without a name, the run's own."""
        return self.kind.scorer(name or str(self.record["scorer"]))

    @cached_property
    def model(self) -> LanguageModel:
        """The folder as a model."""
        return open_model(self.folder)

    def split_words(self, text: str) -> tuple[str, ...]:
        """Split a text into words, as they are written."""
        return tuple(text[start:end] for _, start, end in self.model.splitter.spans(text))

    @cached_property
    def network(self) -> "transformers.PreTrainedModel":
        """The fine-tuned network."""
        return self.model.reader

    @cached_property
    def tokenizers(self) -> dict[str, ModelTokenizer]:
        """Its tokenizers by name."""
        return load_tokenizers(self.model)

    @property
    def encoding(self) -> EncodingSettings:
        """Maximum sequence length and chunk size."""
        length = self.record["settings"]["length"]
        positions = int(self.model.config.get("max_position_embeddings", length))
        return EncodingSettings(min(length, positions), self.record["settings"]["chunk"])

    def apply_word_rule(self, examples: Iterable[Example], rule: str = "") -> tuple[Example, ...]:
        """Set the word rule of questions ("": the one of the run's training); other examples are
        unchanged.
        """
        return self.kind.set_word_rule(examples, rule or self.word_rule)

    @property
    def word_rule(self) -> str:
        """How a context is split into the words over which logits are pooled, as in training."""
        return str(self.record["settings"].get("word_rule", "code"))

    def logits(
        self, examples: Sequence[Example], progress: Progress = silent
    ) -> dict[str, tuple[Logits, ...]]:
        """Compute the logits under every tokenization and pooled: for each example (rows, outputs)
        float32.
        """
        encoded = self.kind.encode(examples, self.tokenizers, self.encoding)
        pad = next(iter(self.tokenizers.values())).specials["pad"]
        return pool_logits(compute_logits(self.network, encoded, pad, progress))

    def predict(
        self, examples: Sequence[Example], tokenization: str = "", progress: Progress = silent
    ) -> list[Prediction]:
        """Predict labels or answers under a tokenization; "" means pooled, or the only one.

        Raises InputError for a tokenization that the model does not have.
        """
        logits = self.logits(examples, progress)
        chosen = logits[select_tokenization(logits, tokenization)]
        return list(map(self.outputs.predict, chosen, examples))

    @property
    def tested(self) -> bool:
        """Whether the run has test examples and predictions for them."""
        return (self.folder / PREDICTIONS).is_file()

    @cached_property
    def test_examples(self) -> int:
        """Number of its test examples, 0 if it has none; the examples are not parsed."""
        if not self.tested:
            return 0
        with open_file(self.folder / PREDICTIONS) as file:
            return sum(1 for line in file if line.strip())

    @cached_property
    def test_predictions(self) -> "SavedPredictions":
        """The test examples and their predictions; raises InputError if the run has none."""
        path = self.folder / PREDICTIONS
        if not self.tested:
            raise InputError(f"{self.folder}: the run had no test examples.", "Give a test file.")
        with open_text_file(path) as source:
            rows = [
                parse_json(line, f"{path}, line {number:,}", "Fine-tune again.")
                for number, line in enumerate(source.lines(), 1)
            ]
        predictions: dict[str, list[Prediction]] = {name: [] for name in rows[0]["said"]}
        for row in rows:
            for name, own in predictions.items():
                value = row["said"][name]
                own.append(value if isinstance(value, str) else tuple(value))
        split = Split(tuple(map(self.kind.example_from_json, rows)), path=path)
        return SavedPredictions(split, predictions)


@dataclass(frozen=True, eq=False)
class SavedPredictions:
    """The test split of a run and the predictions for it by tokenization."""

    split: Split
    predicted: Mapping[str, list[Prediction]]


def load_run(folder: Path) -> SavedRun:
    """Open the folder of one run; raises InputError for any other folder, and for a folder with
    several runs.
    """
    found = load_runs(folder)
    if len(found) > 1:
        names = ", ".join(str(folder / run.folder.name) for run in found[:3])
        raise InputError(
            f"{folder} holds {len(found)} runs, one for each seed.", f"Choose one: {names}."
        )
    return found[0]


def load_runs(folder: Path) -> list[SavedRun]:
    """Open the run of a folder, or the run of each seed in it; raises InputError if there is
    none.
    """
    if os.path.exists(folder):
        check_path(folder)
    below = sorted((path.parent for path in folder.glob(f"seed-*/{RUN}")), key=_numbers)
    places = [folder] if os.path.isfile(folder / RUN) else below
    if not places and (found := _open_foreign_model(folder)):
        return [found]
    if not places:
        raise InputError(
            f"{folder}: expected a run, found no {RUN}.", "Give a folder that finetune wrote."
        )
    return [SavedRun(place, read_json_object(place / RUN)) for place in places]


def name_run_folder(seed: int, fold: int = 0) -> str:
    """Return the name of a run's folder among others: seed-1, or for one of several folds
    seed-1-fold-3.
    """
    return f"seed-{seed}-fold-{fold}" if fold else f"seed-{seed}"


def name_run(folder: Path) -> str:
    """Return the name of a run from its folder: "seed 1", or "seed 1, fold 3"."""
    seed, fold = [*_numbers(folder), 0][:2]
    return name_fold(f"seed {seed}", fold)


def _numbers(folder: Path) -> list[int]:
    """Return seed and fold from the name of a run's folder."""
    return [int(number) for number in re.findall(r"\d+", folder.name)]


def _open_foreign_model(folder: Path) -> SavedRun | None:
    """Open a model with a task head that is not a run of ours, or was adapted after fine-tuning;
    None for any other folder.
    """
    if not os.path.isfile(folder / "config.json"):
        return None
    config = open_model(folder).config
    architectures = str(config.get("architectures"))
    # The architecture names the head: BertForTokenClassification and its kin.
    for kind in TASK_KINDS.values():
        if kind.architecture and architectures.find(kind.architecture) > 0:
            break
    else:
        return None
    labels: Mapping[str, str] = config.get("id2label", {})
    names = tuple(labels[place] for place in sorted(labels, key=int))
    # The two outputs of a question answering head have no names of their own in a config.
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
    """Load the saved logits of the test examples by tokenization, for each example (rows, outputs)
    float32.
    """
    stored = load_file(check_file(folder / LOGITS))
    ends = np.cumsum(stored.pop("sizes"))[:-1]
    return {tokenization: tuple(np.split(rows, ends)) for tokenization, rows in stored.items()}
