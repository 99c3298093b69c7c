"""The page Try it: every kind of run, hostile text, a text file, a typed folder, and its
messages if there is no run."""

import json
import re
import shlex
import shutil
import time
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from tests.material.apps import join_values, markup, read_metrics, read_page
from tests.material.finetuning import one_thread, sentences, texts, tiny_adapted, write_conll
from tests.material.hostile import HOSTILE_TEXTS
from tests.material.questions import questions, squad
from tests.material.runs import write_runs
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.analysis.errors.votes import ExamplePrediction, find_disagreement, predict_example
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.reports.example_words import find_new_word_sentences
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.training.encoding.model_tokenizers import load_tokenizers
from vocadapt.training.examples.examples import Sentence, Text
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.run_files import load_run
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.prediction.fill_mask import fill_mask
from vocadapt.training.prediction.plain_text import plain_examples
from vocadapt.training.prediction.sentence_similarity import compare_sentences
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.ui.parts.home import page as home_view
from vocadapt.ui.parts.try_it.choice import Chosen, find_default
from vocadapt.ui.parts.try_it.filling import mask_example
from vocadapt.ui.text.number_formats import fraction

PAGE = "try"


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
            quick = (
                f"--num-epochs 2 --batch-size 4 --learning-rate 1e-2 --workspace {root}/w"
                f" --name {kind}"
            ).split()
            assert main(["finetune", *given, *quick]) == 0
    return Workspace(root / "w")


def opened(open_page, tried, kind, **query):
    app = open_page(PAGE, tried, try_run=f"{kind} · seed 1", **query)
    assert not app.exception and not app.error
    return app


def test_a_sentence_is_tokenized_and_tagged_by_each_tokenizer(open_page, tried):
    sentence = "the patients with tachycardia"
    app = opened(open_page, tried, "ner", try_sentence=sentence)
    body = markup(app)
    assert body.count('class="va-name"') == 5  # two cuts; base, adapted and pooled say
    assert 'title="##card ' in body and "va-new" in body  # cut by one, whole under the other
    assert app.query_params["try_sentence"] == sentence
    run = load_run(tried.root / "runs" / "ner")
    tags = run.predict([Sentence(tuple(sentence.split()), None)])[0]
    marked = body.split("pooled predicts")[1]
    assert marked.count("<mark>") == sum(tag.startswith("B") for tag in tags)
    # What was predicted once is there at once.
    start = time.process_time()
    app.run()
    assert time.process_time() - start < 1


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
    assert body.count("<mark>") == 3
    assert all(f"{tokenization} answers" in body for tokenization in ("base", "adapted", "pooled"))
    command = next(code.value for code in app.code if "vocadapt answer" in code.value)
    assert shlex.split(command)[-2:] == ["--question", "the disease"]
    app.text_area(key="try_context").set_value("x" * 600).run()
    assert not app.exception and "No answer" in read_page(app)


@pytest.mark.parametrize("kind", ["ner", "classification"])
@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_text_is_shown_and_never_read(kind, text, open_page, tried):
    app = opened(open_page, tried, kind)
    app.text_area(key="try_sentence").set_value(text).run()
    assert not app.exception and not app.error
    assert "<img" not in markup(app) and "\u202e" not in markup(app)
    assert text not in read_page(app)


def test_nothing_typed_is_an_invitation_and_no_word_a_message(open_page, tried):
    app = opened(open_page, tried, "ner")
    app.text_area(key="try_sentence").set_value(" ").run()
    assert not app.exception and not app.error and 'class="va-name"' not in markup(app)
    app.text_area(key="try_sentence").set_value("\u200b").run()
    assert not app.exception and "no word" in read_page(app)


def test_any_folder_with_a_head_and_one_without(open_page, tried, tiny_bert):
    app = open_page(PAGE, tried, try_run="ner · seed 1")
    app.text_input(key="try_folder").set_value(str(tried.root / "runs" / "qa")).run()
    assert not app.exception and not app.error and app.text_area(key="try_question")
    app.text_input(key="try_folder").set_value(str(tiny_bert)).run()
    assert not app.exception and not app.error and "base tokenization" in cards(app)
    app.text_input(key="try_folder").set_value("/nowhere").run()
    assert not app.exception and app.error and "/nowhere" in read_page(app)


