"""Parts of the tokenizer lens page: the models, the text, and its tokens as rows of chips."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.lab.workspace.workspace import Workspace, adapted_models
from vocadapt.models.adapted_model import before_of
from vocadapt.models.hub_cache import filter_cached
from vocadapt.models.language_model import LanguageModel
from vocadapt.ui.components import export, intake, markup, pickers
from vocadapt.ui.components.blocks import draw_command
from vocadapt.ui.components.export import draw_downloads, open_details
from vocadapt.ui.components.markup import Chip, TokenizationLine, plain
from vocadapt.ui.components.number_formats import count, fraction, signed
from vocadapt.ui.frame import address, cache, count_cache, mistakes
from vocadapt.vocabulary.lens import (
    TERMS,
    TokenizationFigures,
    WordTokenizer,
    count_text,
    tokenize_text,
)

KEY = "lens_text"  # key of the text input and query parameter
LONGEST_ADDRESS = 600  # characters of a text that still stands in the address
LONGEST = 20_000  # characters of a text that is drawn as chips
SMALLEST = 0.0005  # difference that is shown
BESIDE = 3  # models whose figures stand side by side
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
        "Selects models; all are compared with the first. Or type a folder, or a hub name"
        " that was used here before."
    ),
    "fertility": (
        "Mean number of wordpieces per word (fertility). 1: every word is a single wordpiece."
    ),
    "one piece": "Fraction of words that are a single wordpiece.",
}


@dataclass(frozen=True, eq=False)
class Seen:
    """A model on the page: the label it goes by, where it lies, and its parts."""

    label: str
    name: str
    model: LanguageModel

    @property
    def cutter(self) -> WordTokenizer:
        """The part of it that tokenizes words."""
        return count_cache.cutter_of(self.name, self.label)


def choose_models(workspace: Workspace, key: str) -> list[Seen]:
    """Show a picker of models to compare; report those that cannot be opened. key: of the
    picker.
    """
    picker = st.container()  # stands above the upload, and is drawn after it
    uploaded = _upload(workspace)
    offered = models_offered(workspace)
    if uploaded:
        st.session_state[key] = [*(st.session_state.get(key) or []), uploaded]
    chosen = pickers.pick_several(
        workspace,
        "Models",
        offered,
        key,
        lambda: _at_hand(workspace, offered),
        picker,
        help=HELP["models"],
    )
    return [seen for label, name in chosen.items() if (seen := _seen(label, name))]


def models_offered(workspace: Workspace) -> dict[str, str]:
    """Label → folder, file or hub name: adapted models before and after, models in use, uploaded
    vocabularies, common ones.
    """
    offered: dict[str, str] = {}
    for artifact in adapted_models(workspace):
        before = before_of(LanguageModel(artifact.folder, artifact.name))
        if before:
            offered[f"{artifact.name} · before"] = str(before.path)
        offered[artifact.name] = str(artifact.folder)
    for label, name in pickers.models_of(workspace, common=()).items():
        offered.setdefault(label, name)
    for file in sorted((workspace.root / intake.VOCABULARIES).glob("*.txt")):
        offered.setdefault(file.name, str(file))
    for name in filter_cached(pickers.COMMON_MODELS):
        offered.setdefault(name, name)
    return offered


def ask_for_text() -> str:
    """The text area with examples under it; a short text stands in the address."""
    address.settle_text(KEY, EXAMPLES["A sentence"])
    text = st.text_area(
        "Text",
        key=KEY,
        height=110,
        persist_state="session",
        placeholder="Type a text, or click an example.",
    )
    st.session_state["lens_example"] = next(
        (name for name, example in EXAMPLES.items() if example == text), None
    )
    st.pills(
        "Examples",
        list(EXAMPLES),
        key="lens_example",
        label_visibility="collapsed",
        on_change=_take_example,
    )
    address.write(KEY, [str(text)], lambda typed: 0 < len(typed) <= LONGEST_ADDRESS)
    return str(text)


def compare_tokenizations(models: Sequence[Seen], text: str) -> None:
    """One row of chips a model, and under them the figures of each against the first."""
    if not text.strip():
        st.markdown("Type a text above, or click an example.")
        return
    if len(text) > LONGEST:
        st.markdown(
            f"Tokens are not drawn: the text has {count(len(text))} characters, and the"
            f" maximum is {count(LONGEST)}."
        )
    else:
        markup.tokenization_lines([tokenization_line(seen, models[0], text) for seen in models])
        st.markdown(
            ":small[:gray[\\#\\# continues the word ·] :green[**framed**] :gray[= a token"
            " that the first model lacks ·] :violet[**dotted**] :gray[= unknown to the model"
            " · hover over a wordpiece for its id and position]]"
        )
    with mistakes.shown():
        _metrics([seen.cutter.figures(count_text(text, seen.model.splitter)) for seen in models])


def tokenization_line(seen: Seen, first: Seen, text: str) -> TokenizationLine:
    """The tokens of a text under one model, marked against the first model's vocabulary."""
    pieces = tokenize_text(seen.model.fast_tokenizer, text)
    known, unknown = first.model.vocabulary, seen.model.vocabulary.unknown
    chips = [
        Chip(
            piece.token,
            f"{piece.token} · id {piece.id} · characters {piece.start}–{piece.end}",
            piece.continues,
            "unknown" if piece.token == unknown else "" if piece.token in known else "new",
        )
        for piece in pieces
    ]
    casing = "uncased" if seen.model.splitter.lowercase else "cased"
    here = (
        f"split into {count(len(pieces))}"
        if len(pieces) > 1
        else "in one piece"
        if pieces
        else "nothing left of it"
    )
    return TokenizationLine(
        seen.label, f"{casing} · {count(len(seen.model.vocabulary))} tokens · {here}", chips
    )


