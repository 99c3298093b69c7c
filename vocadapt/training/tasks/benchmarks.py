"""Published benchmarks: cards with labels, version, splits and sizes, metric, license and source,
as data; and the download of a benchmark by its card into a folder, with the task.toml that reads
it.

Facts that neither the papers, their code nor the files contain stay empty and are displayed as "not
known here". The download uses pooch, which checks a SHA-256 and never leaves a partial file. If no
checksum is known, that of the first download is written to task.toml, and later downloads must
match it.
"""

import os
import shutil
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urljoin, urlparse
from urllib.request import url2pathname

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.settings import build_settings
from vocadapt.system.files import check_file, open_file
from vocadapt.system.zip_files import open_zip, read_member
from vocadapt.training.tasks.task import FOLD, TASK, TaskFile

CARDS = Path(__file__).parent / "cards"
UNKNOWN = "not known here"
ACCESS = {
    "free": "anyone may download it",
    "bring": "bring the files: no stable public place is known here",
    "agreement": "bring the files: they are given out under an agreement",
}


@dataclass(frozen=True)
class CardFile:
    """Source of a split: a path under the card's base, or a member of the zip at that path; its
    SHA-256 if known.
    """

    path: str
    sha256: str = ""
    member: str = ""


@dataclass(frozen=True)
class Card:
    """A benchmark.

    sizes: split → what is counted → number. metric: how its papers score it; scorer: how we do.
    source: where the card's facts are from. files: the files that `download` fetches from `base`;
    without a base, users bring them; {fold} in a path stands for the number of a fold.
    """

    name: str
    kind: str
    about: str = ""
    version: str = ""
    labels: tuple[str, ...] = ()
    sizes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    scorer: str = ""
    negative: tuple[str, ...] = ()
    metric: str = ""
    license: str = ""
    access: str = "bring"
    where: str = ""
    base: str = ""
    files: Mapping[str, CardFile] = field(default_factory=dict)
    folds: int = 0
    groups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""

    @property
    def free(self) -> bool:
        """Whether `download` can fetch it."""
        return bool(self.base and self.files)

    @property
    def family(self) -> str:
        """The collection it belongs to."""
        return self.name.partition("/")[0]


