"""The reference of recipes, docs/recipes.md, generated from the settings and the presets.

Run `python -m vocadapt.cli.recipe_reference` after a change of a setting or a preset.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vocadapt.presets import PRESETS
from vocadapt.recipe import Recipe
from vocadapt.settings import Setting, get_setting_groups, get_settings

FILE = Path(__file__).parents[2] / "docs" / "recipes.md"
HEAD = """# Recipes

Use a recipe to keep all settings of an adaptation in one file, and to repeat it. Generated from the settings by
`python -m vocadapt.cli.recipe_reference`.

A recipe is a TOML file; settings that it does not name keep their defaults. `adapt --recipe FILE`
reads one, and `presets --toml NAME` prints a preset as a file to start from. A table of the file,
such as `[alignment]`, is a section of this page; `[alignment.anchors]` is a table inside another.

    python -m vocadapt presets --toml green-bert

[Concepts](concepts.md) explains the methods, [Initializers](initializers.md) and [Alignments](alignments.md) help to choose; a
[study](studies.md) compares several recipes.

## Presets

"""


def render_recipes() -> str:
    """Render the reference of all presets and settings as Markdown."""
    lines = ["| preset | what it does |", "|---|---|"]
    lines += [f"| `{name}` | {_escape(recipe.about)} |" for name, recipe in PRESETS.items()]
    return HEAD + "\n".join([*lines, *render_group(Recipe, "")]) + "\n"


def render_group(kind: type, path: str) -> Iterator[str]:
    """Yield the Markdown lines of a group of settings and the groups inside it."""
    settings = get_settings(kind)
    if settings:
        yield from ("", f"## `[{path}]`" if path else "## Top level", "")
        yield from ("| setting | type | default | meaning |", "|---|---|---|---|")
        yield from map(render_setting, settings.values())
    for name, (inner, _) in get_setting_groups(kind).items():
        yield from render_group(inner, f"{path}.{name}" if path else name)


def render_setting(setting: Setting) -> str:
    """Render a setting as one row of a table."""
    kind = setting.kind.__name__
    if setting.is_number:
        kind = str(setting.bounds)
    elif setting.choices:
        kind = "one of: " + ", ".join(f"`{name}`" for name in setting.choices)
    if setting.several:
        kind = f"list; each {kind}"
    meaning = setting.sentence
    if setting.default is True:  # its help text describes the option that switches it off
        meaning = f"If false: {setting.help}."
    if setting.empty:
        meaning += f" Empty: {setting.empty}."
    return f"| `{setting.name}` | {kind} | {_show(setting.default)} | {_escape(meaning)} |"


def _show(value: Any) -> str:
    import tomli_w

    return f"`{tomli_w.dumps({'x': value})[4:].strip()}`"


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    FILE.write_text(render_recipes(), encoding="utf-8")
