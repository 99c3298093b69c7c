"""Pickers that several pages share, and what they offer by default."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import streamlit as st
from streamlit.errors import StreamlitAPIException

from vocadapt.lab import demo
from vocadapt.lab.jobs import promised
from vocadapt.lab.runs import RunSet
from vocadapt.lab.runs import passed_over as told_of
from vocadapt.lab.workspace import Artefact, Workspace
from vocadapt.models.language_model import SNAPSHOT, name_of
from vocadapt.training.run_files import SavedRun
from vocadapt.ui import cache, run_cache
from vocadapt.ui.markup import plain
from vocadapt.ui.numbers import fraction

CROWDED = 0.8  # mean cosine: BERT-type rows and vectors of some million words have .0 to .5
COMMON_MODELS = ("bert-base-uncased", "bert-base-cased")
MODEL_HELP = "A folder on this machine, or the name of a model on the hub: pick one, or type it."
SPACE_HELP = "Word vectors or a model of this workspace, or type the folder or hub name of a model that is on this machine."
T = TypeVar("T")
RUN_HELP = "A run is one fine-tuning of a model on a task under one seed; pooled: both cuts of it together."
TARGET_HELP = "The model whose vocabulary is taken over: a folder, a hub name that was used here before, or a bare vocab.txt."


def pick(label: str, found: list[Artefact], key: str, help: str | None = None) -> Artefact:
    """Choose one of some artefacts by name, the newest by default; the choice stands in the address."""
    names = [artefact.name for artefact in found]
    chosen = st.selectbox(label, names, key=key, bind="query-params", help=help)
    return found[names.index(chosen)] if chosen in names else found[0]


def pick_model(
    workspace: Workspace, default: str | None = None, key: str = "model", label: str = "Language model",
    common: tuple[str, ...] = COMMON_MODELS, help: str = MODEL_HELP,
) -> str:  # fmt: skip
    """Choose a model that was used before, or type a folder or hub name; `default` or the last one used is offered first."""
    own = (str(artefact.folder) for artefact in workspace.artefacts("models"))
    names = [*filter(None, [default]), *models_in_use(workspace), *own, *common]
    chosen = st.selectbox(
        label, list(dict.fromkeys(names)), key=key, format_func=shown_model, accept_new_options=True,
        persist_state="session", help=help,
    )  # fmt: skip
    return str(chosen or next(iter(common), ""))


def pick_target(workspace: Workspace, model: str, label: str = "Target", help: str = TARGET_HELP) -> str:
    """Choose a model or bare vocabulary that another is to take over, or type it; "" as long as none is: never `model` itself."""
    names = [*(str(artefact.folder) for artefact in workspace.artefacts("models")), *models_in_use(workspace)]
    offered = [name for name in dict.fromkeys(names) if name != model]
    chosen = st.selectbox(
        label, offered, index=None, key="target", format_func=shown_model, accept_new_options=True, bind="query-params",
        placeholder="Pick a model, or type a folder or vocab.txt", help=help,
    )  # fmt: skip
    return str(chosen or "")


def pick_space(workspace: Workspace, label: str, key: str, default: int = 0, help: str = SPACE_HELP) -> str:
    """Choose word vectors or a model of the workspace, or type a folder or hub name: what `cache.opened` opens; "" for none.

    What stands in the address is the name that is shown, which means the same in a copy of the workspace.
    """
    known = spaces_of(workspace)
    names = list(known)
    if names:
        begin_unset(key, names[min(default, len(names) - 1)])
    chosen = st.selectbox(
        label, names, index=None, key=key, bind="query-params", accept_new_options=True,
        placeholder="Type a model, or a folder of word vectors", help=help,
    )  # fmt: skip
    return known.get(str(chosen), str(chosen or ""))


@dataclass(frozen=True, eq=False)
class ChosenRun:
    """One seed of a set of runs, and the cut that it is looked at under ("" where it was not asked for)."""

    of: RunSet
    run: SavedRun
    cut: str

    @property
    def name(self) -> str:
        """As it stands in pickers and in the address: ncbi-green · seed 1 · pooled."""
        return " · ".join(filter(None, (self.of.name, self.run.called, self.cut)))


def pick_run(
    workspace: Workspace, label: str, key: str, default: int = 0, task: str = "", cuts: bool = False, help: str = RUN_HELP
) -> ChosenRun | None:
    """Choose one run of the workspace (of a task), with `cuts` under one of its cuts, too; None where there is none.

    The newest come first, and of each the cut that counts. What stands in the address is the name that is shown.
    """
    offered = {one.name: one for one in runs_to_pick(workspace, task, cuts)}
    return pick_named(label, key, offered, default, "There is no run yet", help)


def pick_named(label: str, key: str, offered: Mapping[str, T], default: int = 0, empty: str = "", help: str = "") -> T | None:
    """Choose one of some things by name; None where there is none. The name stands in the address; `choose_next` may set it."""
    names = list(offered)
    came = st.session_state.pop(f"{key}_next", None)
    if came in offered:
        begin_with(key, str(came))
    elif names and st.session_state.get(key, st.query_params.get(key)) not in offered:
        begin_with(key, names[min(default, len(names) - 1)])
    chosen = st.selectbox(label, names, index=None, key=key, bind="query-params", placeholder=empty, help=help or None)
    return offered.get(str(chosen))


def choose_next(key: str, name: str) -> None:
    """What a picker by `pick_named` will show from the next run of the page on: its own widget cannot be set once it is drawn."""
    st.session_state[f"{key}_next"] = name


def runs_to_pick(workspace: Workspace, task: str = "", cuts: bool = False) -> list[ChosenRun]:
    """Every run of a workspace, of one task or of all, newest first; with `cuts` one for each cut, the one that counts first.

    Those that cannot be read are not among them: `passed_over` names them, once on a page.
    """
    return [
        ChosenRun(of, run, cut)
        for of in run_cache.runs_in(workspace, task)
        for run in of.runs
        for cut in (sorted(of.cuts, key=lambda cut: cut != of.cut) if cuts else [""])
    ]


def passed_over(workspace: Workspace) -> None:
    """Name the runs of a workspace that cannot be read, and are offered by no picker, where there are any."""
    runs, unreadable = run_cache.runs_and_unreadable(workspace)
    if found := told_of(unreadable, len(runs) + len(unreadable)):
        st.warning(plain(found), icon=":material/warning:")


def crowded_note(*names: str) -> None:
    """Say where the tokens of a space all point the same way: what is near there means little."""
    for name in dict.fromkeys(names):
        mean = cache.mean_cosine_of(name)
        if mean is not None and mean > CROWDED:
            st.warning(
                f"In **{plain(shown_model(name))}** two random tokens have a cosine of {fraction(mean)}: everything is near "
                "everything, and neighbours mean little. Vectors of too little text look like this.", icon=":material/compress:",
            )  # fmt: skip


def from_address(key: str, names: Collection[str], default: str) -> str:
    """What a picker shows whose names for people change: the value stands in the address by hand, as it is.

    A bound widget would write the name for people there. Call `to_address` with what was picked.
    """
    held = st.session_state.get(key, st.query_params.get(key))
    st.session_state[key] = held if held in names else default
    return str(st.session_state[key])


def to_address(key: str, value: str) -> None:
    """Write what was picked into the address; "" takes it out."""
    if value and st.query_params.get(key) != value:
        st.query_params[key] = value
    elif not value and key in st.query_params:
        del st.query_params[key]


def begin_with(key: str, value: str) -> None:
    """What a picker shows first, written into the address: its default is nothing, so what it shows always stands there.

    A link then means the same when there are newer spaces and maps. Streamlit writes into the address what a bound widget is
    set to, except before the widget was ever there.
    """
    st.session_state[key] = value
    with suppress(StreamlitAPIException):  # the widget is there: setting it was enough
        st.query_params[key] = value


def begin_unset(key: str, value: str) -> None:
    """The same as long as nothing was chosen, and nothing stands in the address."""
    if not st.session_state.get(key, st.query_params.get(key)):
        begin_with(key, value)


def spaces_of(workspace: Workspace) -> dict[str, str]:
    """Every space of a workspace by the name it is shown under: word vectors, models, and models that these were made for."""
    found = {f"word vectors · {one.name}": str(one.folder) for one in workspace.artefacts("vectors")}
    found |= {f"model · {one.name}": str(one.folder) for one in workspace.artefacts("models")}
    there = {Path(folder).resolve() for folder in found.values()}
    return found | {shown_model(name): name for name in models_in_use(workspace) if Path(name).resolve() not in there}


def models_to_train(workspace: Workspace) -> dict[str, str]:
    """Models by the name they are shown under, their folder or hub name; where there is none yet, the demo's first.

    Those made of another model come first, the newest before all, then the one used last: that is where one goes on.
    """
    used = models_in_use(workspace)
    models = workspace.artefacts("models")
    models.sort(key=lambda one: ("model" not in one.manifest.inputs, str(one.folder) not in used[:1]))
    own = {one.name: str(one.folder) for one in models}
    if not own and demo.shipped():
        own[demo.MODEL[1]] = str(demo.DEMO.joinpath(*demo.MODEL))
    others = {shown_model(name): name for name in (*used, *COMMON_MODELS)}
    return own | {label: name for label, name in others.items() if label not in own}


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


def name_for(workspace: Workspace, kind: str, wish: str, key: str, taken: Collection[str] = ()) -> str:
    """The name of an artefact to be made; by default one that is free, none of `taken`, and that no living job is to take."""
    free = workspace.free_name(kind, wish, {*promised(workspace, kind), *taken})
    return str(st.text_input("Name", value=free, key=f"{key}_{free}", help=f"Where it will lie: {workspace.root / kind}")).strip()


def stale_note(artefact: Artefact, workspace: Workspace) -> None:
    """Say when what an artefact was made from has changed since."""
    reasons = artefact.stale(workspace)
    if reasons:
        st.warning(f"Out of date: {plain('; '.join(reasons))}. Make it again to follow the change.", icon=":material/update:")


def nothing_yet(what: str, how: str, page: str | None = None, link: str = "") -> None:
    """What a page shows before there is anything to show."""
    with st.container(border=True):
        st.markdown(f"**{what}**")
        st.markdown(how)
        if page:
            st.page_link(page, label=link, icon=":material/arrow_forward:")
