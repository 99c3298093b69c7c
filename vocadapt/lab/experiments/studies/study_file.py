"""A study as its file describes it: variants × tasks × seeds, in TOML.

    name = "s"
    seeds = [1, 2, 3]
    [settings]                    # of fine-tuning, for every cell
    num_epochs = 2
    [[variants]]
    name = "green"
    model = "bert-base-uncased"
    preset = "green-bert"         # none: the model as it is
    vectors = "my-vectors"
    [[tasks]]
    name = "linnaeus"
    kind = "ner"
    train = "train.tsv"
    test = "test.tsv"

Keys have the names of the flags of the commands adapt (variants) and finetune (tasks and settings),
with _ for -. Paths are relative to the file. Settings of a task override those of the study, and
those of a variant override both; `settings` of a variant or a task is a table of keys of finetune,
or the name of a preset of fine-tuning.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.given_settings import Given, declare_keys
from vocadapt.lab.experiments.studies.extended_files import read_extended
from vocadapt.lab.experiments.studies.table_reader import TableReader
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.step import CASINGS
from vocadapt.lab.workspace.workspace import check_name
from vocadapt.recipe_changes import CHANGED, choose_recipe
from vocadapt.settings import MAX_SEED, Setting, check_settings, get_settings, setting
from vocadapt.text.corpus import CorpusSettings
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.splits import SPLITS
from vocadapt.vocabulary.advice.advice import DEFAULT_PRESET

SOURCES = ("preset", "recipe", "target", "vectors", "corpus", "glossary")  # of an adaptation
NUMBERS = ("seeds", "retries", "threads")  # settings of a study
NOT_KEYS = ("finetune", "kind", "seeds", "weights")  # settings of a fine-tuning that are not keys


@dataclass(frozen=True)
class Variant:
    """A model, as it is or adapted. `adapting`: keys of the command adapt; `training`: of finetune.

    `corpora`: names of the texts that it is adapted to, one after the other; () for none of the
    study's.
    """

    name: str
    model: str
    adapting: Given = field(default_factory=dict)
    training: Given = field(default_factory=dict)
    corpora: tuple[str, ...] = ()

    @property
    def is_adapted(self) -> bool:
        """Whether the model is adapted, or taken as it is."""
        return bool(self.adapting)


@dataclass(frozen=True)
class StudyTask:
    """A task: `inputs` is role → path, of a task file or of single files of a `kind`."""

    name: str
    inputs: Mapping[str, str]
    kind: str = ""
    training: Given = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """A study: the axes of its grid, and how its cells run.

    `include`, `exclude`: rules, axis → names; a cell must meet one of the first, if there are any,
    and none of the second. `corpora`: name → files of a text. `files`: the study's file, and those
    that it extends.
    """

    name: str
    variants: tuple[Variant, ...]
    tasks: tuple[StudyTask, ...]
    seeds: tuple[int, ...] = setting((1,), "random seeds", high=MAX_SEED)
    settings: Given = field(default_factory=dict)
    corpora: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    include: tuple[Mapping[str, tuple[Any, ...]], ...] = ()
    exclude: tuple[Mapping[str, tuple[Any, ...]], ...] = ()
    baseline: str = ""
    retries: int = setting(1, "number of times that a failed cell is retried", high=100)
    threads: int = setting(1, "number of threads of each cell", low=1, high=1024)
    keep_weights: bool = False
    files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        check_settings(self)


def read_study(path: Path, check: Callable[[str], None] = lambda path: None) -> Study:
    """Read the file of a study.

    check: raises InputError for a path that may not be read; called before anything is read there.
    Raises InputError, with the file and the nearest known name, for an invalid file.
    """
    # 1. The file, merged over those that it extends.
    table, files = read_extended(path, check)
    reader = TableReader(files[0], check)
    known = [one.name for one in fields(Study) if one.name != "files"]
    reader.check_keys(table, [*known, "extends"])

    # 2. Its texts, variants, tasks and numbers.
    values = _read_fields(reader, table)
    try:
        study = Study(**values, files=files)
    except InputError as error:
        raise error.add_place(files[0].name) from error

    # 3. Its rules, which name them.
    if study.baseline:
        reader.check_known(study.baseline, [one.name for one in study.variants], "variant")
    include, exclude = (_read_rules(reader, table, key, study) for key in ("include", "exclude"))
    return replace(study, include=include, exclude=exclude)


def _read_fields(reader: TableReader, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the fields of a study, except its rules and files."""
    corpora = {
        one: reader.read_paths(entry, "files")
        for one, entry in reader.read_named(table, "corpora").items()
    }
    variants = reader.read_named(table, "variants", required=True).items()
    tasks = reader.read_named(table, "tasks", required=True).items()
    numbers = {key: table[key] for key in NUMBERS if key in table}
    given = dict(reader.read_given(numbers, get_settings(Study), "study"))
    return given | {
        "name": check_name(reader.read(table, "name", reader.file.stem)),
        "variants": tuple(
            _read_variant(reader, one, entry, tuple(corpora)) for one, entry in variants
        ),
        "tasks": tuple(_read_task(reader, one, entry) for one, entry in tasks),
        "seeds": tuple(given.get("seeds", (1,))),
        "settings": reader.read_given(
            reader.read(table, "settings", {}), declare_training(), "settings"
        ),
        "corpora": corpora,
        "baseline": reader.read(table, "baseline", ""),
        "keep_weights": reader.read(table, "keep_weights", False),
    }


