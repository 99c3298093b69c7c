"""The part Diagnostics: the geometry of each space, how similar related words are, and mean cosines
within and between spaces.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from vocadapt.analysis.figures import diagnostics as figures
from vocadapt.analysis.figures.figures import CHANGED, DOMAIN, GOOD, NEUTRAL, SOURCE, TARGET
from vocadapt.lab.reports.diagnostics import TOKENS
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.csv_files import write_csv
from vocadapt.report.table import Table
from vocadapt.spaces.diagnostics.diagnosis import (
    DIRECTION_BIAS,
    FREQUENCY_BIAS,
    GEOMETRY,
    HUBNESS,
    ISOTROPY,
    LENGTH,
    MEAN_COSINE,
    Diagnosis,
    build_cosine_table,
    diagnose,
    interpret_hubness,
)
from vocadapt.spaces.diagnostics.geometry import Hubness, measure_hubness_work
from vocadapt.spaces.diagnostics.statistics import CosineTables
from vocadapt.system.forecasts import forecast_at_default_rate
from vocadapt.ui.components import mistakes, pickers, word_links
from vocadapt.ui.components.blocks import (
    Download,
    draw_command,
    draw_downloads,
    draw_figure,
    draw_heading,
    draw_metrics,
    draw_note,
    open_details,
)
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.parts.diagnostics import cached, relations
from vocadapt.ui.parts.diagnostics.cached import SelectedSpace
from vocadapt.ui.parts.projection.controls import NEIGHBORHOOD
from vocadapt.ui.parts.projection.sources import UNSAVED_PCA
from vocadapt.ui.state import address
from vocadapt.ui.state.names import build_labels, display_model, label_of, model_behind, spaces_of
from vocadapt.ui.text import markup
from vocadapt.ui.text.markup import Card, HeatCell, format_sentence, plain
from vocadapt.ui.text.number_formats import count, format_forecast, fraction

SPACES, MAX_SPACES = "diagnostics_spaces", 4
HUB = "diagnostics_hub"  # begins the session key and query parameter of a clicked hub
AT_FIRST = 3  # spaces selected by default
# Colors of several spaces of a kind: models, adapted models, word vectors.
COLORS = {
    "model": (SOURCE, TARGET, CHANGED, NEUTRAL),
    "adapted": (GOOD, TARGET, CHANGED, NEUTRAL),
    "vectors": (DOMAIN, CHANGED, TARGET, NEUTRAL),
}
TITLES = {SOURCE: "blue", GOOD: "green", DOMAIN: "orange", CHANGED: "violet", TARGET: "yellow"}
HELP = {
    "spaces": (
        f"Selects up to {MAX_SPACES} spaces: word vectors or models of this workspace. The last"
        " option takes the folder or hub name of a model on this machine."
    ),
    "tokens": (
        "Selects the tokens to include. Fast 2023 includes all; hundreds of untrained"
        " [unusedN] embeddings can shift a mean."
    ),
}


def draw(workspace: Workspace) -> None:
    """Draw a card per space, the norms by frequency, and the folded statistics."""
    spaces = choose_spaces(workspace)
    if not spaces:
        pickers.draw_empty_state(
            "There is no space to diagnose yet.",
            (
                "Select one under *Spaces*, whose last option takes the folder of a model on this"
                " machine, or a hub name that was used here before. Word vectors and models that"
                " you make in this workspace are listed there."
            ),
            "vectors",
        )
        return

    # 1. A card per space, and one figure.
    tables = cached.compute_tables(spaces)
    draw_cards(spaces)
    draw_norms_by_frequency(spaces)
    # 2. The rest, computed when it is opened.
    _draw_more(workspace, spaces, tables)


@st.fragment
def _draw_more(workspace: Workspace, spaces: Sequence[SelectedSpace], tables: CosineTables) -> None:
    """Draw the folded blocks; opening one reruns only this fragment."""
    file = None
    related = _open_expander("Are related words similar?", "related", "link")
    if related.open:
        with related:
            file = relations.draw_relations(workspace, spaces)
    cosines = _open_expander("Mean cosines between the spaces", "cosines", "grid_on")
    if cosines.open:
        with cosines:
            draw_cosine_tables(spaces, tables)
    hubs = _open_expander("Hubs", "hubs", "hub")
    if hubs.open:
        with hubs:
            draw_hubs(workspace, spaces)
    files = relations.build_downloads(spaces, file)
    draw_details(spaces, tables, relations.build_arguments(spaces, file), files)


def _open_expander(label: str, name: str, icon: str) -> ExpanderContainer:
    """Open an expander whose state is in the address."""
    return st.expander(
        label,
        key=f"diagnostics_{name}",
        icon=f":material/{icon}:",
        on_change="rerun",
        bind="query-params",
    )


def choose_spaces(workspace: Workspace) -> list[SelectedSpace]:
    """Draw the pickers of spaces and tokens; return the spaces, and show why others cannot open."""
    # 1. The pickers.
    known = spaces_of(workspace)
    left, right = st.columns([2.2, 1], gap="large")
    with left:
        chosen = pickers.pick_several(
            workspace,
            "Spaces",
            known,
            SPACES,
            lambda: default_spaces(workspace, known),
            ("vectors", "models"),
            max_selections=MAX_SPACES,
            placeholder="Select spaces, or the folder or hub name of a model",
            help=HELP["spaces"],
        )
    tokens = right.selectbox(
        "Tokens",
        list(TOKENS),
        key="diagnostics_tokens",
        bind="query-params",
        help=HELP["tokens"],
    )
    draw_note(plain(TOKENS[tokens]), right)
    # 2. Open each space. Models and word vectors have their own colors, different for each space.
    found: list[SelectedSpace] = []
    labels = build_labels(workspace, known)
    for label, name in chosen.items():
        with mistakes.show_errors():
            shown = labels.get(label) or display_model(workspace, label)
            selected = SelectedSpace(shown, name, tokens)
            if len(selected.space):  # opened now, so that an error is shown here
                found.append(_add_colors(selected, found))
    return found


def _add_colors(selected: SelectedSpace, others: Sequence[SelectedSpace]) -> SelectedSpace:
    """Color a space by its kind: blue for a model, green for an adapted one, orange for vectors."""
    kind = "vectors"
    if selected.opened.model is not None:
        kind = "adapted" if selected.opened.added else "model"
    used = {other.color for other in others}
    color = next(color for color in COLORS[kind] if color not in used)
    token_color = DOMAIN if kind == "vectors" else SOURCE
    return replace(selected, color=color, token_color=token_color)


def default_spaces(workspace: Workspace, known: dict[str, str]) -> list[str]:
    """Return the newest adapted model after its original; else models, then word vectors."""
    labels = {Path(name): label for label, name in known.items()}
    # The newest adapted model and its original, to see what the adaptation changed.
    for artifact in workspace.artifacts("models"):
        original = Path(model_behind(artifact, workspace) or "")
        if artifact.folder in labels and original in labels:
            return [labels[original], labels[artifact.folder]]
    models = [label for label in known if not label.startswith("word vectors")]
    return [*models, *(label for label in known if label not in models)][:AT_FIRST]


def draw_cosine_tables(spaces: Sequence[SelectedSpace], tables: CosineTables) -> None:
    """Draw the mean cosines of all pairs of tokens and of common tokens as heat maps."""
    names = [selected.label for selected in spaces]
    lengths = [cached.compute_diagnosis(selected).norms for selected in spaces]
    pairs, common = st.columns(2, gap="large")
    with pairs:
        st.markdown(
            "**All pairs of tokens**: mean cosine of two different tokens :small[:gray[(Fast"
            " 2023, table 3.2)]]"
        )
        cells = [[HeatCell(value) for value in row] for row in tables.mean_cosine]
        counted = [f"{count(norms.n)} tokens" for norms in lengths]
        markup.draw_heat_map(
            names,
            list(zip(names, counted, cells, strict=True)),
            "mean cosine of all pairs of tokens",
        )
    with common:
        st.markdown(
            "**Common tokens**: mean cosine of a token's two embeddings :small[:gray[(Fast"
            " 2023, table 3.3)]]"
        )
        twins = [
            [HeatCell(value, f"n = {count(n)}") for value, n in zip(values, row, strict=True)]
            for values, row in zip(tables.mean_cosine_common, tables.common, strict=True)
        ]
        markup.draw_heat_map(
            names,
            [(name, "", row) for name, row in zip(names, twins, strict=True)],
            "mean cosine of common tokens",
        )
    note = "Exact, over all selected tokens. –: vectors of different dimension have no cosine."
    zero = sum(norms.zero_rows for norms in lengths)
    if zero:
        note += f" Excluded: {count(zero)} zero vectors, which have no direction."
    draw_note(note)


def draw_cards(spaces: Sequence[SelectedSpace]) -> None:
    """Draw one card per space: its figures and what they show."""
    for column, selected in zip(_open_columns(len(spaces)), spaces, strict=False):
        with column, st.container(border=True, height="stretch"):
            found = cached.compute_diagnosis(selected)
            color = TITLES.get(selected.color, "gray")
            st.markdown(
                f":{color}[**{plain(selected.label)}**]"
                f" :small[:gray[{describe_tokens(selected, found)}]]"
            )
            _draw_figures(found)
            findings = " ".join(map(str, found.findings))
            st.markdown(f":small[{format_sentence(findings)}]")


def describe_tokens(selected: SelectedSpace, found: Diagnosis) -> str:
    """Describe the tokens of a space: their number, how many were added, and the dimension."""
    number = f"{count(len(selected.space))} tokens"
    if found.added_norms:
        number += f" ({count(found.original_norms.n)} old, {count(found.added_norms.n)} added)"
    return f"{number} × {selected.space.dim} dimensions"


def _open_columns(n: int) -> list[Any]:
    """Open a column for each of n spaces, two side by side: more are too narrow for figures."""
    if n == 1:
        return [st.container()]
    return [column for _ in range(0, n, 2) for column in st.columns(2)]


def draw_norms_by_frequency(spaces: Sequence[SelectedSpace]) -> None:
    """Plot the length of each vector against the frequency of its token."""
    draw_heading("Vector length by frequency")
    panels = [
        replace(cached.build_norm_panel(one), title=one.label, color=one.token_color)
        for one in spaces
    ]
    draw_figure(figures.plot_norms(panels), "norms", describe_norms(spaces))
    legend = "One dot per token"
    if any(np.size(panel.added_norms) for panel in panels):
        legend += ", :green[**green**]: added tokens"
    draw_note(
        f"{legend}. Lines: median, 5 % and 95 % of groups of original tokens of equal size. Without"
        " counts, tokens are ordered by id: in WordPiece vocabularies a lower id is roughly a more"
        " frequent token."
    )


def describe_norms(spaces: Sequence[SelectedSpace]) -> str:
    """Return the figure of vector lengths in words."""
    parts = []
    for selected in spaces:
        found = cached.compute_diagnosis(selected)
        part = f"{selected.label}: median length {fraction(found.original_norms.median)}"
        if found.added_norms:
            part += f", of added tokens {fraction(found.added_norms.median)}"
        parts.append(part)
    return f"Length of each vector by the frequency of its token. {'; '.join(parts)}."


def draw_hubs(workspace: Workspace, spaces: Sequence[SelectedSpace]) -> None:
    """Draw the hubs of each space, computed on click; each hub is a link to its projection."""
    _follow_hub_link(workspace, spaces)
    st.markdown(
        "A hub is among the nearest neighbors of very many tokens, so it appears in lists where it"
        " does not belong. Click a hub to project its neighborhood."
    )
    requested = st.session_state.setdefault("hubs_requested", set())
    columns = _open_columns(len(spaces))
    for place, (column, selected) in enumerate(zip(columns, spaces, strict=False)):
        with column:
            st.markdown(f"**{plain(selected.label)}**")
            if selected.stamp in requested:
                _draw_hubness(cached.measure_hubness_of(selected), f"{HUB}_{place}")
                continue
            about = format_forecast(forecast_at_default_rate(measure_hubness_work(selected.space)))
            st.button(
                f"Find hubs: about {about}",
                key=f"hubs_{place}",
                icon=":material/hub:",
                help=HUBNESS.help,
                on_click=requested.add,
                args=(selected.stamp,),
            )


def _follow_hub_link(workspace: Workspace, spaces: Sequence[SelectedSpace]) -> None:
    """Project the neighborhood of the hub that was clicked, or that is in the address."""
    known = spaces_of(workspace)
    for place, selected in enumerate(spaces):
        key = f"{HUB}_{place}"
        token = st.session_state.pop(key, "") or st.query_params.get(key, "")
        if not token:
            continue
        st.query_params.pop(key, None)
        address.go_to(
            "projection",
            projection_space=label_of(selected.name, known),
            projection_view=UNSAVED_PCA,
            projection_tokens=NEIGHBORHOOD,
            projection_around=token,
            projection_word=token,
        )


def draw_details(
    spaces: Sequence[SelectedSpace],
    tables: CosineTables,
    relations: tuple[str, ...],
    files: dict[str, Download],
) -> None:
    """Draw the folded block: the commands, the definitions of the figures, and the downloads."""
    labels = [selected.label for selected in spaces]
    with open_details():
        tokens: tuple[str, ...] = ()
        if spaces[0].tokens != "all":
            tokens = ("--tokens", spaces[0].tokens)
        draw_command(
            ["diagnose", *(selected.name for selected in spaces), *tokens], "The same in a terminal"
        )
        draw_command(["relations", *relations, *tokens])
        st.markdown(
            "Mean cosines are exact: they are computed in 64 bits from the sum of all unit vectors,"
            " without sampling. Zero vectors have no direction: they are excluded, and their number"
            " is shown. *Isotropy* is computed on unit vectors, which makes spaces with different"
            " norms comparable. The command also reports the isotropy of the original vectors, and"
            " IsoScore (Rudman et al. 2022)."
        )
        draw_downloads(
            {
                "cosines.csv": lambda: write_csv([build_cosine_table(labels, tables)]),
                "spaces.csv": lambda: write_csv([_build_geometry(spaces)]),
                **files,
            }
        )


def _draw_figures(found: Diagnosis) -> None:
    direction = f"direction: {DIRECTION_BIAS.write(found)}"
    if found.added_norms:
        direction = f"of {count(found.frequency_bias.n)} old tokens · {direction}"
    notes = {LENGTH: describe_lengths(found), FREQUENCY_BIAS: direction}
    draw_metrics(
        *(
            (column.label, column.write(found), notes.get(column), column.help)
            for column in (MEAN_COSINE, ISOTROPY, LENGTH, FREQUENCY_BIAS)
        ),
        places=[*st.columns(2), *st.columns(2)],
    )


def describe_lengths(found: Diagnosis) -> str | None:
    """Return the lengths: "old 1.196 ± .110 · added .435 ± .112"; None if no token was added."""
    if found.added_norms is None:
        return None
    old = replace(LENGTH, name="original_norms.mean", beside="original_norms.sd")
    added = replace(LENGTH, name="added_norms.mean", beside="added_norms.sd")
    return f"old {old.write(found)} · added {added.write(found)}"


def _draw_hubness(found: Hubness | None, field: str) -> None:
    """Draw the hubness of a space and its hubs; a click on a hub sets the session key `field`."""
    finding = f":small[{format_sentence(str(interpret_hubness(found)))}]"
    if found is None or found.skewness is None:
        st.markdown(finding)
        return
    value = fraction(found.skewness, 2)
    st.metric(HUBNESS.label, value, help=explain(HUBNESS.label, HUBNESS.help))
    st.markdown(finding)
    rows = [(token, float(times)) for token, times in found.hubs]
    note = f"number of tokens that have it among their {found.k} nearest"
    word_links.listen(field)
    links = word_links.build_links(field)
    markup.draw_neighbor_cards([Card("Hubs", note, "source", rows, measure="count")], links)


def _build_geometry(spaces: Sequence[SelectedSpace]) -> Table:
    """Return the figures of the spaces, also the isotropy of the vectors as they are."""
    rows = [
        replace(
            diagnose(selected.space, hubs=False, added=selected.opened.added), space=selected.label
        )
        for selected in spaces
    ]
    return Table("Geometry", GEOMETRY, rows)
