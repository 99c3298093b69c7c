"""Imported predictions of other programs: a gold file and a prediction file, copied and scored.

They can be compared like runs, but have no tokenizations, logits or training examples.
"""

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import check_file
from vocadapt.lab.artifacts.benchmarks import file_extension
from vocadapt.lab.workspace.drafts import check_free, open_draft
from vocadapt.lab.workspace.manifest import Manifest, compute_content_stamp
from vocadapt.lab.workspace.workspace import Artifact, Workspace, open_artifact
from vocadapt.training.scoring.counts import Scorer
from vocadapt.training.tasks.examples import Split
from vocadapt.training.tasks.kinds import TaskKind, find_kind
from vocadapt.training.tasks.predictions import build_tally

GOLD, PREDICTED = "gold", "predicted"  # the copies' names, before their endings


@dataclass(frozen=True)
class ImportedPredictions:
    """Predictions of another program: artifact, kind of task, gold file, prediction file, score.

    `of`: digest of the gold file; predictions with the same one are comparable. `examples`: their
    number.
    """

    artifact: Artifact
    kind: TaskKind
    gold: Path
    predicted: Path
    scorer: str
    of: str
    examples: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.artifact.name


def import_predictions(
    kind: TaskKind, gold: Path, predicted: Path, folder: Path, scorer: str = ""
) -> Artifact:
    """Copy a gold file and its predictions into an artifact, after both were read and scored.

    Raises InputError, with the given file's name, if a file cannot be read or the examples differ;
    then nothing is written.
    """
    return import_prediction_files(kind, gold, [(predicted, folder)], scorer)[0]


def import_prediction_files(
    kind: TaskKind, gold: Path, files: Sequence[tuple[Path, Path]], scorer: str = ""
) -> list[Artifact]:
    """Import several prediction files for one gold file, each into its own folder: all or none.

    All files are read, and all folders are checked, before anything is written. Raises InputError
    as `import_predictions` does, and if two folders are equal.
    """
    for place, (_, folder) in enumerate(files):
        check_free(folder)
        if folder in [other for _, other in files[:place]]:
            raise InputError(
                f"Both predictions are called {folder.name}.", "Give each a name of its own."
            )
    chosen = kind.scorer(scorer)
    split = kind.read(gold)
    if not split.labeled:
        raise InputError(
            f"{gold}: holds no labels, so nothing can be compared.",
            "Give the gold file with its labels.",
        )
    judged = [_score_predictions(kind, split, chosen, predicted) for predicted, _ in files]
    with ExitStack() as stack:
        drafts = [stack.enter_context(open_draft(folder)) for _, folder in files]
        for draft, (predicted, folder), (numbers, seconds) in zip(
            drafts, files, judged, strict=True
        ):
            copies = {
                GOLD: f"{GOLD}{file_extension(gold)}",
                PREDICTED: f"{PREDICTED}{file_extension(predicted)}",
            }
            for path, name in zip((gold, predicted), copies.values(), strict=True):
                shutil.copyfile(check_file(path), draft / name)
            settings = {"kind": kind.name, "scorer": scorer, "from": predicted.name, **copies}
            numbers = {**numbers, GOLD: compute_content_stamp([gold])}
            Manifest("predictions", folder.name, settings, numbers=numbers, seconds=seconds).save(
                draft
            )
    return [open_artifact(folder) for _, folder in files]


def _score_predictions(
    kind: TaskKind, split: Split, scorer: Scorer, predicted: Path
) -> tuple[Mapping[str, Any], float]:
    """Return the figures of predictions for the manifest, and the seconds that scoring took."""
    start = time.perf_counter()
    loaded = kind.read_predictions(predicted, split)
    score = scorer.of(build_tally(split, loaded.predicted, scorer))
    return {
        "examples": len(split),
        scorer.headline: score.value,
        "notes": dict(loaded.notes),
    }, time.perf_counter() - start


def list_imported_predictions(workspace: Workspace) -> list[ImportedPredictions]:
    """List the imported predictions of a workspace, newest first; unreadable ones are skipped."""
    found = []
    for artifact in workspace.artifacts("predictions"):
        with suppress(InputError, KeyError, TypeError, ValueError):
            settings, numbers = artifact.manifest.settings, artifact.manifest.numbers
            gold, predicted = (
                artifact.folder / Path(settings[name]).name for name in (GOLD, PREDICTED)
            )
            found.append(
                ImportedPredictions(
                    artifact,
                    find_kind(settings["kind"]),
                    gold,
                    predicted,
                    settings["scorer"],
                    of=str(numbers[GOLD]),
                    examples=int(numbers["examples"]),
                )
            )
    return found
