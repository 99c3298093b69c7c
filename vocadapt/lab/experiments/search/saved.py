"""Searches of a workspace that the lab started: the space lies in the folder of its search, so it is
renamed, copied, shared and deleted with it.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from vocadapt.lab.experiments.search.search import (
    INTERRUPTED,
    JOURNAL,
    PROBLEM,
    convert_journal_errors,
    import_optuna,
)
from vocadapt.lab.experiments.search.space import read_space
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import Input, Manifest
from vocadapt.lab.workspace.workspace import Artifact, Workspace, check_name
from vocadapt.training.scoring.summary import summarize_seeds

FILE = "space.toml"  # in the folder of a search
SPACE = "search_space"  # the input that names it
TRIAL_STATES = {  # state in Optuna's journal → state on the page; others are not shown
    "RUNNING": "running",
    "COMPLETE": "done",
    "PRUNED": "pruned",
    "FAIL": "failed",
}


def save_search(spec: Spec, name: str, workspace: Workspace, space: str = "") -> Spec:
    """Save a search, or a comparison of seeds, in the workspace: it is listed before it runs. Return
    its spec, which reads the space from the folder of the search.

    space: the text of a space file; "" for a spec that names its space itself, or needs none.
    Raises InputError if the name is taken, and for a text that is no space.
    """
    folder = workspace.folder(spec.kind, check_name(name))
    with open_draft(folder) as draft:
        if space:
            (draft / FILE).write_text(space, encoding="utf-8")
            read_space(draft / FILE)
            spec = _point_to_space(spec, draft / FILE)
        inputs = spec.absolute().open_inputs().record(workspace.root)
        if space:
            place = f"{spec.kind}/{name}/{FILE}"
            inputs[SPACE] = replace(inputs[SPACE], paths=(place,))
            spec = _point_to_space(spec, folder / FILE)
        manifest = Manifest(spec.kind, name, asdict(spec.settings), inputs, step=spec.step)
        manifest.save(draft, lists_files=False)
    return spec


def read_spec(search: Artifact, workspace: Workspace) -> Spec:
    """Return the spec of a search, from which it continues; raises InputError if its manifest holds
    none.
    """
    manifest = search.manifest
    inputs = {role: _find_paths(given, workspace) for role, given in manifest.inputs.items()}
    values = {"step": manifest.step, "settings": manifest.settings, "inputs": inputs}
    return Spec.from_dict(values, search.name)


def read_trials(root: Path) -> list[dict[str, Any]]:
    """Return the trials of a search from its journal, those that are running included: of the newest
    space, if it was changed. The journal is only read.

    Raises InputError if Optuna is not installed or the journal cannot be read.
    """
    optuna = import_optuna()
    from optuna.storages.journal import JournalFileBackend, JournalStorage

    if not (root / JOURNAL).is_file():
        return []
    with convert_journal_errors(root):
        storage = JournalStorage(JournalFileBackend(str(root / JOURNAL)))
        names = optuna.get_all_study_names(storage)
        if not names:
            return []
        study = optuna.load_study(study_name=names[-1], storage=storage)
        replaced = study.user_attrs.get(INTERRUPTED, [])
        trials = [one for one in study.get_trials(deepcopy=False) if one.number not in replaced]
        shown = [one for one in trials if one.state.name in TRIAL_STATES]
        return [_describe_trial(number, one) for number, one in enumerate(shown, start=1)]


def _describe_trial(number: int, trial: Any) -> dict[str, Any]:
    """Return a trial as the numbers of a finished search have it."""
    values = list(trial.user_attrs.get("values", []))
    summary = summarize_seeds(values) if values else None
    return {
        "trial": number,
        "state": TRIAL_STATES[trial.state.name],
        "settings": dict(trial.params),
        "n": len(values),
        "mean": summary.mean if summary else None,
        "sd": summary.sd if summary else None,
        "problem": trial.user_attrs.get(PROBLEM, ""),
    }


def _point_to_space(spec: Spec, file: Path) -> Spec:
    inputs: Mapping[str, tuple[str, ...]] = {**spec.inputs, SPACE: (str(file),)}
    return replace(spec, inputs=inputs)


def _find_paths(given: Input, workspace: Workspace) -> tuple[str, ...]:
    """Return the paths of an input; those in the workspace are relative to it in a manifest."""
    return tuple(str(workspace.root / path) for path in given.paths)
