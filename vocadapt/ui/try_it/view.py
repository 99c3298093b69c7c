"""Parts of the page Try it: run, text, tokens and predictions under each tokenization, and votes."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from vocadapt.analysis.errors.single_example import ExamplePrediction, find_disagreement
from vocadapt.errors import InputError
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.heads import QUESTION, SEQUENCE, TOKEN
from vocadapt.training.finetune.encoding import ADAPTED, BASE
from vocadapt.training.finetune.mixture import POOLED, label_tokenization
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.prediction.answering import best_answers
from vocadapt.training.tasks.context_windows import WORD_RULES
from vocadapt.training.tasks.examples import Example, Question, Sentence
from vocadapt.training.tasks.tags import spans_of
from vocadapt.ui.components import markup, pickers
from vocadapt.ui.components.blocks import draw_note, draw_table
from vocadapt.ui.components.markup import Chip, Marked, TokenizationLine, plain
from vocadapt.ui.components.number_formats import count, fraction
from vocadapt.ui.frame import address, run_cache
from vocadapt.vocabulary.lens import tokenize_text

LONGEST_ADDRESS = 600  # characters of a text that still stands in the address
DRAWN = (
    2000  # characters of a text that is drawn as chips; of a longer context those round the answer
)
ROUND = 300  # characters on either side of an answer
BEST = 3  # answers shown for each tokenization
NOTES = {
    BASE: "tokenization before adaptation",
    ADAPTED: "with the added words",
    POOLED: "the mean of both",
}
LEGEND = (
    ":small[:green[**framed**] :gray[= a token that the base tokenization lacks ·  hover over"
    " a wordpiece for its id and position]]"
)


def choose_run(workspace: Workspace) -> str:
    """Ask for a run of the workspace, or any folder with a task's head; "" where there is none."""
    chosen = pickers.pick_run(workspace, "Run", "try_run")
    with st.popover("Another folder", icon=":material/folder_open:"):
        other = st.text_input(
            "Model or run folder",
            key="try_folder",
            persist_state="session",
            help=(
                "Selects a folder instead of the run above; for example, a question-answering"
                " model before adaptation."
            ),
        )
    if other:
        draw_note(f"Looking at {plain(pickers.shown_model(other)[:200])}")
    return other.strip() or (str(chosen.run.folder) if chosen else "")


def opened(folder: str) -> SavedRun:
    """Return the run; its network, which takes seconds, is loaded when there is a text to
    process.
    """
    return run_cache.run_of(folder)


def ask(run: SavedRun) -> Example | None:
    """Ask for what the run takes, in the fields of its kind of task; None if one of them is blank."""
    own = _find_test_example(run)
    known = own.inputs if own else {}
    typed = {}
    for field in run.kind.inputs:
        first = known.get(field.name) or field.sample
        examples = []
        if field.offers_examples and first != field.sample:
            examples.append((_describe_test_example(run), first))
            if field.is_example:
                examples.append(("made-up example", field.sample))
        typed[field.name] = _text(field.label, field.name, first, field.height, examples)
    rule = _word_rule(run) if run.kind.has_word_rule else ""
    if not all(text.strip() for text in typed.values()):
        return None
    return run.kind.example_from_inputs(typed, run.split_words, rule)


def _word_rule(run: SavedRun) -> str:
    """Show a picker of the word rule, by default that of the run's training; return it."""
    rules = list(WORD_RULES)
    help = "Defines the words over which logits are pooled. " + "; ".join(
        f"{name}: {about}" for name, about in WORD_RULES.items()
    )
    first, key = rules.index(run.word_rule), f"try_words_{run.folder}"
    return str(st.selectbox("Word rule", rules, first, key=key, help=f"{help}."))


def answer_to(folder: str, run: SavedRun, example: Example) -> None:
    """Draw the tokenizations, the prediction with each, and the figures behind it."""
    if run.kind.head != QUESTION:
        text = written(example)
        markup.tokenization_lines(
            [_tokenization_line(run, tokenization, text) for tokenization in run.tokenizers]
        )
        if len(run.tokenizers) > 1:
            st.markdown(LEGEND)
    # Below the parts that need no network and are shown at once.
    tried = run_cache.tried(folder, example)
    PREDICTIONS[run.kind.head](run, tried, example)


