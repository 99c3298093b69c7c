"""Blocks of the part Lens: the models, the text, and its tokens as rows of chips."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.lab.reports.example_words import find_example_line
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.lab.workspace.workspace import Artifact, Workspace, list_adapted_models
from vocadapt.models.adapted_model import open_base_model
from vocadapt.models.language_model import LanguageModel, filter_cached, open_model
from vocadapt.report.formats import format_points
from vocadapt.ui.components import intake, mistakes, pickers
from vocadapt.ui.components.blocks import draw_command, draw_downloads, open_details, tsv
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.state import cache
from vocadapt.ui.state.names import (
    COMMON_MODELS,
    display_model,
    model_behind,
    models_of,
)
from vocadapt.ui.text import markup
from vocadapt.ui.text.number_formats import count, fraction, percent, signed
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.lens import (
    TERMS,
    TokenizationFigures,
    WordTokenizer,
    count_text,
    encode_text,
)

KEY = "lens_text"  # key of the text input and query parameter
MAX_CHIP_CHARACTERS = 20_000  # characters of a text that is drawn as chips
MIN_SHOWN_DIFFERENCE = 0.0005  # smaller ones would be shown as 0
PER_ROW = 2  # models per row of metrics: with more, labels would be truncated
EXAMPLES = {
    "A sentence": (
        "The patient with hypertension and nephropathy was given lidocaine; naloxone was not"
        " needed."
    ),
    "17 biomedical terms": " ".join(TERMS),
    "Odd text": "naïve cafe\u0301 · 😷 · x_ray® · COVID-19 · 高血圧 · ارتفاع ضغط الدم · 10mg/kg",
}
HELP = {
    "models": (
        "Selects models; all are compared with the first. The last option takes a folder, or a hub"
        " name that was used here before."
    ),
    "fertility": (
        "Mean number of wordpieces per word (fertility). 1: every word is a single wordpiece."
    ),
    "ids": "Shows the number of each wordpiece in the vocabulary: the model reads only this.",
    "one piece": "Fraction of words that are a single wordpiece.",
}


@dataclass(frozen=True, eq=False)
class ModelEntry:
    """A model on the page: its label, its folder, file or hub name, and the opened model."""

    label: str
    name: str
    model: LanguageModel


def choose_models(
    workspace: Workspace,
    key: str,
    choose_default: Callable[[Workspace, Mapping[str, str]], list[str]],
) -> list[ModelEntry]:
    """Show a picker of models to compare, with this key; report those that cannot be opened.

    choose_default: returns the models selected by default, of those offered (label → name).
    """
    picker = st.container()  # above the upload, but drawn after it
    uploaded = _upload_vocabulary(workspace)
    offered = list_offered_models(workspace)
    if uploaded:
        st.session_state[key] = [*(st.session_state.get(key) or []), uploaded]
    with picker:
        chosen = pickers.pick_several(
            workspace,
            "Models",
            offered,
            key,
            lambda: choose_default(workspace, offered),
            help=HELP["models"],
        )
    opened = []
    for label, name in chosen.items():
        with mistakes.show_errors():
            model = cache.model_of(name)
            if model.vocabulary and model.splitter:  # read both now, to show an error here
                opened.append(ModelEntry(display_model(workspace, label), name, model))
    return opened


def list_offered_models(workspace: Workspace) -> dict[str, str]:
    """Return the models to offer, label → folder, file or hub name.

    They are the adapted models before and after adaptation, models in use, uploaded vocabularies,
    the model of the demo if the workspace has no model, and common models.
    """
    offered: dict[str, str] = {}
    # 1. Each adapted model, after its original model.
    for artifact in list_adapted_models(workspace):
        offered |= _find_original(workspace, artifact)
        offered[artifact.name] = str(artifact.folder)
    # 2. Models in use, uploaded vocabularies, the demo's model, and common models on this machine.
    uploads = sorted((workspace.root / intake.VOCABULARIES).glob("*.txt"))
    for more in (
        models_of(workspace, common=()),
        {file.name: str(file) for file in uploads},
        pickers.list_demo_model(workspace),
        {name: name for name in filter_cached(COMMON_MODELS)},
    ):
        for label, name in more.items():
            offered.setdefault(label, name)
    return offered


def _find_original(workspace: Workspace, adapted: Artifact) -> dict[str, str]:
    """Return the model before adaptation, label → folder.

    If the workspace lacks it, return the original tokenizer that the adapted model contains; empty
    if there is neither.
    """
    original = Path(model_behind(adapted, workspace) or "")
    # Not searched in the list of all models, which would be read once for each adapted one.
    if original.parent == workspace.root / "models" and os.path.isfile(original / MANIFEST):
        return {original.name: str(original)}
    before = open_base_model(LanguageModel(adapted.folder, adapted.name))
    if before is None:
        return {}
    return {f"{adapted.name} · before": str(before.path)}


def list_examples(workspace: Workspace, models: Sequence[ModelEntry]) -> dict[str, str]:
    """Return example texts by name: first a line of the newest text, if one can be read."""
    if not models:
        return EXAMPLES
    for corpus in workspace.artifacts("corpora"):
        with suppress(InputError):  # its files may be gone
            line = _example_line_of(corpus, models[0].model)
            if line:
                return {f"From {corpus.name}": line, **EXAMPLES}
    return EXAMPLES


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=cache.STAMPS)
def _example_line_of(corpus: Artifact, model: LanguageModel) -> str:
    return find_example_line(corpus, model)


@st.fragment
def compare_tokenizations(models: Sequence[ModelEntry], text: str) -> None:
    """Draw the tokens of a text under each model, and its figures compared with the first model."""
    if not text.strip():
        st.markdown("Type a text above, or click an example.")
        return
    if len(text) > MAX_CHIP_CHARACTERS:
        st.markdown(
            f"Tokens are not drawn: the text has {count(len(text))} characters, and the"
            f" maximum is {count(MAX_CHIP_CHARACTERS)}."
        )
    else:
        ids = st.toggle("Show ids", key="lens_ids", bind="query-params", help=HELP["ids"])
        markup.draw_tokenization_lines(
            [build_tokenization_line(entry, models[0], text, ids) for entry in models]
        )
        marks = "; ".join(dict.fromkeys(describe_marks(entry.model.vocabulary) for entry in models))
        st.markdown(
            f":small[:gray[The tokens of a word are joined; {marks}"
            " ·] :green[**framed**] :gray[= a token that the first model lacks ·]"
            " :violet[**dotted**] :gray[= unknown to the model · hover over a token for its"
            " position]]"
        )
    with mistakes.show_errors():
        rows = []
        for entry in models:
            vocabulary = entry.model.vocabulary
            splitter = entry.model.splitter
            tokenizer = WordTokenizer(entry.label, vocabulary, splitter)
            rows.append(tokenizer.measure(count_text(text, splitter)))
        _draw_metrics(rows)


def describe_marks(vocabulary: Vocabulary) -> str:
    """Describe the mark of a vocabulary's tokens in a clause: "Ġ marks a token after a space"."""
    notation = vocabulary.notation
    if notation.continuation:
        return f"{markup.plain(notation.continuation)} marks a token that continues it"
    return f"{markup.plain(notation.word_start)} marks a token after a space"


