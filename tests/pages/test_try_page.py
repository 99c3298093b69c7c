"""The page Try it: every kind of run, hostile text, a text file, a typed folder, and its
messages if there is no run."""

import json
import shutil
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.material.finetuning import one_thread, sentences, texts, tiny_adapted, write_conll
from tests.training.test_finetune_questions import questions, squad
from vocadapt.analysis.errors.votes import (
    ExamplePrediction,
    find_disagreement,
    predict_example,
)
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.run_files import load_run
from vocadapt.training.prediction.plain_text import plain_examples
from vocadapt.training.tasks.examples import Sentence, Text
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.ui.components.number_formats import fraction

PAGE = "try"
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "$x$ :red[x] **b** `c`",
    "\u202eab\u200b ضغط الدم 高血",
    "[UNK] \x00 x",
    "w" * 300,
]


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """A workspace with a run of each kind that the page draws in its own way."""
    root = tmp_path_factory.mktemp("try")
    with one_thread():
        model = tiny_adapted(root / "model")
        write_conll(root / "ner.txt", sentences(20))
        rows = "".join(f"{text.id}\t{text.text}\t{text.labels[0]}\n" for text in texts(12))
        (root / "classification.txt").write_text(
            "index\tsentence\tlabel\n" + rows, encoding="utf-8"
        )
        (root / "multilabel.txt").write_text("index\tsentence\tlabels\n" + rows, encoding="utf-8")
        nli = [
            json.dumps({"sentence1": t.text, "sentence2": "the heart", "gold_label": t.labels[0]})
            for t in texts(8)
        ]
        (root / "nli.txt").write_text("\n".join(nli) + "\n", encoding="utf-8")
        squad(root / "qa.txt", questions(8))
        for kind in ("ner", "classification", "multilabel", "nli", "qa"):
            file = str(root / f"{kind}.txt")
            given = ["--model", str(model), "--task", kind, "--train", file, "--test", file]
            quick = [
                "--num-epochs",
                "2",
                "--batch-size",
                "4",
                "--learning-rate",
                "1e-2",
                "--workspace",
                str(root / "w"),
                "--name",
                kind,
            ]
            assert main(["finetune", *given, *quick]) == 0
    return Workspace(root / "w")


def markup(app):
    return "".join(element.proto.body for element in app.get("html"))


def said(app):
    return [
        element.value
        for kind in ("markdown", "text", "error", "warning")
        for element in app.get(kind)
    ]


def opened(open_page, tried, kind, **query):
    app = open_page(PAGE, tried, try_run=f"{kind} · seed 1", **query)
    assert not app.exception and not app.error
    return app


def test_a_sentence_is_tokenized_and_tagged_by_each_tokenizer(open_page, tried):
    app = opened(open_page, tried, "ner", try_sentence="the patients with tachycardia")
    body = markup(app)
    assert body.count('class="va-name"') == 5  # two cuts; base, adapted and pooled say
    assert 'title="##card · id ' in body and "va-new" in body  # cut by one, whole under the other
    assert app.query_params["try_sentence"] == "the patients with tachycardia"
    run = load_run(tried.root / "runs" / "ner")
    tags = run.predict([Sentence(("the", "patients", "with", "tachycardia"), None)])[0]
    marked = body.split("pooled predicts")[1]
    assert marked.count("<mark>") == sum(tag.startswith("B") for tag in tags)


def test_without_an_address_it_opens_on_an_example_of_the_runs_own_test(open_page, tried):
    app = opened(open_page, tried, "ner")
    example = find_disagreement(load_run(tried.root / "runs" / "ner"))
    assert app.text_area(key="try_sentence").value == " ".join(example.words)


@pytest.mark.parametrize("kind", ["classification", "multilabel", "nli"])
def test_labels_under_each_tokenization(kind, open_page, tried):
    app = opened(open_page, tried, kind)
    assert all(
        f"{tokenization} predicts" in markup(app) for tokenization in ("base", "adapted", "pooled")
    )
    table = app.dataframe[0].value
    assert list(table.columns) == ["label", "base", "adapted", "pooled", "probability"]
    assert list(table["label"]) == ["ill", "well"]
    assert list(table["pooled"]) == [fraction(share) for share in table["probability"]]
    if kind != "multilabel":
        assert table["probability"].sum() == pytest.approx(1)


def test_a_question_is_answered_under_each_tokenization(open_page, tried):
    app = opened(
        open_page, tried, "qa", try_question="the disease", try_context="trial placebo cancer group"
    )
    body = markup(app)
    assert body.count("<mark>") == 3 and all(
        f"{tokenization} answers" in body for tokenization in ("base", "adapted", "pooled")
    )
    command = next(code.value for code in app.code if "vocadapt answer" in code.value)
    assert command.endswith("--question 'the disease'")
    app.text_area(key="try_context").set_value("x" * 600).run()
    assert not app.exception and any("No answer" in text for text in said(app))


@pytest.mark.parametrize("kind", ["ner", "classification"])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_never_read(kind, text, open_page, tried):
    app = opened(open_page, tried, kind)
    app.text_area(key="try_sentence").set_value(text).run()
    assert not app.exception and not app.error
    assert "<img" not in markup(app) and "\u202e" not in markup(app)
    assert not any(text in shown for shown in said(app))


def test_nothing_typed_is_an_invitation_and_no_word_a_message(open_page, tried):
    app = opened(open_page, tried, "ner")
    app.text_area(key="try_sentence").set_value(" ").run()
    assert not app.exception and any("Type a text" in text for text in said(app))
    app.text_area(key="try_sentence").set_value("\u200b").run()
    assert not app.exception and any("no word" in text for text in said(app))


