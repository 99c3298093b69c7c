"""A task, read from a TOML file: its kind, the paths of its splits, its labels and its scorer.

The download of a benchmark writes such a file; users write one for a task of their own. Only `kind`
and one split are required.

name = "adverse effects"            # default: the name of the file or its folder
kind = "relations"                  # ner, relations, classification, multilabel, nli or qa
scorer = "micro-f1-positive"        # default: the one of the kind
labels = ["causes", "treats", "false"]   # default: those of the files; if given, others are refused
negative = ["false"]                # the classes of no relation
positive = "1"                      # the positive class of binary-f1
about = "constructed for a lecture"  # a remark, shown wherever the task is described
unit = "document"                   # multilabel: an example is a document; default: "example"
folds = 10                          # {fold} in the paths is replaced by 1 to 10

[splits]
train = "train.tsv"
dev = "dev.tsv"
test = "test.tsv"

[columns]                           # if these are not called text, pair, label and id
text = "body"
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.settings import CheckedSettings, build_settings, setting
from vocadapt.system.files import check_path, read_toml
from vocadapt.training.examples.examples import EXAMPLE, Split, name_fold
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer
from vocadapt.training.tasks.kinds import TASK_KINDS, TaskKind
from vocadapt.training.tasks.splits import SPLITS


@dataclass(frozen=True)
class Task:
    """A task: its kind, labels, splits and score.

    scorer_name: "" for the default of its kind. labels: entity types (ner, "" for
    bare tags), classes, or none (qa). unit: "example", or (multilabel) "document" for all
    sentences of a document together. about: a remark of its author.
    """

    name: str
    kind: TaskKind
    splits: Mapping[str, Split]
    labels: tuple[str, ...]
    scorer_name: str = ""
    rules: Rules = DEFAULT_RULES
    unit: str = "example"
    about: str = ""

    def __post_init__(self) -> None:
        if odd := [name for name in self.splits if name not in SPLITS]:
            raise InputError(
                f"{self.name}: there is no split {odd[0]!r}.",
                f"Splits are {', '.join(SPLITS)}.",
                code="unknown-split",
            )
        self.kind.scorer(self.scorer_name)

    @property
    def scorer(self) -> Scorer:
        """Its scorer."""
        return self.kind.scorer(self.scorer_name)

    def split(self, name: str) -> Split:
        """Return a split by name; raises InputError if the task does not have it."""
        if name not in self.splits:
            raise InputError(
                f"{self.name} has no {name} split.",
                f"It has: {', '.join(self.splits)}.",
                code="missing-split",
            )
        return self.splits[name]

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences to report before training: the remark of its author, labels unseen in training,
        splits with one class or no labels, repairs.
        """
        remarks = [self.about] if self.about else []
        return (*remarks, *_findings(self))


def _findings(task: Task) -> Iterable[str]:
    yield from task.kind.describe_splits(task.splits)
    trained = None
    if "train" in task.splits:
        trained = task.kind.labels_of(task.splits["train"].examples)
    for name, split in task.splits.items():
        held = task.kind.labels_of(split.examples)
        if not split.labeled:
            yield f"{name} holds no labels: it can be predicted on, not scored."
        elif described := task.kind.describe_labels(held):
            yield f"{name} {described}"
        if trained is not None and held - trained:
            unseen = _list_some(held - trained)
            yield f"{name} holds labels that train lacks, so no model can find them: {unseen}."
        for what, count in split.notes.items():
            if what in task.kind.reported_notes and count:
                yield f"{name}: {count:,} {what}."


TASK = "task.toml"
MAX_LISTED = 5  # labels named in a finding
FOLD = "{fold}"
ROLES = ("text", "pair", "label", "id")


def _list_some(labels: Iterable[str]) -> str:
    names = sorted(label or "an entity" for label in labels)
    listed = ", ".join(names[:MAX_LISTED])
    if len(names) > MAX_LISTED:
        listed += f" and {len(names) - MAX_LISTED} more"
    return listed


@dataclass(frozen=True)
class TaskFile(CheckedSettings):
    """Content of a task file; paths are relative to it."""

    name: str
    kind: str
    splits: Mapping[str, str]
    scorer: str = ""
    labels: tuple[str, ...] = ()
    negative: tuple[str, ...] = DEFAULT_RULES.negative
    positive: str = DEFAULT_RULES.positive
    untyped: bool = False
    about: str = ""
    unit: str = "example"
    folds: int = setting(0, "number of folds", high=1_000, empty="none")
    columns: Mapping[str, str] = field(default_factory=dict)
    card: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)

    @property
    def rules(self) -> Rules:
        """Conventions of its score."""
        return Rules(self.negative, self.positive, self.untyped)


