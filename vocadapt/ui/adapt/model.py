"""Parts of the adapt page: a model that was made, its certificate, and how it cuts a text now."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.packing import packed, packed_size
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.adapted_model import BASE, RECORD
from vocadapt.models.card import NOT_COUNTED, SENTENCE, new_words, snippet
from vocadapt.text.tokenization import encode
from vocadapt.ui.adapt import extension
from vocadapt.ui.components import export, markup, pickers
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, duration, fraction, megabytes
from vocadapt.ui.frame import cache

FEW = 6
VERDICT = {
    True: ":green[:material/verified: **Certificate passed**]",
    False: ":violet[:material/error: **Certificate failed**]",
}


def adapted(workspace: Workspace, made: list[Artifact]) -> None:
    """Draw one adapted model: figures, certificate, cut before and after, how to use it
    elsewhere.
    """
    columns = st.columns([1, 1, 1, 1.8])
    with columns[3]:
        artifact = pickers.pick("Adapted model", made, "adapt_adapted", newest=True)
    numbers = artifact.manifest.numbers
    columns[0].metric("Tokens added", count(numbers["added"]))
    columns[1].metric("Tokens now", count(numbers["tokens_after"]))
    columns[2].metric(
        "Made in",
        duration(artifact.manifest.seconds),
        numbers["preset"],
        delta_color="off",
        delta_arrow="off",
    )
    pickers.stale_note(artifact, workspace)
    extension.next_step(artifact)
    if numbers.get("verdict") == "chance":
        st.warning(
            "**At chance.** The map behind these rows knows no more than luck: train on more text.",
            icon=":material/casino:",
        )
    record = record_of(str(artifact.folder), artifact.stamp)
    words = new_words(record["plan"], FEW) or [SENTENCE]
    left, right = st.columns([1.1, 1], gap="large")
    with left:
        before_and_after(artifact, " ".join(words))
        needed = (
            "transformers knows its modules from vocadapt"
            if numbers.get("module")
            else "no vocadapt needed"
        )
        st.markdown(f"**Use it anywhere**: an ordinary model folder, {needed}")
        st.code(snippet(record, str(artifact.folder)), language="python", wrap_lines=True)
        _download(workspace, artifact)
    with right:
        certificate(record.get("certificate"), str(record.get("certified", "")))
        departures(numbers)
    export.details(
        artifact, {"recipe.toml": lambda: (artifact.folder / "recipe.toml").read_bytes()}
    )


def _download(workspace: Workspace, artifact: Artifact) -> None:
    """The folder as one file: packed on the click, in a temporary file beside the models, and gone
    again when it was sent.
    """
    folder = artifact.folder
    st.download_button(
        f"Download as zip · {megabytes(packed_size(folder))}",
        lambda: packed(folder, workspace.root),
        f"{folder.name}.zip",
        "application/zip",
        on_click="ignore",
        icon=":material/folder_zip:",
        key="get_zip",
        help="Weights, both tokenizers, record and model card; packed when you click.",
    )


def certificate(found: dict[str, Any] | None, when: str = "") -> None:
    """The checks that everything else was kept, one line each; `when` they were made, where the
    model has changed since.
    """
    if not found:
        st.markdown("No certificate was made: `python -m vocadapt certify` makes one.")
        return
    st.markdown(VERDICT[bool(found["passed"])])
    if when:
        st.markdown(
            f":small[Certified {plain(when)} that followed: the checks are of the adaptation"
            " alone.]"
        )
    for check in found["checks"]:
        icon = ":green[:material/check:]" if check["passed"] else ":violet[:material/close:]"
        st.markdown(f"{icon} {plain(check['name'])} :small[:gray[{plain(check['detail'])}]]")


def departures(numbers: Mapping[str, Any]) -> None:
    """How often the tokenizer departs from the exact-word rule on the text, where that was
    counted.
    """
    of = numbers.get("added_occurrences")
    if why := numbers.get(NOT_COUNTED):
        st.markdown(
            ":small[How often words are cut otherwise than the exact-word rule says was not"
            f" counted: {plain(why)}.]"
        )
    if of and not numbers["departures"]:
        st.markdown(
            f":small[All {count(of)} occurrences of added words in the text are cut as the"
            " exact-word rule says.]"
        )
    elif of:
        share = fraction(numbers["departures"] / of)
        beside = (
            f"{count(numbers['departures'])}, against {count(of)} occurrences of added words"
            f" ({share})"
        )
        st.markdown(
            ":small[Pieces of the text, between blanks, that are cut otherwise than the exact-word"
            f" rule says: {beside}. There an added word is not one token, as beside `_`, or fires"
            " inside a word, as beside ®.]"
        )


def before_and_after(artifact: Artifact, example: str) -> None:
    """How the model cut a typed text until now, by the tokenizer kept in base/, and how it does
    with the new words.
    """
    text = st.text_input("Cut a text", value=example, key=f"cut_{artifact.name}")
    before, after = (
        cache.model_of(str(folder)) for folder in (artifact.folder / BASE, artifact.folder)
    )
    name = pickers.shown_model(artifact.manifest.inputs["model"].paths[0])
    st.markdown(f":small[before · {plain(name)}]")
    markup.cut(encode(before.fast_tokenizer, text, add_special_tokens=False).tokens)
    st.markdown(":small[after · a new word is framed in green]")
    encoded = encode(after.fast_tokenizer, text, add_special_tokens=False)
    markup.cut(
        encoded.tokens, {token for token in encoded.tokens if token not in before.vocabulary}
    )


@st.cache_data(max_entries=4, show_spinner=False)
def record_of(folder: str, stamp: str) -> dict[str, Any]:
    """What vocadapt wrote beside the weights: plan, provenance, certificate."""
    return strict_json.loads((Path(folder) / RECORD).read_text(encoding="utf-8"), RECORD)
