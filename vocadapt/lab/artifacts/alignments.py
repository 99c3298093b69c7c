"""Evaluation of an alignment artifact: held-out scores of each method, and each anchor of the
chosen one.
"""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import read_document
from vocadapt.lab.workspace import strict_json
from vocadapt.spaces.alignment.cross_validation import (
    HeldOutQuality,
    compare_fold_by_fold,
    select_best_alignment,
)

TABLE = "heldout.json"
ANCHORS = "anchors.tsv"
COLUMNS = ("word", "fold", "cosine", "random_cosine", "rank")


@dataclass(frozen=True)
class AnchorScore:
    """One anchor: its fold, cosine to its own and to another wordpiece, number of anchors that are
    nearer.
    """

    word: str
    fold: int
    cosine: float
    random_cosine: float
    rank: int


@dataclass(frozen=True)
class AlignmentEvaluation:
    """A saved evaluation: one row per alignment, the chosen one first, and the anchors of the
    chosen one.
    """

    maps: tuple[dict[str, Any], ...]
    anchors: tuple[AnchorScore, ...]


def save_evaluation(judged: Sequence[HeldOutQuality], draft: Path) -> None:
    """Write the table of all alignments, the chosen one first, and the anchors of the chosen one."""
    strict_json.write(draft / TABLE, {"maps": tabulate_alignments(judged)})
    chosen = judged[0]
    with (draft / ANCHORS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        columns = (chosen.fold, chosen.cosine, chosen.random_cosine, chosen.ranks["anchors"])
        writer.writerows(
            zip(chosen.anchors.words, *(column.tolist() for column in columns), strict=True)
        )


def tabulate_alignments(judged: Sequence[HeldOutQuality]) -> list[dict[str, Any]]:
    """Return one row per alignment: settings, scores, whether it is the best, paired difference to
    the first.
    """
    winner = select_best_alignment(judged)
    return [
        {
            **result.as_json(),
            "settings": asdict(result.settings),
            "best": result is winner,
            "against_first": None
            if result is judged[0]
            else asdict(compare_fold_by_fold(result, judged[0])),
        }
        for result in judged
    ]


def load_evaluation(folder: Path) -> AlignmentEvaluation:
    """Read a saved evaluation; raises InputError if the folder has none."""
    missing = next((name for name in (TABLE, ANCHORS) if not (folder / name).is_file()), None)
    if missing:
        raise InputError(
            f"{folder}: expected an evaluated alignment, {missing} is missing.", "Fit it again."
        )
    table = strict_json.read(folder / TABLE)
    _, *lines = csv.reader(StringIO(read_document(folder / ANCHORS)), delimiter="\t")
    anchors = (
        AnchorScore(line[0], int(line[1]), float(line[2]), float(line[3]), int(line[4]))
        for line in lines
    )
    return AlignmentEvaluation(tuple(table["maps"]), tuple(anchors))