def test_any_folder_with_a_head_and_one_without(open_page, tried, tiny_bert):
    app = open_page(PAGE, tried, try_run="ner · seed 1")
    app.text_input(key="try_folder").set_value(str(tried.root / "runs" / "qa")).run()
    assert not app.exception and not app.error and app.text_area(key="try_question")
    for folder in (str(tiny_bert), "/nowhere"):
        app.text_input(key="try_folder").set_value(folder).run()
        assert not app.exception and any("expected a run" in text for text in said(app))


def test_broken_weights_are_a_message(open_page, tried, tmp_path):
    shutil.copytree(tried.root, tmp_path / "w")
    (tmp_path / "w" / "runs" / "ner" / "model.safetensors").write_bytes(b"no tensor")
    app = open_page(PAGE, tmp_path / "w", try_run="ner · seed 1")
    assert not app.exception and any("did not work" in error.value for error in app.error)


def test_a_file_of_text_is_predicted_and_what_is_left_out_said(open_page, tried, monkeypatch):
    monkeypatch.setattr("vocadapt.ui.try_it.view.MAX_LINES", 3)
    app = opened(open_page, tried, "ner")
    lines = ["the patients", "with tachycardia", "cancer", "a heart", "trials"]
    app.file_uploader(key="try_file").set_value(
        ("lines.txt", "\n".join(lines).encode(), "text/plain")
    ).run()
    assert any("3 of 5 lines are predicted here" in text for text in said(app))
    app.button(key="try_predict").click().run()
    assert not app.exception and not app.error
    assert any(
        button.proto.label == "predictions.tsv · 3 of 5 lines"
        for button in app.get("download_button")
    )
    command = next(code.value for code in app.code if "vocadapt predict" in code.value)
    assert "--plain" in command and str(tried.root / "runs" / "ner") in command
    app.file_uploader(key="try_file").set_value(("lines.txt", b"\xff\xfe", "text/plain")).run()
    assert not app.exception and any("UTF-8" in error.value for error in app.error)


def test_what_was_tried_once_is_there_at_once(open_page, tried):
    app = opened(open_page, tried, "ner", try_sentence="the patients with tachycardia")
    start = time.process_time()
    app.run()
    assert time.process_time() - start < 1


def test_probabilities_and_votes_by_hand():
    ner = Outputs(TASK_KINDS["ner"], ("O", "B"))
    rows = {"base": [[2, 0], [0, 0]], "adapted": [[0, 5], [3, 0]], "pooled": [[1, 2.5], [1.5, 0]]}
    logits = {tokenization: np.array(own, dtype=np.float32) for tokenization, own in rows.items()}
    found = ExamplePrediction(Sentence(("fever", "now"), None), ner, logits)
    assert found.tokenization == "pooled" and found.predictions == {
        "base": ("O", "O"),
        "adapted": ("B", "O"),
        "pooled": ("B", "O"),
    }
    assert found.probabilities("base")[0].tolist() == pytest.approx(
        [np.e**2 / (np.e**2 + 1), 1 / (np.e**2 + 1)]
    )
    ((row, vote),) = found.votes
    assert row == 0 and vote.outvoted == ("base",) and vote.margins == {"base": 2.0, "adapted": 5.0}
    many = ExamplePrediction(
        Text("", "", None),
        Outputs(TASK_KINDS["multilabel"], ("a", "b")),
        {"base": np.array([[0, 100]], dtype=np.float32)},
    )
    assert (
        many.probabilities("base")[0].tolist() == [0.5, 1.0]
        and many.votes == ()
        and many.tokenization == "base"
    )


def test_pairs_and_questions_are_no_plain_text(tried):
    for kind in ("nli", "qa"):
        with pytest.raises(InputError, match="Plain text cannot be read"):
            plain_examples(load_run(tried.root / "runs" / kind), ["a line"])
    with pytest.raises(InputError, match="no word"):
        plain_examples(load_run(tried.root / "runs" / "ner"), ["\u200b"])


def test_the_words_of_the_context_are_those_of_the_chosen_rule(open_page, tried):
    app = opened(
        open_page,
        tried,
        "qa",
        try_question="Which receptor?",
        try_context="SARS-CoV-2: ACE2(human)",
    )
    (rule,) = [box for box in app.selectbox if box.label == "Word rule"]
    assert rule.value == "code" and "whitespace" in rule.help
    rule.set_value("paper").run()
    assert not app.exception and not app.error
    answers = list(app.dataframe[0].value["answer"])
    assert set(answers) <= {"SARS-CoV-2:", "ACE2(human)", "SARS-CoV-2: ACE2(human)"}
    assert any("--word-rule paper" in code.value for code in app.code)


def test_the_word_rule_is_a_widget_of_fine_tuning_on_questions_alone():
    def page() -> None:
        import streamlit as st

        from vocadapt.ui.finetune.view import choose_settings

        st.text(choose_settings("quick", st.session_state.get("questions", False)).word_rule)

    app = AppTest.from_function(page).run()
    assert app.text[0].value == "code" and "Word rule" not in [box.label for box in app.selectbox]
    app.session_state["questions"] = True
    app.run()
    next(box for box in app.selectbox if box.label == "Word rule").set_value("paper").run()
    assert not app.exception and app.text[0].value == "paper"


def test_trying_is_predicting(tried):
    run = load_run(tried.root / "runs" / "classification")
    example = Text("1", "cancer disease", None)
    assert predict_example(run, example).predictions["pooled"] == run.predict([example])[0]