def read_task(path: Path, fold: int = 0) -> Task:
    """Read the task of a TOML file, or of a folder with a task.toml; of a k-fold task, one fold.

    Raises InputError for an invalid file, a missing fold (from 1), and unlisted labels.
    """
    # 1. The task file, and the fold to read.
    path = path / TASK if check_path(path).is_dir() else path
    spec = read_task_file(path)
    if not min(spec.folds, 1) <= fold <= spec.folds:
        has = f"folds 1 to {spec.folds}" if spec.folds else "no folds"
        raise InputError(
            f"{spec.name} has {has}, got {fold}.",
            "Run each fold and give the mean; a task without folds is run without one.",
            code="missing-fold",
        )
    # 2. The splits.
    kind = TASK_KINDS[spec.kind]
    splits = {
        name: kind.read_split(path.parent / place.replace(FOLD, str(fold)), spec.columns, spec.unit)
        for name, place in spec.splits.items()
    }
    # 3. The labels: with a list in the task file, a misspelled one is found here.
    found = frozenset[str]().union(*(kind.labels_of(split.examples) for split in splits.values()))
    if spec.labels and (odd := found - set(spec.labels)):
        raise InputError(
            f"{spec.name}: label {min(odd)!r} is not among those that {path.name} lists.",
            "List it, or mend it.",
            code="unlisted-label",
        )
    return Task(
        name_fold(spec.name, fold),
        kind,
        splits,
        spec.labels or tuple(sorted(found)),
        spec.scorer,
        spec.rules,
        spec.unit,
        spec.about,
    )


def list_task_files(path: Path) -> list[Path]:
    """Return what a task is read from: the folder of a download, or a TOML and the files it
    names.
    """
    if check_path(path).is_dir():
        return [path]
    spec = read_task_file(path)
    places = []
    for place in spec.splits.values():
        names = [place]
        if spec.folds:
            names = [place.replace(FOLD, str(fold)) for fold in range(1, spec.folds + 1)]
        places += [path.parent / name for name in names]
    return [path, *dict.fromkeys(places)]


def build_task(
    kind: TaskKind, files: Mapping[str, Path], scorer: str = "", unit: str = EXAMPLE
) -> Task:
    """Build a task from files (split → file) without a TOML; it is named after the folder of the
    first.
    """
    if not files:
        raise InputError(
            f"There is no file for the {kind} task.", "Give a train, dev or test file."
        )
    splits = {name: kind.read_split(path, unit=unit) for name, path in files.items()}
    labels = frozenset[str]().union(*(kind.labels_of(split.examples) for split in splits.values()))
    name = next(iter(files.values())).absolute().parent.name
    return Task(name, kind, splits, tuple(sorted(labels)), scorer, unit=unit)


def read_task_file(path: Path) -> TaskFile:
    """Read a task's TOML; raises InputError for other TOML, unknown keys and wrong values."""
    spec = _parse_task_file(path)
    if spec.kind not in TASK_KINDS:
        raise InputError(
            f"{path}: there is no kind of task {spec.kind!r}.",
            f"Choose one of: {', '.join(TASK_KINDS)}.",
            code="unknown-choice",
        )
    remedy = 'Put train = "…", dev = "…", test = "…" under [splits]; one is enough.'
    if not spec.splits:
        raise InputError(f"{path}: there are no splits.", remedy, code="no-splits")
    if odd := set(spec.splits) - set(SPLITS):
        raise InputError(f"{path}: there is no split {min(odd)!r}.", remedy, code="unknown-split")
    TASK_KINDS[spec.kind].scorer(spec.scorer)
    if bool(spec.folds) != any(FOLD in place for place in spec.splits.values()):
        raise InputError(
            f"{path}: folds and {FOLD} go together.",
            f'Such as folds = 10 and train = "{FOLD}/train.tsv".',
            code="folds-without-place",
        )
    return spec


def _parse_task_file(path: Path) -> TaskFile:
    content = read_toml(path, "A task has kind = …, and its files under [splits].")
    name = path.parent.name if path.name == TASK else path.stem
    try:
        spec = build_settings(
            TaskFile, {"name": name, "kind": "", "splits": {}, **content}, str(path)
        )
    except InputError as error:
        keys = ", ".join(one.name for one in fields(TaskFile))
        raise InputError(
            error.problem, error.remedy or f"A task has: {keys}.", code=error.code
        ) from None
    if odd := set(spec.columns) - set(ROLES):
        raise InputError(
            f"{path}: there is no column role {min(odd)!r}.",
            f"[columns] may contain: {', '.join(ROLES)}.",
            code="unknown-role",
        )
    return spec
