"""Names of models and spaces: lists for pickers, and resolution of typed names and of names in
addresses.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import expand_path
from vocadapt.lab.demo import ADAPTED
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import HUB_NAME, filter_cached
from vocadapt.models.model_folder import SNAPSHOT, name_of
from vocadapt.text.display import shorten_text

COMMON_MODELS = ("bert-base-uncased", "bert-base-cased")
MAX_NAME_LENGTH = 100  # characters of a hub name
SHORT_NAME_LENGTH = 24  # characters of a name where space is short
KIND_ICONS = {  # kind of artifact -> its Material symbol; extensions have a common one
    "corpora": "article",
    "vectors": "scatter_plot",
    "alignments": "align_horizontal_center",
    "models": "memory",
    "leaderboards": "leaderboard",
    "projections": "map",
    "changes": "compare_arrows",
    "tasks": "label",
    "runs": "model_training",
}
SPACE_KINDS = {"vectors": "word vectors", "models": "model"}  # kind of artifact → in labels


def shorten_name(name: str) -> str:
    """Shorten a name where space is short, by omitting its middle."""
    return shorten_text(name, SHORT_NAME_LENGTH)


def icon_of(kind: str) -> str:
    """Return the Material symbol of a kind of artifact."""
    return f":material/{KIND_ICONS.get(kind, 'inventory_2')}:"


def list_display_names(workspace: Workspace) -> dict[str, str]:
    """Return the display names of the models of a workspace, by the names of their folders.

    A model that was adapted or pretrained under the suggested name is shown as what it was made
    from: demo-bert + biomedical. A name that the user chose is shown as it is.
    """
    models = {one.name: one for one in workspace.artifacts("models")}
    found: dict[str, str] = {}
    for name in models:
        shown = _describe_model(name, models)
        if shown in found.values():
            shown = f"{shown} ({name})"
        found[name] = shown
    return found


def display_name(workspace: Workspace, kind: str, name: str) -> str:
    """Return the display name of an artifact."""
    if kind != "models":
        return name
    return list_display_names(workspace).get(name, name)


def build_labels(workspace: Workspace, offered: Iterable[str]) -> dict[str, str]:
    """Return the label of each option of a menu: its display name, without its kind.

    offered: names of artifacts, possibly with a kind before or more after them. An option that
    would look like an earlier one is shown in full.
    """
    names = list_display_names(workspace)
    found: dict[str, str] = {}
    for option in offered:
        label = display_label(option, names)
        if label in found.values():
            label = option
        found[option] = label
    return found


def display_label(option: str, names: Mapping[str, str]) -> str:
    """Return the display name of an option of a menu.

    names: display names of the models.

    Example: "model · demo-adapted" -> "demo-bert + biomedical"; "demo-adapted · before" ->
    "demo-bert + biomedical · before".
    """
    for kind, label in SPACE_KINDS.items():
        bare = option.removeprefix(f"{label} · ").removeprefix(f"{kind}/")
        if bare != option and kind != "models":
            return bare  # word vectors may be named as a model
        option = bare
    first, separator, rest = option.partition(" · ")
    return f"{names.get(first, first)}{separator}{rest}"


def _describe_model(name: str, models: Mapping[str, Artifact]) -> str:
    """Return the display name of a model from its inputs, or its name if the user chose it."""
    inputs = models[name].manifest.inputs
    if "model" not in inputs:
        return name
    # 1. The model that it was made from; the chain ends, because no model is made from itself.
    base = name_of(Path(inputs["model"].paths[0]))
    shown_base = base
    if base in models and base != name and name.startswith(f"{base}-"):
        shown_base = _describe_model(base, models)
    # 2. Continued pretraining: the suggested name ends with the stage.
    stage = str(models[name].manifest.numbers.get("stage", ""))
    if stage and _is_suggested(name, f"{base}-{stage}"):
        return f"{shown_base} · {stage}"
    # 3. An adaptation: the suggested name ends with where its words come from.
    origins = (inputs[role] for role in ("vectors", "target", "text") if role in inputs)
    origin = next((Path(one.paths[0]).stem for one in origins), "")
    if not origin or not (name == ADAPTED[1] or _is_suggested(name, f"{base}-{origin}")):
        return name
    number = name.partition(f"{base}-{origin}")[2]  # "" if there is none
    return f"{shown_base} + {_drop_shared_words(origin, base)}{number.replace('-', ' ')}"


def _is_suggested(name: str, wish: str) -> bool:
    """Return whether a name is a suggested one, possibly with a number."""
    return bool(re.fullmatch(rf"{re.escape(wish)}(-\d+)?", name))


def _drop_shared_words(name: str, other: str) -> str:
    """Remove the words from the beginning of a name that another one begins with: demo-biomedical
    becomes biomedical if the other is demo-bert.
    """
    words, others = name.split("-"), other.split("-")
    while len(words) > 1 and others and words[0] == others[0]:
        words, others = words[1:], others[1:]
    return "-".join(words)


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
    # A display name, or the hub name of a model that is offered.
    for name, shown in list_display_names(workspace).items():
        if typed == shown:
            return str(workspace.folder("models", name))
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