def declare_adapting() -> dict[str, Setting]:
    """Return key → setting of an adaptation, for the keys of a variant."""
    declared: dict[str, Setting] = {}
    for settings, names in CHANGED:
        declared |= declare_keys(settings, names)
    return declared | declare_keys(CorpusSettings) | declare_keys(AdaptStep, ("certify",))


def declare_training() -> dict[str, Setting]:
    """Return key → setting of a fine-tuning, for the keys of settings, tasks and variants."""
    own = [one.name for one in fields(FinetuneStep) if one.name not in NOT_KEYS]
    return declare_keys(FinetuneStep, own) | declare_keys(FinetuneSettings)


def _read_variant(
    reader: TableReader, name: str, entry: Mapping[str, Any], corpora: Sequence[str]
) -> Variant:
    """Read a variant; a key that adapt does not know is one of finetune."""
    where = f"variant {name}"
    model = reader.read(entry, "model", "")
    if not model:
        raise reader.build_error(f"{where} has no model.", 'Add model = "…".')
    declared = declare_adapting()
    training = declare_training()
    own = ("name", "model", "settings", "corpora", "casing", *SOURCES)
    reader.check_keys(entry, (*own, *declared, *training), where)

    # 1. What it is adapted by. Without a source or setting of an adaptation the model is taken as
    #    it is, and keys of both commands, such as num_epochs, belong to its fine-tuning.
    given = _read_sources(reader, entry)
    adapting = {key: entry[key] for key in entry if key in declared}
    if not given and "corpora" not in entry and adapting.keys() <= training.keys():
        adapting = {}
    given |= reader.read_given(adapting, declared, where)
    _check_pretraining(reader, given, adapting.keys() & training.keys(), where)

    # 2. The texts of the study that it is adapted to.
    named = _choose_corpora(reader, entry, given, corpora, where)

    # 3. How it is fine-tuned, and how a bare vocabulary is read.
    tuned = {key: entry[key] for key in entry if key in training and key not in adapting}
    tuned |= reader.read_settings_table(entry)
    if casing := reader.read(entry, "casing", ""):
        reader.check_known(casing, CASINGS, "casing")
        if not given:
            raise reader.build_error(
                f"{where}: a casing applies to an adaptation, and it has none."
            )
        given["casing"] = casing
    settings = reader.read_given(tuned, training, where)
    return Variant(name, reader.read_path(model, missing=True), given, settings, named)


def _check_pretraining(
    reader: TableReader, given: Mapping[str, Any], shared: Collection[str], where: str
) -> None:
    """Raise InputError for a key of both commands, such as num_epochs, in a variant whose recipe
    has no continued pretraining: it is meant for the fine-tuning.
    """
    if not shared:
        return
    try:
        recipe = choose_recipe({key: given[key] for key in given if key not in shared})
    except InputError:  # another mistake, which is reported when the variant is expanded
        return
    if not recipe.pretraining.stage:
        key = min(shared)
        raise reader.build_error(
            f"{where}: {key} would be of continued pretraining, which the recipe {recipe.name} does"
            " not have.",
            f"For the fine-tuning, write settings = {{ {key} = … }}.",
            code="no-pretraining",
        )


