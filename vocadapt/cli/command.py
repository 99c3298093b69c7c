"""A command of the command line: what it runs, the options it takes, and its answer.

    ALIGN = Command(_align, (option("--vectors", help="…"), setting_options(AlignmentStep)))

An option is declared as a function that adds it to a parser, so groups and shared options can be
nested: `option` declares one by hand, `setting_options` those of declared settings. In the
namespace an option has the name of its flag; one that was not given is None.
"""

from argparse import Action, RawDescriptionHelpFormatter, _ActionsContainer
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from types import UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from vocadapt.cli.parser import Number, Options, Parser
from vocadapt.given_settings import get_flag, get_key, read_given, read_settings
from vocadapt.settings import Bounds, Setting, list_own_settings, walk_settings

# Commands import all of these from here.
__all__ = [
    "AddOption",
    "Answer",
    "Command",
    "Options",
    "add_all",
    "add_own_settings",
    "allow_other_fields",
    "describe_setting",
    "exclusive",
    "group",
    "option",
    "read_given",
    "read_settings",
    "setting_options",
]

T_co = TypeVar("T_co", covariant=True)
MAX_EXPLAINED = 600  # characters of explained choices; longer explanations are omitted
SWITCHES = {False: "store_true", True: "store_false"}  # default of a boolean → action of its option
NUMBERS = {int: "N", float: "X"}  # kind of a number → its metavar in the help

AddOption = Callable[[_ActionsContainer], object]


def allow_other_fields(value: Any, *kinds: type) -> None:
    """Declare that answers of these TypedDicts have other fields, too, each with such a value."""
    for kind in kinds:
        kind.__other_fields__ = value  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Answer(Generic[T_co]):
    """Result of a command: JSON values of a declared type, text for people, and the exit code.

    The type is that of `--schema`; dataclasses in the values are printed as objects.
    """

    json: T_co
    text: str
    exit: int = 0


@dataclass(frozen=True)
class Command:
    """A command: what it runs on the parsed options, and its options in the order of the help.

    description: longer than the command's sentence. epilog: text below the options; one of several
    lines keeps them. declared_answer: type of the JSON answer, if the annotation of `run` does not
    declare it.
    """

    run: Callable[[Options], Answer[Any]]
    options: Sequence[AddOption] = ()
    description: str = ""
    epilog: str = ""
    declared_answer: Any = None

    @property
    def answer(self) -> Any:
        """Type of the JSON answer."""
        if self.declared_answer is not None:
            return self.declared_answer
        declared = get_type_hints(self.run, include_extras=True)["return"]
        if get_origin(declared) not in (Union, UnionType):
            return get_args(declared)[0]
        return Union[tuple(get_args(one)[0] for one in get_args(declared))]  # noqa: UP007

    def add_options(self, parser: Parser) -> None:
        """Add the options, and the command's own description, to a parser."""
        parser.description = self.description or parser.description
        parser.epilog = self.epilog or None
        if "\n" in self.epilog:
            parser.formatter_class = RawDescriptionHelpFormatter
        add_all(parser, self.options)


def option(*names: str, between: tuple[int, int] | None = None, **arguments: Any) -> AddOption:
    """Declare an option or an argument.

    arguments: as in `ArgumentParser.add_argument`. between: lowest and highest value of a whole
    number.
    """
    if between:
        arguments["type"] = Number(Bounds(*between))
    return methodcaller("add_argument", *names, **arguments)


def group(title: str, *options: AddOption, about: str | None = None) -> AddOption:
    """Declare options under a separate heading of the help."""

    def add(parser: _ActionsContainer) -> None:
        add_all(parser.add_argument_group(title, about), options)

    return add


def exclusive(*options: AddOption) -> AddOption:
    """Declare options of which at most one may be given."""

    def add(parser: _ActionsContainer) -> None:
        add_all(parser.add_mutually_exclusive_group(), options)

    return add


def add_all(parser: _ActionsContainer, options: Sequence[AddOption]) -> None:
    """Add declared options to a parser or to a group of it."""
    for add in options:
        add(parser)


