"""Text in the workspace: a corpus artifact lists or copies text files, and records its settings.

Word counts are cached in the workspace by content: a text is counted only once with each splitter.
"""

import logging
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.limits import is_read_only
from vocadapt.lab.workspace.locks import hold_lock, wait_for_lock
from vocadapt.lab.workspace.manifest import read_saved_settings
from vocadapt.lab.workspace.records import CORPUS as RECORD
from vocadapt.lab.workspace.records import CORPUS_FILES, COUNTS, list_corpus_paths
from vocadapt.lab.workspace.workspace import Artifact, Workspace, explain_change, open_artifact
from vocadapt.progress import Progress, silent
from vocadapt.settings import build_settings
from vocadapt.system.files import check_file
from vocadapt.text.corpus import Corpus, CorpusSettings, open_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts, count_words

COPIES = "text"
# Part of the name of cached counts: a new version counts again.
COUNTS_VERSION = "2"
SAMPLE = 1 << 20  # bytes at the beginning of a text whose words are counted for a forecast
COMPRESSION_RATIO = 4  # approximate bytes of text per byte of .gz or parquet


def read_corpus(paths: Sequence[str | Path], settings: CorpusSettings | None = None) -> Corpus:
    """Open text files and folders, or one corpus artifact with its own settings.

    Raises InputError if a corpus artifact is combined with other text or other settings.
    """
    settings = settings or CorpusSettings()
    # os.path.isfile returns False for a name that is too long; Path.is_file would raise.
    artifacts = [Path(path) for path in paths if os.path.isfile(Path(path) / RECORD)]
    if not artifacts:
        return open_corpus(paths, settings)
    artifact = artifacts[0]
    if len(paths) > 1 or settings != CorpusSettings():
        raise InputError(
            f"{artifact} is a corpus with its own settings.",
            "Give it as the only text, without options for text.",
            code="own-settings",
        )
    record = strict_json.read(artifact / RECORD)
    # Joining an absolute path leaves it unchanged.
    files = [artifact / path for path in list_corpus_paths(record, str(artifact / RECORD))]
    if COUNTS in record:
        splitter = read_saved_settings(Splitter, record["splitter"], str(artifact))
        return Corpus(tuple(files), counted_by=splitter)
    return open_corpus(
        files, read_saved_settings(CorpusSettings, record["settings"], str(artifact))
    )


def write_corpus(corpus: Corpus, draft: Path, copy: bool) -> None:
    """Write the record of a corpus into a draft, with copies of its files if requested."""
    files = [str(file.resolve()) for file in corpus.files]
    if copy:
        (draft / COPIES).mkdir()
        # Numbers keep files of the same name apart.
        files = [f"{COPIES}/{number:04d}-{file.name}" for number, file in enumerate(corpus.files)]
        for source, name in zip(corpus.files, files, strict=True):
            shutil.copyfile(check_file(source), draft / name)
    strict_json.write(draft / RECORD, {CORPUS_FILES: files, "settings": asdict(corpus.settings)})


def list_texts(workspace: Workspace) -> list[Artifact]:
    """List the corpora of a workspace that hold a text, not only word counts, newest first."""
    return [one for one in workspace.artifacts("corpora") if not _has_counts_only(one.folder)]


def find_same_text(workspace: Workspace, files: Sequence[Path]) -> Artifact | None:
    """Return the newest text of a workspace with the content of these files, None if there is none.

    Settings of the texts do not matter. Raises InputError if the files cannot be read.
    """
    given = open_corpus(files)
    for text in list_texts(workspace):
        with suppress(InputError, OSError):  # its files may be gone
            own = open_corpus(read_corpus([text.folder]).files)
            # Only files of the same size are read.
            if own.bytes == given.bytes and _digest(own.files) == _digest(given.files):
                return text
    return None


def _digest(files: Sequence[Path]) -> str:
    """Hash the content of files."""
    states = tuple((str(file), file.stat().st_mtime_ns) for file in files)
    return _digest_files(states)


@lru_cache(maxsize=64)
def _digest_files(states: tuple[tuple[str, int], ...]) -> str:
    """Hash the content of files, given with their modification times."""
    return open_corpus([path for path, _ in states]).digest()


