"""Searches of a workspace that the lab started: the space lies in the folder of its search, so it
is renamed, copied, shared and deleted with it.
"""

from dataclasses import asdict, replace

from vocadapt.lab.experiments.search.space import read_space
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import Manifest, record_input
from vocadapt.lab.workspace.workspace import Artifact, Workspace, check_name

FILE = "space.toml"  # in the folder of a search
SPACE = "search_space"  # the input that names it


def save_search(spec: Spec, name: str, workspace: Workspace, space: str = "") -> Spec:
    """Save a search, or a comparison of seeds, in the workspace: it is listed before it runs.
    Return its spec, which reads the space from the folder of the search.

    space: the text of a space file; "" for a spec that names its space itself, or needs none.
    Raises InputError if the name is taken, and for a text that is no space.
    """
    folder = workspace.folder(spec.kind, check_name(name))
    with open_draft(folder) as draft:
        inputs = spec.absolute().open_inputs().record(workspace.root)
        if space:
            file = draft / FILE
            file.write_text(space, encoding="utf-8")
            read_space(file)
            inputs[SPACE] = replace(record_input([file]), paths=(f"{spec.kind}/{name}/{FILE}",))
            spec = replace(spec, inputs={**spec.inputs, SPACE: (str(folder / FILE),)})
        manifest = Manifest(spec.kind, name, asdict(spec.settings), inputs, step=spec.step)
        manifest.save(draft, lists_files=False)
    return spec


def read_spec(search: Artifact, workspace: Workspace) -> Spec:
    """Return the spec of a search, from which it continues; raises InputError if its manifest holds
    none.
    """
    manifest = search.manifest
    # Paths in the workspace are relative to it in a manifest.
    inputs = {
        role: tuple(str(workspace.root / path) for path in given.paths)
        for role, given in manifest.inputs.items()
    }
    values = {"step": manifest.step, "settings": manifest.settings, "inputs": inputs}
    return Spec.from_dict(values, search.name)
