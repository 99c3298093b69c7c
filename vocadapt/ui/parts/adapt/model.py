"""Blocks of the part Model: an adapted model, its certificate, and its tokenization of a text."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.packing import compute_packed_size, pack_to_temporary_file
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.adapted_model import BASE, RECORD
from vocadapt.models.card import NOT_COUNTED, SENTENCE, list_new_words, render_snippet
from vocadapt.models.load_states import DIFFERS, LOADS, NOT_APPLICABLE, NOT_TRIED
from vocadapt.system.footprint import RATES, Footprint, format_basis, format_co2, format_energy
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_code,
    draw_link,
    draw_metrics,
    draw_note,
)
from vocadapt.ui.parts.adapt.plan import describe_cost
from vocadapt.ui.parts.lens.view import build_chips
from vocadapt.ui.state import address, cache
from vocadapt.ui.state.names import display_label, list_display_names, shown_model
from vocadapt.ui.text.markup import (
    TokenizationLine,
    draw_tokenization_lines,
    format_sentence,
    plain,
)
from vocadapt.ui.text.number_formats import chance, count, duration, fraction, megabytes, percent
from vocadapt.vocabulary.families import FAMILIES, TokenizerFamily

MAX_EXAMPLES = 6
EXACT_WORD = "An added word is one token wherever it stands as a whole word."
STATES = {
    LOADS: "Loads correctly in",
    DIFFERS: "Differs in",
    NOT_TRIED: "Not tried:",
    NOT_APPLICABLE: "Not applicable:",
}
VERDICT = {
    True: ":green[:material/verified: **Certificate passed**]",
    False: ":violet[:material/error: **Certificate failed**]",
}


def draw_adapted_model(workspace: Workspace, models: list[Artifact]) -> None:
    """Draw the picker of adapted models and the selected one: figures, certificate, tokenization
    before and after adaptation, and code that uses it.
    """
    *columns, pick = st.columns([1, 1, 1.8])
    with pick:
        artifact = pickers.pick("Adapted model", models, "adapt_adapted", newest=True)
    numbers, folder = artifact.manifest.numbers, artifact.folder
    draw_metrics(describe_size(numbers), describe_quality(numbers), places=columns)
    draw_note(f"Recipe: {plain(numbers['preset'])}.")
    pickers.warn_if_stale(artifact, workspace)
    _draw_next_step(artifact)
    if numbers.get("verdict") == "chance":
        st.warning(
            "**At chance.** The alignment behind the new embeddings is no better than chance: train"
            " on more text.",
            icon=":material/casino:",
        )
    record = load_record(artifact)
    words = list_new_words(record, MAX_EXAMPLES) or [SENTENCE]
    with st.container(key="va_stacked_adapted"):
        left, right = st.columns([1.1, 1], gap="large")
    with left:
        draw_before_and_after(artifact, " ".join(words))
        _draw_use(workspace, artifact, record)
    with right:
        draw_certificate(record.get("certificate"), str(record.get("certified", "")))
        draw_deviations(numbers, FAMILIES[cache.model_of(str(folder)).vocabulary.family])
    draw_footprint(artifact)
    draw_artifact_details(artifact, {"recipe.toml": (folder / "recipe.toml").read_bytes})


def _draw_use(workspace: Workspace, artifact: Artifact, record: Mapping[str, Any]) -> None:
    """Draw the code that uses a model, and its download."""
    needed = "vocadapt is not needed"
    if artifact.manifest.numbers.get("module"):
        needed = "its modules need vocadapt"
    folder = artifact.folder
    st.markdown(f"**Use the model**: a standard model folder, {needed}")
    draw_code(render_snippet(record, str(folder)), "python")
    st.download_button(
        f"Download as zip · {megabytes(compute_packed_size(folder))}",
        lambda: pack_to_temporary_file(folder, workspace.root),
        f"{folder.name}.zip",
        "application/zip",
        on_click="ignore",
        icon=":material/folder_zip:",
        key="get_zip",
        help="Downloads the weights, both tokenizers, the record and the model card.",
    )


def describe_size(numbers: Mapping[str, Any]) -> tuple[str, str, str]:
    """Describe the number of added tokens, or of removed ones if none was added, as a metric:
    label, value and note.

    If words have several forms, such as capitalized, the number of words is the value.
    """
    total = f"{count(numbers['tokens_after'])} in total"
    if not numbers["added"] and numbers.get("dropped"):
        return "Tokens removed", count(numbers["dropped"]), total
    if "forms" not in numbers:
        return "Tokens added", count(numbers["added"]), total
    words = count(numbers["added"] - numbers["forms"])
    return "Words added", words, f"in {count(numbers['added'])} tokens; {total}"


def describe_quality(numbers: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Describe what was measured of a model as a metric: label, value, note and help.

    It is the held-out P@5 of the alignment of its new embeddings, or that of stacked embeddings, or
    else what its vocabulary costs the text that it was chosen by, or saves; the value is a dash if
    nothing was measured.
    """
    cost = numbers.get("cost")
    if stacked := numbers.get("stacked"):
        expected = stacked["reweighted"]
        basis = f"{fraction(stacked['p@5'])} of n = {count(stacked['anchors'])} own words"
        about = (
            "Fraction of the model's own words, held out, whose predicted embedding has the right"
            f" wordpiece among its five nearest of {count(stacked['candidates'])}, weighted so that"
            " counts, numbers of pieces and lengths of the first piece are those of the new words."
        )
        return "Expected P@5", fraction(expected["p@5"]), basis, about
    if "p@5" not in numbers and cost:
        is_held_out = bool(cost["held_out_lines"])
        return describe_cost(cost["growth"], cost["growth_in_sample"], is_held_out)
    if "p@5" not in numbers:
        return "Held-out P@5", "–", str(numbers.get("verdict", "no alignment to measure"))
    basis = f"chance {chance(numbers['chance@5'])}"
    if "anchors" in numbers:
        basis += f", n = {count(numbers['anchors'])}"
    about = (
        "Fraction of the words of both vocabularies whose aligned vector has the right wordpiece"
        f" among its five nearest neighbors, by cross-validation with {numbers['folds']} folds."
    )
    return "Held-out P@5", fraction(numbers["p@5"]), basis, about


