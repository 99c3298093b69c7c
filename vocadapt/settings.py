"""Settings: each is declared once, with its field, and read by a few small readers.

    @dataclass(frozen=True)
    class Word2VecSettings(CheckedSettings):
        epochs: int = setting(0, "passes over the text", words={"auto": 0})
        sample: float = setting(1e-3, "threshold of …", low=0, high=1, flag="--subsample")
        skip_gram: bool = setting(False, "train skip-gram instead of CBOW")

Settings of several methods of which one is chosen, such as the methods of alignment: each method
names those that it uses, and `MethodSettings` refuses the others. With `ExtensibleSettings` a
method may also have settings of its own, in a class of its own.

The readers: `check_settings` validates values (`CheckedSettings` calls it); `build_settings` reads
JSON and TOML; `cli/command.py` builds the options of a command, and `lab/steps/command_lines.py`
the command line of given settings; `ui/components/setting_inputs.py` builds the inputs of a page.
The annotation of a field determines whether a number is whole and whether a setting is a list.

Why no library: transformers' `HfArgumentParser` builds options from dataclass fields, but supports
neither bounds nor widgets, and cannot write a command line. `tyro` also supports nested
dataclasses, but has its own flags, and error screens instead of one line with the nearest match.
`pydantic` checks bounds and reads JSON, but has its own error messages, and neither flags nor
widgets. All readers here iterate over the same `field(metadata=…)`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

from vocadapt.errors import InputError

T = TypeVar("T")
S = TypeVar("S", bound="MethodSettings")
E = TypeVar("E", bound="ExtensibleSettings")
Choices = Mapping[str, Any] | Collection[str]

SETTING, SHOWN = "setting", "shown"  # keys in the metadata of a dataclass field
MAX_SEED = 2**32 - 1  # accepted by NumPy, scikit-learn and gensim
MAX_VALUES = 1_000  # of a list
SMALL = 0.01  # numbers below are shown in scientific notation
MAX_COUNT = 10**9  # words, lines or occurrences: more than any text has
ABOVE_ZERO = 1e-9  # lowest value of a number that must be above 0
MAX_LEARNING_RATE = 3.4e38  # of float32; a training that diverges is reported
MINUTES_PER_YEAR = 525_600
MAX_SHOWN = 60  # characters of a value in a message
MAX_DIGITS = 15  # of a whole number in a message
MAX_FLOAT_BITS = 1000  # larger whole numbers do not fit into a float


@dataclass(frozen=True)
class Bounds:
    """Lowest and highest value of a number, both included."""

    lowest: float
    highest: float
    whole: bool = True

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        low = f"from {show_value(self.lowest)}"
        high = f"to {show_value(self.highest)}"
        # ABOVE_ZERO and 1 - ABOVE_ZERO mean "above 0" and "below 1".
        if self.lowest == ABOVE_ZERO:
            low = "above 0"
            high = f"and up to {show_value(self.highest)}"
        if self.highest == 1 - ABOVE_ZERO:
            high = "and below 1"
        return f"{kind} {low} {high}"

    def accepts(self, value: object) -> bool:
        """Return whether a value is a number of the right kind within the bounds; booleans, NaN and
        infinities are not.
        """
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        return bool(self.lowest <= value <= self.highest)  # type: ignore[operator]


@dataclass(frozen=True)
class Setting:
    """Declaration of a setting; see `setting` for what is declared.

    name, kind (int, float, bool or str) and several (a list of such values) come from the field and
    its annotation.
    """

    default: Any
    help: str
    low: float
    high: float
    known: Choices | Callable[[], Choices]
    label: str
    flag: str | None
    other_flag: str
    empty: str
    words: Mapping[str, int]
    always: bool
    name: str = ""
    kind: type = str
    several: bool = False

    @property
    def is_number(self) -> bool:
        """Whether the value is a number, or a list of numbers."""
        return self.kind in (int, float)

    @property
    def bounds(self) -> Bounds:
        """The bounds of a number."""
        return Bounds(self.kind(self.low), self.kind(self.high), self.kind is int)

    @property
    def choices(self) -> Choices:
        """The values to choose from, as they are registered now; empty if any text is allowed."""
        if callable(self.known):
            return self.known()
        return self.known

    @property
    def explained_choices(self) -> dict[str, str]:
        """The choices with their explanations; empty if they have none."""
        if not isinstance(self.choices, Mapping):
            return {}
        abouts = {name: getattr(one, "about", one) for name, one in self.choices.items()}
        return {name: about for name, about in abouts.items() if isinstance(about, str)}

    @property
    def noun(self) -> str:
        """The label within a sentence; names such as WordPiece keep their capitals."""
        first = self.label.split()[0]
        return self.label if first != first.capitalize() else self.label[0].lower() + self.label[1:]

    @property
    def sentence(self) -> str:
        """The help text as a sentence, for a page."""
        return f"{self.help[:1].upper()}{self.help[1:]}."

    def check(self, value: object) -> None:
        """Raise InputError, with the label, if a value is not allowed."""
        if not self.several:
            return self._check_one(value)
        least = int(bool(self.default))  # a list may be empty only if its default is
        if not isinstance(value, tuple) or not least <= len(value) <= MAX_VALUES:
            found = f"{len(value):,}" if isinstance(value, tuple) else show_value(value)
            raise self._error(
                f"expected {least} to {MAX_VALUES:,} values, got {found}", code="number-of-values"
            )
        for one in value:
            self._check_one(one)
        return None

    def _check_one(self, value: object) -> None:
        if self.is_number and not self.bounds.accepts(value):
            remedy = "" if self.several else f"The default is {show_value(self.default)}."
            raise self._error(
                f"expected {self.bounds}, got {show_value(value)}", remedy, "out-of-range"
            )
        choices = tuple(self.choices)
        if choices and value not in choices and not (self.empty and value == ""):
            raise InputError(
                f"Unknown {self.noun} {show_value(value)}.",
                f"Choose one of: {', '.join(choices)}.",
                self.name,
                code="unknown-choice",
            )

    def _error(self, problem: str, remedy: str = "", code: str = "") -> InputError:
        return InputError(f"{self.label} ({self.name}): {problem}.", remedy, self.name, code)


def setting(
    default: T,
    help: str,
    *,
    low: float = 0,
    high: float = MAX_COUNT,
    choices: Choices | Callable[[], Choices] = (),
    label: str = "",
    flag: str | None = None,
    other_flag: str = "",
    empty: str = "",
    words: Mapping[str, int] | None = None,
    always: bool = False,
) -> T:
    """Declare a setting as a dataclass field.

    help: a noun phrase without a period. low, high: bounds of a number. choices: the allowed texts,
    or a function that returns them, for registries that are filled later; the values of a mapping
    explain its keys (a text, or an object with `about`). label: the name on pages and in messages
    (default: the field's name). flag: the command-line flag (default: the field's name after --, or
    after --no- if the default is True); "" for none; `--flag=value` if several booleans share a
    repeatable flag. other_flag: flag of another setting whose value applies if this one's flag is
    not given. empty: the meaning of an empty value (0 or ""). words: words that stand for numbers,
    such as last for -1. always: include the flag in every generated command line.
    """
    declared = Setting(
        default,
        help,
        low,
        high,
        choices,
        label,
        flag,
        other_flag,
        empty,
        words or {},
        always,
    )
    return field(default=default, metadata={SETTING: declared})


def show_only(*names: str) -> dict[str, tuple[str, ...]]:
    """Return the metadata of a field that holds nested settings: only the named ones get a flag and
    an input.
    """
    return {SHOWN: names}


@lru_cache(maxsize=256)
def _get_settings(kind: type) -> Mapping[str, Setting]:
    hints = get_type_hints(kind)
    found = {}
    for one in fields(kind):
        declared = one.metadata.get(SETTING)
        if declared is None:
            continue
        hint = hints[one.name]
        # The annotation declares the kind, and whether the setting is a list.
        several = get_origin(hint) is tuple
        if several:
            hint = get_args(hint)[0]
        words = one.name.replace("_", " ")
        flag = declared.flag
        if flag is None:
            start = "--no-" if declared.default is True else "--"
            flag = f"{start}{one.name.replace('_', '-')}"
        found[one.name] = replace(
            declared,
            name=one.name,
            kind=hint,
            several=several,
            label=declared.label or f"{words[0].upper()}{words[1:]}",
            flag=flag,
        )
    return found


def get_settings(settings: Any) -> Mapping[str, Setting]:
    """Return the settings that a dataclass, or an instance of one, declares, by name."""
    return _get_settings(settings if isinstance(settings, type) else type(settings))


def get_setting_groups(settings: Any) -> dict[str, tuple[type, tuple[str, ...] | None]]:
    """Return the nested settings of a dataclass or an instance: type and shown names (None: all)."""
    kind = settings if isinstance(settings, type) else type(settings)
    hints = get_type_hints(kind)
    return {
        one.name: (hints[one.name], one.metadata.get(SHOWN))
        for one in fields(kind)
        if is_dataclass(hints[one.name])
    }


def walk_settings(
    settings: Any, names: Collection[str] | None = None
) -> Iterator[tuple[Setting, Any]]:
    """Yield the settings of an instance with their values, or of a class with its defaults, in the
    order of the fields; those of nested settings are included.

    names: of the fields to visit; None: all.
    """
    declared = get_settings(settings)
    groups = get_setting_groups(settings)
    for one in fields(settings):
        if names is not None and one.name not in names:
            continue
        if one.name in declared:
            yield declared[one.name], getattr(settings, one.name)
        elif one.name in groups:
            # An instance has nested settings; a class has only the factory of their defaults.
            inner: Any = getattr(settings, one.name, one.default_factory)
            if not is_dataclass(inner):
                inner = inner()
            yield from walk_settings(inner, groups[one.name][1])


def check_settings(settings: Any) -> None:
    """Check every declared setting of a dataclass; raise InputError with its label and value."""
    for name, declared in get_settings(settings).items():
        declared.check(getattr(settings, name))


class CheckedSettings:
    """Base class of settings dataclasses: values are checked on construction."""

    def __post_init__(self) -> None:
        check_settings(self)


class MethodSettings(CheckedSettings):
    """Base class of the settings of several methods, one of which is chosen.

    Each method of the registry names in `settings` those that it uses. A setting that some methods
    name applies only to them: with any other method, it must have its default value. A setting that
    no method names applies to all.

    chooser: name of the setting that chooses the method; its choices are the registry.
    """

    chooser: ClassVar[str] = "method"

    def __post_init__(self) -> None:
        super().__post_init__()
        declared = get_settings(self)
        method = getattr(self, self.chooser)
        noun = declared[self.chooser].noun
        for name in self.find_ineffective(method):
            users = [one for one in self.methods() if name not in self.list_unused(one)]
            raise InputError(
                f"{declared[name].label} ({name}): {show_value(getattr(self, name))} has no effect"
                f" with the {noun} {method}.",
                f"Leave it at its default, or choose the {noun} {' or '.join(users)}.",
                name,
                code="setting-without-effect",
            )

    @property
    def unused_settings(self) -> tuple[str, ...]:
        """Names of the settings that have no effect with the chosen method."""
        return self.list_unused(getattr(self, self.chooser))

    @classmethod
    def methods(cls) -> Mapping[str, Any]:
        """Return the registry of the methods."""
        methods = get_settings(cls)[cls.chooser].choices
        assert isinstance(methods, Mapping)
        return methods

    @classmethod
    def list_unused(cls, method: str) -> tuple[str, ...]:
        """Return the names of the settings that other methods use, and this one does not."""
        named = {name for one in cls.methods().values() for name in getattr(one, "settings", ())}
        # A choice that is no method, such as auto, leaves all settings open.
        used = getattr(cls.methods()[method], "settings", named)
        return tuple(name for name in get_settings(cls) if name in named and name not in used)

    def find_ineffective(self, method: str) -> list[str]:
        """Return the names of the settings that a method does not use, but that are not at their
        defaults.
        """
        declared = get_settings(self)
        return [
            name
            for name in self.list_unused(method)
            if getattr(self, name) != declared[name].default
        ]

    def choose(self: S, method: str) -> S:
        """Return the settings with another method; those that it does not use get their defaults."""
        declared = get_settings(self)
        declared[self.chooser].check(method)
        dropped = {name: declared[name].default for name in self.find_ineffective(method)}
        return replace(self, **{self.chooser: method, **dropped})  # type: ignore[type-var]


@dataclass(frozen=True)
class ExtensibleSettings(MethodSettings):
    """Base class of the settings of methods that may have settings of their own.

    The attribute `own` of a method in the registry is the class of the settings that it alone has.

    options: own settings, by the name of their method. A mapping of values is converted to their
    class. Only those of the chosen method may differ from their defaults.
    """

    options: Mapping[str, Any] = field(default_factory=dict, hash=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        method = getattr(self, self.chooser)
        noun = get_settings(self)[self.chooser].noun
        options = read_options(self.options, self.methods(), [method], noun)
        kind = get_own_settings(self.methods()).get(method)
        if kind is not None:
            options.setdefault(method, kind())
        object.__setattr__(self, "options", options)

    @property
    def own(self) -> Any:
        """The own settings of the chosen method; None if it has none."""
        return self.options.get(getattr(self, self.chooser))

    def choose(self: E, method: str) -> E:
        """Return the settings with another method, without the own settings of the former one."""
        former = self
        if method != getattr(self, self.chooser):
            former = replace(self, options={})
        return MethodSettings.choose(former, method)


def get_own_settings(methods: Mapping[str, Any]) -> dict[str, type[Any]]:
    """Return the name of each method that has settings of its own → their class."""
    own = {name: getattr(method, "own", None) for name, method in methods.items()}
    return {name: kind for name, kind in own.items() if kind is not None}


def list_own_settings(
    settings: Any, names: Collection[str] | None = None
) -> list[tuple[str, type[Any]]]:
    """List the methods with settings of their own and the class of these, for a settings class or
    an instance, nested ones included.

    names: of the nested settings to visit; None: all.
    """
    kind = settings if isinstance(settings, type) else type(settings)
    found: list[tuple[str, type[Any]]] = []
    if issubclass(kind, ExtensibleSettings):
        found += get_own_settings(kind.methods()).items()
    for name, (inner, shown) in get_setting_groups(kind).items():
        if shown != () and (names is None or name in names):
            found += list_own_settings(inner, shown)
    return found


def read_options(
    options: Mapping[str, Any], methods: Mapping[str, Any], used: Collection[str], noun: str
) -> dict[str, Any]:
    """Convert the own settings of methods, by name, to their classes; those that are at their
    defaults are left out.

    used: names of the methods that will run. noun: what a method is. Raises InputError for settings
    of another one, for the name of a method without settings of its own, and for invalid values.
    """
    if not isinstance(options, Mapping):
        raise InputError(f"options: expected a table by {noun}, got {show_value(options)}.")
    own = get_own_settings(methods)
    read: dict[str, Any] = {}
    for name, values in options.items():
        if name not in own:
            raise InputError(
                f"options: there is no {noun} {name!r} with settings of its own.",
                f"Those with such settings: {', '.join(own) or 'none'}.",
                code="unknown-name",
            )
        if isinstance(values, Mapping):
            read[name] = build_settings(own[name], values, f"options: {name}")
        elif isinstance(values, own[name]):
            read[name] = values
        else:
            raise InputError(f"options: {name}: expected a table, got {show_value(values)}.")
        if read[name] == own[name]():
            read.pop(name)
        elif name not in used:
            raise InputError(
                f"Settings of {name} were given, but this {noun} is not used.",
                "Leave them out, or choose it.",
                code="setting-without-effect",
            )
    return read


def build_settings(kind: type[T], values: Mapping[str, Any], where: str = "settings") -> T:
    """Build a settings dataclass, nested ones included, from plain values.

    Raises InputError for an unknown name and for a value of the wrong type.
    """
    # 1. Refuse unknown names: they are usually misspelled.
    hints = get_type_hints(kind)
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    unknown = [name for name in values if name not in known]
    if unknown:
        raise InputError(
            f"{where}: there is no setting {unknown[0]!r}.",
            f"Settings here: {', '.join(known)}.",
            code="unknown-setting",
        )
    # 2. Convert the values; every setting without a default must be among them.
    given = {name: _value(hints[name], value, f"{where}: {name}") for name, value in values.items()}
    lacking = [
        n
        for n, f in known.items()
        if n not in given and f.default is MISSING and f.default_factory is MISSING
    ]
    if lacking:
        raise InputError(f"{where}: the setting {lacking[0]!r} is missing.", code="missing-setting")
    # 3. The constructor checks the bounds; add the place to its message.
    try:
        return kind(**given)
    except InputError as error:
        raise error.add_place(where) from error


def _value(kind: Any, value: Any, where: str) -> Any:
    """Convert one value to its type: an int is accepted for a float, a table for nested
    settings.
    """
    if is_dataclass(kind):
        _require(value, Mapping, "a group of settings", where)
        return build_settings(kind, value, where)  # type: ignore[arg-type]
    if get_origin(kind) is tuple:
        _require(value, list | tuple, "a list", where)
        return tuple(_value(get_args(kind)[0], item, where) for item in value)
    if get_origin(kind) is Mapping:
        _require(value, Mapping, "a table", where)
        item = get_args(kind)[1]
        return {name: _value(item, one, f"{where}.{name}") for name, one in value.items()}
    if kind is float and type(value) is int and value.bit_length() <= MAX_FLOAT_BITS:
        return float(value)
    # Not isinstance, because True is an instance of int.
    if kind in (int, float, str, bool) and type(value) is not kind:
        raise InputError(
            f"{where}: expected {kind.__name__}, got {show_value(value)}.", code="wrong-type"
        )
    return value


def _require(value: Any, kinds: Any, expected: str, where: str) -> None:
    if not isinstance(value, kinds):
        raise InputError(
            f"{where}: expected {expected}, got {show_value(value)}.", code="wrong-type"
        )


def check_known(value: object, known: Collection[object], what: str, setting: str = "") -> None:
    """Raise InputError, with the nearest known name, for an unknown one.

    what: it is, such as "row of table 1". setting: as of an InputError.
    """
    from difflib import get_close_matches

    if type(value) in (str, int) and value in known:
        return
    by_lower = {str(name).lower(): name for name in known}
    near = get_close_matches(str(value).lower(), by_lower, n=1, cutoff=0.5)
    remedy = "There is none."
    if near:
        remedy = f"Did you mean {by_lower[near[0]]}?"
    elif by_lower:
        remedy = f"Choose one of: {', '.join(map(str, known)):.300}."
    raise InputError(f"Unknown {what}: {show_value(value)}.", remedy, setting, "unknown-name")


def show_value(value: object) -> str:
    """Format any value for a message, shortened."""
    if isinstance(value, int) and not isinstance(value, bool):
        # Python refuses to print integers of thousands of digits: estimate their number.
        # log10(2) = 0.30103 digits per bit.
        digits = int(value.bit_length() * 0.30103) + 1
        return f"{value:,}" if digits <= MAX_DIGITS else f"a number of about {digits:,} digits"
    if isinstance(value, float):
        return f"{value:g}"
    try:
        text = repr(value)
    except ValueError:  # it contains an integer that Python does not print
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
