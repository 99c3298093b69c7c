"""Corpus: the lines of text files and folders, streamed, the same in every iteration."""

import hashlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vocadapt.errors import InputError
from vocadapt.settings import ABOVE_ZERO, MAX_SEED, CheckedSettings, setting
from vocadapt.system.files import MAX_LINE_BYTES, MEGABYTE, check_path, open_file, show_path
from vocadapt.text.formats import text_file
from vocadapt.text.formats.articles import (
    SUFFIXES,
    is_article_xml,
    is_other_document,
    read_articles,
)
from vocadapt.text.formats.parquet import read_parquet
from vocadapt.text.formats.readers import (
    NO_NOTES,
    Block,
    Reader,
    ReaderNotes,
    read_json_lines,
    read_plain_text,
)
from vocadapt.text.formats.text_file import SNIFF, open_text_file, refuse_binary, split_lines
from vocadapt.text.formats.text_table import read_text_table
from vocadapt.text.identical_lines import SeenLines, hash_lines
from vocadapt.text.language import LanguageProfile, build_language_profile
from vocadapt.text.splitter import Splitter

READERS: dict[str, Reader] = {
    ".txt": read_plain_text,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".csv": read_text_table,
    ".tsv": read_text_table,
    ".parquet": read_parquet,
    **dict.fromkeys(SUFFIXES, read_articles),
}
# Documents that mix text with markup.
NOT_PLAIN = {".html", ".htm", ".pdf", ".doc", ".docx", ".odt", ".rtf", ".zip", ".tar"}
READABLE = f"{', '.join(READERS)} (articles of PubMed, PMC and CORD-19), and .gz of all but parquet"
MAX_FILES = 1000  # maximum number of file blocks in a passage, reached by small files
PROFILE_FILES = 16  # files that the language profile is built from


@dataclass(frozen=True)
class CorpusSettings(CheckedSettings):
    """Which lines of the files are read; by default all.

    A sampled fraction is drawn line by line with `seed`, so every iteration reads the same lines.
    `vocadapt.text.language` detects the main language. Lines that differ only in the blanks around
    them are identical; a paragraph of an article is a line. A file with a line (or table record,
    article, Parquet cell) above `max_line_mb` is refused, to bound the memory.
    """

    field: str = setting(
        "",
        "JSON field or table column that contains the text",
        label="Text field",
        empty="the only one, or text",
    )
    min_length: int = setting(
        0,
        "minimum number of characters of a line: shorter lines are dropped",
        high=1_000_000,
        label="Min line length",
    )
    sample: float = setting(
        1.0,
        "fraction of the lines to read, drawn at random",
        low=ABOVE_ZERO,
        high=1,
        label="Fraction of lines",
    )
    seed: int = setting(
        1,
        "random seed of the sampled fraction of lines",
        high=MAX_SEED,
        label="Seed of the sample",
        flag="--sample-seed",
        other_flag="--seed",
    )
    language: bool = setting(
        False, "drop lines that are not in the text's main language", label="Drop other languages"
    )
    drop_copies: bool = setting(
        False,
        "drop all identical lines except the first",
        label="Drop identical lines",
    )
    max_line_mb: int = setting(
        MAX_LINE_BYTES // MEGABYTE,
        "maximum length of a line (or table record, article) in MB",
        low=1,
        high=1024,
        label="Max line length, MB",
    )

    @property
    def max_line(self) -> int:
        """Maximum length of a line in bytes."""
        return self.max_line_mb * MEGABYTE

    @property
    def reads_all(self) -> bool:
        """Whether every line is kept."""
        return self.min_length == 0 and not self.reads_in_order

    @property
    def reads_in_order(self) -> bool:
        """Whether the lines before a line decide whether it is kept."""
        return self.sample < 1 or self.language or self.drop_copies


class FileBlock(NamedTuple):
    """A block of kept lines of one file, each with a newline, and their line numbers from 1.

    read, size: number of lines and characters read from the file for this block. fraction:
    fraction of the corpus read so far.
    """

    file: Path
    text: str
    numbers: Sequence[int]
    read: int
    size: int
    fraction: float
    notes: ReaderNotes

    @property
    def where(self) -> str:
        """The file and its line numbers, for messages."""
        where = show_path(self.file)
        if self.numbers:
            where += f", lines {self.numbers[0]:,} to {self.numbers[-1]:,}"
        return where


class Passage(NamedTuple):
    """A block of kept lines of a corpus, each with a newline, the number of lines read for it, and
    the fraction of the corpus read so far.
    """

    text: str
    read: int
    fraction: float
    notes: ReaderNotes = NO_NOTES
    where: str = ""  # the first file and its line numbers, for messages


