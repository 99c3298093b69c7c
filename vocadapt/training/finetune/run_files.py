"""A run as a folder: an ordinary model folder with both tokenizers, and beside it its record,
predictions and logits.

run = load_run(Path("runs/ncbi"))
said = run.said([Sentence(("No", "fever", "."), None)])     # the predicted tags, both tokenizations pooled
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

from vocadapt.errors import InputError
from vocadapt.files import check_file, check_path, open_file, parse_json, read_json_object
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.loading import quietly
from vocadapt.models.saving import save_tokenizers
from vocadapt.progress import Progress, silent
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.finetune.encoding import EncodingSettings, ModelTokenizer, load_tokenizers
from vocadapt.training.finetune.encodings import encode
from vocadapt.training.finetune.finetune import Prepared, Run
from vocadapt.training.finetune.mixture import pooled, select_tokenization
from vocadapt.training.finetune.outputs import Logits, Outputs, Prediction
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.prediction.predict import compute_logits
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer
from vocadapt.training.scoring.registry import DEFAULTS, scorer_of
from vocadapt.training.tasks.base import UNITS, Answer, Example, Question, Sentence, Split, Text
from vocadapt.training.tasks.folds import of_fold
from vocadapt.training.tasks.kinds.qa import apply_word_rule
from vocadapt.training.tasks.seen_examples import write_seen

if TYPE_CHECKING:
    import transformers

RUN, PREDICTIONS, LOGITS = "run.json", "predictions.jsonl", "logits.safetensors"


def save_run(run: Run, prepared: Prepared, folder: Path) -> None:
    """Write a run into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    quietly(lambda: run.network.save_pretrained(folder))
    save_tokenizers(prepared.model, folder)
    write_seen(prepared.seen, folder)
    task = prepared.task
    record = {
        "task": task.name,
        "kind": task.kind,
        "outputs": run.outputs.names,
        "scorer": task.scorer.name,
        "rules": asdict(task.rules),
        "model": prepared.model.name,
        "seed": run.seed,
        "tokenization": run.tokenization,
        "settings": asdict(prepared.settings),
        "scores": {cut: score.to_dict() for cut, score in run.scores.items()},
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
    if run.logits:
        _save_predictions(run, task.split("test"), folder)


@dataclass(frozen=True, eq=False)
class SavedRun:
    """A run read back from its folder: its record, and its network where it is asked for."""

    folder: Path
    record: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind of its task."""
        return str(self.record["kind"])

    @property
    def seed(self) -> int:
        """Its seed."""
        return int(self.record["seed"])

    @property
    def called(self) -> str:
        """What tells it from the other runs beside it: seed 1, or of a k-fold task seed 1, fold
        3.
        """
        return of_fold(f"seed {self.seed}", self.record.get("fold", 0))

    @property
    def unit(self) -> str:
        """Whether its examples are those of a file, or documents."""
        return str(self.record.get("unit", UNITS[0]))

    @cached_property
    def outputs(self) -> Outputs:
        """What its head says."""
        return Outputs(self.kind, tuple(self.record["outputs"]))

    @property
    def rules(self) -> Rules:
        """The conventions of its score."""
        rules = self.record["rules"]
        return Rules(tuple(rules["negative"]), rules["positive"], rules["untyped"])

    def scorer(self, name: str = "") -> Scorer:
        """A score by name, its own one without."""
        return scorer_of(self.kind, name or str(self.record["scorer"]))

    @cached_property
    def model(self) -> LanguageModel:
        """The folder as a model."""
        return open_model(self.folder)

    @cached_property
    def network(self) -> "transformers.PreTrainedModel":
        """The fine-tuned network."""
        return self.model.reader

    @cached_property
    def cuts(self) -> dict[str, ModelTokenizer]:
        """The ways in which it can cut text."""
        return load_tokenizers(self.model)

    @property
    def encoding(self) -> EncodingSettings:
        """How long the texts are that it reads at once."""
        settings = self.record["settings"]
        length = min(
            settings["length"],
            int(self.model.config.get("max_position_embeddings", settings["length"])),
        )
        return EncodingSettings(length, settings["chunk"])

    def apply_word_rule(self, examples: Iterable[Example], rule: str = "") -> tuple[Example, ...]:
        """Set the word rule of questions ("": that of the run's training); other examples are
        unchanged.
        """
        return apply_word_rule(examples, rule or self.word_rule)

    @property
    def word_rule(self) -> str:
        """How a context is split into the words over which logits are pooled, as in training."""
        return str(self.record["settings"].get("word_rule", "code"))

    def logits(
        self, examples: Sequence[Example], progress: Progress = silent
    ) -> dict[str, tuple[Logits, ...]]:
        """Logits under every cut that the model has, and pooled: for each example an array (rows,
        outputs).
        """
        encoded = encode(examples, self.cuts, self.encoding)
        return pooled(
            compute_logits(
                self.network, encoded, next(iter(self.cuts.values())).specials["pad"], progress
            )
        )

    def said(
        self, examples: Sequence[Example], cut: str = "", progress: Progress = silent
    ) -> list[Prediction]:
        """What is predicted for examples under a cut, "" being pooled, or the only one.

        Raises InputError for a cut that the model does not have.
        """
        logits = self.logits(examples, progress)
        return list(map(self.outputs.said, logits[select_tokenization(logits, cut)], examples))

    @property
    def tested(self) -> bool:
        """Whether it kept test examples and what it predicted for them."""
        return (self.folder / PREDICTIONS).is_file()

    @cached_property
    def test_examples(self) -> int:
        """How many test examples it kept, without reading them; 0 where it kept none."""
        if not self.tested:
            return 0
        with open_file(self.folder / PREDICTIONS) as file:
            return sum(1 for line in file if line.strip())

    @cached_property
    def kept(self) -> "SavedPredictions":
        """The test examples and what was predicted for them; raises InputError where the run had
        none.
        """
        return _read_predictions(self.folder)


@dataclass(frozen=True, eq=False)
class SavedPredictions:
    """The test split of a run, and what was said of each example under every cut."""

    split: Split
    said: Mapping[str, list[Prediction]]


def load_run(folder: Path) -> SavedRun:
    """Open the folder of one run; raises InputError for any other folder, and where several seeds
    lie in it.
    """
    found = runs_in(folder)
    if len(found) > 1:
        names = ", ".join(str(folder / run.folder.name) for run in found[:3])
        raise InputError(
            f"{folder} holds {len(found)} runs, one for each seed.", f"Choose one: {names}."
        )
    return found[0]


def runs_in(folder: Path) -> list[SavedRun]:
    """The run of a folder, or of each seed below it; raises InputError where there is none."""
    if os.path.exists(folder):
        check_path(folder)
    below = sorted((path.parent for path in folder.glob(f"seed-*/{RUN}")), key=_numbers)
    places = [folder] if os.path.isfile(folder / RUN) else below
    if not places and (found := _headed(folder)):
        return [found]
    if not places:
        raise InputError(
            f"{folder}: expected a run, found no {RUN}.", "Give a folder that finetune wrote."
        )
    return [SavedRun(place, read_json_object(place / RUN)) for place in places]


def folder_name(seed: int, fold: int = 0) -> str:
    """What the folder of a run is called that lies beside others: seed-1, or of one of several
    folds seed-1-fold-3.
    """
    return f"seed-{seed}-fold-{fold}" if fold else f"seed-{seed}"


def called_after(folder: Path) -> str:
    """What the run in such a folder is called: seed 1, or seed 1, fold 3."""
    seed, fold = [*_numbers(folder), 0][:2]
    return of_fold(f"seed {seed}", fold)


def _numbers(folder: Path) -> list[int]:
    """Seed and fold, as a run's folder is called after them."""
    return [int(number) for number in re.findall(r"\d+", folder.name)]


KINDS_OF_HEADS = {
    "ForTokenClassification": "ner",
    "ForSequenceClassification": "classification",
    "ForQuestionAnswering": "qa",
}


def _headed(folder: Path) -> SavedRun | None:
    """A model with a task's head that is no run of ours, or was adapted after its fine-tuning; None
    for any other folder.
    """
    if not os.path.isfile(folder / "config.json"):
        return None
    config = open_model(folder).config
    kind = next(
        (
            kind
            for head, kind in KINDS_OF_HEADS.items()
            if str(config.get("architectures")).find(head) > 0
        ),
        None,
    )
    if kind is None:
        return None
    labels: Mapping[str, str] = {} if kind == "qa" else config.get("id2label", {})
    names = [labels[place] for place in sorted(labels, key=int)] or ["start", "end"]
    record = {
        "task": folder.name,
        "kind": kind,
        "outputs": names,
        "scorer": DEFAULTS[kind],
        "rules": asdict(DEFAULT_RULES),
        "seed": 0,
    }
    return SavedRun(folder, {**record, "settings": asdict(FinetuneSettings())})


def load_logits(folder: Path) -> dict[str, tuple[Logits, ...]]:
    """The logits of the test examples by cut, as they were saved."""
    from safetensors.numpy import load_file

    stored = load_file(check_file(folder / LOGITS))
    ends = np.cumsum(stored.pop("sizes"))[:-1]
    return {cut: tuple(np.split(rows, ends)) for cut, rows in stored.items()}


def _save_predictions(run: Run, split: Split, folder: Path) -> None:
    from safetensors.numpy import save_file

    said = {cut: run.said(split.examples, cut) for cut in run.logits}
    with (folder / PREDICTIONS).open("w", encoding="utf-8", newline="\n") as file:
        for place, example in enumerate(split.examples):
            line = {**asdict(example), "said": {cut: own[place] for cut, own in said.items()}}  # type: ignore[call-overload]
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    sizes = np.array([len(rows) for rows in run.logits[run.cut]], dtype=np.int64)
    save_file(
        {"sizes": sizes, **{cut: np.concatenate(own) for cut, own in run.logits.items()}},
        folder / LOGITS,
    )


def _read_predictions(folder: Path) -> SavedPredictions:
    path = folder / PREDICTIONS
    if not path.is_file():
        raise InputError(f"{folder}: the run had no test examples.", "Give a test file (--test F).")
    with open_text_file(path) as source:
        rows = [
            parse_json(line, f"{path}, line {number:,}", "Fine-tune again.")
            for number, line in enumerate(source.lines(), 1)
        ]
    said = {cut: [_as_said(row["said"][cut]) for row in rows] for cut in rows[0]["said"]}
    return SavedPredictions(Split(tuple(map(_example, rows)), path=path), said)


def _as_said(value: Any) -> Prediction:
    return value if isinstance(value, str) else tuple(value)


def _example(row: Mapping[str, Any]) -> Example:
    if "question" in row:
        answers = (
            None if row["answers"] is None else tuple(Answer(**answer) for answer in row["answers"])
        )
        return Question(
            row["id"],
            row["question"],
            row["context"],
            answers,
            row["document"],
            row.get("word_rule", "code"),
        )
    if "words" in row:
        return Sentence(
            tuple(row["words"]),
            None if row["tags"] is None else tuple(row["tags"]),
            row["document"],
        )
    labels = None if row["labels"] is None else tuple(row["labels"])
    return Text(row["id"], row["text"], labels, row["pair"], row["document"])