def build_tokenization_line(
    entry: ModelEntry, first: ModelEntry, text: str, ids: bool = False
) -> markup.TokenizationLine:
    """Return the tokens of a text under one model; those that the first model lacks are new.

    ids: whether each token shows its id.
    """
    model = entry.model

    def is_known(token: str) -> bool:
        return first.model.vocabulary.has_counterpart(token, model.vocabulary)

    chips = build_chips(model.fast_tokenizer, model.vocabulary, text, is_known, ids)
    casing = "uncased" if model.splitter.lowercase else "cased"
    length = f"{count(len(chips))} wordpiece{'s' * (len(chips) != 1)}"
    about = f"{casing} · {count(len(model.vocabulary))} tokens · {length}"
    return markup.TokenizationLine(entry.label, about, chips)


def draw_details(workspace: Workspace, models: Sequence[ModelEntry], text: str) -> None:
    """Draw Details & export: commands, definitions, and the tokens of the text as a table."""
    texts = [text] if text.strip() else []
    for artifact in workspace.artifacts("corpora"):
        if artifact.name == st.session_state.get("lens_corpus"):
            texts.append(str(artifact.folder))
    model_arguments = [argument for entry in models for argument in ("--model", entry.name)]
    with open_details():
        st.markdown("The same in a terminal")
        for source in texts:
            draw_command(["lens", source, *model_arguments])
        st.markdown(
            "*Wordpieces per word* (fertility) is the mean over running words; *per distinct word*,"
            " each word counts once. A word that becomes unknown is one token, but not *whole*."
            " Each distinct word is tokenized by itself; next to symbols and `_`, a tokenizer of"
            " mode *exact-word* can give other tokens in rare cases."
        )
        if text.strip():
            draw_downloads({"tokenizations.tsv": lambda: _format_tokenizations_tsv(models, text)})


