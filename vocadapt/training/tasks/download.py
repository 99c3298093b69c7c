"""Download of a benchmark by its card: checked files in a folder, with the task.toml that reads
them.

Uses pooch, which checks a SHA-256 and never leaves a partial file. If no checksum is known, that of
the first download is written to task.toml, and later downloads must match it.
"""

import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urljoin, urlparse
from urllib.request import url2pathname

from vocadapt.errors import InputError
from vocadapt.files import check_file, open_file
from vocadapt.progress import Progress, silent
from vocadapt.training.tasks.benchmark_card import ACCESS, Card, CardFile
from vocadapt.training.tasks.task import FOLD, TASK, TaskFile

TIMEOUT = 60  # seconds without an answer
MAX_FILE_BYTES = 1 << 30  # bytes of one file in a zip


def download_benchmark(
    card: Card,
    folder: Path,
    source: str = "",
    recorded: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> TaskFile:
    """Fetch the files of a card into an existing folder, and write its task.toml.

    source: replaces the card's own place: the address of a mirror, a file:// address, or a folder
    (in which the files may also be without subfolders). recorded: checksums of an earlier download
    by file name. Raises InputError for a card that is not free without a source, a place that does
    not answer, and a file with another checksum.
    """
    base = _base(source or _own_place(card))
    splits = {split: _placed(split, file) for split, file in card.files.items()}
    wanted = [(split, fold) for split in splits for fold in range(1, card.folds + 1)] or [
        (split, 0) for split in splits
    ]
    sums: dict[str, str] = {}
    with TemporaryDirectory(prefix="vocadapt-") as draft:
        for number, (split, fold) in enumerate(wanted):
            name, file = (
                text.replace(FOLD, str(fold)) for text in (splits[split], card.files[split].path)
            )
            progress(number / len(wanted), f"{card.name}: {file}")
            (folder / name).parent.mkdir(exist_ok=True)
            held = (recorded or {}).get(name, "")
            sums[name] = _fetch(
                base, replace(card.files[split], path=file), folder / name, Path(draft), held
            )
    made = task_file(card, splits, sums)
    (folder / TASK).write_text(as_toml(made), encoding="utf-8")
    progress(1.0, card.name)
    return made


def _own_place(card: Card) -> str:
    """Return the address of a free card's files; raises InputError if the card is not free."""
    if card.free:
        return card.base
    names = ", ".join(file.path for file in card.files.values())
    remedy = (
        f"Put {names} in a folder, and give it."
        if names
        else "Name its files in a task.toml of your own."
    )
    where = f" ({card.where})" if card.where else ""
    raise InputError(f"{card.name}: {ACCESS[card.access]}{where}.", remedy, "source")


def _placed(split: str, file: CardFile) -> str:
    """Return the file name of a split: train.tsv, in a subfolder for each fold if there are
    folds.
    """
    name = f"{split}{Path(file.member or file.path).suffix}"
    return f"{FOLD}/{name}" if FOLD in file.path else name


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


def as_toml(task: TaskFile) -> str:
    """Format a task.toml, without settings that have their default."""
    import tomli_w

    usual = TaskFile(task.name, task.kind, {})
    values: dict[str, Any] = {}
    for name, value in vars(task).items():
        if name in ("name", "kind") or (value and value != getattr(usual, name)):
            values[name] = (
                list(value)
                if isinstance(value, tuple)
                else dict(value)
                if isinstance(value, Mapping)
                else value
            )
    return tomli_w.dumps(values)


def checksum(path: Path) -> str:
    """Compute the SHA-256 of a file."""
    from hashlib import file_digest

    with open_file(path) as file:
        return file_digest(file, "sha256").hexdigest()


def _base(place: str) -> str:
    """Return an address with a trailing slash; a folder becomes a file:// address."""
    if not urlparse(place).scheme or Path(place).is_dir():
        if not Path(place).is_dir():
            raise InputError(
                f"{place}: no such folder.",
                "Give a folder with the files, or an address (https://…).",
            )
        place = Path(place).resolve().as_uri()
    return place.rstrip("/") + "/"


def _fetch(base: str, file: CardFile, target: Path, draft: Path, recorded: str) -> str:
    """Fetch the file of one split; returns its SHA-256."""
    expected = file.sha256 or recorded
    local = Path(url2pathname(urlparse(base).path)) if base.startswith("file:") else None
    if local and not (local / file.path).exists() and (local / Path(file.path).name).exists():
        file = replace(file, path=Path(file.path).name)
    if file.member:
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
    """Download one file; raises InputError if the place does not answer or the checksum differs."""
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")
    local = urlparse(url).scheme == "file"
    fetch = _copy if local else pooch.HTTPDownloader(timeout=TIMEOUT)
    known = f"sha256:{sha256}" if sha256 else None
    try:
        pooch.retrieve(
            url, known_hash=known, fname=target.name, path=target.parent, downloader=fetch
        )
    except (requests.RequestException, OSError) as error:
        remedy = "Try again, or give a folder with the files."
        problem = f"{url}: cannot be fetched ({_reason(error)})."
        raise InputError(problem, remedy, "source") from None
    except ValueError as error:
        if "hash" not in str(error):
            raise InputError(
                f"{url}: cannot be fetched ({error}).", "Give an http(s) address or a folder."
            ) from None
        raise _changed(url) from None


def _copy(url: str, output: Any, pooch: Any) -> None:
    """Downloader of pooch for file:// addresses."""
    shutil.copyfile(check_file(url2pathname(urlparse(url).path)), output)


def _unpack(archive: Path, member: str, target: Path) -> None:
    """Extract one file from a zip archive."""
    try:
        with zipfile.ZipFile(archive) as packed:
            if packed.getinfo(member).file_size > MAX_FILE_BYTES:
                raise InputError(
                    f"{archive.name}: {member} is larger than a gigabyte unpacked.",
                    "Fetch it by hand.",
                )
            with packed.open(member) as inside, target.open("wb") as out:
                shutil.copyfileobj(inside, out)
    except (KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{archive.name}: {error}.", f"Expected a zip file that holds {member}."
        ) from None


def _changed(what: str) -> InputError:
    return InputError(
        f"{what} is not the file expected: its SHA-256 differs.",
        "It was changed, or broken on the way. To take it all the same, download to a new folder by"
        " hand.",
    )


def _reason(error: Exception) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"{response.status_code} {response.reason}"
    return getattr(error, "strerror", None) or type(error).__name__