def _has_counts_only(folder: Path) -> bool:
    try:
        return COUNTS in strict_json.read(folder / RECORD)
    except (InputError, OSError):
        return False  # whoever reads it reports why it cannot be read


def write_counts(counts: WordCounts, splitter: Splitter, draft: Path) -> None:
    """Write a corpus that holds word counts only, and no text, into a draft."""
    name = f"{COUNTS}.tsv"
    counts.write(draft / name)
    strict_json.write(draft / RECORD, {COUNTS: name, "splitter": asdict(splitter)})


def load_or_count_words(
    root: Path | None, corpus: Corpus, splitter: Splitter, progress: Progress = silent
) -> WordCounts:
    """Return the word counts of a corpus, cached in the workspace at `root`; a read-only lab writes
    no cache.

    Raises InputError for a corpus that holds only the counts of another splitter.
    """
    if corpus.counted_by == splitter:
        return WordCounts.read(corpus.files[0])
    if root is None:
        return count_words(corpus, splitter, progress)

    # 1. Use the cached counts of this content and this splitter if there are any.
    path = build_counts_path(root, corpus, splitter)
    if path.is_file():
        return WordCounts.read(path)

    # 2. Count the words and save the counts. The shared lock is held while a draft is written:
    #    `remove_stale_counts` removes drafts only if no process holds it. If the counts cannot be
    #    saved, they are still returned.
    counts = count_words(corpus, splitter, progress)
    if is_read_only():
        return counts
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with wait_for_lock(path.parent, shared=True):
            try:
                counts.write(draft)
                os.replace(draft, path)
            finally:
                draft.unlink(missing_ok=True)
    except OSError as error:  # not fatal: the words will be counted again
        logging.getLogger(__name__).warning("cannot save the word counts: %s", error)
    return counts


def read_or_sample_counts(root: Path | None, corpus: Corpus, splitter: Splitter) -> WordCounts:
    """Return the saved word counts of a corpus, or those of its beginning, extrapolated."""
    # 1. The saved counts.
    if root is not None:
        path = build_counts_path(root, corpus, splitter)
        if path.is_file():
            return WordCounts.read(path)

    # 2. The words of the beginning.
    words = Counter[str]()
    n_bytes = 0
    for passage in corpus.passages():
        words.update(passage.text.split())
        n_bytes += len(passage.text.encode())
        if n_bytes >= SAMPLE:
            break
    longer = max(1.0, estimate_text_bytes(corpus) / max(n_bytes, 1))
    counts = {word: round(count * longer) for word, count in words.items()}
    return WordCounts(counts, 0, n_bytes)


def estimate_text_bytes(corpus: Corpus) -> int:
    """Estimate the unpacked size of the files in bytes."""
    total = 0
    for path in corpus.files:
        size = path.stat().st_size
        if path.suffix in (".gz", ".parquet"):
            size *= COMPRESSION_RATIO
        total += size
    return total


def find_training_text(vectors: Path) -> Corpus | None:
    """Return the text of word vectors; None if it is unknown, unreadable or has changed since."""
    folder = vectors.resolve()
    try:
        manifest = open_artifact(folder).manifest
        workspace = Workspace(folder.parent.parent)
        if explain_change(manifest.inputs["text"], workspace):
            return None
        # Joining an absolute path leaves it unchanged.
        return read_corpus(
            [workspace.root / path for path in manifest.inputs["text"].paths],
            build_settings(CorpusSettings, manifest.settings["corpus"]),
        )
    except (InputError, KeyError, OSError):
        return None


def remove_stale_counts(root: Path) -> None:
    """Remove the drafts of killed processes; do nothing while counts are being written."""
    with suppress(BlockingIOError, FileNotFoundError), hold_lock(root / COUNTS):
        for draft in (root / COUNTS).glob(".*.tsv.*"):
            draft.unlink()


def build_counts_path(root: Path, corpus: Corpus, splitter: Splitter) -> Path:
    """Return the path of the cached counts of this content with this splitter."""
    if corpus.counted_by == splitter:
        return corpus.files[0]
    parts = (COUNTS_VERSION, corpus.digest(), splitter.normalizer, splitter.pre_tokenizer)
    key = "\0".join(parts)
    return root / COUNTS / f"{blake2b(key.encode(), digest_size=16).hexdigest()}.tsv"
