"""Parts of the diagnostics page: which spaces, their cosine tables, and each space in figures with
what these mean.
"""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import streamlit as st

from vocadapt.analysis.figures import diagnostics as figures
from vocadapt.analysis.figures.figures import CHANGED, DOMAIN, GOOD, SOURCE, TARGET
from vocadapt.lab.reports.diagnostics import TOKENS, Diagnosis
from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.diagnostics.geometry import (
    HUB_K,
    AddedNorms,
    Hubness,
    estimate_hubness_seconds,
)
from vocadapt.spaces.diagnostics.mean_cosines import CosineTables
from vocadapt.ui.components import export, markup, pickers
from vocadapt.ui.components.blocks import draw_command, draw_figure, draw_metric, draw_note
from vocadapt.ui.components.estimates import format_estimate
from vocadapt.ui.components.export import draw_downloads, open_details
from vocadapt.ui.components.markup import Card, Heat, plain
from vocadapt.ui.components.number_formats import count, fraction
from vocadapt.ui.diagnostics import cached
from vocadapt.ui.diagnostics.cached import NormView, Seen, short
from vocadapt.ui.frame import mistakes

SPACES, MOST = "diagnostics_spaces", 4
AT_FIRST = 3  # spaces shown when none is chosen
ROWS, WORDS = (
    (SOURCE, GOOD, TARGET, CHANGED),
    (
        DOMAIN,
        CHANGED,
        TARGET,
        GOOD,
    ),
)  # colors of models, and of word vectors
CONE, LEANING = 0.3, 0.1  # mean cosines from which the sentence changes
UNEVEN = 3.0  # times that the median is longer than the 5th percentile, from which it is said
HUBBY = 5.0  # skewness of N_k from which it does
HELP = {
    "spaces": (
        f"Selects up to {MOST} word vectors or models of this workspace; or type the folder or"
        " hub name of a model on this machine."
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
    "first": ("Fraction of the squared norm along the first principal direction."),
    "norm": "Mean norm of the embeddings ± standard deviation.",
    "bias": (
        "Spearman's correlation of frequency with the norm of a token's embedding, and with"
        " its cosine to the mean direction, over the original tokens of the model."
    ),
    "hubness": (
        f"Skewness of N_k: how often a token is among the {HUB_K} nearest of others (Radovanović et"
        " al. 2010). 0: even."
    ),
}


def choose_spaces(workspace: Workspace) -> list[Seen]:
    """Ask which spaces to look at, and which tokens count; those that cannot be opened are a
    message.
    """
    known = pickers.spaces_of(workspace)
    left, right = st.columns([2.2, 1], gap="large")
    chosen = pickers.pick_several(
        workspace,
        "Spaces",
        known,
        SPACES,
        lambda: at_first(workspace, known),
        left,
        ("vectors", "models"),
        MOST,
        "Pick spaces, or type the folder or hub name of a model",
        HELP["spaces"],
    )
    tokens = right.selectbox(
        "Tokens",
        list(TOKENS),
        key="diagnostics_tokens",
        bind="query-params",
        help=HELP["tokens"],
    )
    draw_note(plain(TOKENS[tokens]), right)
    found: list[Seen] = []
    for label, name in chosen.items():
        with mistakes.shown():
            seen = Seen(label if label in known else pickers.shown_model(label), name, tokens)
            if len(seen.space):  # opened now, so that a mistake shows here
                kind = seen.opened.kind
                colors = WORDS if kind == "word vectors" else ROWS
                before = sum(one.opened.kind == kind for one in found)
                found.append(replace(seen, color=colors[before % len(colors)]))
    return found


def at_first(workspace: Workspace, known: dict[str, str]) -> list[str]:
    """What is shown at first: the newest model and the one it was made from; else models, then word
    vectors.
    """
    for artifact in workspace.artifacts("models")[:1]:
        pair = (str(artifact.folder), pickers.model_behind(artifact, workspace) or "")
        found = [
            label for path in pair for label, name in known.items() if Path(name) == Path(path)
        ]
        if len(found) == len(pair):
            return found
    models = [label for label in known if not label.startswith("word vectors")]
    return [*models, *(label for label in known if label not in models)][:AT_FIRST]


def cosine_tables(spaces: Sequence[Seen], tables: CosineTables) -> None:
    """Tables 3.2 and 3.3 as heat-maps, and what the first says."""
    names = short([seen.label for seen in spaces])
    pairs, common = st.columns(2, gap="large")
    with pairs:
        st.markdown(
            "**All pairs of tokens**: mean cosine, no token with itself :small[:gray[(Fast"
            " 2023, table 3.2)]]"
        )
        cells = [[Heat(value) for value in row] for row in tables.mean_cosine]
        counted = [f"{count(n)} tokens" for n in tables.counted]
        markup.heat_map(
            names,
            list(zip(names, counted, cells, strict=True)),
            "mean cosine of all pairs of tokens",
        )
    with common:
        st.markdown(
            "**The same tokens**: mean cosine of a token's two embeddings :small[:gray[(Fast"
            " 2023, table 3.3)]]"
        )
        twins = [
            [Heat(value, f"n = {count(n)}") for value, n in zip(values, row, strict=True)]
            for values, row in zip(tables.mean_cosine_common, tables.common, strict=True)
        ]
        markup.heat_map(
            names,
            [(name, "", row) for name, row in zip(names, twins, strict=True)],
            "mean cosine of common tokens",
        )
    draw_note(
        "Exact, over all selected tokens. –: vectors of different dimension have"
        f" no cosine.{_zero_note(tables)}"
    )


def cards(spaces: Sequence[Seen], tables: CosineTables) -> None:
    """A card a space: isotropy, norms, frequency, hubs, and what they mean in words."""
    st.subheader("Each space")
    asked = st.session_state.setdefault("hubs_asked", set())
    for place, (column, seen) in enumerate(zip(st.columns(len(spaces)), spaces, strict=True)):
        with column, st.container(border=True, height="stretch"):
            found = cached.diagnosis(seen)
            st.markdown(
                f"**{plain(short([seen.label])[0])}** :small[:gray[{count(len(seen.space))} ×"
                f" {seen.space.dim}]]"
            )
            _figures(seen, found)
            st.markdown(f":small[{meaning(tables.mean_cosine[place][place], found)}]")
            if seen.key in asked:
                _hubs(cached.hubness(seen))
            else:
                about = format_estimate(max(1.0, estimate_hubness_seconds(seen.space)))
                if st.button(
                    f"Find hubs: about {about}",
                    key=f"hubs_{place}",
                    icon=":material/hub:",
                    help=HELP["hubness"],
                ):
                    asked.add(seen.key)
                    st.rerun()


def meaning(mean: float | None, found: Diagnosis) -> str:
    """What the figures of a space say, in words."""
    told = []
    if mean is None:
        return "Too few tokens with a direction to say anything."
    if mean >= CONE:
        told.append(
            "The embeddings lie in a narrow cone: two random tokens have a cosine of"
            f" {fraction(mean)}. Compare any cosine with that."
        )
    elif mean >= LEANING:
        told.append(
            "The embeddings share a weak common direction: two random tokens have a cosine of"
            f" {fraction(mean)}."
        )
    else:
        told.append(
            f"There is no common direction: two random tokens have a cosine of {fraction(mean)}."
        )
    bias = found.frequency_bias
    known = "by count" if bias.by == "counts" else "by id, as a proxy for frequency"
    if bias.norm is not None:
        way = "longer" if bias.norm > 0 else "shorter"
        strength = "hardly depends on" if abs(bias.norm) < 0.1 else f"tends to be {way} for"
        what = "frequency" if abs(bias.norm) < 0.1 else "frequent tokens"
        whose = "an original token's embedding" if found.added else "an embedding"
        told.append(
            f"The norm of {whose} {strength} {what} (ρ = {fraction(bias.norm)}, n ="
            f" {count(bias.n)}, {known})."
        )
    if found.added:
        told.append(added_tokens(found.added))
    lengths = found.norms
    if lengths.low < lengths.median / UNEVEN:
        told.append(
            "Norms are uneven: 5 % of the embeddings are shorter than"
            f" {fraction(lengths.low)}, half are longer than {fraction(lengths.median)}."
        )
    return " ".join(told)


def added_tokens(found: AddedNorms) -> str:
    """Compare the norms of added and original embeddings in a sentence."""
    ratio = found.median / found.original_median
    return (
        f"The embeddings of the {count(found.n)} added tokens are {ratio:.2g} times as long as"
        f" the original ones: median {fraction(found.median)} against"
        f" {fraction(found.original_median)}."
    )


def norms_against_frequency(spaces: Sequence[Seen]) -> None:
    """A dot for every token: its row's length against its frequency."""
    st.subheader("Norm by frequency")
    views = [cached.norms(seen) for seen in spaces]
    drawn = figures.plot_norms(
        [_panel(seen, view) for seen, view in zip(spaces, views, strict=True)]
    )
    draw_figure(drawn, "norms")
    without = sum(int((view.frequency <= 0).sum()) for view in views if view.by == "counts")
    draw_note(
        "One dot per token. Lines: median, 5 % and 95 % of groups of equal size."
        " Spaces without counts are ordered by id: in WordPiece vocabularies a lower id is"
        " roughly a more frequent"
        f" token.{f' {count(without)} tokens have no counts and are not drawn.' if without else ''}"
    )


def details(
    spaces: Sequence[Seen],
    tables: CosineTables,
    relations: tuple[str, ...],
    files: dict[str, export.Download],
) -> None:
    """Details & export: the same as commands, what the figures mean, and all of them as tables."""
    with open_details():
        st.markdown("The same in a terminal")
        tokens = ("--tokens", spaces[0].tokens) if spaces[0].tokens != "all" else ()
        named = [
            str(Path(seen.name).expanduser()) if Path(seen.name).is_dir() else seen.name
            for seen in spaces
        ]
        for command in (["diagnose", *named, *tokens], ["relations", *relations, *tokens]):
            draw_command(shlex.join([*PROGRAM, *command]))
        st.markdown(
            "Mean cosines come from the sum of all unit rows in 64 bits: exact, no sample. A zero"
            " row has no direction: it is left out, and counted. *Isotropy* is taken on rows of"
            " length 1, so that spaces of other lengths compare; the command gives it on the rows"
            " as they are, too, and IsoScore (Rudman et al. 2022) beside it."
        )
        made = {
            "cosines.tsv": lambda: _cosines_file(spaces, tables),
            "spaces.tsv": lambda: _spaces_file(spaces),
            **files,
        }
        draw_downloads(made)


def _figures(seen: Seen, found: Diagnosis) -> None:
    even, lengths, bias = found.isotropy, found.norms, found.frequency_bias
    left, right = st.columns(2)
    left.metric("Isotropy", fraction(even.partition), help=HELP["isotropy"])
    draw_metric(
        right,
        "First direction",
        fraction(even.first_direction),
        f"even: {fraction(1 / seen.space.dim)}",
        help=HELP["first"],
    )
    left, right = st.columns(2)
    draw_metric(
        left, "Length", fraction(lengths.mean), f"± {fraction(lengths.sd)}", help=HELP["norm"]
    )
    draw_metric(
        right,
        "Frequency bias",
        fraction(bias.norm),
        f"direction {fraction(bias.mean_direction)}",
        help=HELP["bias"],
    )


def _hubs(found: Hubness | None) -> None:
    if found is None or found.skewness is None:
        st.markdown(":small[Too few tokens for hubs.]")
        return
    strong = (
        "A few tokens are neighbors of very many"
        if found.skewness > HUBBY
        else "No token is a neighbor of very many"
    )
    st.metric("Hubness", fraction(found.skewness, 2), help=HELP["hubness"])
    st.markdown(
        f":small[{strong}: the largest hub is near {count(found.largest)} others;"
        f" {fraction(found.never)} of the tokens are near none.]"
    )
    rows = [(token, float(times)) for token, times in found.hubs]
    markup.neighbor_cards(
        [
            Card(
                "Hubs",
                f"tokens that have it among their {found.k} nearest",
                "source",
                rows,
                counts=True,
            )
        ]
    )


def _panel(seen: Seen, view: NormView) -> figures.NormPanel:
    counted = view.by == "counts"
    place = view.frequency if counted else -view.frequency
    some = (view.lengths > 0) & (place > 0 if counted else True)
    axis = "occurrences" if counted else "place among the tokens that count, by id"
    bands = view.bands
    return figures.NormPanel(
        short([seen.label])[0],
        seen.color,
        axis,
        counted,
        place[some].astype(np.float32),
        view.lengths[some],
        bands.place,
        bands.low,
        bands.median,
        bands.high,
    )


def _zero_note(tables: CosineTables) -> str:
    zero = sum(tables.zero_rows)
    return f" {count(zero)} rows are zero and have no direction: left out." if zero else ""


def _cosines_file(spaces: Sequence[Seen], tables: CosineTables) -> str:
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
    return export.tsv(
        ("space", "other", "mean_cosine", "mean_cosine_common", "common_tokens"), rows
    )


def _spaces_file(spaces: Sequence[Seen]) -> str:
    rows: list[tuple[object, ...]] = []
    for seen in spaces:
        found = cached.diagnosis(seen)
        even, lengths, bias = found.isotropy, found.norms, found.frequency_bias
        measured = (
            even.partition,
            even.partition_as_published,
            even.isoscore,
            even.first_direction,
        )
        rows.append(
            (
                seen.label,
                len(seen.space),
                seen.space.dim,
                lengths.zero_rows,
                *measured,
                lengths.mean,
                lengths.sd,
                bias.norm,
                bias.mean_direction,
                bias.by,
            )
        )
    header = (
        "space",
        "tokens",
        "width",
        "zero_rows",
        "isotropy",
        "isotropy_as_published",
        "isoscore",
        "first_direction",
        "norm",
        "norm_sd",
        "norm_frequency",
        "mean_direction_frequency",
        "frequency_by",
    )
    return export.tsv(header, rows)