def test_broken_weights_are_a_message(open_page, tried, tmp_path):
    shutil.copytree(tried.root, tmp_path / "w")
    (tmp_path / "w" / "runs" / "ner" / "model.safetensors").write_bytes(b"no tensor")
    app = open_page(PAGE, tmp_path / "w", try_run="ner · seed 1")
    assert not app.exception and app.error


def test_a_file_of_text_is_predicted_and_what_is_left_out_said(open_page, tried, monkeypatch):
    monkeypatch.setattr("vocadapt.ui.parts.try_it.page.MAX_LINES", 3)
    app = opened(open_page, tried, "ner")
    lines = ["the patients", "with tachycardia", "cancer", "a heart", "trials"]
    app.file_uploader(key="try_file").set_value(
        ("lines.txt", "\n".join(lines).encode(), "text/plain")
    ).run()
    assert "3 of" in read_page(app)
    app.button(key="try_predict").click().run()
    assert not app.exception and not app.error
    labels = [button.proto.label for button in app.get("download_button")]
    assert any(label.startswith("predictions.tsv") for label in labels)
    command = next(code.value for code in app.code if "vocadapt predict" in code.value)
    assert "--plain" in command and str(tried.root / "runs" / "ner") in command
    app.file_uploader(key="try_file").set_value(("lines.txt", b"\xff\xfe", "text/plain")).run()
    assert not app.exception and app.error and "UTF-8" in read_page(app)


