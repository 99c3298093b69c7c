"""Parts of the page Try it: a file of unlabeled text predicted line by line, and the same as
commands.
"""

import shlex
from hashlib import blake2b

import streamlit as st

from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.prediction.plain_text import lines_of_text, plain_examples, prediction_lines
from vocadapt.training.tasks.examples import Example, Question
from vocadapt.ui.components.blocks import draw_command
from vocadapt.ui.components.export import open_details
from vocadapt.ui.components.number_formats import count
from vocadapt.ui.frame import run_cache
from vocadapt.ui.try_it.view import written

MOST = 500  # lines that the page predicts itself: half a minute with a small model
READ_AT_ONCE = 32  # lines between two steps of the progress bar
FILES = {"ner": "predictions.tsv"}


def on_a_file(folder: str, run: SavedRun) -> None:
    """Take a text file, a sentence on each line, and give its predictions back as a download."""
    st.subheader("Predict a file")
    if run.kind in ("qa", "nli"):
        what = "Questions and contexts" if run.kind == "qa" else "Pairs of sentences"
        st.markdown(
            f"{what} are not plain text: use the command line with files in the task's format"
            " (see below)."
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
    name = FILES.get(run.kind, "predictions.jsonl")
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
        if run.kind == "qa":
            asked = example.question if isinstance(example, Question) else "…"
            arguments = [
                "answer",
                "--model",
                folder,
                "--context",
                "context.txt",
                "--question",
                asked,
            ]
            if isinstance(example, Question) and example.word_rule != run.word_rule:
                arguments += ["--word-rule", example.word_rule]
        else:
            arguments = [
                "predict",
                "--model",
                folder,
                "text.txt",
                "--plain",
                "--out",
                FILES.get(run.kind, "predictions.jsonl"),
            ]
        if run.kind == "nli":
            arguments.remove("--plain")
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
    return "".join(prediction_lines(run.kind, examples, said, FILES.get(run.kind) is None))


def _python(folder: str, run: SavedRun, example: Example | None) -> str:
    lines = [
        "from pathlib import Path",
        "from vocadapt.training.finetune.run_files import load_run",
    ]
    if run.kind == "qa":
        asked = example.question if isinstance(example, Question) else "…"
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
