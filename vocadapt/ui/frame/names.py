"""Names of models and spaces: lists for pickers, and resolution of typed names and of names in
addresses.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import expand_path
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import HUB_NAME, filter_cached
from vocadapt.models.model_folder import SNAPSHOT, name_of
from vocadapt.text.display import shorten_text

COMMON_MODELS = ("bert-base-uncased", "bert-base-cased")
MAX_NAME_LENGTH = 100  # characters of a hub name
SHORT_NAME_LENGTH = 24  # characters of a name where space is short
SPACE_KINDS = {"vectors": "word vectors", "models": "model"}  # kind of artifact → in labels


def shorten_name(name: str) -> str:
    """Shorten a name where space is short, by omitting its middle."""
    return shorten_text(name, SHORT_NAME_LENGTH)


def models_of(workspace: Workspace, common: tuple[str, ...] = COMMON_MODELS) -> dict[str, str]:
    """List the models that pickers offer: display name -> folder or hub name.

    1. Models of the workspace: those made from another model first; in each group the most recently
       used one, then the newest.
    2. Models that other artifacts of the workspace were made for.
    3. Common models in the local cache. Other hub names, which may need a network, can be typed.
    """
    # 1. Models of the workspace; the sort is stable, so the newest stay first.
    used = models_in_use(workspace)
    models = workspace.artifacts("models")
    models.sort(
        key=lambda one: ("model" not in one.manifest.inputs, str(one.folder) not in used[:1])
    )
    found = {one.name: str(one.folder) for one in models}
    known_folders = {Path(folder).resolve() for folder in found.values()}
    # 2. and 3. Other models; a folder of the workspace is listed once.
    for name in (*used, *filter_cached(common)):
        if Path(name).resolve() not in known_folders:
            found.setdefault(shown_model(name), name)
    return found


def spaces_of(workspace: Workspace) -> dict[str, str]:
    """List the spaces of a workspace, display name -> folder or hub name: word vectors, models, and
    the models that other artifacts were made for.
    """
    found = {}
    for kind, label in SPACE_KINDS.items():
        for one in workspace.artifacts(kind):
            found[f"{label} · {one.name}"] = str(one.folder)
    known_folders = {Path(folder).resolve() for folder in found.values()}
    return found | {
        shown_model(name): name
        for name in models_in_use(workspace)
        if Path(name).resolve() not in known_folders
    }


def resolve(
    workspace: Workspace,
    typed: str,
    offered: Mapping[str, str],
    kinds: tuple[str, ...] = ("models",),
) -> str:
    """Return the folder, file or hub name that a typed value stands for.

    typed: a display name, an artifact's name, `models/NAME`, a path or a hub name; the last two are
    returned unchanged. kinds: kinds of artifacts to look up, in order of precedence.
    """
    typed = typed.strip()
    if typed in offered:
        return offered[typed]
    for kind in kinds:
        names = {f"{kind}/{one.name}": one for one in workspace.artifacts(kind)}
        names |= {f"{SPACE_KINDS.get(kind, kind)} · {one.name}": one for one in names.values()}
        names |= {one.name: one for one in names.values()}
        if typed in names:
            return str(names[typed].folder)
    same = (name for name in offered.values() if shown_model(name) == typed)
    return next(same, typed)


def build_address_filter(
    workspace: Workspace, offered: Mapping[str, str], kinds: tuple[str, ...] = ("models",)
) -> Callable[[str], bool]:
    """Build a predicate that returns whether a value may be used from an address.

    It returns True for offered names, artifacts and hub names, and False for paths, because a link
    must not open files of the user who follows it. A hub name that is also an existing path counts
    as a path.
    """

    def allowed(value: str) -> bool:
        if value in offered or resolve(workspace, value, offered, kinds) != value.strip():
            return True
        return (
            len(value) <= MAX_NAME_LENGTH
            and bool(HUB_NAME.fullmatch(value))
            and ".." not in value
            and not os.path.lexists(value)
        )

    return allowed


def label_of(name: str, offered: Mapping[str, str]) -> str:
    """Return the display name of a folder or hub name; the name itself if it is not offered."""
    try:
        path = expand_path(name)
    except InputError:  # not a path on this machine
        return name
    same = (label for label, known in offered.items() if name == known or path == Path(known))
    return next(same, name)


def models_in_use(workspace: Workspace) -> list[str]:
    """Return the models that vectors, alignments and corpora were made for, newest first."""
    artifacts: list[Artifact] = []
    for kind in ("vectors", "alignments", "corpora"):
        artifacts += workspace.artifacts(kind)
    models = (model_behind(artifact, workspace) for artifact in artifacts)
    return list(dict.fromkeys(filter(None, models)))


def model_behind(artifact: Artifact, workspace: Workspace) -> str | None:
    """Return the model that an artifact was made for, None if there is none."""
    model_input = artifact.manifest.inputs.get("model")
    if model_input is None:
        return None
    return str(workspace.root / model_input.paths[0])


def shown_model(name: str) -> str:
    """Return a short name of a model: its hub name, or the names of its folder and parent folder."""
    hub = SNAPSHOT.search(name)
    if hub:
        return hub[1].replace("--", "/")
    path = Path(name)
    if not path.is_absolute():
        return name
    if name_of(path) != path.name:
        return name_of(path)
    return "/".join(path.parts[-2:])