def setting_options(
    settings: Any,
    *names: str,
    except_: Collection[str] = (),
    shown_default: str = "",
    prefix: str = "",
    other_flags: bool = True,
    **changes: Any,
) -> AddOption:
    """Declare the options of a settings dataclass, nested ones included.

    settings: the class, or an instance with the default values to show. names: of the settings to
    add (default: all but `except_`). shown_default: text that replaces the default values in the
    help. prefix: text before the name of each flag. other_flags: also accept the flag of the
    setting that one falls back to (`Setting.other_flag`), unless that setting is added, too.
    changes: arguments of add_argument to override, such as the help text.
    """

    def add(parser: _ActionsContainer) -> None:
        known = settings.__dataclass_fields__  # a name that is no setting is a KeyError
        chosen = [known[name].name for name in names or known if name not in except_]
        # Nested settings are included: their flags are listed with those of the outer settings.
        walked = list(walk_settings(settings, chosen))
        taken = {"", *(one.flag for one, _ in walked)}
        for one, value in walked:
            also = [one.other_flag] if other_flags and one.other_flag not in taken else []
            if one.flag:
                about = describe_setting(one, value, shown_default)
                action = _add_option(parser, one, prefix, also, {"help": about, **changes})
                # The schema of the command names the default, which the parser does not apply.
                if action.default is None and not shown_default:
                    action.shown_default = value  # type: ignore[attr-defined]
        add_own_settings(parser, settings, chosen)

    return add


def add_own_settings(
    parser: _ActionsContainer, settings: Any, names: Collection[str] | None = None
) -> None:
    """Add an option --METHOD-SETTING for each setting that only one method has."""
    for name, own in list_own_settings(settings, names):
        setting_options(own, prefix=f"{name}-")(parser)


def _add_option(
    parser: _ActionsContainer,
    declared: Setting,
    prefix: str,
    also: Collection[str],
    changes: Mapping[str, Any],
) -> Action:
    # 1. Several booleans may share a repeatable flag; each of them is one of its choices.
    flag, _, value = get_flag(declared, prefix).partition("=")
    if value:
        shared = parser._option_string_actions.get(flag)
        if shared is None:
            shared = parser.add_argument(
                flag, action="append", choices=[], help=f"{declared.help}; may be repeated"
            )
        shared.choices = [*(shared.choices or ()), value]
        return shared
    # 2. The kind of the setting determines what the option accepts. The default is always None,
    # because the value of a preset must not be replaced by the default of an option not given.
    arguments: dict[str, Any] = {"dest": get_key(flag), "default": None}
    if declared.kind is bool:
        arguments["action"] = SWITCHES[bool(declared.default)]
    elif declared.is_number:
        arguments |= {
            "type": Number(declared.bounds, declared.words),
            "metavar": NUMBERS[declared.kind],
        }
    elif choices := declared.choices:
        arguments["choices"] = list(choices)
        if declared.explained_choices:
            arguments["metavar"] = "NAME"
    else:
        arguments["metavar"] = declared.name.upper()
    if declared.several:
        arguments |= {"nargs": "+", "action": "extend"}
    # 3. `Parser.add_flag` finds the flag of a setting by this name.
    action: Action = parser.add_argument(flag, *also, **{**arguments, **changes})
    action.setting = declared.name  # type: ignore[attr-defined]
    return action


def describe_setting(declared: Setting, value: Any, default: str) -> str:
    """Return the help text of an option: its meaning, its choices, the meaning of 0, its default."""
    # 1. The meaning, and the choices: with explanations, unless these are too long.
    parts = [declared.help]
    explained = "; ".join(f"{name}: {s}" for name, s in declared.explained_choices.items())
    if len(explained) > MAX_EXPLAINED:
        explained = ", ".join(declared.choices)
    if explained:
        parts = [f"{declared.help}. {explained}"]
    if declared.empty and declared.is_number:
        parts.append(f"; 0: {declared.empty}")
    # 2. The default: its value, or the text that replaces it. A switch is off by default.
    shown = _show_value(declared, value)
    mark = ""
    if default or not shown:
        shown = default or declared.empty
        mark = ":"
    if shown and declared.kind is not bool:
        parts.append(f" (default{mark} {shown})")
    return "".join(parts).replace("%", "%%")  # argparse formats help texts by %


def _show_value(declared: Setting, value: Any) -> str:
    if declared.several:
        return " ".join(map(str, value))
    for word, number in declared.words.items():
        if number == value:
            return word
    return str(value)