def written(example: Example) -> str:
    """Return what was typed, as one line."""
    return " ".join(example.inputs.values()).strip()


def _find_test_example(run: SavedRun) -> Example | None:
    """Return an example of the run's own test: the first one its tokenizations disagree on."""
    try:
        return find_disagreement(run)
    except InputError:
        return None


def _describe_test_example(run: SavedRun) -> str:
    if len(run.record.get("scores", ())) > 1:
        return "test example with disagreement"
    return "first test example"


def _text(
    label: str, key: str, first: str, height: int = 68, examples: Sequence[tuple[str, str]] = ()
) -> str:
    """A text area whose text stands in the address while it is short."""
    widget = f"try_{key}"
    address.settle_text(widget, first)
    text = str(st.text_area(label, key=widget, height=height, persist_state="session") or "")
    if examples:
        offered = dict(examples)

        def take() -> None:
            if chosen := st.session_state.get(f"{widget}_example"):
                st.session_state[widget] = offered[chosen]

        st.session_state[f"{widget}_example"] = next(
            (name for name, own in offered.items() if own == text), None
        )
        st.pills("Examples", list(offered), key=f"{widget}_example", on_change=take)
    address.write(widget, [text], _is_short)
    return text


def _is_short(text: str) -> bool:
    return 0 < len(text) <= LONGEST_ADDRESS


def _tokenization_line(
    run: SavedRun, tokenization: str, text: str, note: str = ""
) -> TokenizationLine:
    """The tokens of a text under one tokenization; those that the base tokenization lacks are green."""
    own = run.tokenizers[tokenization].tokenizer
    known = run.tokenizers[BASE].tokenizer if BASE in run.tokenizers else own
    pieces = tokenize_text(own, text)
    unknown = run.model.vocabulary.unknown
    chips = [
        Chip(
            piece.token,
            f"{piece.token} · id {piece.id} · characters {piece.start}–{piece.end}",
            piece.continues,
            (
                "unknown"
                if piece.token == unknown
                else ""
                if known.token_to_id(piece.token) is not None
                else "new"
            ),
            run.model.vocabulary.mark_of(piece.token),
        )
        for piece in pieces
    ]
    return TokenizationLine(
        label_tokenization(tokenization),
        f"{NOTES[tokenization]} · {count(len(pieces))} pieces{note}",
        chips,
    )


def _marked(tried: ExamplePrediction, tokenization: str, example: Sentence) -> Marked:
    """A sentence with its entities underlined, as predicted under one tokenization."""
    ends, place = [], 0
    for word in example.words:
        ends.append((place, place + len(word)))
        place += len(word) + 1
    spans = spans_of(tried.predictions[tokenization])
    marks = [(ends[span.start][0], ends[span.end - 1][1], span.type or "entity") for span in spans]
    found = f"{len(spans)} entities" if len(spans) != 1 else "1 entity"
    return Marked(
        f"{tokenization} predicts",
        found,
        written(example),
        marks,
        tokenization == tried.tokenization,
    )


def _words(run: SavedRun, tried: ExamplePrediction, example: Sentence) -> None:
    """The sentence with its entities; then every word that a tokenization takes for part of one,
    with its tags, their probabilities, and which tokenization was outvoted.
    """
    markup.marked_texts([_marked(tried, tokenization, example) for tokenization in tried.logits])
    votes = dict(tried.votes)
    shares = {
        tokenization: tried.probabilities(tokenization).max(axis=1) for tokenization in tried.logits
    }
    rows = [
        row
        for row in range(len(example.words))
        if any(said[row] != "O" for said in tried.predictions.values())
    ]
    if not rows:
        st.markdown(
            f"No entity with any tokenization: all {count(len(example.words))} words are O."
        )
        return
    draw_note(
        f"{count(len(rows))} of {count(len(example.words))} words are in an"
        " entity with some tokenization; the others are O everywhere. After each tag: its"
        " probability."
    )
    table: dict[str, list[str]] = {
        "word": [markup.escape_invisible(example.words[row]) for row in rows]
    }
    for tokenization, said in tried.predictions.items():
        table[tokenization] = [
            f"{markup.escape_invisible(said[row])}  {fraction(float(shares[tokenization][row]))}"
            for row in rows
        ]
    if POOLED in tried.logits:
        table["outvoted"] = [
            markup.escape_invisible(votes[row].line) if row in votes else "agreement"
            for row in rows
        ]
    widths = {"outvoted": st.column_config.TextColumn(width="large")}
    draw_table(table, height="content", column_config=widths)