@dataclass(frozen=True)
class Corpus:
    """Text files in order, and the settings that filter their lines; iterates over the lines.

    left_out: number of files in the given folders that cannot be read as text. counted_by: the
    splitter of the word counts that the only file holds in place of a text; None for a text. span:
    the bytes that are read of the only file, which is a part of a larger one (`divide_corpus`).
    """

    files: tuple[Path, ...]
    settings: CorpusSettings = CorpusSettings()
    left_out: int = 0
    counted_by: Splitter | None = None
    span: tuple[int, int] | None = None

    def __iter__(self) -> Iterator[str]:
        for passage in self.passages():
            yield from split_lines(passage.text)

    @cached_property
    def bytes(self) -> int:
        """Size of the files on disk, or of the part that is read."""
        if self.span is not None:
            return self.span[1] - self.span[0]
        return sum(path.stat().st_size for path in self.files)

    def passages(self) -> Iterator[Passage]:
        """Yield the lines in blocks of about a megabyte, with the fraction read so far.

        Raises InputError for bytes that are not UTF-8 (file and position), malformed records (line)
        and unknown fields.
        """
        waiting: list[FileBlock] = []
        size = 0
        for part in self.file_blocks():
            waiting.append(part)
            size += part.size
            if size >= text_file.BLOCK // 2 or len(waiting) == MAX_FILES:
                yield _join_blocks(waiting)
                waiting, size = [], 0
        if waiting:
            yield _join_blocks(waiting)

    def file_blocks(self) -> Iterator[FileBlock]:
        """Yield the lines file by file, in blocks of at most about a megabyte, with line numbers.

        Raises what `passages` raises, and InputError if there are only word counts.
        """
        if self.counted_by is not None:
            raise InputError(
                f"{show_path(self.files[0].parent)} holds word counts only, no text.",
                "Choose or import a text for this.",
                code="counts-only",
            )
        filter_lines = _LineFilter(self.settings, self._profile_main_language())
        bytes_before = 0  # of the files that were read to their end
        for path in self.files:
            number = 1  # of the next line of this file
            blocks = _read_blocks(path, self.settings)
            if self.span is not None:
                blocks = read_plain_text(path, max_line=self.settings.max_line, span=self.span)
            for block in blocks:
                text = block.text
                read = text.count("\n")
                numbers: Sequence[int] = range(number, number + read)
                if not self.settings.reads_all:
                    text, numbers = filter_lines(text, numbers)
                fraction = (bytes_before + block.position) / self.bytes
                yield FileBlock(path, text, numbers, read, len(block.text), fraction, block.notes)
                number += read
            bytes_before += path.stat().st_size

    def digest(self) -> str:
        """Hash the content of the files, in order, and the settings.

        Corpora with equal digests have equal lines.
        """
        settings = asdict(self.settings)
        del settings["max_line_mb"]  # it does not change the content
        total = hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16)
        for path in self.files:
            with open_file(path) as file:
                total.update(hashlib.file_digest(file, "blake2b").digest())
            total.update("".join(_split_suffixes(path)).encode())
        return total.hexdigest()

    def _profile_main_language(self) -> LanguageProfile | None:
        """Profile the main language, from the first block of up to 16 files spread over the corpus.

        Returns None if the settings do not filter by language.
        """
        if not self.settings.language:
            return None
        step = math.ceil(len(self.files) / PROFILE_FILES)
        lines: list[str] = []
        for path in self.files[::step]:
            lines += split_lines(next(_read_blocks(path, self.settings), Block("", 0)).text)
        return build_language_profile(lines)


class _LineFilter:
    """Filters lines by the settings; one random number per line, so block borders do not matter."""

    def __init__(self, settings: CorpusSettings, profile: LanguageProfile | None) -> None:
        self.settings = settings
        self.profile = profile
        self.draws = np.random.default_rng(settings.seed)
        self.seen = SeenLines()

    def __call__(self, text: str, numbers: Sequence[int]) -> tuple[str, list[int]]:
        """Return the kept lines, each with a newline, and their line numbers."""
        lines = split_lines(text)
        is_drawn = self.draws.random(len(lines)) < self.settings.sample
        kept, kept_numbers = [], []
        for line, drawn, number in zip(lines, is_drawn, numbers, strict=True):
            if not drawn or len(line) < self.settings.min_length:
                continue
            if self.profile is None or self.profile.fits(line):
                kept.append(line)
                kept_numbers.append(number)
        if self.settings.drop_copies:
            is_first = self.seen.find_first(hash_lines(kept))
            kept = list(compress(kept, is_first))
            kept_numbers = list(compress(kept_numbers, is_first))
        return "".join(f"{line}\n" for line in kept), kept_numbers


