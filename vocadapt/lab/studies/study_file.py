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

Keys are called as the flags of the commands adapt (variants) and finetune (tasks and settings), with
_ for -. Paths are relative to the file. A task's settings go before those of the study, and a
variant's before both; `settings` of a variant or a task is a table of keys of finetune, or the name
of a preset of fine-tuning.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import expand_path, read_toml, show_path
from vocadapt.given_settings import Given, convert_value, declare_keys
from vocadapt.lab.steps.adapt import ModelStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.step import CASINGS
from vocadapt.lab.workspace.workspace import check_name
from vocadapt.recipe_changes import CHANGED, DEFAULT_PRESET, choose_recipe
from vocadapt.settings import MAX_SEED, Setting, check_settings, setting, show_value
from vocadapt.text.corpus import CorpusSettings
from vocadapt.training.finetune.settings import FINETUNING_PRESETS, FinetuneSettings
from vocadapt.training.tasks.examples import SPLITS
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS

MAX_EXTENDED = 10  # files that extend one another
SOURCES = ("preset", "recipe", "target", "vectors", "corpus")  # of an adaptation
AXES = ("variant", "task", "seed", "corpus")  # what a rule may name
UNSET = ("finetune", "kind", "seeds", "weights")  # settings of a fine-tuning that are not keys
# Keys whose values are paths.
PATHS = ("model", "recipe", "target", "vectors", "corpus", "files", "task", *SPLITS)


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
    """A study: what its cells are made of, and how they run.

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
    retries: int = setting(1, "how often a failed cell is tried again", high=100)
    threads: int = setting(1, "threads that each cell computes with", low=1, high=1024)
    keep_weights: bool = False
    files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        check_settings(self)


def read_study(path: Path) -> Study:
    """Read the file of a study.

    Raises InputError, with the file and the nearest known name, for anything that it cannot mean.

    1. Read the file, and those that it extends.
    2. Read its texts, variants and tasks, whose names must be unique.
    3. Read the rules, which name them.
    """
    # 1. One table.
    table, files = _read_extended(Path(path), ())
    reader = _Reader(files[0], files[0].parent)
    reader.check_keys(
        table, (*(one.name for one in fields(Study) if one.name != "files"), "extends")
    )
    name = check_name(reader.text(table, "name", default=files[0].stem))

    # 2. Its parts.
    corpora = {
        one: reader.paths(entry, "files") for one, entry in reader.named(table, "corpora").items()
    }
    variants = tuple(
        _read_variant(reader, one, entry, tuple(corpora))
        for one, entry in reader.named(table, "variants").items()
    )
    tasks = tuple(
        _read_task(reader, one, entry) for one, entry in reader.named(table, "tasks").items()
    )
    for part, what in ((variants, "variants"), (tasks, "tasks")):
        if not part:
            raise InputError(f"{reader.where}: the study has no {what}.", f"Add [[{what}]].")

    # 3. Its rules and numbers.
    seeds = (1,)
    if "seeds" in table:
        seeds = tuple(reader.items(table, "seeds"))
    if not seeds:
        raise InputError(f"{reader.where}: the study has no seeds.", "Add seeds = [1, 2, 3].")
    if len(set(map(repr, seeds))) < len(seeds):
        raise InputError(f"{reader.where}: a seed is given twice.", "Give each seed once.")
    known: dict[str, Sequence[Any]] = {
        "variant": [one.name for one in variants],
        "task": [one.name for one in tasks],
        "seed": list(seeds),
        "corpus": list(corpora),
    }
    baseline = reader.text(table, "baseline")
    if baseline:
        reader.check_known(baseline, known["variant"], "variant")
    numbers = {key: table[key] for key in ("retries", "threads") if key in table}
    try:
        return Study(
            name,
            variants,
            tasks,
            seeds,
            reader.given(reader.table(table, "settings"), TRAINING, "settings"),
            corpora,
            _read_rules(reader, table, "include", known),
            _read_rules(reader, table, "exclude", known),
            baseline,
            keep_weights=reader.switch(table, "keep_weights"),
            files=files,
            **numbers,
        )
    except InputError as error:
        if error.problem.startswith(reader.where):
            raise
        raise InputError(f"{reader.where}: {error.problem}", error.remedy) from error


def declare_adapting() -> dict[str, Setting]:
    """Return key → setting of what a variant may say about its adaptation."""
    declared: dict[str, Setting] = {}
    for settings, names in CHANGED:
        declared |= declare_keys(settings, names)
    for name, initializer in INITIALIZERS.items():
        if initializer.settings is not None:
            declared |= declare_keys(initializer.settings, prefix=f"{name}-")
    return declared | declare_keys(CorpusSettings) | declare_keys(ModelStep, ("certify",))


def declare_training() -> dict[str, Setting]:
    """Return key → setting of what settings, tasks and variants may say about the fine-tuning."""
    own = [one.name for one in fields(FinetuneStep) if one.name not in UNSET]
    return declare_keys(FinetuneStep, own) | declare_keys(FinetuneSettings)


# Functions: extensions may register initializers after this module was imported.
ADAPTING, TRAINING = declare_adapting, declare_training
Declare = Callable[[], dict[str, Setting]]


def _read_variant(
    reader: "_Reader", name: str, entry: Mapping[str, Any], corpora: Sequence[str]
) -> Variant:
    """Read a variant; a key that adapt does not know is one of finetune."""
    where = f"variant {name}"
    model = reader.text(entry, "model")
    if not model:
        raise InputError(f"{reader.where}: {where} has no model.", 'Add model = "…".')
    declared, training = ADAPTING(), TRAINING()
    own = ("name", "model", "settings", "corpora", "casing", *SOURCES)
    reader.check_keys(entry, (*own, *declared, *training), where)

    # 1. What it is adapted by. Without a source or setting of an adaptation the model is taken as
    #    it is, and keys of both commands, such as num_epochs, belong to its fine-tuning.
    given = _read_sources(reader, entry)
    adapting = {key: entry[key] for key in entry if key in declared}
    if not given and "corpora" not in entry and adapting.keys() <= training.keys():
        adapting = {}
    given |= reader.given(adapting, ADAPTING, where)

    # 2. The texts of the study that it is adapted to.
    named = _choose_corpora(reader, entry, given, corpora, where)

    # 3. How it is fine-tuned, and how a bare vocabulary is read.
    tuned = {key: entry[key] for key in entry if key in training and key not in adapting}
    tuned |= reader.nested(entry)
    if casing := reader.text(entry, "casing"):
        reader.check_known(casing, CASINGS, "casing")
        if not given:
            raise reader.error(f"{where}: a casing applies to an adaptation, and it has none.")
        given["casing"] = casing
    return Variant(
        name, reader.path(model, missing=True), given, reader.given(tuned, TRAINING, where), named
    )


def _read_sources(reader: "_Reader", entry: Mapping[str, Any]) -> dict[str, Any]:
    """Read what a variant is adapted from."""
    given: dict[str, Any] = {}
    for key in SOURCES:
        if key == "corpus" and key in entry:
            given[key] = reader.paths(entry, key)
        elif key == "preset" and key in entry:
            given[key] = reader.text(entry, key)
        elif key in entry:
            given[key] = reader.path(reader.text(entry, key), missing=key == "target")
    return given


def _choose_corpora(
    reader: "_Reader",
    entry: Mapping[str, Any],
    given: dict[str, Any],
    corpora: Sequence[str],
    where: str,
) -> tuple[str, ...]:
    """Return the texts of the study that a variant is adapted to: those that it names, or all if it
    needs a text and has none of its own.
    """
    named = reader.items(entry, "corpora")
    for one in named:
        reader.check_known(one, corpora, "text", where)
    if len(set(named)) < len(named):
        raise reader.error(f"{where}: a text is named twice.", "Name each text once.")
    if "corpus" in given and named:
        raise reader.error(
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
        raise InputError(f"{reader.where}: {where}: {error.problem}", error.remedy) from error
    wanted = needs & {"text", "counts"}
    if "vectors" not in given:
        wanted |= needs & {"vectors"}
    return tuple(corpora) if wanted else ()


def _read_task(reader: "_Reader", name: str, entry: Mapping[str, Any]) -> StudyTask:
    """Read a task: a kind with its files, or a task file (by default the one of its name)."""
    where = f"task {name}"
    training = TRAINING()
    reader.check_keys(entry, ("name", "kind", "task", "settings", *SPLITS, *training), where)
    tuned = {key: entry[key] for key in entry if key in training}
    tuned |= reader.nested(entry)
    given = reader.given(tuned, TRAINING, where)
    kind = reader.text(entry, "kind")
    if not kind:
        for split in SPLITS:
            if split in entry:
                raise reader.error(
                    f"{where} has a {split} file, but no kind.",
                    f"Add kind, one of: {', '.join(TASK_KINDS)}.",
                )
        place = reader.text(entry, "task", default=name)
        return StudyTask(name, {"task": reader.path(place, missing=True)}, "", given)
    reader.check_known(kind, list(TASK_KINDS), "kind of task", where)
    if "task" in entry:
        raise reader.error(f"{where} names a task file, and a kind.", "Leave out one of them.")
    files = {split: reader.path(reader.text(entry, split)) for split in SPLITS if split in entry}
    for split in ("train", "test"):
        if split not in files:
            raise InputError(f"{reader.where}: {where} has no {split} file.", f'Add {split} = "…".')
    return StudyTask(name, files, kind, given)


def _read_rules(
    reader: "_Reader", table: Mapping[str, Any], key: str, known: Mapping[str, Sequence[Any]]
) -> tuple[Mapping[str, tuple[Any, ...]], ...]:
    """Read the rules of include or exclude: each a table of axis = name, or a list of names."""
    rules = []
    for entry in reader.tables(table, key):
        reader.check_keys(entry, AXES, key)
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


def _read_extended(path: Path, above: tuple[Path, ...]) -> tuple[dict[str, Any], tuple[Path, ...]]:
    """Read a file merged over the one that it extends; return the table, and all files.

    Paths in an extended file are relative to that file, so they are made absolute here.
    """
    place = expand_path(path)
    if not place.is_file():
        raise InputError(f"{show_path(path)}: there is no such file.", "Give the file of a study.")
    place = place.resolve()
    if place in above or len(above) >= MAX_EXTENDED:
        raise InputError(
            f"{show_path(path)}: a study extends itself, or more than {MAX_EXTENDED} others.",
            "Remove the key extends from one of them.",
        )
    table = read_toml(place)
    base = table.get("extends")
    if base is None:
        return table, (place,)
    if not isinstance(base, str):
        raise InputError(f"{show_path(path)}: extends: expected a file name.")
    below, files = _read_extended(place.parent / base, (*above, place))
    if files[0].parent != place.parent:
        below = _make_absolute(below, files[0].parent)
    below.pop("name", None)  # a study of its own fills a folder of its own
    return _merge(below, table), (place, *files)


def _make_absolute(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return a file's table with the paths in its texts, variants and tasks made absolute."""
    changed = dict(table)
    for part in ("corpora", "variants", "tasks"):
        if isinstance(entries := table.get(part), list):
            changed[part] = [_make_entry_absolute(entry, folder, part) for entry in entries]
    return changed