def test_probabilities_and_votes_by_hand():
    ner = Outputs(TASK_KINDS["ner"], ("O", "B"))
    rows = {"base": [[2, 0], [0, 0]], "adapted": [[0, 5], [3, 0]], "pooled": [[1, 2.5], [1.5, 0]]}
    logits = {tokenization: np.array(own, dtype=np.float32) for tokenization, own in rows.items()}
    found = ExamplePrediction(Sentence(("fever", "now"), None), ner, logits)
    assert found.tokenization == "pooled"
    assert found.predictions == {
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
    assert many.probabilities("base")[0].tolist() == [0.5, 1.0]
    assert many.votes == ()
    assert many.tokenization == "base"


def test_pairs_and_questions_are_no_plain_text(tried):
    for kind in ("nli", "qa"):
        with pytest.raises(InputError, match="Plain text"):
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
    assert "--word-rule paper" in join_values(app.code)


def test_the_word_rule_is_a_widget_of_fine_tuning_on_questions_alone():
    def page() -> None:
        import streamlit as st

        from vocadapt.ui.parts.finetune.page import choose_settings

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


@pytest.fixture(scope="module")
def untrained(tmp_path_factory):
    """A workspace with a model before and after it was adapted, one without a head, and no run."""
    workspace = Workspace(tmp_path_factory.mktemp("untrained") / "w")
    with one_thread():
        adapted = tiny_adapted(workspace.root / "built")
        build_tiny_bert(workspace.root / "built" / "headless", head="BertModel")
    for name, folder in (
        ("tiny", adapted.parent / "before"),
        ("tiny-adapted", adapted),
        ("headless", adapted.parent / "headless"),
    ):
        (workspace.root / "models").mkdir(exist_ok=True)
        shutil.move(folder, workspace.root / "models" / name)
        Manifest("models", name, {}).save(workspace.root / "models" / name)
    return workspace


def cards(app):
    """The lists that are drawn: title -> its words, in order."""
    found = {}
    for card in markup(app).split('<div class="va-card">')[1:]:
        title = re.search(r'class="va-title"[^>]*>([^<]*)<', card)[1]
        found[title] = re.findall(r'va-row"><a[^>]*data-va-word="([^"]*)"', card)
    return found


def test_an_adapted_model_fills_the_mask_under_both_tokenizations(open_page, untrained):
    text = "the patients with [MASK] and tachycardia"
    app = open_page(PAGE, untrained, try_model="tiny-adapted", try_text=text)
    assert not app.exception and not app.error
    filled = fill_mask(open_model(untrained.root / "models" / "tiny-adapted"), text)
    lists = cards(app)
    for name in ("base", "adapted"):
        assert lists[f"{name} tokenization"] == [token for token, _ in filled[name].tokens]
    assert "tachycardia" in lists and len(lists["tachycardia"]) == 8  # its neighbors
    assert 'va-new" title="tachycardia' in markup(app)
    assert app.query_params["try_model"] == "tiny-adapted" and "try_run" not in app.query_params
    assert "fill_mask(open_model(" in join_values(app.code)


def test_a_word_in_the_address_has_its_neighbors_and_an_unknown_one_the_default(
    open_page, untrained
):
    asked = {"try_model": "tiny-adapted", "try_text": "the [MASK] heart"}
    app = open_page(PAGE, untrained, **asked, try_word="blood")
    assert "blood" in cards(app) and "blood" not in cards(app)["blood"]
    app = open_page(PAGE, untrained, **asked, try_word="<b>no such word</b>")
    assert not app.exception
    assert "heart" in cards(app)
    assert "<b>" not in markup(app).split("</style>")[-1]


def test_the_menu_holds_runs_and_models_and_the_address_names_the_choice(
    open_page, tried, tmp_path
):
    shutil.copytree(tried.root, tmp_path / "w")
    folder = build_tiny_bert(tmp_path / "w" / "models" / "plain")
    Manifest("models", "plain", {}).save(folder)
    app = open_page(PAGE, tmp_path / "w", try_run="ner · seed 1")
    picker = app.selectbox(key="try_run")
    assert {"ner", "qa", "plain"} <= {option.split(" · ")[0] for option in picker.options}
    picker.set_value("model · plain").run()
    assert not app.exception and app.query_params["try_model"] == "plain"
    assert "try_run" not in app.query_params and "base tokenization" in cards(app)
    app.selectbox(key="try_run").set_value("ner · seed 1").run()
    assert app.query_params["try_run"].startswith("ner")
    assert "try_model" not in app.query_params and app.text_area(key="try_sentence")


def test_a_model_without_a_head_has_tokens_and_neighbors_and_a_sentence(open_page, untrained):
    app = open_page(PAGE, untrained, try_model="headless", try_text="the heart and [MASK]")
    assert not app.exception and not app.error
    assert "BertModel" in read_page(app)  # why it cannot fill in a masked word
    assert list(cards(app)) == ["heart"]
    # Nothing that needs a head is drawn; what the model can do is.
    assert app.text_area(key="try_text").label == "Sentence"
    assert not app.text_area(key="try_text").help
    assert len(app.header) == 2 and app.header[0].value == "Neighbors"
    assert "pooled" not in markup(app)
    app.text_area(key="try_second").set_value("the heart and [MASK]").run()
    similar = read_metrics(app)
    assert similar["base tokenization"] == "1.000"


def test_a_headless_adapted_model_opens_on_its_new_words(open_page, untrained, tmp_path):
    shutil.copytree(untrained.root, tmp_path / "w")
    folder = tmp_path / "w" / "models" / "tiny-adapted"
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["BertModel"]}))
    app = open_page(PAGE, tmp_path / "w", try_model="tiny-adapted")
    assert not app.exception and not app.error
    assert "tachycardia" in app.text_area(key="try_text").value
    assert "[MASK]" not in app.text_area(key="try_text").value
    assert app.header[0].value.endswith("new words") and "tachycardia" in cards(app)
    # Both tokenizations: before and after the model was adapted.
    labels = [one.label for one in app.metric]
    assert labels[-2:] == ["base tokenization", "adapted tokenization"]


