"""Colors of a projection: the columns that a workspace offers, and the selected one."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from vocadapt.analysis import token_columns
from vocadapt.analysis.token_columns import Column
from vocadapt.lab.workspace.slices import load_slice, slices_of
from vocadapt.lab.workspace.workspace import UPLOADS, Artifact, Workspace, list_adapted_models
from vocadapt.ui.adapt import model as model_view
from vocadapt.ui.components import intake
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count
from vocadapt.ui.frame import count_cache, mistakes
from vocadapt.ui.projection.sources import Shown

PLAIN = "one color"
TABLES = f"{UPLOADS}/tables"  # the user's tables of tokens and values
HELP = "Colors tokens by length, id, frequency, region, origin, a saved slice or your own table."


def pick_color(workspace: Workspace, shown: Shown) -> Column | None:
    """Show the color picker and return the selected column; shows a message if it cannot be
    computed.
    """
    offered = _offered(workspace, shown)
    chosen = st.selectbox(
        "Color", list(offered), key="projection_color", bind="query-params", help=HELP, width=210
    )
    column = None
    with mistakes.show_errors():
        column = offered.get(str(chosen), offered[PLAIN])()
    return column


def draw_coverage_note(column: Column | None, shown: Shown) -> None:
    """Show how many tokens have a value, if not all do."""
    if column is not None and column.known < len(shown.words):
        note = (
            f"{count(column.known)} of {count(len(shown.words))} tokens on the projection"
            " have a value"
        )
        st.markdown(f":small[:violet[{plain(column.name)}: {note}]]")


def draw_upload_table(workspace: Workspace) -> None:
    """Draw the upload of a table of tokens and values, saved in the workspace as a color column."""
    st.markdown(
        ":small[One line per token: token,value. Numbers are shown on a color scale, words in"
        " up to eight colors.]"
    )
    turn = st.session_state.setdefault("projection_table_turn", 0)
    given = st.file_uploader(
        "Own table",
        type=["csv", "tsv", "txt"],
        key=f"projection_table_{turn}",
        max_upload_size=20,
    )
    if given is not None:
        (saved,) = intake.save_uploads([given], workspace, TABLES)
        st.session_state["projection_table_turn"] = turn + 1
        try:
            token_columns.read_token_table(saved)
        except BaseException:
            saved.unlink()
            raise
        st.session_state["projection_color"] = f"table · {saved.name}"
        st.rerun()


def _offered(workspace: Workspace, shown: Shown) -> dict[str, Callable[[], Column | None]]:
    """Return the builders of all color columns by display name."""
    offered: dict[str, Callable[[], Column | None]] = {
        PLAIN: lambda: None,
        "length": lambda: token_columns.length(shown.words, shown.space.kinds),
        "id": lambda: token_columns.ids(shown.map.rows),
        "region": lambda: _region(shown),
    }
    offered |= _frequencies(workspace, shown)
    for model in list_adapted_models(workspace):
        if _concerns(model, shown, workspace):
            offered[f"origin · {model.name}"] = lambda model=model: token_columns.origin(
                shown.tokens, _plan(model)
            )  # type: ignore[misc]
    for one in slices_of(workspace):
        offered[f"slice · {one.id}"] = lambda id=one.id: _slice(workspace, shown, id)  # type: ignore[misc]
    for path in sorted((workspace.root / TABLES).glob("*")):
        offered[f"table · {path.name}"] = lambda path=path: _table(shown, path)  # type: ignore[misc]
    return offered


def _frequencies(workspace: Workspace, shown: Shown) -> dict[str, Callable[[], Column | None]]:
    """Return the frequency columns: counts of the word vectors, and of each corpus with word counts
    for the model.
    """
    opened = shown.spaces[0].opened
    found: dict[str, Callable[[], Column | None]] = {}
    if opened.space.counts is not None:
        counts = opened.space.counts
        found["frequency"] = lambda: token_columns.frequency(counts[shown.map.rows])
    if opened.model:
        for text in workspace.artifacts("corpora"):
            if count_cache.counts_of(text, shown.spaces[0].name, workspace.root):
                found[f"frequency · {text.name}"] = lambda text=text: _in_text(
                    workspace, shown, text
                )  # type: ignore[misc]
    return found


def _in_text(workspace: Workspace, shown: Shown, text: Artifact) -> Column | None:
    reducer = count_cache.reducer_of(text, shown.spaces[0].name, workspace.root)
    if not reducer:
        return None
    return token_columns.frequency(reducer.token_counts[shown.map.rows])


def _region(shown: Shown) -> Column:
    found = shown.map.regions
    names = [f"{number}: {region.words[0]}" for number, region in enumerate(found.regions, start=1)]
    return Column(
        "region", words=tuple(names[number] for number in found.of.tolist()), order=tuple(names)
    )


def _slice(workspace: Workspace, shown: Shown, id: str) -> Column:
    chosen = load_slice(workspace, id)
    return token_columns.membership(shown.words, chosen.tokens, chosen.name)


def _table(shown: Shown, path: Path) -> Column:
    stat = path.stat()
    return token_columns.column_from_table(
        shown.words, _read_table(str(path), f"{stat.st_size}-{stat.st_mtime_ns}"), path.stem
    )


@st.cache_data(max_entries=4, show_spinner="Reading the table …")
def _read_table(path: str, stamp: str) -> dict[str, str]:
    return token_columns.read_token_table(Path(path))


def _plan(model: Artifact) -> dict[str, object]:
    plan: dict[str, object] = model_view.record_of(model)["plan"]
    return plan


def _concerns(model: Artifact, shown: Shown, workspace: Workspace) -> bool:
    """Return whether a projection shows an adapted model or its base model."""
    given = model.manifest.inputs.get("model")
    known = {model.folder.resolve()}
    if given:
        known |= {(workspace.root / path).resolve() for path in given.paths}
    return any(one.opened.folder.resolve() in known for one in shown.spaces)
