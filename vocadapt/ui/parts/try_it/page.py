"""The part Try it: predict typed text with a fine-tuned model, or fill in a masked word with any
model, under each tokenization.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

import streamlit as st

from vocadapt.analysis.errors.votes import ExamplePrediction, find_disagreement
from vocadapt.errors import InputError
from vocadapt.lab.workspace.trials import record_trial
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.heads import EMBEDDING, QUESTION, SEQUENCE, TOKEN
from vocadapt.training.encoding.model_tokenizers import ADAPTED, BASE
from vocadapt.training.examples.context_windows import WORD_RULES
from vocadapt.training.examples.examples import Example, Question, Sentence
from vocadapt.training.examples.tags import decode_spans
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.finetune.tokenizations import POOLED
from vocadapt.training.prediction.answering import AnswerSpan, find_best_answers
from vocadapt.training.prediction.plain_text import (
    add_blank_lines,
    has_words,
    plain_examples,
    split_into_lines,
)
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.components.blocks import (
    draw_code,
    draw_command,
    draw_heading,
    draw_note,
    draw_table,
    open_details,
)
from vocadapt.ui.components.example_texts import draw_text
from vocadapt.ui.components.intake import MAX_TABLE_MB, check_uploads
from vocadapt.ui.parts.try_it import choice, filling
from vocadapt.ui.state import cache
from vocadapt.ui.text import markup
from vocadapt.ui.text.number_formats import count, fraction

MAX_DRAWN = 2000  # characters of a context; a longer one is drawn only around the answer
AROUND_ANSWER = 300  # characters on either side of the answer that are then drawn
N_BEST = 3  # answers shown for each tokenization
MAX_LINES = 500  # lines that the page predicts, in half a minute with a small model
BATCH = 32  # lines between two updates of the progress bar
BAR = st.column_config.ProgressColumn(" ", min_value=0.0, max_value=1.0, format=" ")  # no numbers
NOTES = {
    BASE: "tokenization before adaptation",
    ADAPTED: "with the added words",
    POOLED: "the mean of both",
}


def draw(workspace: Workspace) -> None:
    """Draw the picker of a run or model, the text input, and the predictions."""
    pickers.warn_of_unreadable_runs(workspace)
    # 1. The run or model on the right, the text on the left.
    left, right = st.columns([1.7, 1], gap="large")
    with right:
        chosen = choice.choose(workspace)
    if chosen is None:
        pickers.draw_empty_state(
            "There is no model to try yet.",
            "Adapt or fine-tune one, or type the folder of a model under *Another folder*.",
            "adapt",
        )
        return
    # 2. What the model makes of the text.
    if chosen.model:
        model = cache.model_of(chosen.model)
        with left:
            own = filling.find_examples(workspace, model)
            text, examples = filling.draw_text_input(model, own, lambda: _record_trial(workspace))
        filling.draw_text(model, text, examples)
        filling.draw_details(chosen.model, text)
    else:
        _draw_run(workspace, chosen.run, left)


def _record_trial(workspace: Workspace) -> None:
    """Callback: a sentence was typed. A read-only workspace keeps no record of it."""
    with suppress(InputError):
        record_trial(workspace)


def _draw_run(workspace: Workspace, folder: str, place: st.delta_generator.DeltaGenerator) -> None:
    """Draw the text input of a run in a column, the predictions, and the commands."""
    run = cache.run_of(folder)
    with place:
        example = choose_example(run, lambda: _record_trial(workspace))
    if example is not None:
        draw_prediction(folder, run, example)
    else:
        st.markdown("Type a text above, or click an example.")
    st.divider()
    predict_file(folder, run)
    draw_details(folder, run, example)


def choose_example(run: SavedRun, on_typed: Callable[[], None]) -> Example | None:
    """Show the input fields of the run's task kind; return the example, None if a field is blank.

    on_typed: called when a text was typed.
    """
    # 1. Take a test example of the run, preferably one whose predictions under the tokenizations
    #    differ: it shows the effect of adaptation.
    known: Mapping[str, str] = {}
    with suppress(InputError):  # the run may have no readable test examples
        own = find_disagreement(run)
        if own:
            known = own.inputs
    # 2. The fields of the task; those with examples offer them above the field.
    typed = {}
    for field in run.kind.inputs:
        first = known.get(field.name) or field.sample
        examples = {}
        if field.offers_examples and first != field.sample:
            examples["test example"] = first
            if field.is_example:
                examples["made-up example"] = field.sample
        options = {"height": field.height, "on_change": on_typed}
        key = f"try_{field.name}"
        typed[field.name] = draw_text(field.label, key, first, examples, **options)
    # 3. The rule that splits words, for tasks that predict words.
    rule = _choose_word_rule(run) if run.kind.has_word_rule else ""
    if not all(text.strip() for text in typed.values()):
        return None
    return run.kind.example_from_inputs(typed, run.split_words, rule)


def _choose_word_rule(run: SavedRun) -> str:
    """Show a picker of the word rule, by default the one used in training; return it."""
    rules = list(WORD_RULES)
    help = "Defines the words over which logits are pooled. " + "; ".join(
        f"{name}: {about}" for name, about in WORD_RULES.items()
    )
    first = rules.index(run.word_rule)
    key = f"try_words_{run.folder}"
    return str(st.selectbox("Word rule", rules, first, key=key, help=f"{help}."))


def draw_prediction(folder: str, run: SavedRun, example: Example) -> None:
    """Draw the tokenizations of an example, and the prediction and its scores under each."""
    if run.kind.head != QUESTION:
        text = text_of(example)
        filling.draw_lines([_build_line(run, name, text) for name in run.tokenizers])
    # Load the network only now: what is above needs none and is shown immediately.
    prediction = cache.predict_cached(cache.network_of(folder), example)
    PREDICTIONS[run.kind.head](run, prediction, example)


def text_of(example: Example) -> str:
    """Return the inputs of an example in one line."""
    return " ".join(example.inputs.values()).strip()


def _build_line(
    run: SavedRun, tokenization: str, text: str, note: str = ""
) -> markup.TokenizationLine:
    """Return the tokens of a text under one tokenization of a run."""
    about = f"{NOTES[tokenization]} · {{}} wordpieces{note}"
    return filling.build_line(run.model.vocabulary, run.tokenizers, tokenization, text, about)


def _build_marked_text(
    prediction: ExamplePrediction, tokenization: str, example: Sentence
) -> markup.MarkedText:
    """Return a sentence with the entities predicted under one tokenization."""
    # The text joins the words by single spaces: compute where each begins in it.
    starts = list(accumulate((len(word) + 1 for word in example.words), initial=0))
    spans = decode_spans(prediction.predictions[tokenization])
    marks = [(starts[span.start], starts[span.end] - 1, span.type or "entity") for span in spans]
    found = "1 entity" if len(spans) == 1 else f"{count(len(spans))} entities"
    return markup.MarkedText(
        f"{tokenization} predicts",
        found,
        text_of(example),
        marks,
        tokenization == prediction.tokenization,
    )


def _draw_words(run: SavedRun, prediction: ExamplePrediction, example: Sentence) -> None:
    """Draw the sentence with its entities, and a table of the words in entities."""
    markup.draw_marked_texts(
        [
            _build_marked_text(prediction, tokenization, example)
            for tokenization in prediction.logits
        ]
    )
    # 1. List only words with an entity tag under at least one tokenization.
    tags = zip(*prediction.predictions.values(), strict=True)  # of each word, by tokenization
    rows = [row for row, own in enumerate(tags) if set(own) != {"O"}]
    if not rows:
        return
    draw_note(
        f"Words in an entity with at least one tokenization: {count(len(rows))} of"
        f" {count(len(example.words))}; the others are O (outside) with all. The number after a tag"
        " is its probability."
    )
    # 2. A column of tags with probabilities for each tokenization.
    table: dict[str, list[str]] = {
        "word": [markup.escape_invisible(example.words[row]) for row in rows]
    }
    for tokenization, predicted in prediction.predictions.items():
        highest = prediction.probabilities(tokenization).max(axis=1).tolist()
        table[tokenization] = [
            f"{markup.escape_invisible(predicted[row])}  {fraction(highest[row])}" for row in rows
        ]
    # 3. How the pooled prediction was made.
    if POOLED in prediction.logits:
        lines = {row: markup.escape_invisible(vote.line) for row, vote in prediction.votes}
        table["outvoted"] = [lines.get(row, "agreement") for row in rows]
    draw_table(
        table,
        height="content",
        column_config={"outvoted": st.column_config.TextColumn(width="large")},
    )


def _draw_labels(run: SavedRun, prediction: ExamplePrediction, example: Example) -> None:
    """Draw the probability of every label under each tokenization, and the votes."""
    markup.draw_marked_texts(
        [
            markup.MarkedText(
                f"{tokenization} predicts",
                "",
                ", ".join(predicted) or "no label",
                is_main=tokenization == prediction.tokenization,
            )
            for tokenization, predicted in prediction.predictions.items()
        ]
    )
    # The last column is a bar of the main prediction; the others are numbers.
    table: dict[str, list[object]] = {
        "label": [markup.escape_invisible(name) for name in prediction.outputs.names]
    }
    for tokenization in prediction.logits:
        table[tokenization] = list(
            map(fraction, prediction.probabilities(tokenization)[0].tolist())
        )
    table["probability"] = prediction.probabilities(prediction.tokenization)[0].tolist()
    draw_table(table, height="content", column_config={"probability": BAR})
    _draw_votes(prediction)


def _draw_votes(prediction: ExamplePrediction) -> None:
    for _, vote in prediction.votes:
        st.markdown(f":violet[:material/how_to_vote:] {markup.plain(vote.line)}")


def _draw_answers(run: SavedRun, prediction: ExamplePrediction, example: Question) -> None:
    """Draw the best answers under each tokenization, and the text around the main one."""
    # 1. Find the best answers under each tokenization; there may be none.
    best = {
        tokenization: find_best_answers(rows, example.context, N_BEST, rule=example.word_rule)
        for tokenization, rows in prediction.logits.items()
    }
    if not best[prediction.tokenization]:
        st.markdown(
            "**No answer**: the model reads no word of the context, or only words with more than"
            " 500 characters."
        )
        return
    # 2. Draw the text for each tokenization, with its best answer marked if it is visible.
    start, end = _choose_visible_part(example.context, best[prediction.tokenization][0])
    visible = example.context[start:end]
    part = ""
    if len(visible) < len(example.context):
        part = f" · characters {count(start)}–{count(end)} of {count(len(example.context))}"
    lines = []
    for tokenization, found in best.items():
        for first in found[:1]:
            marks = []
            if first.start < end and first.end > start:
                marks = [(max(first.start, start) - start, min(first.end, end) - start, "")]
            note = f"score {first.score:.2f} · probability {fraction(first.probability)}{part}"
            is_main = tokenization == prediction.tokenization
            lines.append(
                markup.MarkedText(f"{tokenization} answers", note, visible, marks, is_main)
            )
    markup.draw_marked_texts(lines)
    # 3. Draw the tokens of question and text, a table of all answers, and the votes.
    text = f"{example.question} {visible}"
    note = " of the question and this text"
    markup.draw_tokenization_lines(
        [_build_line(run, tokenization, text, note) for tokenization in run.tokenizers]
    )
    _draw_answer_table(best)
    _draw_votes(prediction)


def _choose_visible_part(context: str, answer: AnswerSpan) -> tuple[int, int]:
    """Return the characters of a context to draw: of a long one, only those around the answer."""
    if len(context) <= MAX_DRAWN:
        return 0, len(context)
    return max(0, answer.start - AROUND_ANSWER), min(len(context), answer.end + AROUND_ANSWER)


def _draw_answer_table(best: Mapping[str, Sequence[AnswerSpan]]) -> None:
    rows = [(tokenization, one) for tokenization, found in best.items() for one in found]
    draw_table(
        {
            "tokenization": [tokenization for tokenization, _ in rows],
            "answer": [markup.escape_invisible(one.text) for _, one in rows],
            "score": [f"{one.score:.2f}" for _, one in rows],
            "probability": [fraction(one.probability) for _, one in rows],
            "characters": [f"{count(one.start)}–{count(one.end)}" for _, one in rows],
            "of all answers": [one.probability for _, one in rows],
        },
        height="content",
        column_config={"of all answers": BAR},
    )


@mistakes.show_errors()
def _draw_embedded(run: SavedRun, prediction: ExamplePrediction, example: Example) -> None:
    found = prediction.predictions
    draw_table(
        {
            "tokenization": list(found),
            "predicted": [markup.escape_invisible(" ".join(one)) for one in found.values()],
        },
        height="content",
    )


# How a prediction is drawn, by the head of the network.
PREDICTIONS: dict[str, Callable[[SavedRun, ExamplePrediction, Any], None]] = {
    TOKEN: _draw_words,
    SEQUENCE: _draw_labels,
    QUESTION: _draw_answers,
    EMBEDDING: _draw_embedded,
}


def predict_file(folder: str, run: SavedRun) -> None:
    """Show the upload of a text file with one example per line, and the download of predictions."""
    draw_heading("Predict a file")
    if run.kind.not_plain_text:
        st.markdown(
            f"{run.kind.not_plain_text.capitalize()} are not plain text: use the command line with"
            " files in the task's format (see below)."
        )
        return
    # 1. The lines of the uploaded file.
    lines = _upload_lines()
    if not lines:
        return
    # 2. Take only the first of them, because the user waits for the predictions.
    taken = lines[:MAX_LINES]
    if len(taken) < len(lines):
        st.markdown(
            f"{count(MAX_LINES)} of {count(len(lines))} lines are predicted here, starting with the"
            " first; the command under *Details & export* predicts all."
        )
    # 3. Predict them, once for this run and file: a rerun of the page must not repeat it.
    key = (folder, cache.run_stamp(folder), tuple(taken))
    # Only the newest predictions are kept: the session must not grow with every upload.
    predicted, predictions = st.session_state.get("try_predictions", (None, ""))
    if predicted != key:
        if not st.button(f"Predict {count(len(taken))} lines", type="primary", key="try_predict"):
            return
        predictions = _predict(run, taken)
        st.session_state["try_predictions"] = (key, predictions)
    # 4. Offer the predictions as a download.
    name = run.kind.prediction_file
    st.download_button(
        f"{name} · {count(len(taken))} of {count(len(lines))} lines",
        predictions,
        name,
        on_click="ignore",
        icon=":material/download:",
        key="get_predictions",
    )


@mistakes.show_errors()
def _upload_lines() -> list[str] | None:
    """Draw the upload of a text; return its lines, None without a file or after an error."""
    uploaded = st.file_uploader(
        "Text file, one example per line",
        type=["txt"],
        key="try_file",
        max_upload_size=MAX_TABLE_MB,
    )
    if uploaded is None:
        return None
    check_uploads([uploaded], MAX_TABLE_MB)
    try:
        lines = split_into_lines(uploaded.getvalue().decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError("The file is not UTF-8 text.", "Save it as UTF-8.") from None
    if not any(lines):
        raise InputError("The file is empty.", "Put one sentence on each line.")
    return lines


def draw_details(folder: str, run: SavedRun, example: Example | None) -> None:
    """Draw Details & export: the same in a terminal and in Python, and the record of the run."""
    with open_details():
        draw_command(_build_command(folder, run, example), "The same in a terminal")
        st.markdown("The same in Python")
        draw_code(_build_python(folder, run, example), "python")
        names = ("task", "kind", "model", "seed", "trained_on", "scorer", "outputs", "settings")
        st.markdown("The run")
        st.json({name: run.record[name] for name in names if name in run.record}, expanded=False)


def _predict(run: SavedRun, lines: list[str]) -> str:
    """Return the predictions for lines under the main tokenization, as the content of a file."""
    given = plain_examples(run, lines)
    examples = list(filter(has_words, given))
    bar = st.progress(0.0, "Reading …")
    predicted = []
    for start in range(0, len(examples), BATCH):
        predicted += run.predict(examples[start : start + BATCH])
        done = len(predicted)
        bar.progress(done / len(examples), f"{count(done)} of {count(len(examples))} lines")
    bar.empty()
    jsonl = run.kind.prediction_file.endswith(".jsonl")
    predictions = add_blank_lines(given, predicted)
    return "".join(run.kind.format_predictions(given, predictions, jsonl))


def _build_command(folder: str, run: SavedRun, example: Example | None) -> list[str]:
    """Build the arguments of the command that makes the same prediction."""
    if run.kind.head == QUESTION:
        question = example.inputs["question"] if example else "…"
        command = ["answer", "--model", folder, "--context", "context.txt", "--question", question]
        rule = getattr(example, "word_rule", run.word_rule)
        if rule != run.word_rule:
            command += ["--word-rule", rule]
        return command
    command = ["predict", "--model", folder, "text.txt"]
    if not run.kind.not_plain_text:
        command.append("--plain")
    return [*command, "--out", run.kind.prediction_file]


def _build_python(folder: str, run: SavedRun, example: Example | None) -> str:
    if run.kind.head == QUESTION:
        name = "answering import answer"
        question = example.inputs["question"] if example else "…"
        call = f"answer(run, [{question!r}], Path('context.txt').read_text())[0].best"
    else:
        name = "plain_text import plain_examples"
        text = "…" if example is None else text_of(example)
        call = f"run.predict(plain_examples(run, [{text!r}]))"
    lines = [
        "from pathlib import Path",
        "from vocadapt.training.finetune.run_files import load_run",
        f"from vocadapt.training.prediction.{name}",
        f"run = load_run(Path({folder!r}))",
        f"print({call})",
    ]
    return "\n".join(lines)
