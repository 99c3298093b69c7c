"""Reader of labeled texts: relations, classification, multi-label and NLI, from tab-separated
columns or JSON lines.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from vocadapt.errors import InputError
from vocadapt.training.tasks.examples import (
    NO_AGREEMENT,
    NO_PAIR,
    NO_TEXT,
    UNITS,
    Example,
    Split,
    Text,
)
from vocadapt.training.tasks.table_rows import Row, rows_of, shape_of

FLAG = re.compile(r"(.+)_([01])")  # HoC: 0_1,1_0 – label 0 yes, label 1 no
SENTENCE_OF = re.compile(r"(.+)_s\d+")  # HoC: 12553062_s3 – the fourth sentence of a document
MARKED = re.compile(r"<<\s*(.*?)\s*>>|\[\[\s*(.*?)\s*\]\]|@([A-Za-z]+(?:-[A-Za-z]+)?)\$")
UNDECIDED = "-"  # SNLI and its kin: the annotators did not agree


class Mark(NamedTuple):
    """An entity that a text marks (`<< aspirin >>`, `[[ COX-2 ]]`) or masks (`@GENE$`): its
    position and content.
    """

    start: int
    end: int
    text: str
    masked: bool


def marks_of(text: str) -> tuple[Mark, ...]:
    """Return the marked and masked entities of a text, in order."""
    return tuple(
        Mark(
            found.start(), found.end(), found[1] or found[2] or found[3] or "", found[3] is not None
        )
        for found in MARKED.finditer(text)
    )


def has_pair(text: str) -> bool:
    """Whether two entities are marked or masked; one mask for two overlapping ones (`@CHEM-GENE$`)
    counts.
    """
    marks = marks_of(text)
    return len(marks) > 1 or any(mark.masked and "-" in mark.text for mark in marks)


def read_texts(path: Path, kind: str, chosen: Mapping[str, str] | None = None) -> Split:
    """Read labeled texts; `chosen` maps roles to columns with other than the usual names.

    A file without any label is unlabeled (predict only). Raises InputError, with the line, if only
    some rows have labels, for an invalid label, and for what `rows_of` rejects.
    """
    examples: list[Text] = []
    undecided = 0
    for number, (place, row) in enumerate(rows_of(path, chosen, shape_of(kind))):
        text = _text(row, kind, number, place)
        if kind == "nli" and text.labels == (UNDECIDED,):
            undecided += 1
            continue
        if examples and (text.labels is None) != (examples[0].labels is None):
            raise InputError(
                f"{place}: labels in some rows only.",
                "Label every example, or none (to predict on).",
            )
        examples.append(text)
    if not examples:
        raise InputError(
            f"{path}: no example has an agreed label.", f"{UNDECIDED!r} stands for no agreement."
        )
    notes = {NO_TEXT: sum(not text.text.strip() for text in examples), NO_AGREEMENT: undecided}
    if kind == "relations":
        notes[NO_PAIR] = sum(not has_pair(text.text) for text in examples)
    return Split(tuple(examples), notes, path)


def in_units(split: Split, kind: str, unit: str) -> Split:
    """Return a split by example or by document; raises InputError for documents of other kinds than
    multilabel.
    """
    if unit not in UNITS:
        raise InputError(f"There is no unit {unit!r}.", f"Choose one of: {', '.join(UNITS)}.")
    if unit == UNITS[0]:
        return split
    if kind != "multilabel":
        raise InputError(
            f"Only multilabel tasks are read by document, not {kind}.", "Leave the unit out."
        )
    joined = by_document(split.examples)
    return replace(
        split, examples=joined, notes={**split.notes, "sentences joined to documents": len(split)}
    )


def by_document(examples: Iterable[Example]) -> tuple[Text, ...]:
    """Merge the sentences of each document into one example: joined by spaces, with the labels of
    any of them (HoC's document level).
    """
    found: dict[str, list[Text]] = {}
    for example in examples:
        if not isinstance(example, Text) or not example.document:
            raise InputError(
                "The examples do not say which document they are of.",
                "Give an index such as 12553062_s3.",
            )
        found.setdefault(example.document, []).append(example)
    return tuple(
        Text(
            name,
            " ".join(part.text for part in parts),
            united([part.labels for part in parts]),
            document=name,
        )
        for name, parts in found.items()
    )


def united(labels: Iterable[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """Return the labels that any part has, in order; None if they are not known."""
    parts = list(labels)
    if any(part is None for part in parts):
        return None
    return tuple(sorted({label for part in parts if part for label in part}))


def _text(row: Row, kind: str, number: int, place: str) -> Text:
    name = str(row["id"]) if row.get("id") not in (None, "") else str(number)
    text, pair = _said(row["text"], place), _said(row.get("pair", ""), place)
    if kind == "nli" and "pair" not in row:
        raise InputError(
            f"{place}: NLI needs two sentences, found one.", "Name them sentence1 and sentence2."
        )
    of = SENTENCE_OF.fullmatch(name)
    return Text(name, text, labels_in(row, kind, place), pair, of[1] if of else "")


def labels_in(row: Row, kind: str, place: str) -> tuple[str, ...] | None:
    """Return the labels of a row; None without such a column (or with JSON null)."""
    value = row.get("label")
    if value is None:
        return None
    if kind == "multilabel":
        return _several(value, place)
    label = _name(value, place)
    if not label:
        raise InputError(
            f"{place}: an empty label.",
            "Give every example a label, or none of them (to predict on).",
        )
    return (label,)


def _several(value: Any, place: str) -> tuple[str, ...]:
    """Parse labels of a list, or of a comma-separated text: names, or flags such as 0_1,1_0."""
    parts = (
        value if isinstance(value, list) else str(value).split(",") if str(value).strip() else []
    )
    names = [_name(part, place) for part in parts]
    flags = [FLAG.fullmatch(name) for name in names]
    if names and all(flags):
        names = [flag[1] for flag in flags if flag and flag[2] == "1"]
    if "" in names:
        raise InputError(
            f"{place}: an empty label among {value!r:.60}.", "Put names between the commas."
        )
    return tuple(sorted(set(names)))


def _name(value: Any, place: str) -> str:
    """Return a label as text: texts, integers and booleans are labels."""
    if isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, str | int):
        raise InputError(
            f"{place}: expected a label, found {value!r:.60}.",
            "A label is a text or a whole number.",
        )
    return str(value).strip()


def _said(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f"{place}: expected a text, found {type(value).__name__}.",
            "Put the text there in quotes.",
        )
    return value
