"""Answers: the best one worked by hand, its position and window, no answer, several questions,
every tokenization, the command."""

import json

import numpy as np
import pytest

from tests.material.adapted import adapted_folder
from tests.material.commands import run_line
from tests.material.finetuning import sentences, write_conll
from tests.material.input_errors import raises_input_error
from tests.material.questions import LONG, questions, squad
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.training.examples.examples import Question
from vocadapt.training.finetune.predict import LOWEST
from vocadapt.training.finetune.run_files import load_run
from vocadapt.training.prediction.answering import MAX_ANSWERS, answer, find_best_answers
from vocadapt.training.tasks.kinds import TASK_KINDS

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny model that learned to answer, and was then adapted."""
    root = tmp_path_factory.mktemp("answers")
    general = squad(root / "general.json", questions(12))
    train = (
        f"--task qa --train {general} --num-epochs 30 --learning-rate 1e-2 --batch-size 6".split()
    )
    assert (
        run_line("finetune --model", build_tiny_bert(root / "base"), *train, "--out", root / "run")
        == 0
    )
    return adapted_folder(root / "run", root / "adapted")


@pytest.fixture(scope="module")
def run(folder):
    return load_run(folder)


def test_the_best_answers_by_hand():
    # words: fever | in | patients | . ; start + end: fever 3+0, "fever in" 3+2, in 1+2, …
    rows = np.array([[3, 0], [1, 2], [0, 1], [0, 0]], dtype=np.float32)
    context = "Fever in patients."
    found = find_best_answers(rows, context, 3)
    assert [(one.start, one.end, one.score) for one in found] == [(0, 8, 5), (0, 17, 4), (0, 5, 3)]
    assert all(one.text == context[one.start : one.end] for one in found)
    every = np.exp(np.array([5, 4, 3, 3, 3, 2, 1, 1, 0, 0]))  # all ten stretches of four words
    assert found[0].probability == pytest.approx(every[0] / every.sum())


def test_words_are_those_of_the_rule_by_hand():
    """MERS-CoV: four words of the released program ("MERS" "-" "CoV" "."), one of the paper
    ("MERS-CoV.").
    """
    code = np.array([[5, 0], [0, 0], [0, 4], [0, 1]], dtype=np.float32)
    assert find_best_answers(code, "MERS-CoV.")[0].text == "MERS-CoV"
    assert (
        find_best_answers(np.array([[5, 4]], dtype=np.float32), "MERS-CoV.", rule="paper")[0].text
        == "MERS-CoV."
    )
    with raises_input_error("unknown-choice", "mine"):
        TASK_KINDS["qa"].set_word_rule([], "mine")
    question = Question("1", "q", "MERS-CoV.", None)
    assert (
        TASK_KINDS["qa"].set_word_rule([question], "paper")[0] == question
    )  # how it is read is no part of what is asked


def test_logits_are_pooled_over_the_words_of_the_rule(run):
    """The word of the paper has the highest start and end of the pieces that the released program's
    words share out.
    """
    context = "no fever, (cough) or pain-free days"
    code, paper = (
        run.logits(run.apply_word_rule([Question("1", "what?", context, None)], rule))
        for rule in ("code", "paper")
    )
    ends = [
        list(range(bounds[0], bounds[1]))
        for bounds in ((0, 1), (1, 3), (3, 6), (6, 7), (7, 10), (10, 11))
    ]
    for tokenization in ("base", "adapted"):
        assert len(code[tokenization][0]) == 11 and len(paper[tokenization][0]) == 6
        expected = np.stack([code[tokenization][0][places].max(axis=0) for places in ends])
        np.testing.assert_allclose(paper[tokenization][0], expected, atol=1e-6)
    assert (
        answer(run, ["what?"], context, rule="paper")[0].best["pooled"][0].text.split()[0]
        in context.split()
    )
    assert run.word_rule == "code"


def test_answers_of_one_text_are_one_answer():
    context = " ".join(["drug"] * 30)
    found = find_best_answers(np.zeros((30, 2), dtype=np.float32), context, MAX_ANSWERS, 4)
    assert [(one.text, one.start, one.probability) for one in found] == [("drug", 0, 1.0)]
    many = " ".join(["drug"] * 30 + [f"x{n}" for n in range(5)])
    rows = np.zeros((35, 2), dtype=np.float32)
    rows[30:] = -1
    assert {one.text for one in find_best_answers(rows, many, MAX_ANSWERS, 4)} == {
        "drug",
        *(f"x{n}" for n in range(5)),
    }


def test_no_answer_within_the_characters():
    rows = np.zeros((1, 2), dtype=np.float32)
    assert find_best_answers(rows, "x" * 500) and find_best_answers(rows, "x" * 501) == ()
    assert find_best_answers(rows + LOWEST, "x") == ()


def test_every_cut_answers_and_says_where_it_read(run):
    context = f"{LONG} {LONG} {LONG}"
    found = answer(run, ["the disease", "the drug"], context, 2)
    assert [one.question for one in found] == ["the disease", "the drug"]
    for one in found:
        assert list(one.best) == ["base", "adapted", "pooled"]
        assert list(one.windows) == ["base", "adapted"]
        for tokenization, best in one.best.items():
            assert all(context[answered.start : answered.end] == answered.text for answered in best)
            assert len(best) == 2
            assert best[0].score >= best[1].score and len({answered.text for answered in best}) == 2
            if tokenization in one.windows:
                part = one.windows[tokenization]
                assert 1 <= part.window <= part.of
                assert part.start <= best[0].start < part.end <= len(context)
    many = {tokenization: part.of for tokenization, part in found[0].windows.items()}
    assert many["base"] > many["adapted"] > 1  # tachycardia in one piece: fewer windows


def test_the_best_answer_is_what_predict_says(run):
    context = "trial placebo cancer group"
    asked = Question("1", "the disease", context, None)
    for tokenization in ("base", "adapted", "pooled"):
        assert (
            answer(run, [asked.question], context)[0].best[tokenization][0].text
            == run.predict([asked], tokenization)[0]
            == "cancer"
        )


def test_what_cannot_be_answered(run, tmp_path):
    for asked, context, said in [
        (["who"], " \n", "no words"),
        ([" "], "a trial", "Expected a question"),
        ([], "a trial", "Expected a question"),
        (["the " * 61], "a trial", "room"),
    ]:
        with pytest.raises(InputError, match=said):
            answer(run, asked, context)
    with raises_input_error("out-of-range", "20"):
        answer(run, ["who"], "a trial", 21)
    assert answer(run, ["who"], "x" * 600)[0].best["pooled"] == ()
    assert answer(run, ["who"], "\u200b")[0].best["pooled"] == ()


def test_the_command(folder, tmp_path, capsys):
    context = tmp_path / "context.txt"
    context.write_text("trial placebo cancer group", encoding="utf-8")
    ask = [
        *f"answer --model {folder} --context {context} --question".split(),
        "the disease",
        "the drug",
    ]
    assert main([*ask, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tokenization"] == "pooled" and len(found["answers"]) == 2
    first = found["answers"][0]
    assert (first["answer"], first["start"], first["end"]) == ("cancer", 14, 20)
    assert first["score"] > 0
    assert set(first["best"]) == {"base", "adapted", "pooled"}
    assert first["windows"]["base"]["of"] == 1
    assert main([*ask, "--tokenization", "base", "-n", "3"]) == 0
    shown = capsys.readouterr().out
    assert "cancer" in shown and "adapted" not in shown and ": 0–26" in shown
    context.write_text("x" * 501, encoding="utf-8")
    assert main([*ask, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"][0]["answer"] is None
    assert main(ask) == 0 and "no answer" in capsys.readouterr().out


def test_a_run_that_answers_no_questions(tmp_path, capsys):
    train = write_conll(tmp_path / "train.tsv", sentences(8))
    model = str(build_tiny_bert(tmp_path / "base"))
    given = ["--model", model, "--task", "ner", "--train", str(train), "--num-epochs", "1"]
    assert main(["finetune", *given, "--out", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert run_line(f"answer --model {tmp_path}/run --context {train} --question who") == 2
    assert "question answering" in capsys.readouterr().err


def test_the_word_rule_is_a_flag_and_stands_in_the_manifest(tmp_path, capsys):
    context = tmp_path / "context.txt"
    context.write_text("trial (placebo) cancer-free group", encoding="utf-8")
    general = squad(tmp_path / "general.json", questions(6))
    other = squad(tmp_path / "domain.json", questions(4))
    out, base = str(tmp_path / "run"), str(build_tiny_bert(tmp_path / "base"))
    train = ["--model", base, "--train", str(general), "--num-epochs", "1", "--word-rule", "paper"]
    assert main(["finetune", *train, "--task", "qa", "--test", str(other), "--out", out]) == 0
    run = load_run(tmp_path / "run")
    assert (
        run.word_rule
        == "paper"
        == json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["word_rule"]
    )
    assert (
        json.loads((tmp_path / "run" / "manifest.json").read_text())["settings"]["finetune"][
            "word_rule"
        ]
        == "paper"
    )
    assert {question.word_rule for question in run.test_predictions.split.examples} == {"paper"}
    capsys.readouterr()
    ask = [*f"answer --model {out} --context {context} --question".split(), "the disease", "--json"]
    assert main(ask) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["word_rule"] == "paper"
    assert set(found["answers"][0]["answer"].split()) <= set(context.read_text().split())
    assert main([*ask, "--word-rule", "code"]) == 0
    assert json.loads(capsys.readouterr().out)["word_rule"] == "code"
    for flags, rule in (([], "paper"), (["--word-rule", "code"], "code")):
        assert main(["evaluate", "--run", out, "--test", str(other), "--json", *flags]) == 0
        assert json.loads(capsys.readouterr().out)["word_rule"] == rule
        said = [
            *f"predict --model {out} {other} --out {tmp_path}/{rule}.json --json".split(),
            *flags,
        ]
        assert main(said) == 0 and json.loads(capsys.readouterr().out)["word_rule"] == rule
    assert main(["evaluate", "--run", out, "--word-rule", "code"]) == 2
    assert "word rule" in capsys.readouterr().err
    tagged = write_conll(tmp_path / "train.tsv", sentences(8))
    line = (
        f"--model {base} --task ner --train {tagged} --word-rule paper --out {tmp_path}/no".split()
    )
    assert main(["finetune", *line]) == 2
    assert "question answering" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
