"""Controls of the page Projection: spaces, tokens, and which saved projection; all of it is in the
address.
"""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.settings import limits
from vocadapt.spaces.projection.token_choice import BANDS, TokenChoice
from vocadapt.ui.components import pickers
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.optional_input import optional_number
from vocadapt.ui.frame import address
from vocadapt.ui.frame.address import Choice
from vocadapt.ui.projection import sources
from vocadapt.ui.projection.sources import Named

AT_ONCE = "PCA (not saved)"
NONE = "none"
THESIS = TokenChoice()
WAYS = ("first", "frequency", "search", "around a word")
EXAMPLE = "cancer"  # figure 3.6 of the thesis
HELP = {
    "view": (
        "Selects the projection. PCA is computed immediately; t-SNE and UMAP projections are"
        " created once and listed here."
    ),
    "other": "Selects a second space with the same tokens, to see what moved.",
    "example": "Shows the neighborhood of *cancer*, as in Fast 2023, figure 3.6.",
}


def pick_spaces(workspace: Workspace) -> tuple[Named, ...]:
    """Show the pickers of a space and an optional second one; return an empty tuple if there is
    none.

    The spaces of the newest map come first; without a map, the newest model.
    """
    known = pickers.spaces_of(workspace)
    drawn = _newest_drawn(workspace, known)
    model = next((place for place, label in enumerate(known) if label.startswith("model")), 0)
    asked = {"projection_space", "projection_other"} & {*st.query_params, *st.session_state}
    beside = drawn[1] if len(drawn) > 1 and not asked else NONE
    first = pickers.pick_space(
        workspace,
        "Space",
        "projection_space",
        default=list(known).index(drawn[0]) if drawn else model,
    )
    if not first:
        return ()
    others = {NONE: "", **{label: name for label, name in known.items() if name != first}}
    other = pickers.pick_open(
        workspace,
        "Compare with",
        others,
        "projection_other",
        beside,
        help=HELP["other"],
        kinds=("vectors", "models"),
    )
    chosen = [first, *([other] if other else [])]
    shown = {name: label for label, name in known.items()}
    return tuple(Named(shown.get(name, pickers.shown_model(name)), name) for name in chosen)


def _newest_drawn(workspace: Workspace, known: Mapping[str, str]) -> list[str]:
    """Return the display names of the spaces of the newest projection; empty if one is unknown."""
    folders = {Path(name).resolve(): label for label, name in known.items()}
    newest = workspace.artifacts("projections")[:1]
    found = [
        folders.get(folder, "") for made in newest for folder in sources.folders_of(workspace, made)
    ]
    return found if all(found) else []


def pick_view(made: list[Artifact]) -> Artifact | None:
    """Show the picker of projections: the newest by default; None is PCA, computed immediately.

    A map that a job has just finished, and the last one of spaces just chosen, are shown without
    being asked for.
    """
    names = {AT_ONCE: None, **{artifact.name: artifact for artifact in made}}
    last = made[0].name if made else AT_ONCE
    address.settle("projection_view", Choice(names.__contains__, last, last))
    chosen = st.selectbox(
        "Projection", list(names), key="projection_view", persist_state="session", help=HELP["view"]
    )
    address.write("projection_view", [str(chosen or last)])
    return names.get(str(chosen or last))


def pick_tokens(view: Artifact | None = None) -> TokenChoice:
    """Draw the token filter with the defaults of Fast 2023; raise InputError if the choice is
    invalid.

    `view`: the finished map that is looked at; it has its own tokens.
    """
    if view:
        st.markdown(
            f":small[{plain(view.name)} has its own tokens: this selection applies to PCA and"
            " to new projections.]"
        )
    way = st.segmented_control(
        "Tokens",
        WAYS,
        default=WAYS[0],
        required=True,
        key="projection_tokens",
        bind="query-params",
        label_visibility="collapsed",
    )
    values: dict[str, object] = {}
    if way == "around a word":
        left, right = st.columns(2)
        values["around"] = left.text_input(
            "Word", EXAMPLE, key="projection_around", bind="query-params"
        ).strip()
        values["nearest"] = int(
            right.number_input(
                "Neighbors",
                *limits(THESIS, "nearest"),
                THESIS.nearest,
                key="projection_nearest",
                bind="query-params",
            )
        )
    else:
        if way == "search":
            values["search"] = st.text_input(
                "Token contains", key="projection_holding", bind="query-params"
            )
        if way == "frequency":
            left, middle, right = st.columns(3)
            values["band"] = left.selectbox(
                "Band of", BANDS, key="projection_band", bind="query-params"
            )
            values["low"] = int(
                middle.number_input(
                    "from",
                    *limits(THESIS, "low"),
                    0,
                    key="projection_from",
                    bind="query-params",
                )
            )
            values["high"] = int(
                optional_number(
                    "to",
                    limits(THESIS, "high"),
                    0,
                    "the end",
                    right,
                    key="projection_to",
                    bind="query-params",
                )
            )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            every = st.toggle("All tokens", key="projection_all", bind="query-params")
            highest = limits(THESIS, "first")[1]
            most = st.number_input(
                "Max tokens",
                1,
                highest,
                THESIS.first,
                1000,
                key="projection_first",
                bind="query-params",
                disabled=every,
            )
        values["first"] = 0 if every else int(most)
    return TokenChoice(**values, **_filters())  # type: ignore[arg-type]


def show_example() -> None:
    """Callback: show the neighborhood of the example word."""
    st.session_state.update(
        {
            "projection_view": AT_ONCE,
            "projection_tokens": WAYS[3],
            "projection_around": EXAMPLE,
            "projection_nearest": THESIS.nearest,
            "projection_word": EXAMPLE,
        }
    )


def _filters() -> dict[str, object]:
    bounds = limits(THESIS, "min_length")
    length = st.number_input(
        "Min characters",
        *bounds,
        THESIS.min_length,
        key="projection_shortest",
        bind="query-params",
        help="Minimum token length, without the mark of a continuation. Default 4, as in Fast 2023.",
    )
    with st.container(horizontal=True):
        return {
            "min_length": int(length),
            "continuations": st.toggle(
                "Continuations", key="projection_pieces", bind="query-params"
            ),
            "specials": st.toggle("Special tokens", key="projection_specials", bind="query-params"),
            "unused": st.toggle("[unused]", key="projection_unused", bind="query-params"),
        }
