"""Parts of the page Try it: prediction of a file of unlabeled text, and the same as commands."""

from hashlib import blake2b

import streamlit as st

from vocadapt.models.heads import QUESTION
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.prediction.plain_text import lines_of_text, plain_examples
from vocadapt.training.tasks.examples import Example
from vocadapt.ui.components.blocks import draw_command, open_details
from vocadapt.ui.components.number_formats import count
from vocadapt.ui.frame import cache
from vocadapt.ui.try_it.view import text_of

MAX_LINES = 500  # lines that the page predicts itself: half a minute with a small model
BATCH = 32  # lines between two updates of the progress bar


def predict_file(folder: str, run: SavedRun) -> None:
    """Show the upload of a text file with one example per line, and the download of its predictions."""
    st.subheader("Predict a file")
    if run.kind.not_plain_text:
        st.markdown(
            f"{run.kind.not_plain_text.capitalize()} are not plain text: use the command line with"
            " files in the task's format (see below)."
        )
        return
    given = st.file_uploader("Text file, one example per line", type=["txt"], key="try_file")
    if given is None:
        return
    try:
        lines = lines_of_text(given.getvalue().decode("utf-8"))
    except UnicodeDecodeError:
        st.error("The file is not UTF-8 text.", icon=":material/error:")
        return
    if not lines:
        st.error("The file is empty: put one sentence on each line.", icon=":material/error:")
        return
    taken = lines[:MAX_LINES]
    if len(taken) < len(lines):
        st.markdown(
            f"{count(MAX_LINES)} of {count(len(lines))} lines are predicted here, starting with the"
            " first; the command under *Details & export* takes all."
        )
    digest = blake2b(given.getvalue(), digest_size=16).hexdigest()
    key = f"{folder} {cache.run_stamp(folder)} {digest}"
    kept: dict[str, str] = st.session_state.setdefault("try_predictions", {})
    if key not in kept:
        if not st.button(f"Predict {count(len(taken))} lines", type="primary", key="try_predict"):
            return
        kept.clear()
        kept[key] = _predict(run, taken)
    name = run.kind.prediction_file
    st.download_button(
        f"{name} · {count(len(taken))} of {count(len(lines))} lines",
        kept[key],
        name,
        on_click="ignore",
        icon=":material/download:",
        key="get_predictions",
    )


def draw_details(folder: str, run: SavedRun, example: Example | None) -> None:
    """Draw the folded block: the same in a terminal and in Python, and the record of the run."""
    with open_details():
        draw_command(_build_command(folder, run, example), "The same in a terminal")
        st.markdown("The same in Python")
        st.code(_python(folder, run, example), language="python", wrap_lines=True)
        names = ("task", "kind", "model", "seed", "tokenization", "scorer", "outputs", "settings")
        st.markdown("The run")
        st.json({name: run.record[name] for name in names if name in run.record}, expanded=False)


def _predict(run: SavedRun, lines: list[str]) -> str:
    """Return the predictions for lines under the main tokenization, as the content of a file."""
    examples = plain_examples(run, lines)
    bar, predicted = st.progress(0.0, "Reading …"), []
    for start in range(0, len(examples), BATCH):
        predicted += run.predict(examples[start : start + BATCH])
        done = len(predicted)
        bar.progress(done / len(examples), f"{count(done)} of {count(len(examples))} lines")
    bar.empty()
    jsonl = run.kind.prediction_file.endswith(".jsonl")
    return "".join(run.kind.format_predictions(examples, predicted, jsonl))


def _build_command(folder: str, run: SavedRun, example: Example | None) -> list[str]:
    """Build the command line that predicts the same."""
    if run.kind.head == QUESTION:
        question = _question_of(example)
        command = ["answer", "--model", folder, "--context", "context.txt", "--question", question]
        rule = getattr(example, "word_rule", run.word_rule)
        if rule != run.word_rule:
            command += ["--word-rule", rule]
        return command
    command = ["predict", "--model", folder, "text.txt"]
    if not run.kind.not_plain_text:
        command.append("--plain")
    return [*command, "--out", run.kind.prediction_file]


def _question_of(example: Example | None) -> str:
    if example is None:
        return "…"
    return example.inputs["question"]


def _python(folder: str, run: SavedRun, example: Example | None) -> str:
    lines = [
        "from pathlib import Path",
        "from vocadapt.training.finetune.run_files import load_run",
    ]
    if run.kind.head == QUESTION:
        question = _question_of(example)
        lines += [
            "from vocadapt.training.prediction.answering import answer",
            f"run = load_run(Path({folder!r}))",
            f"print(answer(run, [{question!r}], Path('context.txt').read_text())[0].best)",
        ]
    else:
        text = "…" if example is None else text_of(example)
        lines += [
            "from vocadapt.training.prediction.plain_text import plain_examples",
            f"run = load_run(Path({folder!r}))",
            f"print(run.predict(plain_examples(run, [{text!r}])))",
        ]
    return "\n".join(lines)
