"""Blocks of the part Diagnostics: picker of spaces, a card of figures per space, vector lengths by
frequency, cosine tables, hubs, and details.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from vocadapt.analysis.figures import diagnostics as figures
from vocadapt.analysis.figures.figures import CHANGED, DOMAIN, GOOD, NEUTRAL, SOURCE, TARGET
from vocadapt.lab.reports.diagnostics import TOKENS, Diagnosis
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.diagnostics.geometry import (
    HUB_K,
    AddedNorms,
    Hubness,
    Norms,
    estimate_hubness_seconds,
)
from vocadapt.spaces.diagnostics.statistics import CosineTables
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
    tsv,
)
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.parts.diagnostics import cached
from vocadapt.ui.parts.diagnostics.cached import SelectedSpace, shorten_labels
from vocadapt.ui.parts.projection.controls import NEIGHBORHOOD
from vocadapt.ui.parts.projection.sources import UNSAVED_PCA
from vocadapt.ui.state import address
from vocadapt.ui.state.names import label_of
from vocadapt.ui.text import markup
from vocadapt.ui.text.markup import Card, HeatCell, plain
from vocadapt.ui.text.number_formats import count, format_estimate, fraction, percent

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
# Thresholds of the sentences about a space:
NARROW_CONE, COMMON_DIRECTION = 0.3, 0.1  # mean cosine
UNEVEN = 3.0  # ratio of the median norm to its 5th percentile
WEAK = 0.1  # Spearman's correlation
SKEWED = 5.0  # skewness of N_k
ALIKE = 0.1  # largest difference from 1 of a ratio that counts as equal
HELP = {
    "spaces": (
        f"Selects up to {MAX_SPACES} spaces: word vectors or models of this workspace. The last"
        " option takes the folder or hub name of a model on this machine."
    ),
    "tokens": (
        "Selects the tokens to include. Fast 2023 includes all; hundreds of untrained"
        " [unusedN] embeddings can shift a mean."
    ),
    "isotropy": (
        "Evenness of directions: min Z / max Z of the partition function over the principal"
        " directions, on unit-length embeddings (Mu and Viswanath 2018). 1: all directions"
        " are used evenly; 0: all embeddings point in one direction."
    ),
    "cosine": (
        "Mean cosine of two different tokens, over all pairs (Fast 2023, table 3.2). Near 0: the"
        " vectors point in all directions. Near 1: they all point in one direction, so cosines"
        " are hard to interpret."
    ),
    "norm": (
        "Mean length (norm) of the vectors ± standard deviation: of all tokens and, in a model that"
        " tokens were added to, of old and added ones."
    ),
    "bias": (
        "Spearman's correlation of frequency with the norm of a token's embedding, and with"
        " its cosine to the mean direction, over the original tokens of the model."
    ),
    "hubness": (
        f"Skewness of N_k: how often a token is among the {HUB_K} nearest of others (Radovanović et"
        " al. 2010). Near 0: no hubs."
    ),
}


def choose_spaces(workspace: Workspace) -> list[SelectedSpace]:
    """Draw the pickers of spaces and tokens; return the spaces that can be opened. An error is shown
    for each of the others.
    """
    # 1. The pickers.
    known = pickers.spaces_of(workspace)
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
    labels = pickers.build_labels(workspace, known)
    for label, name in chosen.items():
        with mistakes.show_errors():
            if label in known:
                label = labels[label]
            else:
                label = pickers.display_model(workspace, label)
            selected = SelectedSpace(label, name, tokens)
            if len(selected.space):  # opened now, so that an error is shown here
                found.append(_add_colors(selected, found))
    return found


def _add_colors(selected: SelectedSpace, others: Sequence[SelectedSpace]) -> SelectedSpace:
    """Color a space by its kind: blue for a model, green for an adapted one, orange for vectors."""
    kind, token_color = "vectors", DOMAIN
    if selected.opened.model is not None:
        kind, token_color = "model", SOURCE
        if selected.opened.added:
            kind = "adapted"
    used = {other.color for other in others}
    color = next(color for color in COLORS[kind] if color not in used)
    return replace(selected, color=color, token_color=token_color)


def default_spaces(workspace: Workspace, known: dict[str, str]) -> list[str]:
    """Return the spaces selected by default: the newest adapted model after its original; else
    models, then word vectors.
    """
    labels = {Path(name): label for label, name in known.items()}
    # The newest adapted model and its original, to see what the adaptation changed.
    for artifact in workspace.artifacts("models"):
        original = Path(pickers.model_behind(artifact, workspace) or "")
        if artifact.folder in labels and original in labels:
            return [labels[original], labels[artifact.folder]]
    models = [label for label in known if not label.startswith("word vectors")]
    return [*models, *(label for label in known if label not in models)][:AT_FIRST]


def draw_cosine_tables(spaces: Sequence[SelectedSpace], tables: CosineTables) -> None:
    """Draw the mean cosines of all pairs of tokens and of common tokens as heat maps."""
    names = shorten_labels([selected.label for selected in spaces])
    pairs, common = st.columns(2, gap="large")
    with pairs:
        st.markdown(
            "**All pairs of tokens**: mean cosine of two different tokens :small[:gray[(Fast"
            " 2023, table 3.2)]]"
        )
        cells = [[HeatCell(value) for value in row] for row in tables.mean_cosine]
        counted = [f"{count(n)} tokens" for n in tables.counted]
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
    zero = sum(tables.zero_rows)
    if zero:
        note += f" Excluded: {count(zero)} zero vectors, which have no direction."
    draw_note(note)


def draw_cards(spaces: Sequence[SelectedSpace], tables: CosineTables) -> None:
    """Draw one card per space: its figures and their interpretation."""
    names = shorten_labels([selected.label for selected in spaces])
    columns = _open_columns(len(spaces))
    for place, (column, selected) in enumerate(zip(columns, spaces, strict=False)):
        with column, st.container(border=True, height="stretch"):
            found = cached.compute_diagnosis(selected)
            color = TITLES.get(selected.color, "gray")
            st.markdown(
                f":{color}[**{plain(names[place])}**] :small[:gray[{describe_tokens(selected, found)}]]"
            )
            mean = tables.mean_cosine[place][place]
            _draw_figures(mean, found)
            st.markdown(f":small[{interpret(mean, found)}]")


def describe_tokens(selected: SelectedSpace, found: Diagnosis) -> str:
    """Describe the tokens of a space: their number, how many were added, and the dimension."""
    number = f"{count(len(selected.space))} tokens"
    if found.added:
        number += f" ({count(found.added.original_n)} old, {count(found.added.n)} added)"
    return f"{number} × {selected.space.dim} dimensions"


def _open_columns(n: int) -> list[Any]:
    """Open a column for each of n spaces, two side by side: more are too narrow for figures."""
    if n == 1:
        return [st.container()]
    return [column for _ in range(0, n, 2) for column in st.columns(2)]


def interpret(mean: float | None, found: Diagnosis) -> str:
    """Interpret the figures of a space in sentences.

    mean: mean cosine of two different tokens.
    """
    if mean is None:
        return "Too few tokens with a direction."
    # 1. Whether all tokens share a common direction, by their mean cosine.
    sentences = []
    if mean >= NARROW_CONE:
        sentences.append(
            "The embeddings are in a narrow cone: the mean cosine of two random tokens is"
            f" {fraction(mean)}. Compare any cosine with this value."
        )
    elif mean >= COMMON_DIRECTION:
        sentences.append(
            "The embeddings share a weak common direction: the mean cosine of two random tokens is"
            f" {fraction(mean)}."
        )
    else:
        sentences.append(
            "There is no common direction: the mean cosine of two random tokens is"
            f" {fraction(mean)}."
        )
    # 2. Whether the norm depends on frequency or origin of a token.
    if found.frequency_bias.norm is not None:
        sentences.append(interpret_frequency_bias(found, found.frequency_bias.norm))
    if found.added:
        sentences.append(compare_added_tokens(found.added))
    # 3. Whether the norms are of very different size.
    norms, owner = found.original_norms or found.norms, "The lengths"
    if found.added:
        owner = "The lengths of the original tokens"
    if norms.low < norms.median / UNEVEN:
        sentences.append(
            f"{owner} are uneven: 5 % are below"
            f" {fraction(norms.low)}, the median is {fraction(norms.median)}."
        )
    return " ".join(sentences)


def interpret_frequency_bias(found: Diagnosis, correlation: float) -> str:
    """Interpret the correlation of vector length and frequency in a sentence; added tokens are not
    part of it.
    """
    bias = found.frequency_bias
    owner, known = "a token's vector", "by id, as a proxy for frequency"
    if found.added:
        owner = "an original token's vector"
    if bias.by == "counts":
        known = "by count"
    tendency = "hardly depends on its frequency"
    if correlation >= WEAK:
        tendency = "tends to be larger for frequent tokens"
    elif correlation <= -WEAK:
        tendency = "tends to be smaller for frequent tokens"
    basis = f"ρ = {fraction(correlation)}, n = {count(bias.n)}, {known}"
    return f"The length of {owner} {tendency} ({basis})."


def compare_added_tokens(found: AddedNorms) -> str:
    """Compare the lengths of added and original tokens in a sentence."""
    ratio = found.median / found.original_median
    compared = f"about {fraction(ratio, 2)} times as long as"
    if abs(ratio - 1) < ALIKE:
        compared = "about as long as"
    return (
        f":green[**Added tokens**] are {compared} the original ones: median"
        f" {fraction(found.median)} (n = {count(found.n)}) against"
        f" {fraction(found.original_median)} (n = {count(found.original_n)})."
    )


def draw_norms_by_frequency(spaces: Sequence[SelectedSpace]) -> None:
    """Plot the length of each vector against the frequency of its token."""
    draw_heading("Vector length by frequency")
    panels, uncounted, n_added = [], 0, 0
    names = shorten_labels([selected.label for selected in spaces])
    for selected, name in zip(spaces, names, strict=True):
        panel, n = cached.build_norm_panel(selected)
        panels.append(replace(panel, title=name, color=selected.token_color))
        uncounted += n
        n_added += np.size(panel.added_norms)
    draw_figure(figures.plot_norms(panels), "norms", describe_norms(spaces, names))
    legend = "One dot per token"
    if n_added:
        legend += ", :green[**green**]: added tokens"
    note = (
        f"{legend}. Lines: median, 5 % and 95 % of groups of original tokens of equal size. Without"
        " counts, tokens are ordered by id: in WordPiece vocabularies a lower id is roughly a more"
        " frequent token."
    )
    if uncounted:
        note += f" {count(uncounted)} tokens have no counts and are not drawn."
    draw_note(note)


def describe_norms(spaces: Sequence[SelectedSpace], names: Sequence[str]) -> str:
    """Return the figure of vector lengths in words."""
    parts = []
    for selected, name in zip(spaces, names, strict=True):
        found = cached.compute_diagnosis(selected)
        norms = found.original_norms or found.norms
        part = f"{name}: median length {fraction(norms.median)}"
        if found.added:
            part += f", of added tokens {fraction(found.added.median)}"
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
    names = shorten_labels([selected.label for selected in spaces])
    columns = _open_columns(len(spaces))
    for place, (column, selected) in enumerate(zip(columns, spaces, strict=False)):
        with column:
            st.markdown(f"**{plain(names[place])}**")
            if selected.stamp in requested:
                _draw_hubness(cached.compute_hubness(selected), f"{HUB}_{place}")
                continue
            about = format_estimate(max(1.0, estimate_hubness_seconds(selected.space)))
            st.button(
                f"Find hubs: about {about}",
                key=f"hubs_{place}",
                icon=":material/hub:",
                help=HELP["hubness"],
                on_click=requested.add,
                args=(selected.stamp,),
            )


def _follow_hub_link(workspace: Workspace, spaces: Sequence[SelectedSpace]) -> None:
    """Project the neighborhood of the hub that was clicked, or that is in the address."""
    known = pickers.spaces_of(workspace)
    for place, selected in enumerate(spaces):
        key = f"{HUB}_{place}"
        token = st.session_state.pop(key, "") or st.query_params.get(key, "")
        if not token:
            continue
        if key in st.query_params:
            del st.query_params[key]
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
                "cosines.tsv": lambda: _format_cosines(spaces, tables),
                "spaces.tsv": lambda: _format_figures(spaces),
                **files,
            }
        )


def _draw_figures(mean: float | None, found: Diagnosis) -> None:
    """Draw the figures of a space; mean: mean cosine of two different tokens."""
    bias = found.frequency_bias
    direction = f"direction: {fraction(bias.mean_direction)}"
    if found.added:
        direction = f"of {count(bias.n)} old tokens · {direction}"
    draw_metrics(
        ("Mean cosine", fraction(mean), None, HELP["cosine"]),
        ("Isotropy", fraction(found.isotropy.partition), None, HELP["isotropy"]),
        ("Vector length", *describe_lengths(found), HELP["norm"]),
        ("Frequency bias", fraction(bias.norm), direction, HELP["bias"]),
        places=[*st.columns(2), *st.columns(2)],
    )


def describe_lengths(found: Diagnosis) -> tuple[str, str | None]:
    """Return the length of all vectors and, below it, those of old and added tokens; mean ± sd.

    Example: ".840 ± .408", "old 1.196 ± .110 · added .435 ± .112".
    """
    note = None
    if found.original_norms and found.added_norms:
        old, added = _format_length(found.original_norms), _format_length(found.added_norms)
        note = f"old {old} · added {added}"
    return _format_length(found.norms), note


def _format_length(norms: Norms) -> str:
    return f"{fraction(norms.mean)} ± {fraction(norms.sd)}"


def _draw_hubness(found: Hubness | None, field: str) -> None:
    """Draw the hubness of a space and its hubs; a click on a hub sets the session key `field`."""
    if found is None or found.skewness is None:
        st.markdown(":small[Too few tokens for hubs.]")
        return
    verdict = "No token is a neighbor of very many others"
    if found.skewness > SKEWED:
        verdict = "A few tokens are neighbors of very many others"
    st.metric("Hubness", fraction(found.skewness, 2), help=explain("Hubness", HELP["hubness"]))
    st.markdown(
        f":small[{verdict}: the largest hub is a neighbor of"
        f" {count(found.largest)} tokens; {percent(found.never)} of the tokens are neighbors of"
        " none.]"
    )
    rows = [(token, float(times)) for token, times in found.hubs]
    note = f"number of tokens that have it among their {found.k} nearest"
    word_links.listen(field)
    links = word_links.build_links(field)
    markup.draw_neighbor_cards([Card("Hubs", note, "source", rows, measure="count")], links)


def _format_cosines(spaces: Sequence[SelectedSpace], tables: CosineTables) -> str:
    rows: list[tuple[object, ...]] = [
        (
            one.label,
            other.label,
            tables.mean_cosine[i][j],
            tables.mean_cosine_common[i][j],
            tables.common[i][j],
        )
        for i, one in enumerate(spaces)
        for j, other in enumerate(spaces)
    ]
    return tsv(("space", "other", "mean_cosine", "mean_cosine_common", "common_tokens"), rows)


def _format_figures(spaces: Sequence[SelectedSpace]) -> str:
    rows: list[dict[str, object]] = []
    for selected in spaces:
        found = cached.compute_diagnosis(selected)
        isotropy = cached.compute_isotropy(selected)
        norms, bias = found.norms, found.frequency_bias
        rows.append(
            {
                "space": selected.label,
                "tokens": len(selected.space),
                "width": selected.space.dim,
                "zero_rows": norms.zero_rows,
                "isotropy": isotropy.partition,
                "isotropy_as_published": isotropy.partition_as_published,
                "isoscore": isotropy.isoscore,
                "first_direction": isotropy.first_direction,
                "norm": norms.mean,
                "norm_sd": norms.sd,
                "norm_frequency": bias.norm,
                "mean_direction_frequency": bias.mean_direction,
                "frequency_by": bias.by,
            }
        )
    return tsv(tuple(rows[0]), [tuple(row.values()) for row in rows])