def details(workspace: Workspace, models: Sequence[Seen], text: str) -> None:
    """Details & export: the same as commands, what the figures mean, and each piece of the typed
    text as a table.
    """
    with open_details():
        st.markdown("The same in a terminal")
        named = [argument for seen in models for argument in ("--model", seen.name)]
        corpora = {
            artifact.name: str(artifact.folder) for artifact in workspace.artifacts("corpora")
        }
        asked = [text] if text.strip() else []
        for given in (
            *asked,
            *([corpora[name]] if (name := st.session_state.get("lens_corpus")) in corpora else []),
        ):
            draw_command(shlex.join([*PROGRAM, "lens", given, *named]))
        st.markdown(
            "*Wordpieces per word* (fertility) is the mean over running words; over distinct words"
            " each counts once. A word that becomes [UNK] is one token, and not *one piece*. Words"
            " are counted once per distinct word, by the rule of the vocabulary; beside symbols and"
            " `_` an exact-word tokenizer departs from it in rare cases."
        )
        if text.strip():
            draw_downloads({"tokenizations.tsv": lambda: _tokenizations_file(models, text)})


def _seen(label: str, name: str) -> Seen | None:
    """A model that can be opened; a message and None for any other."""
    found = None
    with mistakes.shown():
        model = cache.model_of(name)
        if model.vocabulary and model.splitter:  # read now, so that a mistake shows here
            found = Seen(pickers.shown_model(label), name, model)
    return found


def _at_hand(workspace: Workspace, offered: Mapping[str, str]) -> list[str]:
    """What is looked through at first: the newest adapted model before and after, else the first
    model that can be opened.
    """
    if adapted := adapted_models(workspace):
        return [
            label for label in offered if label in (f"{adapted[0].name} · before", adapted[0].name)
        ]
    for label, name in offered.items():
        try:
            if cache.model_of(name).vocabulary:
                return [label]
        except InputError:
            continue
    return []


def _upload(workspace: Workspace) -> str | None:
    """Take in a vocab.txt; gives the label of a new one."""
    with st.popover("Add a vocab.txt", icon=":material/upload_file:"):
        turn = st.session_state.setdefault("vocabulary_turn", 0)
        given = st.file_uploader(
            "A WordPiece vocabulary: one token a line", type=["txt"], key=f"vocabulary_{turn}"
        )
        st.markdown(
            ":small[Its casing is inferred from its tokens. A folder or hub name can be typed under"
            " *Models*.]"
        )
    if not given:
        return None
    st.session_state["vocabulary_turn"] = turn + 1
    (file,) = intake.save_uploads([given], workspace, intake.VOCABULARIES)
    return file.name


def _take_example() -> None:
    if chosen := st.session_state.get("lens_example"):
        st.session_state[KEY] = EXAMPLES[chosen]


def delta(difference: float, first: bool) -> str | None:
    """A difference to the first model; none for that model itself and where there is no difference
    to show.
    """
    return None if first or abs(difference) < SMALLEST else signed(difference)


def _metrics(rows: Sequence[TokenizationFigures]) -> None:
    """Wordpieces per word and one-piece share of each model on the typed text, with the difference
    to the first.
    """
    first = rows[0]
    for start in range(0, len(rows), BESIDE):
        for column, row in zip(st.columns(BESIDE), rows[start : start + BESIDE], strict=False):
            with column, st.container(border=True):
                st.markdown(f":small[{plain(row.model)}]")
                left, right = st.columns(2)
                less, more = row.fertility - first.fertility, row.one_piece - first.one_piece
                left.metric(
                    "Pieces per word",
                    fraction(row.fertility, 2),
                    delta(less, row is first),
                    delta_color="inverse",
                    help=HELP["fertility"],
                )
                right.metric(
                    "One piece",
                    fraction(row.one_piece),
                    delta(more, row is first),
                    help=HELP["one piece"],
                )


def _tokenizations_file(models: Sequence[Seen], text: str) -> str:
    rows: list[tuple[object, ...]] = [
        (seen.label, piece.token, piece.id, piece.start, piece.end)
        for seen in models
        for piece in tokenize_text(seen.model.fast_tokenizer, text)
    ]
    return export.tsv(("model", "token", "id", "start", "end"), rows)