def _labels(run: SavedRun, tried: ExamplePrediction, example: Example) -> None:
    """The probability of every label under each tokenization, and who was outvoted."""
    markup.marked_texts(
        [
            Marked(
                f"{tokenization} predicts",
                "",
                ", ".join(said) or "no label",
                counts=tokenization == tried.tokenization,
            )
            for tokenization, said in tried.predictions.items()
        ]
    )
    table: dict[str, list[object]] = {
        "label": [markup.escape_invisible(name) for name in tried.outputs.names]
    }
    for tokenization in tried.logits:
        table[tokenization] = [
            fraction(float(share)) for share in tried.probabilities(tokenization)[0]
        ]
    table["probability"] = [float(share) for share in tried.probabilities(tried.tokenization)[0]]
    draw_table(table, height="content", column_config={"probability": _bar(" ")})
    for _, vote in tried.votes:
        st.markdown(f":violet[:material/how_to_vote:] {plain(vote.line)}")


def _answers(run: SavedRun, tried: ExamplePrediction, example: Question) -> None:
    """The best answers under each tokenization, their positions, and the text around the main one."""
    best = {
        tokenization: best_answers(rows, example.context, BEST, rule=example.word_rule)
        for tokenization, rows in tried.logits.items()
    }
    if not best[tried.tokenization]:
        st.markdown(
            "**No answer**: no word of the context that the model reads fits into 500 characters."
        )
        return
    first = best[tried.tokenization][0]
    start, end = _round(example.context, first.start, first.end)
    shown = example.context[start:end]
    whole = len(shown) == len(example.context)
    of = (
        ""
        if whole
        else f" · characters {count(start)}–{count(end)} of {count(len(example.context))}"
    )
    markup.marked_texts(
        [
            Marked(
                f"{tokenization} answers",
                f"score {found[0].score:.2f} · share {fraction(found[0].probability)}{of}",
                shown,
                (
                    [(max(found[0].start, start) - start, min(found[0].end, end) - start, "")]
                    if found[0].end > start and found[0].start < end
                    else []
                ),
                tokenization == tried.tokenization,
            )
            for tokenization, found in best.items()
            if found
        ]
    )
    markup.tokenization_lines(
        [
            _tokenization_line(
                run, tokenization, f"{example.question} {shown}", " of the question and this text"
            )
            for tokenization in run.tokenizers
        ]
    )
    rows = [(tokenization, one) for tokenization, found in best.items() for one in found]
    draw_table(
        {
            "tokenization": [tokenization for tokenization, _ in rows],
            "answer": [markup.escape_invisible(one.text) for _, one in rows],
            "score": [f"{one.score:.2f}" for _, one in rows],
            "share": [fraction(one.probability) for _, one in rows],
            "characters": [f"{count(one.start)}–{count(one.end)}" for _, one in rows],
            "of all answers": [one.probability for _, one in rows],
        },
        height="content",
        column_config={"of all answers": _bar(" ")},
    )
    for _, vote in tried.votes:
        st.markdown(f":violet[:material/how_to_vote:] {plain(vote.line)}")


def _bar(label: str) -> ColumnConfig:
    """A column of bars for shares whose figures stand beside it."""
    return st.column_config.ProgressColumn(label, min_value=0.0, max_value=1.0, format=" ")


def _round(context: str, start: int, end: int) -> tuple[int, int]:
    """The part of a context that is drawn: all of it, or what stands round an answer."""
    if len(context) <= DRAWN:
        return 0, len(context)
    return max(0, start - ROUND), min(len(context), end + ROUND)


# What is drawn of a prediction, by the head of the network: its rows are words, or labels, or words
# of a context.
PREDICTIONS: dict[str, Callable[[SavedRun, ExamplePrediction, Any], None]] = {
    TOKEN: _words,
    SEQUENCE: _labels,
    QUESTION: _answers,
}
