"""Studies with their file in their folder: it is renamed, copied, shared and deleted with them."""

import os
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.experiments.studies.study_file import Study, read_study
from vocadapt.lab.jobs.queue import Job, list_jobs
from vocadapt.lab.workspace.drafts import (
    convert_write_errors,
    open_draft,
    open_folder_draft,
    open_growing,
)
from vocadapt.lab.workspace.manifest import Manifest, record_input
from vocadapt.lab.workspace.records import STUDY_PATHS
from vocadapt.lab.workspace.workspace import Artifact, Workspace, check_name, open_artifact
from vocadapt.system.files import parse_toml, read_document

FILE = "study.toml"  # in the folder of a study
KIND = "studies"
MAX_BYTES = 1_000_000  # of the file of a study
UP = "../.."  # from the folder of a study to that of its workspace


def format_study(study: Study, name_path: Callable[[str], str]) -> str:
    """Return the file of a study without rules, in TOML. name_path: how the file names a path."""
    import tomli_w

    # 1. The variants and tasks.
    entries: list[tuple[str, dict[str, Any]]] = []
    for variant in study.variants:
        entry = {"name": variant.name, "model": variant.model, **variant.adapting}
        entries.append(("variants", entry))
    for task in study.tasks:
        kind = {"kind": task.kind} if task.kind else {}
        entries.append(("tasks", {"name": task.name, **kind, **task.inputs}))
    for _, entry in entries:
        for key in entry.keys() & set(STUDY_PATHS):
            value = entry[key]
            is_one = isinstance(value, str)
            entry[key] = name_path(value) if is_one else list(map(name_path, value))

    # 2. The file.
    numbers = ", ".join(map(str, study.seeds))
    blocks = [f"{tomli_w.dumps({'name': study.name})}seeds = [{numbers}]\n"]
    if study.settings:
        blocks.append(f"[settings]\n{tomli_w.dumps(study.settings)}")
    blocks += [f"[[{part}]]\n{tomli_w.dumps(entry)}" for part, entry in entries]
    return "\n".join(blocks)


def point_to(place: str, workspace: Workspace) -> str:
    """Return a path as it is written in the file of a study: relative to the study's folder if it
    lies in the workspace; unchanged if it lies elsewhere, or is a hub name.
    """
    path = Path(place)
    if path.is_absolute() and path.is_relative_to(workspace.root):
        return f"{UP}/{path.relative_to(workspace.root).as_posix()}"
    return place


def save_study(
    text: str,
    workspace: Workspace,
    check: Callable[[str], None] = lambda path: None,
    replaced: str = "",
) -> Artifact:
    """Save the file of a study in the workspace, where it can be run; return the study.

    replaced: name of the study whose file is replaced, if it has this name: only what changed runs
    again. check: raises InputError for a path that may not be read. Raises InputError for a file
    that is not a study, if another study has its name or has its file elsewhere, and if a process
    is filling it.
    """
    # 1. Its name.
    named = parse_toml(text, "The file").get("name", "")
    if not isinstance(named, str) or not named:
        raise InputError("The study has no name.", 'Add name = "…".')
    name = check_name(named)
    folder = workspace.folder(KIND, name)
    is_new = not folder.exists()
    if not is_new and (name != replaced or not (folder / FILE).is_file()):
        raise InputError(
            f"There is a study {name} already.",
            "Give another name; or select that study, and choose Edit this file.",
        )

    # 2. Read it in a folder beside its own, where relative paths mean the same.
    if is_new:
        with open_draft(folder) as draft:
            _read(text, draft, check)
            given = record_input([draft / FILE])
            inputs = {"file": replace(given, paths=(f"{KIND}/{name}/{FILE}",))}
            settings = asdict(StudyStep())
            Manifest(KIND, name, settings, inputs, step="study").save(draft, lists_files=False)
    else:
        with open_growing(folder), open_folder_draft(folder) as beside:
            _read(text, beside, check)
            with convert_write_errors(folder):
                (beside / FILE).replace(folder / FILE)
    return open_artifact(folder)


def register_study(
    file: Path, workspace: Workspace, check: Callable[[str], None] = lambda path: None
) -> Artifact:
    """List the study of a file in the workspace, where it can be run; the file stays where it is.

    check: as for `save_study`. Raises InputError for a file that is not a study, and if a study of
    its name has another file.
    """
    check(str(file))
    study = read_study(file, check)
    folder = workspace.folder(KIND, check_name(study.name))
    if folder.exists():
        own = find_study_file(open_artifact(folder), workspace)
        if own is None or own.resolve() != file.resolve():
            raise InputError(
                f"There is a study {study.name} already, with another file.",
                "Change the name in the file.",
            )
        return open_artifact(folder)
    with open_draft(folder) as draft:
        inputs = {"file": record_input([file], workspace.root)}
        manifest = Manifest(KIND, study.name, asdict(StudyStep()), inputs, step="study")
        manifest.save(draft, lists_files=False)
    return open_artifact(folder)


def find_study_file(study: Artifact, workspace: Workspace) -> Path | None:
    """Return the file of a study, in its folder or where it was when it ran; None if it is gone."""
    places = [study.folder / FILE]
    if "file" in study.manifest.inputs:
        places.append(workspace.root / study.manifest.inputs["file"].paths[0])
    return next((place for place in places if os.path.isfile(place)), None)


def find_running_job(workspace: Workspace, name: str, kind: str = KIND) -> Job | None:
    """Return the job that fills a study or a search of the workspace, or waits to; None if there is
    none.
    """
    for job in list_jobs(workspace):
        if job.spec.kind == kind and job.target.name == name and job.status().alive:
            return job
    return None


def list_paths(study: Study) -> list[str]:
    """Return what a study reads: models, sources of adaptations, texts, and files of tasks."""
    found = [variant.model for variant in study.variants]
    for variant in study.variants:
        values = [variant.adapting[key] for key in STUDY_PATHS if key in variant.adapting]
        for value in values:
            found += [value] if isinstance(value, str) else value
    for files in study.corpora.values():
        found += files
    for task in study.tasks:
        found += task.inputs.values()
    return found


def _read(text: str, folder: Path, check: Callable[[str], None]) -> None:
    """Write the file of a study into a folder, and read it; check what it reads."""
    with convert_write_errors(folder):
        (folder / FILE).write_text(text, encoding="utf-8")
    for path in list_paths(read_study(folder / FILE, check)):  # hub names may be folders here, too
        check(path)


def read_text(path: Path) -> str:
    """Return the text of the file of a study."""
    return read_document(path, MAX_BYTES)
