"""The settings of runs side by side, and those in which the runs differ."""

from collections.abc import Mapping

NO_VALUE = "–"
SettingTable = dict[str, tuple[str, ...]]


def build_setting_table(settings: Mapping[str, Mapping[str, object]]) -> SettingTable:
    """Return each setting with its value in every run, as text, in the order of the runs.

    settings: run -> setting -> value; a run without a setting has NO_VALUE.
    """
    names = dict.fromkeys(name for own in settings.values() for name in own)
    return {
        name: tuple(_format_value(own.get(name)) for own in settings.values()) for name in names
    }


def keep_differences(table: SettingTable) -> SettingTable:
    """Return the settings that do not have the same value in every run."""
    return {name: values for name, values in table.items() if len(set(values)) > 1}


def _format_value(value: object) -> str:
    if value is None or value == "":
        return NO_VALUE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
