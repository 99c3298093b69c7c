"""Reading checked values from a study's file: errors name the file and the nearest known name."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.given_settings import Given, convert_value
from vocadapt.settings import Setting, show_value
from vocadapt.system.files import expand_path, show_path
from vocadapt.training.finetune.settings import FINETUNING_PRESETS

KINDS: Mapping[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
}


@dataclass(frozen=True)
class TableReader:
    """Reads values of one file, and names the file in each error.

    check: raises InputError for a path that may not be read.
    """

    file: Path
    folder: Path
    check: Callable[[str], None] = lambda path: None

    @property
    def where(self) -> str:
        """The file, for messages."""
        return show_path(self.file.name)

    def build_error(self, problem: str, remedy: str = "Correct the file.") -> InputError:
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
        raise self.build_error(f"{place}unknown {what} {show_value(value)}.", remedy)

    def read_string(self, table: Mapping[str, Any], key: str, default: str = "") -> str:
        """Return a text."""
        value = table.get(key, default)
        if not isinstance(value, str):
            raise self.build_error(f"{key}: expected a text, got {show_value(value)}.")
        return value

    def read_switch(self, table: Mapping[str, Any], key: str) -> bool:
        """Return true or false."""
        value = table.get(key, False)
        if not isinstance(value, bool):
            raise self.build_error(f"{key}: expected true or false, got {show_value(value)}.")
        return value

    def read_list(self, table: Mapping[str, Any], key: str) -> list[Any]:
        """Return a list; empty if there is none."""
        value = table.get(key, [])
        if not isinstance(value, list):
            raise self.build_error(f"{key}: expected a list, got {show_value(value)}.")
        return value

    def read_table(self, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """Return a table; empty if there is none."""
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self.build_error(f"{key}: expected a table, got {show_value(value)}.")
        return value

    def read_settings_table(self, table: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of a variant or a task: a table, or the name of a preset."""
        value = table.get("settings", {})
        if isinstance(value, str):
            return {"settings": value}
        return self.read_table(table, "settings")

    def read_tables(self, table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        """Return a list of tables; empty if there is none."""
        entries = self.read_list(table, key)
        for entry in entries:
            if not isinstance(entry, dict):
                raise self.build_error(f"{key}: expected tables, got {show_value(entry)}.")
        return entries

    def read_named(self, table: Mapping[str, Any], key: str) -> dict[str, Mapping[str, Any]]:
        """Return name → table of a list of tables; raise InputError for a name given twice."""
        found: dict[str, Mapping[str, Any]] = {}
        for entry in self.read_tables(table, key):
            name = self.read_string(entry, "name")
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
        place = self.folder / expand_path(text)
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
            raise self.build_error(
                f"{where}: {key}: expected {KINDS[expected]}, got {show_value(one)}."
            )
        if declared.several and not isinstance(value, list):
            value = [value]
        return convert_value(declared, value)
