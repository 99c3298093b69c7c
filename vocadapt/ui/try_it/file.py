"""Parts of the page Try it: a file of unlabeled text predicted line by line, and the same as
commands.
"""

import shlex
from hashlib import blake2b

import streamlit as st

from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.models.heads import QUESTION
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.prediction.plain_text import lines_of_text, plain_examples
from vocadapt.training.tasks.examples import Example
from vocadapt.ui.components.blocks import draw_command
from vocadapt.ui.components.export import open_details
from vocadapt.ui.components.number_formats import count
from vocadapt.ui.frame import run_cache
from vocadapt.ui.try_it.view import written

MOST = 500  # lines that the page predicts itself: half a minute with a small model
READ_AT_ONCE = 32  # lines between two steps of the progress bar


def on_a_file(folder: str, run: SavedRun) -> None:
    """Take a text file, a sentence on each line, and give its predictions back as a download."""
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
    taken = lines[:MOST]
    if len(taken) < len(lines):
        st.markdown(
            f"{count(MOST)} of {count(len(lines))} lines are predicted here, starting with the"
            " first; the command under *Details & export* takes all."
        )
    key = (
        f"{folder} {run_cache.run_stamp(folder)}"
        f" {blake2b(given.getvalue(), digest_size=16).hexdigest()}"
    )
    kept: dict[str, str] = st.session_state.setdefault("try_said", {})
    if key not in kept:
        if not st.button(f"Predict {count(len(taken))} lines", type="primary", key="try_predict"):
            return
        kept.clear()
        kept[key] = _predicted(run, taken)
    name = run.kind.prediction_file
    st.download_button(
        f"{name} · {count(len(taken))} of {count(len(lines))} lines",
        kept[key],
        name,
        on_click="ignore",
        icon=":material/download:",
        key="get_predictions",
    )


def details(folder: str, run: SavedRun, example: Example | None) -> None:
    """Details & export: the same in a terminal and in Python, and what the run is."""
    with open_details():
        st.markdown("The same in a terminal")
        arguments = _build_command(folder, run, example)
        draw_command(shlex.join([*PROGRAM, *arguments]))
        st.markdown("The same in Python")
        st.code(_python(folder, run, example), language="python", wrap_lines=True)
        names = ("task", "kind", "model", "seed", "tokenization", "scorer", "outputs", "settings")
        st.markdown("The run")
        st.json({name: run.record[name] for name in names if name in run.record}, expanded=False)


def _predicted(run: SavedRun, lines: list[str]) -> str:
    """The predictions for lines under the main tokenization, as a file."""
    examples = plain_examples(run, lines)
    bar, said = st.progress(0.0, "Reading …"), []
    for start in range(0, len(examples), READ_AT_ONCE):
        said += run.predict(examples[start : start + READ_AT_ONCE])
        bar.progress(
            len(said) / len(examples), f"{count(len(said))} of {count(len(examples))} lines"
        )
    bar.empty()
    jsonl = run.kind.prediction_file.endswith(".jsonl")
    return "".join(run.kind.format_predictions(examples, said, jsonl))


def _build_command(folder: str, run: SavedRun, example: Example | None) -> list[str]:
    """Build the command line that predicts the same."""
    if run.kind.head == QUESTION:
        asked = _question_of(example)
        command = ["answer", "--model", folder, "--context", "context.txt", "--question", asked]
        rule = getattr(example, "word_rule", run.word_rule)
        return command if rule == run.word_rule else [*command, "--word-rule", rule]
    plain = [] if run.kind.not_plain_text else ["--plain"]
    return ["predict", "--model", folder, "text.txt", *plain, "--out", run.kind.prediction_file]


def _question_of(example: Example | None) -> str:
    return "…" if example is None else example.inputs["question"]


def _python(folder: str, run: SavedRun, example: Example | None) -> str:
    lines = [
        "from pathlib import Path",
        "from vocadapt.training.finetune.run_files import load_run",
    ]
    if run.kind.head == QUESTION:
        asked = _question_of(example)
        lines += [
            "from vocadapt.training.prediction.answering import answer",
            f"run = load_run(Path({folder!r}))",
            f"print(answer(run, [{asked!r}], Path('context.txt').read_text())[0].best)",
        ]
    else:
        text = "…" if example is None else written(example)
        lines += [
            "from vocadapt.training.prediction.plain_text import plain_examples",
            f"run = load_run(Path({folder!r}))",
            f"print(run.predict(plain_examples(run, [{text!r}])))",
        ]
    return "\n".join(lines)
