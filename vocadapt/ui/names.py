"""Models and spaces by name: what every menu offers, and what a typed name or one in an address means."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from vocadapt.lab.workspace import Artefact, Workspace
from vocadapt.models.hub_cache import filter_cached
from vocadapt.models.language_model import HUB_NAME, SNAPSHOT, name_of

COMMON_MODELS = ("bert-base-uncased", "bert-base-cased")
LONGEST_NAME = 100  # characters of a hub name
SPACE_KINDS = {"vectors": "word vectors", "models": "model"}  # kind of artefact → how a space of it is shown


def models_of(workspace: Workspace, common: tuple[str, ...] = COMMON_MODELS) -> dict[str, str]:
    """Every model that a menu offers, by the name it is shown under: its folder or hub name.

    The models of the workspace come first, those adapted or trained here before others, the newest before all; then models that
    artefacts of the workspace were made for, then common ones that are in the local cache:
    another hub name may need a network that is not there, and is typed by hand.
    """
    used = models_in_use(workspace)
    models = workspace.artefacts("models")
    models.sort(key=lambda one: ("model" not in one.manifest.inputs, str(one.folder) not in used[:1]))
    found = {one.name: str(one.folder) for one in models}
    there = {Path(folder).resolve() for folder in found.values()}
    for name in (*used, *filter_cached(common)):
        if Path(name).resolve() not in there:
            found.setdefault(shown_model(name), name)
    return found


def spaces_of(workspace: Workspace) -> dict[str, str]:
    """Every space of a workspace by the name it is shown under: word vectors, models, and models that these were made for."""
    found = {
        f"{shown} · {one.name}": str(one.folder) for kind, shown in SPACE_KINDS.items() for one in workspace.artefacts(kind)
    }
    there = {Path(folder).resolve() for folder in found.values()}
    return found | {shown_model(name): name for name in models_in_use(workspace) if Path(name).resolve() not in there}


def resolve(workspace: Workspace, typed: str, offered: Mapping[str, str], kinds: tuple[str, ...] = ("models",)) -> str:
    """What a name means: a name that a menu shows, an artefact, `models/NAME`, a path, or a hub name; "" for none.

    `kinds`: the kinds of artefacts that may be meant, the first before the others.
    """
    typed = typed.strip()
    if typed in offered:
        return offered[typed]
    for kind in kinds:
        names = {f"{kind}/{one.name}": one for one in workspace.artefacts(kind)}
        names |= {f"{SPACE_KINDS.get(kind, kind)} · {one.name}": one for one in names.values()}
        names |= {one.name: one for one in names.values()}
        if typed in names:
            return str(names[typed].folder)
    same = (name for name in offered.values() if shown_model(name) == typed)
    return next(same, typed)


def build_address_filter(
    workspace: Workspace, offered: Mapping[str, str], kinds: tuple[str, ...] = ("models",)
) -> Callable[[str], bool]:
    """Whether a value may stand in an address: what the menu offers, an artefact of the workspace, or the name of a hub model.

    A path may not: a link must not open a file of whoever follows it. A hub name that is also a path here is taken for one.
    """

    def allowed(value: str) -> bool:
        if value in offered or resolve(workspace, value, offered, kinds) != value.strip():
            return True
        return (
            len(value) <= LONGEST_NAME and bool(HUB_NAME.fullmatch(value)) and ".." not in value and not os.path.lexists(value)
        )

    return allowed


def label_of(name: str, offered: Mapping[str, str]) -> str:
    """The name that a menu shows a folder or hub name under; itself where the menu lacks it."""
    place = Path(name).expanduser()
    same = (label for label, known in offered.items() if name == known or place == Path(known))
    return next(same, name)


def models_in_use(workspace: Workspace) -> list[str]:
    """The models that vectors and alignments of the workspace were made for, the last one first."""
    made = [artefact for kind in ("vectors", "alignments", "corpora") for artefact in workspace.artefacts(kind)]
    return list(dict.fromkeys(filter(None, (model_behind(artefact, workspace) for artefact in made))))


def model_behind(artefact: Artefact, workspace: Workspace) -> str | None:
    """The model that an artefact was made for; None where it has none."""
    given = artefact.manifest.inputs.get("model")
    return str(workspace.root / given.paths[0]) if given else None


def shown_model(name: str) -> str:
    """A model's name: on the hub, or its folder and the one round it; the latter alone where the folder's tells nothing."""
    hub = SNAPSHOT.search(name)
    if hub:
        return hub[1].replace("--", "/")
    path = Path(name)
    if not path.is_absolute():
        return name
    return name_of(path) if name_of(path) != path.name else "/".join(path.parts[-2:])