def draw_footprint(artifact: Artifact) -> None:
    """Draw the time, energy and CO2 of making a model, with the basis of the estimate; nothing for
    a model without a measurement.
    """
    footprint = Footprint.from_dict(artifact.manifest.footprint)
    if footprint is None:
        return
    draw_note(
        f"This adaptation took {duration(artifact.manifest.seconds)} and cost an estimated"
        f" {format_energy(footprint.kwh)} and {format_co2(footprint.kg_co2)}. Basis:"
        f" {plain(format_basis(footprint))}.",
        help="Enter your country, the power of a core and the PUE of your data center in a file"
        f" `{RATES}` in the folder of the workspace; they apply from the next step on.",
    )


def _draw_next_step(artifact: Artifact) -> None:
    """Draw a link to the pretraining stage that a new exBERT needs; nothing for other models."""
    numbers = artifact.manifest.numbers
    if not str(numbers.get("preset", "")).startswith("exbert-") or "pretraining" in numbers:
        return
    stage, untrained = "continued", "The new embeddings"
    if numbers.get("module"):
        stage = "extension"
        share = percent(numbers["module"]["share"])
        untrained = f"The new embeddings and the modules ({share} of a layer)"
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**Next: pretrain it in stage *{stage}*.** {untrained} are still random.",
            width="stretch",
        )
        address = {"pretraining_model": artifact.name, "pretraining_stage": stage}
        draw_link("pretraining", "Pretraining", **address)


def draw_certificate(certificate: dict[str, Any] | None, when: str = "") -> None:
    """Draw the checks of a certificate, one line each.

    when: when the checks were made, such as "before the training", if the model has changed since.
    """
    if not certificate:
        st.markdown("There is no certificate: this model was adapted without one.")
        return
    st.markdown(VERDICT[bool(certificate["passed"])])
    if when:
        st.markdown(
            f":small[Certified {plain(when)}: the checks apply only to the adaptation itself.]"
        )
    for check in certificate["checks"]:
        icon = ":green[:material/check:]" if check["passed"] else ":violet[:material/close:]"
        st.markdown(
            f"{icon} {plain(check['name'])} :small[:gray[{format_sentence(check['detail'])}]]"
        )
    if loads := certificate.get("loads"):
        _draw_loads(loads)


def _draw_loads(loads: Sequence[Mapping[str, str]]) -> None:
    """Draw a line with the programs in which the model was loaded, grouped by the result; its help
    has the details.
    """
    titles: dict[str, list[str]] = {}
    for load in loads:
        titles.setdefault(load["state"], []).append(plain(load["title"]))
    groups = [f"**{STATES.get(state, state)}** {', '.join(titles[state])}" for state in titles]
    details = [f"- {plain(load['title'])}: {format_sentence(load['detail'])}" for load in loads]
    st.markdown(f":small[{' · '.join(groups)}]", help="\n".join(details))


def draw_deviations(numbers: Mapping[str, Any], family: TokenizerFamily) -> None:
    """Draw how often added words are not read as whole words, if this was counted."""
    occurrences = numbers.get("added_occurrences")
    if why := numbers.get(NOT_COUNTED):
        st.markdown(f":small[{EXACT_WORD} Exceptions in the text were not counted: {plain(why)}.]")
    elif occurrences:
        exceptions = numbers["departures"]
        text = (
            f"{EXACT_WORD} Exceptions in the text: {count(exceptions)}, compared with"
            f" {count(occurrences)} occurrences of added words"
            f" ({percent(exceptions / occurrences)})."
        )
        if exceptions:
            text += f" They occur {family.exceptions}."
        if numbers.get("within_words"):
            text += f" Inside a longer word: {count(numbers['within_words'])}."
        st.markdown(f":small[{text}]")


def draw_before_and_after(artifact: Artifact, example: str) -> None:
    """Draw the tokenization of a text before and after adaptation."""
    text = st.text_input("Tokenize a text", value=example, key=f"cut_{artifact.name}")
    before = cache.model_of(str(artifact.folder / BASE))
    after = cache.model_of(str(artifact.folder))
    path = shown_model(artifact.manifest.inputs["model"].paths[0])
    name = display_label(path, list_display_names(address.workspace()))
    known = before.vocabulary.__contains__
    lines = []
    for label, note, opened in (
        ("before", name, before),
        ("after", "a new word is framed in green", after),
    ):
        chips = build_chips(opened.fast_tokenizer, opened.vocabulary, text, known)
        lines.append(TokenizationLine(label, note, chips))
    draw_tokenization_lines(lines)


@st.cache_data(max_entries=4, show_spinner=False, hash_funcs=cache.STAMPS)
def load_record(artifact: Artifact) -> dict[str, Any]:
    """Return the record of an adapted model: plan, provenance, certificate."""
    record = strict_json.read(artifact.folder / RECORD)
    if not {"plan", "recipe"} <= set(record):
        raise InputError(
            f"{artifact.name}/{RECORD} is no record of an adaptation.",
            f"Delete {artifact.name}, and create it again.",
        )
    return record