def _make_entry_absolute(entry: Any, folder: Path, part: str) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    changed = dict(entry)
    if part == "tasks" and "kind" not in entry and "name" in entry:
        changed.setdefault("task", entry["name"])  # such a task is found by its name
    for key in PATHS:
        value = changed.get(key)
        if isinstance(value, list):
            changed[key] = [_find_beside(one, folder) for one in value]
        elif key in changed:
            changed[key] = _find_beside(value, folder)
    return changed


def _find_beside(value: Any, folder: Path) -> Any:
    """Return a path in a folder as an absolute one; what is no path, such as a hub name, as it is."""
    if isinstance(value, str) and value:
        place = folder / expand_path(value)
        if os.path.exists(place):
            return str(place)
    return value


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table merged over another: tables by key, lists of named tables by name."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            merged[key] = _merge(old, value)
        elif old is not None and _are_named(old) and _are_named(value):
            merged[key] = _merge_named(old, value)
        else:
            merged[key] = value
    return merged


def _merge_named(
    below: Sequence[Mapping[str, Any]], above: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return tables merged over those of the same name, new ones last."""
    changes = {one["name"]: one for one in above}
    known = {one["name"] for one in below}
    merged = [_merge(one, changes.get(one["name"], {})) for one in below]
    # A name that is given twice stays so: the reader refuses it.
    repeated = [one for one in above if one is not changes[one["name"]]]
    return [*merged, *(one for one in above if one["name"] not in known), *repeated]


def _are_named(value: Any) -> bool:
    """Return whether a value is a list of tables that all have a name."""
    return isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in value
    )


@dataclass(frozen=True)
class _Reader:
    """Reads values of one file, and names the file in each error."""

    file: Path
    folder: Path

    @property
    def where(self) -> str:
        """The file, for messages."""
        return show_path(self.file.name)

    def error(self, problem: str, remedy: str = "Correct the file.") -> InputError:
        """Return the error for a problem in the file."""
        return InputError(f"{self.where}: {problem}", remedy)

    def check_keys(self, table: Mapping[str, Any], known: Sequence[str], where: str = "") -> None:
        """Raise InputError, with the nearest known key, for an unknown one."""
        for key in table:
            self.check_known(key, known, "key", where)

    def check_known(self, value: Any, known: Sequence[Any], what: str, where: str = "") -> None:
        """Raise InputError, with the nearest known name, for an unknown one."""
        if type(value) in (str, int) and value in known:
            return
        near = get_close_matches(str(value), map(str, known), n=1, cutoff=0.5)
        remedy = f"Choose one of: {', '.join(map(str, known)):.300}."
        if near:
            remedy = f"Did you mean {near[0]}?"
        elif not known:
            remedy = "The study declares none."
        place = f"{where}: " if where else ""
        raise self.error(f"{place}unknown {what} {show_value(value)}.", remedy)

    def text(self, table: Mapping[str, Any], key: str, default: str = "") -> str:
        """Return a text."""
        value = table.get(key, default)
        if not isinstance(value, str):
            raise self.error(f"{key}: expected a text, got {show_value(value)}.")
        return value

    def switch(self, table: Mapping[str, Any], key: str) -> bool:
        """Return true or false."""
        value = table.get(key, False)
        if not isinstance(value, bool):
            raise self.error(f"{key}: expected true or false, got {show_value(value)}.")
        return value

    def items(self, table: Mapping[str, Any], key: str) -> list[Any]:
        """Return a list; empty if there is none."""
        value = table.get(key, [])
        if not isinstance(value, list):
            raise self.error(f"{key}: expected a list, got {show_value(value)}.")
        return value

    def table(self, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """Return a table; empty if there is none."""
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self.error(f"{key}: expected a table, got {show_value(value)}.")
        return value

    def nested(self, table: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of a variant or a task: a table, or the name of a preset."""
        value = table.get("settings", {})
        if isinstance(value, str):
            return {"settings": value}
        return self.table(table, "settings")

    def tables(self, table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        """Return a list of tables; empty if there is none."""
        entries = self.items(table, key)
        for entry in entries:
            if not isinstance(entry, dict):
                raise self.error(f"{key}: expected tables, got {show_value(entry)}.")
        return entries

    def named(self, table: Mapping[str, Any], key: str) -> dict[str, Mapping[str, Any]]:
        """Return name → table of a list of tables; raise InputError for a name given twice."""
        found: dict[str, Mapping[str, Any]] = {}
        for entry in self.tables(table, key):
            name = self.text(entry, "name")
            if not name.strip():
                raise self.error(f"{key}: one of them has no name.", 'Add name = "…".')
            if len(name) > 60 or not name.isprintable():
                raise self.error(f"{key}: {show_value(name)} cannot be a name.")
            if name in found:
                raise self.error(
                    f"two {key} have the name {show_value(name)}.", "Give each its own name."
                )
            found[name] = entry
        return found

    def path(self, text: str, missing: bool = False) -> str:
        """Return a path relative to the file as an absolute one.

        missing: it may be something else, such as the hub name of a model, which is kept.
        """
        place = self.folder / expand_path(text)
        if os.path.exists(place):
            return str(place.resolve())
        if missing and not text.startswith((".", "/", "~")):
            return text
        raise self.error(
            f"there is no file or folder {show_path(text)!r} beside the study.",
            "Paths are relative to the file of the study.",
        )

    def paths(self, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
        """Return the paths of a text or of a list of texts."""
        value = table.get(key, [])
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not value:
            raise self.error(f"{key}: expected a file name or a list of them.")
        for one in value:
            if not isinstance(one, str):
                raise self.error(f"{key}: expected a file name, got {show_value(one)}.")
        return tuple(map(self.path, value))

    def given(self, table: Mapping[str, Any], declare: Declare, where: str) -> Given:
        """Return checked settings by key."""
        declared = {**declare()}
        found: dict[str, Any] = {}
        for key, value in table.items():
            if key == "settings" and declare is TRAINING:  # a named preset of fine-tuning
                self.check_known(value, list(FINETUNING_PRESETS), "fine-tuning preset", where)
                found[key] = value
                continue
            self.check_known(key, [*declared, "settings"], "key", where)
            found[key] = self._convert(declared[key], key, value, where)
        return found

    def _convert(self, declared: Setting, key: str, value: Any, where: str) -> Any:
        expected = declared.kind
        ones = value if declared.several and isinstance(value, list) else [value]
        for one in ones:
            if type(one) is expected or (expected is float and type(one) is int):
                continue
            if isinstance(one, str) and one in declared.words:
                continue
            raise self.error(f"{where}: {key}: expected {NAMES[expected]}, got {show_value(one)}.")
        if declared.several and not isinstance(value, list):
            value = [value]
        return convert_value(declared, value)


NAMES: Mapping[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
}


def meets(rule: Mapping[str, Sequence[Any]], cell: Mapping[str, Any]) -> bool:
    """Return whether a cell (axis → name) has one of the names of every axis that a rule names."""
    return all(cell[axis] in names for axis, names in rule.items())


def iterate_chosen(study: Study) -> Iterator[tuple[Variant, str, StudyTask, int]]:
    """Yield variant, text, task and seed of every cell, in the order of the file."""
    for variant in study.variants:
        for corpus in variant.corpora or ("",):
            for task in study.tasks:
                for seed in study.seeds:
                    cell = {
                        "variant": variant.name,
                        "corpus": corpus,
                        "task": task.name,
                        "seed": seed,
                    }
                    if study.include and not any(meets(rule, cell) for rule in study.include):
                        continue
                    if any(meets(rule, cell) for rule in study.exclude):
                        continue
                    yield variant, corpus, task, seed