def open_corpus(paths: Sequence[str | Path], settings: CorpusSettings = CorpusSettings()) -> Corpus:
    """Open files and folders (all readable files below them, sorted) as one corpus; a file named
    twice is read once.

    Raises InputError for a missing or empty file, a binary, bytes that are not UTF-8 within the
    first block, a kind of file that cannot be read, an unknown field or column, and a folder with
    nothing readable in it.
    """
    if not paths:
        raise InputError(
            "No text was given.", f"Give files or folders. Readable: {READABLE}.", code="no-text"
        )
    files: dict[Path, Path] = {}
    left_out = 0
    for path in paths:
        found, others = _list_readable_files(Path(path))
        files |= {file.resolve(): file for file in found}
        left_out += others
    for file in files.values():
        _check_file(file, settings)
    return Corpus(tuple(files.values()), settings, left_out)


def _list_readable_files(path: Path) -> tuple[list[Path], int]:
    """List the readable, nonempty files of a folder, and count the others.

    A path to a file is returned unchanged.
    """
    path = check_path(path)
    if not path.is_dir():
        return [path], 0
    inside = sorted(_list_files(path))
    files = []
    for file in inside:
        # Detect the format by the suffix and, if that is ambiguous, by the first bytes.
        reader = _find_reader_by_suffix(file)
        if reader is None or not file.stat().st_size:
            continue
        if reader is not read_articles or not is_other_document(file):
            files.append(file)
    if not files:
        raise InputError(
            f"{path}: none of the {len(inside)} files in this folder can be read.",
            f"Readable: {READABLE}.",
            code="no-readable-file",
        )
    return files, len(inside) - len(files)


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, at every depth, without the hidden ones.

    Raises InputError for a folder in it that cannot be read, and for the root of the file system.
    """
    if folder.resolve() == Path(folder.resolve().anchor):
        raise InputError(
            f"{folder} is the whole machine.",
            "Give the folder of your texts.",
            code="whole-machine",
        )

    def refuse(error: OSError) -> None:
        raise InputError(
            f"{show_path(error.filename)}: cannot be read ({error.strerror}).",
            "Change its permissions, or give single files.",
            code="unreadable-folder",
        ) from error

    for parent, _, names in os.walk(folder, onerror=refuse):
        for name in names:
            file = Path(parent, name)
            if not name.startswith(".") and os.path.isfile(file):
                yield file


def _check_file(path: Path, settings: CorpusSettings) -> None:
    """Raise InputError for problems that can be detected without reading the whole file."""
    suffix, packed = _split_suffixes(path)
    if suffix in NOT_PLAIN or (packed and suffix == ".parquet"):
        raise InputError(
            f"{path}: this kind of file cannot be read.",
            "Convert it to plain text first, as pdftotext and pandoc do, or to another of these:"
            f" {READABLE}.",
            code="unknown-file-kind",
        )
    if path.stat().st_size == 0:
        raise InputError(
            f"{path}: the file is empty.", "Remove it from the text.", code="empty-file"
        )
    reader = _choose_reader(path)
    if reader is not read_parquet:
        with open_text_file(path) as source:
            refuse_binary(source.read(SNIFF), path)
    # Articles are many small files, so they are not read twice.
    if reader is not read_articles or is_other_document(path):
        next(_read_blocks(path, settings), None)


def _split_suffixes(path: Path) -> tuple[str, str]:
    """Return the suffix of the format, and `.gz` if the file is compressed.

    Example: a.csv.gz -> (".csv", ".gz"); a.gz -> (".txt", ".gz").
    """
    suffix = path.suffix.lower()
    if suffix != ".gz":
        return suffix, ""
    return Path(path.stem).suffix.lower() or ".txt", ".gz"


def may_divide(path: Path) -> bool:
    """Return whether a file may be read in parts: plain text that is not compressed."""
    return not _split_suffixes(path)[1] and _choose_reader(path) is read_plain_text


def _find_reader_by_suffix(path: Path) -> Reader | None:
    suffix, packed = _split_suffixes(path)
    if packed and suffix == ".parquet":
        return None
    return READERS.get(suffix)


def _join_blocks(parts: Sequence[FileBlock]) -> Passage:
    where = parts[0].where
    if len(parts) > 1:
        where += f", and up to {parts[-1].where}"
    return Passage(
        "".join(part.text for part in parts),
        sum(part.read for part in parts),
        parts[-1].fraction,
        sum((part.notes for part in parts), NO_NOTES),
        where,
    )


def _choose_reader(path: Path) -> Reader:
    """Return the reader of a file by its suffix; plain text may still be articles in XML."""
    reader = _find_reader_by_suffix(path) or read_plain_text
    if reader is read_plain_text and is_article_xml(path):
        return read_articles
    return reader


def _read_blocks(path: Path, settings: CorpusSettings) -> Iterator[Block]:
    return _choose_reader(path)(path, settings.field, settings.max_line)
