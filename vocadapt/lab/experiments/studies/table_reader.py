"""Reading checked values from a study's file: errors name the file and the nearest known name."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vocadapt.errors import InputError
from vocadapt.given_settings import Given, convert_value, read_value
from vocadapt.settings import Setting, check_known, show_value
from vocadapt.system.files import expand_path, show_path
from vocadapt.training.finetune.settings import FINETUNING_PRESETS

KINDS = {bool: "true or false", str: "a text", list: "a list", dict: "a table"}
T = TypeVar("T")


@dataclass(frozen=True)
class TableReader:
    """Reads values of one file, and names the file in each error.

    check: raises InputError for a path that may not be read.
    """

    file: Path
    check: Callable[[str], None] = lambda path: None

    @property
    def where(self) -> str:
        """The file, for messages."""
        return show_path(self.file.name)

    def build_error(
        self, problem: str, remedy: str = "Correct the file.", code: str = "invalid-study"
    ) -> InputError:
        """Return the error for a problem in the file."""
        return InputError(f"{self.where}: {problem}", remedy, code=code)

    def check_keys(self, table: Mapping[str, Any], known: Collection[str], where: str = "") -> None:
        """Raise InputError, with the nearest known key, for an unknown one."""
        for key in table:
            self.check_known(key, known, "key", where)

    def check_known(self, value: Any, known: Collection[Any], what: str, where: str = "") -> None:
        """Raise InputError, with the nearest known name, for an unknown one."""
        place = f"{self.where}, {where}" if where else self.where
        check_known(value, known, f"{what} in {place}")

    def read(self, table: Mapping[str, Any], key: str, default: T) -> T:
        """Return a value of the type of its default."""
        value = table.get(key, default)
        if not isinstance(value, type(default)):
            expected = KINDS[type(default)]
            raise self.build_error(f"{key}: expected {expected}, got {show_value(value)}.")
        return value

    def read_settings_table(self, table: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of a variant or a task: a table, or the name of a preset."""
        if isinstance(table.get("settings"), str):
            return {"settings": table["settings"]}
        return self.read(table, "settings", {})

    def read_tables(self, table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        """Return a list of tables; empty if there is none."""
        entries: list[Mapping[str, Any]] = self.read(table, key, [])
        for entry in entries:
            if not isinstance(entry, dict):
                raise self.build_error(f"{key}: expected tables, got {show_value(entry)}.")
        return entries

    def read_named(
        self, table: Mapping[str, Any], key: str, required: bool = False
    ) -> dict[str, Mapping[str, Any]]:
        """Return name → table of a list of tables; raise InputError for a name given twice and, if
        one is required, for none.
        """
        found: dict[str, Mapping[str, Any]] = {}
        entries = self.read_tables(table, key)
        if required and not entries:
            raise self.build_error(f"the study has no {key}.", f"Add [[{key}]].")
        for entry in entries:
            name = self.read(entry, "name", "")
            if not name.strip():
                raise self.build_error(f"{key}: one of them has no name.", 'Add name = "…".')
            if len(name) > 60 or not name.isprintable():
                raise self.build_error(f"{key}: {show_value(name)} cannot be a name.")
            if name in found:
                raise self.build_error(
                    f"two {key} have the name {show_value(name)}.", "Give each its own name."
                )
            found[name] = entry
        return found

    def read_path(self, text: str, missing: bool = False) -> str:
        """Return a path relative to the file as an absolute one.

        missing: it may be something else, such as the hub name of a model, which is kept.
        """
        if not text.strip() or "\0" in text:
            raise self.build_error(f"{show_value(text)} is not a path.")
        place = self.file.parent / expand_path(text)
        self.check(os.path.realpath(place))  # first: whether it exists is not told either
        if os.path.exists(place):
            return str(place.resolve())
        if missing and not text.startswith((".", "/", "~")):
            return text
        raise self.build_error(
            f"there is no file or folder {show_path(text)!r}.",
            "A relative path is relative to the file of the study.",
        )

    def read_paths(self, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
        """Return the paths of a text or of a list of texts."""
        value = table.get(key, [])
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not value:
            raise self.build_error(f"{key}: expected a file name or a list of them.")
        for one in value:
            if not isinstance(one, str):
                raise self.build_error(f"{key}: expected a file name, got {show_value(one)}.")
        return tuple(map(self.read_path, value))

    def read_given(
        self, table: Mapping[str, Any], declared: Mapping[str, Setting], where: str
    ) -> Given:
        """Return checked settings by key."""
        found: dict[str, Any] = {}
        for key, value in table.items():
            if key == "settings":  # a named preset of fine-tuning
                self.check_known(value, FINETUNING_PRESETS, "fine-tuning preset", where)
                found[key] = value
                continue
            self.check_known(key, [*declared, "settings"], "key", where)
            found[key] = self._convert(declared[key], key, value, where)
        return found

    def _convert(self, declared: Setting, key: str, value: Any, where: str) -> Any:
        ones = value if declared.several and isinstance(value, list) else [value]
        try:
            ones = [read_value(declared, one) for one in ones]
        except InputError as error:
            raise error.add_place(f"{self.where}: {where}: {key}") from error
        return convert_value(declared, ones if declared.several else ones[0])