def test_similarity_is_the_cosine_of_mean_hidden_states(untrained):
    model = open_model(untrained.root / "models" / "tiny-adapted")
    one, other = "the heart and tachycardia", "the blood"
    found = compare_sentences(model, one, other)
    assert list(found) == ["base", "adapted"]
    vectors = []
    for sentence in (one, other):
        tokenizer = load_tokenizers(model)["adapted"]
        ids = [tokenizer.specials["cls"], *tokenizer.ids([sentence])[sentence]]
        ids.append(tokenizer.specials["sep"])
        with torch.inference_mode():
            states = model.reader.base_model(input_ids=torch.tensor([ids])).last_hidden_state[0]
        vectors.append(states.double().mean(0))
    expected = torch.nn.functional.cosine_similarity(*vectors, dim=0)
    assert found["adapted"] == pytest.approx(float(expected), abs=1e-6)
    assert compare_sentences(model, one, one)["adapted"] == pytest.approx(1)
    # Without a new word both tokenizations are the same.
    same = compare_sentences(model, other, "the heart")
    assert same["base"] == pytest.approx(same["adapted"])
    with pytest.raises(InputError, match="empty"):
        compare_sentences(model, one, " ")


def test_examples_are_the_sentences_with_the_most_new_words():
    """New words in capitals: the second sentence has most, the fourth adds one that it lacks."""
    lines = [
        "one A two B three. A B C one two",
        "W one two three four",
        "too few A",
        "no new one here now",
    ]
    known = SimpleNamespace(
        splitter=SimpleNamespace(words=lambda text: tuple(text.replace(".", "").split())),
        vocabulary=SimpleNamespace(spell=lambda word: word),
    )
    found = find_new_word_sentences(lines, known, set("ABCW"))
    assert [len(text) for text in found] == [13, 20, 18]
    assert find_new_word_sentences(lines, known, set()) == []


def test_it_opens_on_the_fair_pair_and_not_on_the_newest_run(open_page, untrained, tmp_path):
    shutil.copytree(untrained.root, tmp_path / "w")
    workspace = Workspace(tmp_path / "w")
    gold = (Sentence(("the", "heart"), ("O", "B-D")),)
    right = [("O", "B-D")]
    write_runs(workspace, "base", gold, {1: {"base": right}})
    write_runs(workspace, "adapted", gold, {1: {"base": right, "adapted": right, "pooled": right}})
    quick = asdict(FinetuneSettings(epochs=2))
    newest = write_runs(workspace, "quick", gold, {1: {"base": right}}, settings=quick)
    offered = {
        "quick": Chosen(run=str(newest)),
        "adapted": Chosen(run=str(newest.parent / "adapted")),
    }
    assert find_default(workspace, offered) == "adapted"
    # The run of the pair has no weights: a model is shown, not the run with other settings.
    folder = workspace.folder("models", "tiny-adapted")
    Manifest("models", "tiny-adapted", {}, numbers={"added": 1}).save(folder)
    offered = {"quick": Chosen(run=str(newest)), "model": Chosen(model=str(folder))}
    assert find_default(workspace, offered) == "model"


def test_the_first_sentence_has_a_new_word_and_one_mask(open_page, untrained):
    app = open_page(PAGE, untrained, try_model="tiny-adapted")
    text = app.text_area(key="try_text").value
    assert text.count("[MASK]") == 1 and "tachycardia" in text
    other = open_page(PAGE, untrained, try_model="tiny").text_area(key="try_text").value
    assert other.count("[MASK]") == 1


