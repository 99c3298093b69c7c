"""Loader: a program that loads model folders. LoadResult: its result on an adapted model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from vocadapt.models.edit import Edit
from vocadapt.models.load_states import DIFFERS, LOADS, NOT_REQUESTED, NOT_TRIED
from vocadapt.report.table import Column

Finding = tuple[str, str]  # a state and a sentence about it


@dataclass(frozen=True)
class Loader:
    """A program that loads model folders.

    about: what it compares, for help texts. try_loading: runs the comparison on an edited model.
    packages: Python modules that it imports. is_quick: whether it is tried by default.
    """

    title: str
    about: str
    try_loading: Callable[[Edit], Finding]
    packages: tuple[str, ...] = ()
    is_quick: bool = False


@dataclass(frozen=True)
class LoadResult:
    """The result of a loader on an adapted model.

    state: LOADS, DIFFERS, NOT_TRIED or NOT_APPLICABLE. version: of the package that was used; ""
    if there was none.
    """

    name: str
    title: str
    state: str
    detail: str
    version: str = ""

    @property
    def program(self) -> str:
        """The program and its version."""
        return f"{self.title} {self.version}".strip()


LOADS_COLUMNS = (
    Column("state", "Result"),
    Column("program", "Loads correctly in"),
    Column("detail", "Detail"),
)


def find_missing_packages(packages: Sequence[str]) -> list[str]:
    """List the packages that are not installed."""
    return [name.replace("_", "-") for name in packages if find_spec(name) is None]


def try_loader(name: str, loader: Loader, edit: Edit, is_requested: bool) -> LoadResult:
    """Try a loader on an edited model, if it is requested and its packages are installed."""
    missing = find_missing_packages(loader.packages)
    state, detail = NOT_TRIED, NOT_REQUESTED
    if is_requested and missing:
        detail = f"{' and '.join(missing)} not installed"
    elif is_requested:
        state, detail = loader.try_loading(edit)
    found = ""
    if state in (LOADS, DIFFERS) and loader.packages:
        found = _find_version(loader.packages[0])
    return LoadResult(name, loader.title, state, detail, found)


def _find_version(package: str) -> str:
    try:
        return version(package.replace("_", "-"))
    except PackageNotFoundError:
        return ""
