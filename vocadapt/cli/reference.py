"""The command reference, docs/commands.md, generated from the parsers.

Run `python -m vocadapt.cli.reference` after a change of a command or an option.
"""

from argparse import Action
from collections.abc import Iterator
from pathlib import Path

from vocadapt.cli.run import COMMANDS, build_parser, load_command

FILE = Path(__file__).parents[2] / "docs" / "commands.md"
HEAD = """# Commands

Use this page to look up a command and its options. The [tutorial](tutorial.md) shows the commands in their order.

Generated from the command line by `python -m vocadapt.cli.reference`. Run a command as `python -m vocadapt COMMAND …`.
`--help` prints the same for a single command.

Every command also accepts `--json` (print only strict JSON on stdout), `--json-errors` (print an error as JSON on stderr),
`--schema` (print the JSON Schema of the arguments and of the answer with `--json`) and `-v` (show progress, logs and warnings
on stderr). `python -m vocadapt --schema` lists all commands as JSON; see [agents.md](agents.md) for programs that run them.
Exit codes: 0 done, 1 a negative verdict, 2 bad input, 130 canceled.
"""
EVERYWHERE = {"help", "json", "json_errors", "schema", "verbose"}


def render_reference() -> str:
    """Render the reference of all commands as Markdown."""
    lines = [HEAD, "| command | purpose |", "|---|---|"]
    lines += [
        f"| [{name}](#{name.replace(' ', '-')}) | {sentence} |"
        for name, (_, sentence) in COMMANDS.items()
    ]
    for name in COMMANDS:
        lines += ["", *render_command(name)]
    return "\n".join(lines) + "\n"


def render_command(name: str) -> Iterator[str]:
    """Yield the Markdown lines of one command."""
    parser = build_parser(name, load_command(name))
    yield from (f"## {name}", "", parser.description or "")
    actions = [action for action in parser._actions if action.dest not in EVERYWHERE]
    if actions:
        yield ""
    yield from (f"- {render_action(action)}" for action in actions)
    if parser.epilog:
        yield from ("", "```text", parser.epilog.strip(), "```")


def render_action(action: Action) -> str:
    """Render an option or argument with its help text, on one line."""
    names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    help = (action.help or "").replace("%%", "%")
    required = " *(required)*" if action.required and action.option_strings else ""
    return f"`{names}{render_value(action)}`{required}: {help}"


def render_value(action: Action) -> str:
    """Render the values an option takes: its metavar or choices; "" for a switch."""
    if not action.option_strings or action.nargs == 0:
        return ""
    if isinstance(action.metavar, tuple):
        return " " + " ".join(action.metavar)
    value = action.metavar or action.dest.upper()
    if action.metavar is None and action.choices is not None:
        value = "|".join(map(str, action.choices))
    if action.nargs in ("+", "*"):
        return f" {value} …"
    return f" {value}"


if __name__ == "__main__":
    FILE.write_text(render_reference(), encoding="utf-8")
