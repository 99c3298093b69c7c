"""Text prepared for masked-language-model training: its pre-tokens in a file, and held-out lines,
which are excluded from training.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, report_block, silent
from vocadapt.text.corpus import Corpus, FileBlock, Passage
from vocadapt.text.counting import build_word_counter
from vocadapt.text.formats.text_file import split_lines
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import Vocabulary

# Fraction of the lines to hold out, drawn at random. The held-out lines of word counts are others:
# a tenth, by their hash (`text.identical_lines`).
HELD_OUT = 0.01
MAX_HELD_OUT = 1000  # maximum number of held-out lines; training uses any further ones
SEPARATOR_SCAN = 0.3  # fraction of the progress for the search for empty lines


@dataclass(frozen=True, eq=False)
class TrainingText:
    """A text prepared for training.

    sentences: file of the pre-tokens of each line (words, in WordPiece models), separated by
    spaces. held_out: held-out lines, unchanged. lines: number of lines to train on.
    """

    sentences: Path
    held_out: tuple[str, ...]
    splitter: Splitter
    lines: int


def write_training_text(
    corpus: Corpus,
    splitter: Splitter,
    folder: Path,
    seed: int = 1,
    progress: Progress = silent,
    documents: bool = False,
) -> TrainingText:
    """Hold out random lines of a corpus, and write the pre-tokens of the others to
    `folder`/sentences.txt.

    documents: keep the empty lines that separate documents, and write one between two files. If no
    file has any, none is written and each line is a document. Raises InputError if the text has too
    few lines to hold one out.

    1. Hold out each line with probability HELD_OUT, and write the pre-tokens of the others.
    2. If more than MAX_HELD_OUT lines are held out, keep a random sample of them.
    3. Append the pre-tokens of the other held-out lines to the file.
    """
    separated = False
    if documents:
        separated = _has_separators(corpus, part(progress, 0.0, SEPARATOR_SCAN))
        progress = part(progress, SEPARATOR_SCAN, 1.0)
    rng = np.random.default_rng(seed)
    counter = build_word_counter(splitter)
    held_out: list[str] = []
    n_lines = 0
    file = folder / "sentences.txt"
    with file.open("w", encoding="utf-8", newline="\n") as out:
        # 1. Hold out lines while the text is read once.
        for passage in _read_passages(corpus, separated, out):
            trained: list[str] = []
            # Only a newline ends a line, as in all file readers: str.splitlines would also divide
            # lines at U+2028, U+0085, \x0b and \x0c.
            for line in split_lines(passage.text):
                drawn = bool(rng.random() < HELD_OUT)
                is_separator = documents and not line.strip()
                if drawn and not is_separator:
                    held_out.append(f"{line}\n")
                else:
                    trained.append(f"{line}\n")
            with report_block(passage.where):
                sentences = list(counter.pretoken_lines("".join(trained)))
            out.writelines(f"{words}\n" for words in sentences if words or separated)
            n_lines += len(trained)
            n_held_out = min(len(held_out), MAX_HELD_OUT)
            progress(passage.fraction, f"{n_lines:,} lines, {n_held_out:,} held out")

        # 2. and 3. Train on the lines beyond the maximum; each is a document of its own.
        held_out, rest = _limit_held_out(held_out, rng)
        for words in filter(None, counter.pretoken_lines("".join(rest))):
            out.write("\n" * separated + f"{words}\n")
        n_lines += len(rest)
    if not held_out:
        raise InputError(
            f"Too little text: of {n_lines:,} lines none could be held out.",
            f"Give at least {round(3 / HELD_OUT)} lines: break long ones, such as at the ends of"
            " sentences.",
            code="little-text",
        )
    return TrainingText(file, tuple(held_out), splitter, n_lines)


def _read_passages(corpus: Corpus, separated: bool, out: IO[str]) -> Iterator[Passage | FileBlock]:
    """Yield the text in blocks; if `separated`, write an empty line between files."""
    if not separated:
        yield from corpus.passages()
        return
    previous: Path | None = None
    for block in corpus.file_blocks():
        if previous not in (None, block.file):
            out.write("\n")
        previous = block.file
        yield block


def _limit_held_out(lines: list[str], rng: np.random.Generator) -> tuple[list[str], list[str]]:
    if len(lines) <= MAX_HELD_OUT:
        return lines, []
    chosen = set(rng.choice(len(lines), MAX_HELD_OUT, replace=False).tolist())
    rest = [line for index, line in enumerate(lines) if index not in chosen]
    return [lines[index] for index in sorted(chosen)], rest


def _has_separators(corpus: Corpus, progress: Progress) -> bool:
    """Return whether any file has an empty line between two other lines.

    Empty lines at the start or end of a file do not count.
    """
    file: Path | None = None
    has_text = gap = False
    for passage in corpus.file_blocks():
        if passage.file != file:
            file, has_text, gap = passage.file, False, False
        for line in split_lines(passage.text):
            if gap and line.strip():
                return True
            has_text = has_text or bool(line.strip())
            gap = has_text and not line.strip()
        progress(passage.fraction, "looking for empty lines")
    return False


def read_pretoken_lines(sentences: Path) -> Iterator[list[str]]:
    """Yield the pre-tokens of each line of a file in which spaces separate them.

    Only a space separates pre-tokens, and only a newline ends a line: a pre-token may contain any
    other character.
    """
    with sentences.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield [pretoken for pretoken in line.rstrip("\n").split(" ") if pretoken]


def tokenize_lines(sentences: Path, vocabulary: Vocabulary) -> Iterator[list[str]]:
    """Yield the tokens of each line of a file of pre-tokens; tokenize each distinct one once."""
    cache: dict[str, tuple[str, ...]] = {}
    for pretokens in read_pretoken_lines(sentences):
        tokens: list[str] = []
        for pretoken in pretokens:
            if pretoken not in cache:
                cache[pretoken] = vocabulary.tokenize(pretoken)
            tokens += cache[pretoken]
        yield tokens
