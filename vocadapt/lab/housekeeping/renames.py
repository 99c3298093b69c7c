"""New names of artifacts and jobs.

The folder of a renamed artifact is renamed, and all that was made from it refers to the new name. A
job keeps its folder and id, and gets a display name.

`<workspace>/renamed.json` records the old names of artifacts, so that links to old names still
work. An artifact is identified by its creation time, which renaming does not change: chains and
cycles of renames need no special handling, and a later artifact with the same name is not mistaken
for it.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.job import SPEC, Job
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.file_cache import CachedReader
from vocadapt.lab.workspace.locks import wait_for_lock
from vocadapt.lab.workspace.manifest import ARTIFACTS, MANIFEST, Input, hash_manifest
from vocadapt.lab.workspace.notes import Note, load_notes, replace_note, save_name
from vocadapt.lab.workspace.workspace import Artifact, Workspace, open_artifact

# {"models/old": "2026-11-23T14:10:44.514409+00:00"}: old name -> creation time of its artifact; ""
# if several artifacts had this name.
FILE = "renamed.json"
RENAMING = "renaming"  # record of a renaming that is not finished
_RENAMES = CachedReader(strict_json.read)  # pages look for old names on every rerun


def list_dependents(workspace: Workspace, artifact: Artifact) -> list[Artifact]:
    """List the artifacts that were made from an artifact, directly or indirectly, newest first."""
    # 1. What was made directly from each artifact, by `kind/name`.
    made_from: dict[str, dict[str, Artifact]] = {}
    for kind in ARTIFACTS:
        for one in workspace.artifacts(kind):
            paths = [path for given in one.manifest.inputs.values() for path in given.paths]
            for path in paths:
                source = "/".join(Path(path).parts[:2])
                made_from.setdefault(source, {})[f"{kind}/{one.name}"] = one

    # 2. Follow it from the given artifact.
    found: dict[str, Artifact] = {}
    waiting = [f"{artifact.kind}/{artifact.name}"]
    while waiting:
        for name, one in made_from.get(waiting.pop(), {}).items():
            if name not in found:
                found[name] = one
                waiting.append(name)
    return sorted(found.values(), key=lambda one: one.manifest.created, reverse=True)


def check_unused(workspace: Workspace, artifact: Artifact) -> None:
    """Raise InputError if a running or waiting job reads or writes the artifact."""
    for job in queue.list_living_jobs(workspace):
        read = [Path(path) for paths in job.spec.inputs.values() for path in paths]
        if any(_is_inside(path, artifact.folder) for path in [job.target, *read]):
            raise InputError(
                f"{artifact.name} is in use: a job that makes {job.target.name} has not ended.",
                "Wait for the job, or cancel it.",
            )


def find_id(item: Artifact | Job) -> str:
    """Return the id of an artifact or job in a workspace, such as models/demo-bert or jobs/ID."""
    return f"{item.folder.parent.name}/{item.folder.name}"


def rename(workspace: Workspace, item: Artifact | Job, name: str) -> str:
    """Rename an artifact, or give a job a display name ("": that of its result); return the name."""
    if isinstance(item, Artifact):
        return rename_artifact(workspace, item, name).name
    check_exists(item)
    return save_name(workspace, find_id(item), name)


def rename_artifact(workspace: Workspace, artifact: Artifact, name: str) -> Artifact:
    """Rename an artifact, and return it under its new name.

    Its note moves with it, artifacts made from it stay up to date, and old links still open it.
    Raises InputError if the name is invalid or taken, or if a job is using the artifact.
    """
    # 1. Check everything before something is changed. No job is started while the lock is held.
    kind = artifact.kind
    target = workspace.folder(kind, name)
    with convert_write_errors(workspace.root), wait_for_lock(workspace.root):
        finish_move(workspace, RENAMING, finish_renaming)  # of a killed process
        check_exists(artifact)
        check_unused(workspace, artifact)
        if target.exists():
            raise InputError(
                f"{kind}/{name} exists already.", "Choose another name.", code="name-taken"
            )
        if name in queue.list_promised_names(workspace, kind):
            raise InputError(f"A job is making {kind}/{name}.", "Choose another name.")

        # 2. Record the old name, so that links to it still work, then rename the folder and what
        #    refers to it.
        record_name(workspace, artifact)
        move_folder(workspace, RENAMING, artifact.folder, target)
        finish_move(workspace, RENAMING, finish_renaming)
    return open_artifact(target)


def finish_renaming(workspace: Workspace, folder: Path, target: Path) -> None:
    """Update what refers to a renamed artifact; the caller holds the lock of the workspace."""
    # 1. The paths in the manifests of what was made from it, and in the jobs that used or made it.
    kind, old, new = target.parent.name, folder.name, target.name
    update_references(workspace, {f"{kind}/{old}": f"{kind}/{new}"})
    _update_jobs(workspace, replace(open_artifact(target), folder=folder), target)

    # 2. Move its note.
    note = load_notes(workspace).get(f"{kind}/{old}")
    if note:
        replace_note(workspace, f"{kind}/{new}", note)
        replace_note(workspace, f"{kind}/{old}", Note(""))


def move_folder(workspace: Workspace, action: str, source: Path, target: Path) -> None:
    """Rename the folder of an item, after recording both places: if the process is killed before
    `finish_move` has updated what refers to the item, the next call of it does.

    action: name of the record, `<workspace>/.<action>.json`. The caller holds the lock of the
    workspace.
    """
    record = workspace.root / f".{action}.json"
    paths = [path.relative_to(workspace.root).as_posix() for path in (source, target)]
    strict_json.write(record, {"source": paths[0], "target": paths[1]})
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(source, target)
    except OSError:
        _remove_empty(target.parent, workspace.root)
        record.unlink()
        raise


def finish_move(
    workspace: Workspace, action: str, finish: Callable[[Workspace, Path, Path], None]
) -> None:
    """Finish a recorded move of a folder; do nothing if there is none.

    finish: updates what refers to the item, given its old and its new folder; it may be called a
    second time if the process was killed. The caller holds the lock of the workspace.
    """
    record = workspace.root / f".{action}.json"
    if not record.is_file():
        return
    paths = strict_json.read(record)
    source, target = (workspace.root / str(paths.get(name)) for name in ("source", "target"))
    if not all(path.resolve().is_relative_to(workspace.root) for path in (source, target)):
        raise InputError(f"{record}: leads out of the workspace.", "Remove the file.")
    if target.exists() and not source.exists():
        finish(workspace, source, target)
    else:  # killed before the folder was moved
        _remove_empty(target.parent, workspace.root)
    record.unlink()


def _remove_empty(folder: Path, root: Path) -> None:
    """Remove a folder and its parents below `root`, as far as they are empty."""
    with suppress(OSError):  # the first one that is not empty
        while folder != root:
            with suppress(FileNotFoundError):  # it was not created yet
                folder.rmdir()
            folder = folder.parent


def check_exists(item: Artifact | Job) -> None:
    """Raise InputError if another session has deleted an artifact or job, or renamed an artifact."""
    if not item.folder.exists():
        raise InputError(
            f"{find_id(item)} does not exist any more.", "Reload the page.", code="gone"
        )


def load_former_names(workspace: Workspace) -> dict[str, str]:
    """Return the recorded names: `kind/name` -> creation time of its artifact; "" if several
    artifacts had this name. Raises InputError for a file that holds something else.
    """
    path = workspace.root / FILE
    if not path.is_file():
        return {}
    names = _RENAMES(path)
    if not all(isinstance(created, str) for created in names.values()):
        raise InputError(f"{path}: expected names of artifacts.", "Correct or remove the file.")
    return names


def record_name(workspace: Workspace, artifact: Artifact) -> None:
    """Record the name of an artifact before it is renamed or deleted.

    The caller holds the lock of the workspace.
    """
    names = load_former_names(workspace)
    key = f"{artifact.kind}/{artifact.name}"
    created = artifact.manifest.created
    if names.get(key, created) != created:
        created = ""  # another artifact had this name before: a link may mean either
    strict_json.write(workspace.root / FILE, {**names, key: created})


def find_new_name(workspace: Workspace, name: str, kind: str = "") -> str:
    """Return the new name of an artifact that had a name before.

    kind: kind of the artifact; "" if unknown. Returns "" if the artifact was not renamed or was
    deleted. Also returns "" if the name is ambiguous: an artifact has it now, several artifacts had
    it, or, for an unknown kind, artifacts of several kinds had it.
    """
    kinds = [kind] if kind else list(ARTIFACTS)
    former = load_former_names(workspace)
    before = [one for one in kinds if f"{one}/{name}" in former]
    if len(before) != 1 or any(workspace.folder(one, name).exists() for one in kinds):
        return ""
    return _find_by_creation_time(workspace, before[0], former[f"{before[0]}/{name}"])


def _find_new_names(workspace: Workspace) -> dict[str, str]:
    """Return the new name of each old name whose artifact still exists, both as `kind/name`."""
    found = {}
    for old, created in load_former_names(workspace).items():
        kind, _, name = old.partition("/")
        new = _find_by_creation_time(workspace, kind, created) if kind in ARTIFACTS else ""
        if new and new != name:
            found[old] = f"{kind}/{new}"
    return found


def _find_by_creation_time(workspace: Workspace, kind: str, created: str) -> str:
    """Return the name of the artifact with a creation time; "" unless there is exactly one."""
    found = [one.name for one in workspace.artifacts(kind) if one.manifest.created == created]
    return found[0] if len(found) == 1 else ""


def _update_jobs(workspace: Workspace, artifact: Artifact, target: Path) -> None:
    """Replace the folder of a renamed artifact in the jobs that read or made it.

    All of them have ended; a job can still be resumed, and links to its result.
    """
    for job in queue.list_jobs(workspace):
        inputs = {
            role: [_replace_folder(path, artifact.folder, target) for path in paths]
            for role, paths in job.spec.inputs.items()
        }
        order = {**job.order, "spec": {**job.order["spec"], "inputs": inputs}}
        if order != job.order:
            strict_json.write(job.folder / SPEC, order)
    update_target(workspace, artifact, target)


def update_target(workspace: Workspace, artifact: Artifact, target: Path) -> None:
    """Let the job that made an artifact lead to its new folder; nothing if the job was deleted.

    artifact: with its old folder. target: its new folder.
    """
    for job in queue.list_jobs(workspace):
        if job.id == artifact.manifest.job and job.target == artifact.folder:
            order = {**job.order, "target": f"{artifact.kind}/{target.name}"}
            strict_json.write(job.folder / SPEC, order)


def _replace_folder(path: str, folder: Path, target: Path) -> str:
    """Return a path inside `folder` as one inside `target`; other paths unchanged."""
    if not _is_inside(Path(path), folder):
        return path
    return str(target / Path(path).relative_to(folder))


def update_references(workspace: Workspace, names: Mapping[str, str] | None = None) -> None:
    """Replace the old names of artifacts in all manifests; the caller holds the lock of the
    workspace.

    names: old name -> new name, as `kind/name`, in addition to the recorded ones. A manifest that
    changes has a new stamp, which the manifests of its dependents contain: they are updated in
    turn.
    """
    names = {**_find_new_names(workspace), **(names or {})}
    # 1. From older to newer artifacts, the new texts of manifests and their stamps.
    everything = [one for kind in ARTIFACTS for one in workspace.artifacts(kind)]
    everything.sort(key=lambda one: one.manifest.created)
    stamps: dict[str, str] = {}  # old stamp of a changed manifest -> its new stamp
    texts: dict[Path, str] = {}
    for artifact in everything:
        inputs = {
            role: _update_input(given, workspace, names, stamps)
            for role, given in artifact.manifest.inputs.items()
        }
        if inputs != artifact.manifest.inputs:
            # Not `save`: it would also list the files that the step did not write.
            changed = replace(artifact.manifest, inputs=inputs)
            texts[artifact.folder] = strict_json.format_file(asdict(changed))
            stamps[artifact.stamp] = hash_manifest(texts[artifact.folder].encode())

    # 2. Write them from newer to older ones. If the process is killed, the next call finds the same
    #    stamps again, because what was made from a manifest is written before it.
    for folder, text in reversed(texts.items()):
        strict_json.replace_text(folder / MANIFEST, text)


def _update_input(
    given: Input, workspace: Workspace, names: Mapping[str, str], stamps: Mapping[str, str]
) -> Input:
    paths = []
    for path in given.paths:
        kind, _, rest = path.partition("/")
        name, slash, inside = rest.partition("/")
        new = names.get(f"{kind}/{name}")
        if new and not (workspace.root / kind / name).exists():
            path = f"{new}{slash}{inside}"
        paths.append(path)
    return replace(given, paths=tuple(paths), stamp=stamps.get(given.stamp, given.stamp))


def _is_inside(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
