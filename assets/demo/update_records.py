"""Bring the demo's records up to date after settings or formats changed, without making anything again.

    python assets/demo/update_records.py

1. An input of an artifact is named by the stamp of that artifact's manifest: stamp it again.
2. A cell of a study is named by the digest of its settings and inputs: rename it.
3. The table of a study is compared again.
"""

import re
from dataclasses import asdict, replace
from pathlib import Path

from vocadapt.lab.demo import DEMO
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.saved import FILE
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.lab.experiments.studies.table import build_boards, build_rows
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.manifest import MANIFEST, Manifest, compute_stamp
from vocadapt.lab.workspace.workspace import Workspace

DIGEST = re.compile(r"(?P<name>.+)-(?P<digest>[0-9a-f]{16})")


def stamp_inputs() -> None:
    """Stamp the inputs of all artifacts, until none changes."""
    changed = True
    while changed:
        changed = False
        for path in sorted(DEMO.rglob(MANIFEST)):
            manifest = Manifest.load(path.parent)
            root = path.parent.parent.parent  # the workspace, or the study that made it
            inputs = {}
            for role, given in manifest.inputs.items():
                made = root / given.paths[0]
                stamp = given.stamp
                if stamp and not given.seen and (made / MANIFEST).is_file():
                    stamp = compute_stamp(made)
                inputs[role] = replace(given, stamp=stamp)
            if inputs != manifest.inputs:
                strict_json.write(path, asdict(replace(manifest, inputs=inputs)))
                changed = True


def rename_cells(folder: Path) -> None:
    """Rename what a study made to its digests of today."""
    grid = expand(read_study(folder / FILE), folder, workspace=Workspace(DEMO))
    steps = [cell.step for cell in grid.cells]
    steps += [step.needs for step in steps if step.needs is not None]
    today = {
        match["name"]: match["digest"] for step in steps if (match := DIGEST.fullmatch(step.name))
    }

    # 1. The digests that changed: those of cells, and those of the models that these name.
    digests: dict[str, str] = {}
    runs = sorted((folder / "runs").iterdir())
    for run in runs:
        named = [run.name, *(Path(path).name for path in Manifest.load(run).inputs["model"].paths)]
        for match in filter(None, map(DIGEST.fullmatch, named)):
            digests[match["digest"]] = today[match["name"]]
    digests = {before: after for before, after in digests.items() if before != after}

    # 2. Replace them in the records and in the names of the folders.
    for run in runs:
        for path in run.rglob("*.json"):
            text = path.read_text(encoding="utf-8")
            path.write_text(_replace_all(text, digests), encoding="utf-8")
        run.rename(run.with_name(_replace_all(run.name, digests)))


def compare_cells(folder: Path) -> None:
    """Compute the table of a study again from the predictions of its cells."""
    grid = expand(read_study(folder / FILE), folder, workspace=Workspace(DEMO))
    manifest = Manifest.load(folder)
    numbers = {**manifest.numbers, "rows": build_rows(grid, folder, build_boards(grid, folder))}
    strict_json.write(folder / MANIFEST, asdict(replace(manifest, numbers=numbers)))


def _replace_all(text: str, names: dict[str, str]) -> str:
    for before, after in names.items():
        text = text.replace(before, after)
    return text


def main() -> None:
    """Stamp the inputs, then rename and compare the cells of each study."""
    stamp_inputs()
    for file in sorted(DEMO.glob(f"studies/*/{FILE}")):
        rename_cells(file.parent)
        compare_cells(file.parent)
    stamp_inputs()


if __name__ == "__main__":
    main()