def choose_adapted_and_original(workspace: Workspace, offered: Mapping[str, str]) -> list[str]:
    """Return the newest adapted model and its original, else the first model that opens."""
    adapted = list_adapted_models(workspace)
    if adapted:
        pair = {*_find_original(workspace, adapted[0]), adapted[0].name}
        return [label for label in offered if label in pair]
    for label, name in offered.items():
        try:
            if cache.model_of(name).vocabulary:
                return [label]
        except InputError:
            continue
    return []


def _upload_vocabulary(workspace: Workspace) -> str | None:
    """Show the upload of a vocab.txt; return the label of a new one, None if it has no vocabulary.

    A message is inside the popover: it stays open, and would cover one below it.
    """
    with st.popover("Add a vocab.txt", icon=":material/upload_file:"):
        st.markdown(
            ":small[The casing of a vocabulary is inferred from its tokens. A folder or hub name"
            " can be typed under *Models*.]"
        )
        saved = None
        with mistakes.show_errors():
            label = "A WordPiece vocabulary: one token per line"
            types = ["txt"]
            saved = intake.draw_kept_upload(
                workspace, label, types, "vocabulary", intake.VOCABULARIES, read_vocabulary
            )
    return saved.name if saved else None


def read_vocabulary(file: Path) -> None:
    """Raise InputError if a file has no vocabulary."""
    model = open_model(file)
    _ = model.vocabulary, model.splitter


def _draw_metrics(rows: Sequence[TokenizationFigures]) -> None:
    """Draw wordpieces per word and whole words of each model, compared with the first model."""
    first = rows[0]
    for start in range(0, len(rows), PER_ROW):
        for column, row in zip(st.columns(PER_ROW), rows[start : start + PER_ROW], strict=False):
            with column, st.container(border=True):
                st.markdown(f":small[{markup.plain(row.model)}]")
                left, right = st.columns(2)
                left.metric(
                    "Wordpieces per word",
                    fraction(row.fertility, 2),
                    _format_difference(row.fertility, first.fertility, signed),
                    delta_color="inverse",
                    help=explain("Wordpieces per word", HELP["fertility"]),
                )
                right.metric(
                    "Whole words",
                    percent(row.one_piece),
                    _format_difference(
                        row.one_piece,
                        first.one_piece,
                        lambda share: f"{format_points(share)} points",
                    ),
                    help=explain("Whole words", HELP["one piece"]),
                )


def _format_difference(value: float, first: float, write: Callable[[float], str]) -> str | None:
    """Format the difference to the first model; None if it is too small to show."""
    if abs(value - first) < MIN_SHOWN_DIFFERENCE:
        return None
    return write(value - first)


def _format_tokenizations_tsv(models: Sequence[ModelEntry], text: str) -> str:
    rows: list[tuple[object, ...]] = [
        (entry.label, piece.token, piece.id, piece.start, piece.end)
        for entry in models
        for piece in encode_text(entry.model.fast_tokenizer, text)
    ]
    return tsv(("model", "token", "id", "start", "end"), rows)


def build_chips(
    tokenizer: Tokenizer,
    vocabulary: Vocabulary,
    text: str,
    is_known: Callable[[str], bool],
    ids: bool = False,
) -> list[markup.Chip]:
    """Tokenize a text; tokens for which `is_known` is False are marked as new.

    ids: whether each token shows its id.
    """
    chips = []
    for token in encode_text(tokenizer, text):
        kind = ""
        if token.token == vocabulary.unknown:
            kind = "unknown"
        elif not is_known(token.token):
            kind = "new"
        title = f"{token.token} · id {token.id} · characters {token.start}–{token.end}"
        mark = vocabulary.mark_of(token.token)
        note = str(token.id) if ids else ""
        chips.append(markup.Chip(token.token, title, token.continues, kind, mark, note))
    return chips