def test_an_example_masks_a_word_with_content(untrained):
    model = open_model(untrained.root / "models" / "tiny-adapted")
    masked = mask_example(model, "and the patients with tachycardia of the heart")
    assert masked == "and the [MASK] with tachycardia of the heart"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the heart", "no [MASK]"),
        ("[MASK] heart [MASK]", "2 masks"),
        ("[MASK] " + "heart " * 90, "at most 62"),
        ("[MASK] " * 400, "Shorten"),
    ],
)
def test_a_text_that_cannot_be_filled_is_answered_in_a_sentence(
    text, message, open_page, untrained
):
    app = open_page(PAGE, untrained, try_model="tiny-adapted")
    app.text_area(key="try_text").set_value(text).run()
    shown = [element.value.replace("\\", "") for element in (*app.info, *app.markdown)]
    assert not app.exception and not app.error and any(message in one for one in shown)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_text_around_a_mask_is_shown_and_never_read(text, open_page, untrained):
    app = open_page(PAGE, untrained, try_model="tiny-adapted")
    app.text_area(key="try_text").set_value(f"{text} [MASK]").run()
    assert not app.exception
    assert "<img" not in markup(app) and "\u202e" not in markup(app)


def test_runs_without_weights_are_left_out_and_named(open_page, tried, tmp_path):
    shutil.copytree(tried.root, tmp_path / "w")
    (tmp_path / "w" / "runs" / "ner" / "model.safetensors").unlink()
    app = open_page(PAGE, tmp_path / "w")
    assert not app.exception and not app.error
    offered = app.selectbox(key="try_run").options
    assert not any(option.startswith("ner") for option in offered)
    assert "offered: ner" in read_page(app)


def test_a_sentence_without_a_mask_is_masked_with_a_click(open_page, untrained):
    app = open_page(PAGE, untrained, try_model="tiny-adapted")
    sentence = "Patients with Tachycardia and a heart"
    app.text_area(key="try_text").set_value(sentence).run()
    button = app.button(key="try_mask_0")
    assert button.label == "tachycardia"  # the new word stands first
    button.click().run()
    assert not app.exception and not app.info
    assert app.text_area(key="try_text").value == sentence.replace("Tachycardia", "[MASK]")
    assert "adapted tokenization" in cards(app)
    assert not [one for one in app.button if str(one.key).startswith("try_mask")]


def test_the_example_of_a_model_is_a_sentence_of_its_own_text(open_page, seeded):
    app = open_page(PAGE, seeded, try_model="trials-model")
    assert not app.exception
    text = app.text_area(key="try_text").value
    before, _, after = text.partition("[MASK]")
    written = (seeded.root.parent / "trials.txt").read_text(encoding="utf-8").lower()
    assert text.count("[MASK]") == 1
    assert before.lower() in written and after.lower() in written


def test_a_typed_sentence_ends_the_step_of_home_and_is_not_kept(open_page, seeded, tmp_path):
    shutil.copytree(seeded.root, tmp_path / "trials", symlinks=True)
    workspace = Workspace(tmp_path / "trials")
    for kind in ("projections", "changes"):
        shutil.rmtree(workspace.root / kind, ignore_errors=True)
    step = next(one for one in home_view.WALK if one.part == "try")
    app = open_page(PAGE, workspace)
    assert home_view.find_state(step, workspace).state == "ready"  # an example was shown
    app.text_area(key="try_text").set_value("the [MASK] beats").run()
    assert not app.exception
    state = home_view.find_state(step, workspace)
    assert (state.state, state.part, state.found) == ("done", "try", ())
    assert all(b"beats" not in path.read_bytes() for path in workspace.root.glob("*.json"))
    first = (workspace.root / "tried.json").read_bytes()
    app.text_area(key="try_text").set_value("a [MASK] beats").run()
    assert (workspace.root / "tried.json").read_bytes() == first
    # Without a model there are no new words to look at.
    shutil.rmtree(workspace.root / "models")
    assert home_view.find_state(step, workspace).state == "later"


def test_a_sentence_is_tried_in_a_workspace_that_cannot_be_written(
    open_page, seeded, tmp_path, monkeypatch
):
    shutil.copytree(seeded.root, tmp_path / "trials", symlinks=True)

    def refuse(*given):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("vocadapt.lab.workspace.trials.strict_json.write", refuse)
    app = open_page(PAGE, tmp_path / "trials")
    app.text_area(key="try_text").set_value("the [MASK] beats").run()
    assert not app.exception and not app.error
    assert not (tmp_path / "trials" / "tried.json").exists()
