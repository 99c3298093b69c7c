"""A text made ready for masked-word training: its words in a file, and some lines held out that
nothing is trained on.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, report_block, silent
from vocadapt.text.corpus import Corpus, FileBlock
from vocadapt.text.counting import build_word_counter
from vocadapt.text.formats.text_file import split_lines
from vocadapt.text.splitter import Splitter

HELD_OUT = 0.01  # share of the lines that is held out …
MOST_HELD_OUT = (
    1000  # … up to so many, drawn once more from all of them; the others are trained on after all
)
LOOKING = 0.3  # of the progress, where the text is read once before, for its empty lines


@dataclass(frozen=True, eq=False)
class TrainingText:
    """The words of a text between blanks, a line each (file); the lines held out, as they stand in
    the text; lines in all.
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
    """Write the words of a corpus to `folder`/sentences.txt, all but the lines that a seeded draw
    holds out.

    `documents`: where the text itself parts some by empty lines, these stay, and one parts every
    two files; elsewhere none is written, and each line is a document. Raises InputError where a
    line cannot be held out, for there are too few.
    """
    parted = documents and _is_parted(corpus, part(progress, 0.0, LOOKING))
    progress = part(progress, LOOKING if documents else 0.0, 1.0)
    rng, tally = np.random.default_rng(seed), build_word_counter(splitter)
    held_out: list[str] = []
    lines, file, gap = 0, folder / "sentences.txt", "\n" if parted else ""
    with file.open("w", encoding="utf-8", newline="\n") as out:
        before: Path | None = None
        for passage in corpus.parts() if parted else corpus.passages():
            file_of = passage.file if isinstance(passage, FileBlock) else None
            out.write("\n" if before not in (None, file_of) else "")
            before, kept = file_of, list[str]()
            for line in passage.text.splitlines(keepends=True):
                drawn = bool(rng.random() < HELD_OUT) and not (documents and not line.strip())
                (held_out if drawn else kept).append(line)
            with report_block(passage.where):
                out.writelines(
                    f"{sentence}\n"
                    for sentence in tally.sentences("".join(kept))
                    if sentence or parted
                )
            lines += len(kept)
            progress(
                passage.fraction, f"{lines:,} lines, {min(len(held_out), MOST_HELD_OUT):,} held out"
            )
        held_out, back = _fewer(held_out, rng)
        out.writelines(
            f"{gap}{sentence}\n" for sentence in tally.sentences("\n".join(back)) if sentence
        )
        lines += len(back)
    if not held_out:
        raise InputError(
            f"Too little text: of {lines:,} lines none could be held out.",
            f"Give at least {round(3 / HELD_OUT)} lines.",
        )
    return TrainingText(file, tuple(held_out), splitter, lines)


def _fewer(drawn: list[str], rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """At most MOST_HELD_OUT of the drawn lines, each as likely as any other wherever in the text it
    stands; and the others.
    """
    if len(drawn) <= MOST_HELD_OUT:
        return drawn, []
    chosen = set(rng.choice(len(drawn), MOST_HELD_OUT, replace=False).tolist())
    back = [line for place, line in enumerate(drawn) if place not in chosen]
    return [drawn[place] for place in sorted(chosen)], back


def _is_parted(corpus: Corpus, progress: Progress) -> bool:
    """Whether an empty line stands between two others of one file; at the ends of a file it parts
    nothing.
    """
    file: Path | None = None
    begun = gap = False
    for passage in corpus.parts():
        if passage.file != file:
            file, begun, gap = passage.file, False, False
        for line in split_lines(passage.text):
            if gap and line.strip():
                return True
            begun = begun or bool(line.strip())
            gap = begun and not line.strip()
        progress(passage.fraction, "looking for empty lines")
    return False