@cache
def cards() -> Mapping[str, Card]:
    """Load all cards by name, `family/benchmark`, in the order of their files."""
    found: dict[str, Card] = {}
    for path in sorted(CARDS.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for key, values in content["cards"].items():
            name = f"{path.stem}/{key}"
            common = content.get("common", {})
            found[name] = build_settings(Card, {"name": name, **common, **values}, str(path))
    return found


def find_card(name: str) -> Card:
    """Return the card of a name, or of the only benchmark with that name in any family; raises
    InputError, with similar names, if there is none.
    """
    from difflib import get_close_matches

    # 1. An exact name; else one that is equal in lower case, with or without its family.
    every = cards()
    if name in every:
        return every[name]
    known = defaultdict[str, list[str]](list)
    for full in every:
        for own in (full.lower(), full.lower().partition("/")[2]):
            known[own].append(full)
    fitting = known.get(name.lower(), [])
    if len(fitting) == 1:
        return every[fitting[0]]
    if fitting:
        raise InputError(
            f"There are {len(fitting)} benchmarks {name!r}: {', '.join(fitting)}.",
            "They differ: choose one.",
            code="ambiguous-benchmark",
        )
    # 2. No such benchmark: suggest similar names.
    advice = "python -m vocadapt tasks lists them."
    matches = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    if matches:
        near = dict.fromkeys(full for match in matches for full in known[match])
        advice = f"Did you mean {' or '.join(near)}?"
    raise InputError(f"There is no benchmark {name!r}.", advice, code="unknown-benchmark")


def groups() -> dict[str, tuple[str, ...]]:
    """Return group → Bio-LM tasks in it, for group means: sequence labeling, classification,
    PubMed, clinical.
    """
    found = defaultdict[str, list[str]](list)
    for card in cards().values():
        for group in card.groups:
            found[group].append(card.name)
    return {group: tuple(names) for group, names in found.items()}


TIMEOUT = 60  # seconds without an answer
BLOCK_BYTES = 1 << 16  # of a download that is read at a time
MAX_FILE_BYTES = 1 << 30  # of one file, downloaded or in a zip


def download_benchmark(
    card: Card,
    folder: Path,
    source: str = "",
    recorded: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> TaskFile:
    """Fetch the files of a card into an existing folder, and write its task.toml.

    source: replaces the card's own place: an address, or a folder. recorded: checksums of an
    earlier download by file name. Raises InputError for a card that is not free without a source, a
    place that does not answer, and a file with another checksum.
    """
    # 1. Where the files come from, and where they go: train.tsv, in a subfolder for each fold.
    base = _base(source or _own_place(card))
    splits = {}
    for split, file in card.files.items():
        splits[split] = f"{split}{Path(file.member or file.path).suffix}"
        if FOLD in file.path:
            splits[split] = f"{FOLD}/{splits[split]}"
    folds = range(1, card.folds + 1) if card.folds else (0,)
    wanted = list(product(splits, folds))

    # 2. Fetch and check them.
    sums: dict[str, str] = {}
    with TemporaryDirectory(prefix="vocadapt-") as draft:
        for number, (split, fold) in enumerate(wanted):
            source_file = card.files[split]
            file = replace(source_file, path=source_file.path.replace(FOLD, str(fold)))
            name = splits[split].replace(FOLD, str(fold))
            progress(number / len(wanted), f"{card.name}: {file.path}")
            (folder / name).parent.mkdir(exist_ok=True)
            expected = file.sha256 or (recorded or {}).get(name, "")
            sums[name] = _fetch(base, file, folder / name, Path(draft), expected)

    # 3. The task that reads them.
    made = task_file(card, splits, sums)
    (folder / TASK).write_text(format_task_file(made), encoding="utf-8")
    progress(1.0, card.name)
    return made


def _own_place(card: Card) -> str:
    if card.free:
        return card.base
    names = ", ".join(file.path for file in card.files.values())
    remedy = "Name its files in a task.toml of your own."
    if names:
        remedy = f"Put {names} in a folder, and give it."
    where = f" ({card.where})" if card.where else ""
    raise InputError(
        f"{card.name}: {ACCESS[card.access]}{where}.", remedy, "source", code="restricted-benchmark"
    )


def task_file(card: Card, splits: Mapping[str, str], sums: Mapping[str, str]) -> TaskFile:
    """Build the task.toml of a card from the places of its splits."""
    made = TaskFile(
        card.name,
        card.kind,
        splits,
        card.scorer,
        card.labels,
        folds=card.folds,
        card=card.name,
        sha256=sums,
    )
    return replace(made, negative=card.negative) if card.negative else made


def format_task_file(task: TaskFile) -> str:
    """Format a task.toml, without settings that have their default."""
    import tomli_w

    usual = TaskFile("", "", {})
    values = {
        name: value for name, value in vars(task).items() if value and value != getattr(usual, name)
    }
    return tomli_w.dumps(values)


def checksum(path: Path) -> str:
    """Compute the SHA-256 of a file."""
    from hashlib import file_digest

    with open_file(path) as file:
        return file_digest(file, "sha256").hexdigest()


def _base(place: str) -> str:
    """Return an address with a trailing slash; a folder becomes a file:// address."""
    if not urlparse(place).scheme or os.path.isdir(place):
        if not os.path.isdir(place):
            raise InputError(
                f"{place}: no such folder.",
                "Give a folder with the files, or an address (https://…).",
            )
        place = Path(place).resolve().as_uri()
    return place.rstrip("/") + "/"


def _fetch(base: str, file: CardFile, target: Path, draft: Path, expected: str) -> str:
    # A user's folder may hold the files without the subfolders of their address.
    local = Path(url2pathname(urlparse(base).path)) if base.startswith("file:") else None
    if local and not (local / file.path).exists() and (local / Path(file.path).name).exists():
        file = replace(file, path=Path(file.path).name)
    if file.member:
        # Several splits may be members of one archive, which is fetched once.
        archive = draft / Path(file.path).name
        if not archive.exists():
            _retrieve(urljoin(base, file.path), archive, "")
        _unpack(archive, file.member, target)
        if expected and checksum(target) != expected:
            raise _changed(f"{file.path}: {file.member}")
    else:
        _retrieve(urljoin(base, file.path), target, expected)
    return checksum(target)


def _retrieve(url: str, target: Path, sha256: str) -> None:
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")
    fetch: Any = _download
    if urlparse(url).scheme == "file":
        fetch = _copy
    known = f"sha256:{sha256}" if sha256 else None
    try:
        pooch.retrieve(
            url, known_hash=known, fname=target.name, path=target.parent, downloader=fetch
        )
    except (requests.RequestException, OSError) as error:
        raise InputError(
            f"{url}: cannot be fetched ({_reason(error)}).",
            "Try again, or give a folder with the files.",
            "source",
            code="not-fetched",
        ) from None
    except ValueError as error:
        if "hash" not in str(error):
            raise InputError(
                f"{url}: cannot be fetched ({error}).",
                "Give an http(s) address or a folder.",
                code="not-fetched",
            ) from None
        raise _changed(url) from None


def _download(url: str, output: Any, pooch: Any) -> None:
    import requests

    with requests.get(url, stream=True, timeout=TIMEOUT) as response, open(output, "wb") as target:
        response.raise_for_status()
        if int(response.headers.get("content-length", 0)) > MAX_FILE_BYTES:
            raise _too_large(url)
        fetched = 0
        for block in response.iter_content(BLOCK_BYTES):
            fetched += len(block)
            if fetched > MAX_FILE_BYTES:
                raise _too_large(url)
            target.write(block)


def _too_large(what: str) -> InputError:
    return InputError(
        f"{what} is larger than {MAX_FILE_BYTES >> 30} GiB.",
        "Download it yourself, and give the folder with the files.",
        "source",
        code="large-file",
    )


def _copy(url: str, output: Any, pooch: Any) -> None:
    shutil.copyfile(check_file(url2pathname(urlparse(url).path)), output)


def _unpack(archive: Path, member: str, target: Path) -> None:
    remedy = f"Expected a zip file that holds {member}."
    with open_zip(archive, archive.name, remedy) as packed:
        found = packed.NameToInfo.get(member)
        if found is None:
            raise InputError(f"{archive.name}: holds no {member}.", remedy, code="missing-member")
        if found.file_size > MAX_FILE_BYTES:
            raise _too_large(f"{archive.name}: {member}")
        with target.open("wb") as out:
            for block in read_member(packed, found, archive.name, remedy):
                out.write(block)


def _changed(what: str) -> InputError:
    return InputError(
        f"{what} is not the file expected: its SHA-256 differs.",
        "It was changed, or broken on the way. To take it all the same, download to a new folder by"
        " hand.",
        code="changed-file",
    )


def _reason(error: Exception) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"{response.status_code} {response.reason}"
    return getattr(error, "strerror", None) or type(error).__name__