def _read_sources(reader: TableReader, entry: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for key in SOURCES:
        if key in ("corpus", "glossary") and key in entry:
            given[key] = reader.read_paths(entry, key)
        elif key == "preset" and key in entry:
            given[key] = reader.read(entry, key, "")
        elif key in entry:
            given[key] = reader.read_path(reader.read(entry, key, ""), missing=key == "target")
    return given


def _choose_corpora(
    reader: TableReader,
    entry: Mapping[str, Any],
    given: dict[str, Any],
    corpora: Sequence[str],
    where: str,
) -> tuple[str, ...]:
    """Return the texts of the study that a variant is adapted to: those that it names, or all if it
    needs a text and has none of its own.
    """
    named: list[str] = reader.read(entry, "corpora", [])
    for one in named:
        reader.check_known(one, corpora, "text", where)
    named = list(dict.fromkeys(named))
    if "corpus" in given and named:
        raise reader.build_error(
            f"{where}: it has a corpus of its own, and names texts of the study.",
            "Leave out one of them.",
        )
    if named and not given:
        given["preset"] = DEFAULT_PRESET
    if named or not given or "corpus" in given or not corpora:
        return tuple(named)
    try:
        needs = choose_recipe(given).needs
    except InputError as error:
        raise error.add_place(f"{reader.where}: {where}") from error
    wanted = needs & {"text", "counts"}
    if "vectors" not in given:
        wanted |= needs & {"vectors"}
    return tuple(corpora) if wanted else ()


def _read_task(reader: TableReader, name: str, entry: Mapping[str, Any]) -> StudyTask:
    """Read a task: a kind with its files, or a task file (by default the one of its name)."""
    where = f"task {name}"
    training = declare_training()
    reader.check_keys(entry, ("name", "kind", "task", "settings", *SPLITS, *training), where)
    tuned = {key: entry[key] for key in entry if key in training}
    tuned |= reader.read_settings_table(entry)
    given = reader.read_given(tuned, training, where)
    kind = reader.read(entry, "kind", "")
    if not kind:
        for split in SPLITS:
            if split in entry:
                raise reader.build_error(
                    f"{where} has a {split} file, but no kind.",
                    f"Add kind, one of: {', '.join(TASK_KINDS)}.",
                )
        place = reader.read(entry, "task", name)
        return StudyTask(name, {"task": reader.read_path(place, missing=True)}, "", given)
    reader.check_known(kind, list(TASK_KINDS), "kind of task", where)
    if "task" in entry:
        raise reader.build_error(
            f"{where} names a task file, and a kind.", "Leave out one of them."
        )
    files = {
        split: reader.read_path(reader.read(entry, split, "")) for split in SPLITS if split in entry
    }
    for split in ("train", "test"):
        if split not in files:
            raise reader.build_error(f"{where} has no {split} file.", f'Add {split} = "…".')
    return StudyTask(name, files, kind, given)


def _read_rules(
    reader: TableReader, table: Mapping[str, Any], key: str, study: Study
) -> tuple[Mapping[str, tuple[Any, ...]], ...]:
    """Read the rules of include or exclude: each a table of axis = name, or a list of names."""
    known: dict[str, list[Any]] = {
        "variant": [one.name for one in study.variants],
        "task": [one.name for one in study.tasks],
        "seed": list(study.seeds),
        "corpus": list(study.corpora),
    }
    rules = []
    for entry in reader.read_tables(table, key):
        reader.check_keys(entry, known, key)
        rule = {}
        for axis, value in entry.items():
            names = (value,)
            if isinstance(value, list):
                names = tuple(value)
            for one in names:
                reader.check_known(one, known[axis], axis, key)
            rule[axis] = names
        rules.append(rule)
    return tuple(rules)


def matches_rule(rule: Mapping[str, Sequence[Any]], cell: Mapping[str, Any]) -> bool:
    """Return whether a cell (axis → name) matches a rule (axis → names) on each of its axes."""
    return all(cell[axis] in names for axis, names in rule.items())


def iterate_chosen(study: Study) -> Iterator[tuple[Variant, str, StudyTask, int]]:
    """Yield variant, text, task and seed of every cell, in the order of the file."""
    for variant in study.variants:
        for corpus in variant.corpora or ("",):
            for task in study.tasks:
                for seed in dict.fromkeys(study.seeds):
                    cell = {
                        "variant": variant.name,
                        "corpus": corpus,
                        "task": task.name,
                        "seed": seed,
                    }
                    if study.include and not any(
                        matches_rule(rule, cell) for rule in study.include
                    ):
                        continue
                    if any(matches_rule(rule, cell) for rule in study.exclude):
                        continue
                    yield variant, corpus, task, seed
