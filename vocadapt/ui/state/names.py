"""Names of models and spaces: lists for pickers, and resolution of typed names and of names in
addresses.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.demo import ADAPTED, ADAPTED_RUNS, BASE_RUNS, CHANGE
from vocadapt.lab.workspace.workspace import Artifact, Workspace, simplify_name
from vocadapt.models.language_model import HUB_NAME, filter_cached
from vocadapt.models.model_folder import SNAPSHOT, name_of
from vocadapt.system.files import expand_path
from vocadapt.text.display import shorten_text

COMMON_MODELS = ("bert-base-uncased", "bert-base-cased")
MAX_NAME_LENGTH = 100  # characters of a hub name
SHORT_NAME_LENGTH = 24  # characters of a name where space is short
KIND_ICONS = {  # kind of artifact -> its Material symbol; extensions have a common one
    "corpora": "article",
    "word-counts": "calculate",
    "vectors": "scatter_plot",
    "alignments": "align_horizontal_center",
    "models": "memory",
    "packs": "package_2",
    "initializers": "leaderboard",
    "projections": "map",
    "changes": "compare_arrows",
    "tasks": "label",
    "runs": "model_training",
    "studies": "grid_on",
    "searches": "tune",
}
DEMO_NAMES = {name for _, name in (ADAPTED, BASE_RUNS, ADAPTED_RUNS, CHANGE)}
NAMED_BY_INPUTS = ("models", "runs", "changes")  # kinds whose display names state their inputs
SPACE_KINDS = {"vectors": "word vectors", "models": "model"}  # kind of artifact → in labels


def shorten_name(name: str, length: int = SHORT_NAME_LENGTH) -> str:
    """Shorten a name where space is short, by omitting its middle."""
    return shorten_text(name, length)


def icon_of(kind: str) -> str:
    """Return the Material symbol of a kind of artifact."""
    return f":material/{KIND_ICONS.get(kind, 'inventory_2')}:"


def list_display_names(workspace: Workspace, kind: str = "models") -> dict[str, str]:
    """Return the display names of the artifacts of a kind, by the names of their folders.

    The display name of an artifact with a suggested name states its inputs: demo-bert + biomedical
    for a model, task and model for a run, both spaces for a comparison. A name that the user chose
    is its own display name.
    """
    artifacts = {one.name: one for one in workspace.artifacts(kind)}
    if kind not in NAMED_BY_INPUTS:
        return {name: name for name in artifacts}
    models = artifacts
    if kind != "models":
        models = {one.name: one for one in workspace.artifacts("models")}
    # The newest come first, but the oldest keeps its short name if a newer one has the same.
    found: dict[str, str] = {}
    for name in reversed(artifacts):
        shown = _describe(artifacts[name], models)
        found[name] = f"{shown} ({name})" if shown in found.values() else shown
    return {name: found[name] for name in artifacts}


def display_name(workspace: Workspace, kind: str, name: str) -> str:
    """Return the display name of an artifact."""
    if kind not in NAMED_BY_INPUTS:
        return name
    return list_display_names(workspace, kind).get(name, name)


def display_model(workspace: Workspace, name: str) -> str:
    """Return the display name of a model or of word vectors by folder, hub name or label."""
    return display_label(shown_model(name), list_display_names(workspace))


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


def _describe(artifact: Artifact, models: Mapping[str, Artifact]) -> str:
    """Return the display name of an artifact: from its inputs, or its name if the user chose it."""
    name = artifact.name
    for suggested, shown in _list_suggestions(artifact, models):
        # Names of the demo are ours; a suggested name may end with a number.
        number = re.fullmatch(rf"{re.escape(simplify_name(suggested))}((?:-\d+)?)", name)
        if number or name in DEMO_NAMES:
            return f"{shown}{number[1].replace('-', ' ')}" if number else shown
    return name


def _list_suggestions(
    artifact: Artifact, models: Mapping[str, Artifact]
) -> Iterator[tuple[str, str]]:
    """List the names that the pages suggest for an artifact, each with its display name."""
    inputs, numbers = artifact.manifest.inputs, artifact.manifest.numbers
    stems = {role: find_model_stem(one.paths[0]) for role, one in inputs.items()}
    shown = dict(stems)
    for role in ("model", "before", "after"):
        name = stems.get(role, "")
        is_vectors = role in inputs and Path(inputs[role].paths[0]).parent.name == "vectors"
        # A model is named after one with a shorter name: the chain ends.
        is_named_after = artifact.kind != "models" or artifact.name.startswith(f"{name}-")
        if name in models and not is_vectors and is_named_after:
            shown[role] = _describe(models[name], models)
    if "before" in stems and "after" in stems:
        yield f"{stems['before']}-to-{stems['after']}", f"{shown['before']} → {shown['after']}"
    if "model" not in stems:
        return
    task = str(numbers.get("task", "")).rpartition("/")[2]
    if task:
        yield f"{task}-{stems['model']}", f"{task} · {shown['model']}"
    if numbers.get("stage"):
        yield f"{stems['model']}-{numbers['stage']}", f"{shown['model']} · {numbers['stage']}"
    # An adaptation is named after where its words come from.
    origins = (inputs[role].paths[0] for role in ("vectors", "target", "text") if role in inputs)
    for origin in origins:
        suggested = f"{stems['model']}-{Path(origin).stem}"
        yield suggested, name_adaptation(stems["model"], Path(origin).stem, shown["model"])


def name_adaptation(base: str, origin: str, shown_base: str = "") -> str:
    """Return the display name of an adapted model: demo-bert + biomedical for demo-biomedical,
    without the words with which both names begin.

    base, origin: names of the model, and of the word vectors, target or text. shown_base: the
    display name of the model, if it has another one.
    """
    words = origin.split("-")
    for word in base.split("-"):
        if len(words) == 1 or words[0] != word:
            break
        del words[0]
    return f"{shown_base or base} + {'-'.join(words)}"


def find_model_stem(model: str) -> str:
    """Return the name of a model or word vectors without folders: bert-base for org/bert-base. The
    suggested names of what is made from it contain it.
    """
    return shown_model(model).rpartition("/")[2]


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
    known_folders = {os.path.realpath(folder) for folder in found.values()}
    # 2. and 3. Other models; a folder of the workspace is listed once.
    for name in (*used, *filter_cached(common)):
        if os.path.realpath(name) not in known_folders:
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
    known_folders = {os.path.realpath(folder) for folder in found.values()}
    return found | {
        shown_model(name): name
        for name in models_in_use(workspace)
        if os.path.realpath(name) not in known_folders
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
    """Return the model that an artifact was made for, None if there is none, or not any more."""
    model_input = artifact.manifest.inputs.get("model")
    if model_input is None:
        return None
    place = workspace.root / model_input.paths[0]
    return str(place) if os.path.exists(place) else None


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
