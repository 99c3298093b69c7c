"""Question answering: windows and chunks, maximum over the tokens of a word, learned answers,
and zero-shot use end to end."""

import json
import re

import numpy as np
import pytest
import torch
from transformers.utils import ModelOutput

from tests.material.adapted import adapted_folder
from tests.material.commands import run_line
from tests.material.input_errors import raises_input_error
from tests.material.questions import LONG, questions, squad
from tests.material.stated_numbers import find_numbers
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.cli import main
from vocadapt.models.heads import QUESTION
from vocadapt.models.language_model import open_model
from vocadapt.training.encoding.encoding import EncodingSettings
from vocadapt.training.encoding.question_encoding import (
    encode_for_training,
    encode_questions,
    find_answer_words,
)
from vocadapt.training.examples.examples import Answer, Question, Split
from vocadapt.training.finetune.finetune import finetune, prepare
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.predict import LOWEST, compute_logits
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.tokenizations import build_batch
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.task import Task

pytestmark = pytest.mark.usefixtures("one_thread")

QA = Outputs(TASK_KINDS["qa"], ("start", "end"))


class Echo(torch.nn.Module):
    """Says the id it reads as start, and its place as end."""

    device = torch.device("cpu")

    def forward(self, input_ids, **rest):
        places = torch.arange(input_ids.shape[1]).expand_as(input_ids)
        return ModelOutput(start_logits=input_ids.float(), end_logits=places.float())


def test_a_word_has_the_highest_of_its_pieces_start_and_end_apart(adapted, tokenizers):
    asked = [Question("1", "the drug", "Heart tachycardia, trial", None)]
    logits = compute_logits(Echo(), encode_questions(asked, tokenizers, EncodingSettings()), 0)
    ids = adapted.vocabulary.ids
    # [CLS] the drug [SEP] heart tachy ##card ##i ##a , trial [SEP]; words: heart, tachycardia, the
    # comma, trial
    highest = max(ids[piece] for piece in ("tachy", "##card", "##i", "##a"))
    assert logits["base"][0].tolist() == [
        [ids["heart"], 4],
        [highest, 8],
        [ids[","], 9],
        [ids["trial"], 10],
    ]
    assert logits["adapted"][0][:, 0].tolist() == [
        ids["heart"],
        ids["tachycardia"],
        ids[","],
        ids["trial"],
    ]


def test_every_piece_of_a_long_context_is_scored_once(tokenizers):
    encoded = encode_questions(
        [Question("1", "the drug", LONG, None)], tokenizers, EncodingSettings(40)
    )
    for name, views in encoded.views.items():
        assert max(len(view.ids) for view in views) == 40 and len(views) > 3
        assert sum(len(view.places) for view in views) == len(tokenizers[name].ids([LONG])[LONG])
    assert encoded.sizes == (210,)
    assert all(
        not np.isclose(rows, LOWEST).any()
        for own in compute_logits(Echo(), encoded, 0).values()
        for rows in own
    )


def test_words_without_tokens_are_no_answer(tokenizers):
    question = Question("1", "the", "heart \u200b placebo", None)
    rows = compute_logits(Echo(), encode_questions([question], tokenizers, EncodingSettings()), 0)[
        "base"
    ][0]
    assert rows[1].tolist() == [LOWEST, LOWEST]
    assert QA.predict(rows, question) in ("heart", "placebo")
    assert QA.predict(np.zeros((0, 2), dtype=np.float32), Question("2", "the", "", None)) == ""


def test_the_predicted_answer_occurs_in_the_context():
    question = Question("1", "?", "Fever, in  patients.", None)
    rows = np.array(
        [[0, 0], [0, 0], [5, 1], [0, 4], [0, 0]], dtype=np.float32
    )  # Fever | , | in | patients | .
    assert QA.predict(rows, question) == "in  patients"


def test_training_chunks_are_equal_under_every_tokenization_and_contain_the_answer(tokenizers):
    place = LONG.index("tachycardia", 600)
    question = Question("1", "who", LONG, (Answer("tachycardia", place),))
    encoded = encode_for_training([question], tokenizers, EncodingSettings(40))
    assert {len(views) for views in encoded.views.values()} == {len(encoded)}
    for base, own in zip(encoded.views["base"], encoded.views["adapted"], strict=True):
        assert set(base.rows) == set(own.rows) and len(base.ids) <= 40
    words = np.array(find_answer_words(question))
    holding = 0
    for view in encoded.views["base"]:
        start, end = build_batch([view], 0, [words], QUESTION)["labels"][0].tolist()
        assert (start == 0) == (end == 0) == (words[0] not in view.rows)
        if start:
            holding += 1
            assert end - start == 3
            assert set(view.rows[(view.places >= start) & (view.places <= end)]) == set(words)
    assert 1 <= holding <= 2


def test_answers_are_learned_by_heart(adapted):
    split = Split(questions(12))
    task = Task("toy", TASK_KINDS["qa"], {"train": split, "test": split}, ())
    run = finetune(prepare(adapted, task, FinetuneSettings(epochs=40, batch=6, lr=1e-2)))
    assert {tokenization: score.values["exact"] for tokenization, score in run.scores.items()} == {
        "base": 1,
        "adapted": 1,
        "pooled": 1,
    }


def test_answers_that_stand_nowhere_are_not_trained_on(adapted):
    lost = Question("x", "who", "a trial", (Answer("nobody", None),))
    prepared = prepare(
        adapted,
        Task("toy", TASK_KINDS["qa"], {"train": Split((*questions(3), lost))}, ()),
        FinetuneSettings(),
    )
    assert len(prepared.train) == 3
    with raises_input_error("no-answers"):
        prepare(
            adapted,
            Task("toy", TASK_KINDS["qa"], {"train": Split((lost,))}, ()),
            FinetuneSettings(),
        )


def test_a_question_longer_than_the_window_is_named(tokenizers):
    asked = [Question("q7", "the " * 61, "a trial", None)]
    for encode in (encode_questions, encode_for_training):
        with raises_input_error("long-question", "q7", "61", "64") as error:
            encode(asked, tokenizers, EncodingSettings(64))
        assert find_numbers(error.value.problem)[-1] in (59, 60)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--preset", "transfer-target"], "target model"),
        (["--preset", "green-bert"], "word vectors"),
        (["--vectors", "nowhere"], "nowhere"),
        (["--corpus", "nowhere.txt"], "nowhere.txt"),
        (["--corpus", "text.txt", "--vectors", "text.txt"], "got both"),
        (["--corpus", "text.txt", "--test", "unanswered.json"], "no answers"),
        (["--corpus", "text.txt", "--out", "taken"], "taken already"),
        (["--corpus", "text.txt", "--preset", "exbert-s3", "--model", "distil"], "DistilBert"),
        (["--corpus", "text.txt", "--preset", "green-bert+mlm"], "continues pretraining"),
    ],
)
def test_zero_shot_refuses_before_anything_is_trained(given, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "vocadapt.lab.reports.zero_shot.run_step", lambda *_: pytest.fail("a step was run")
    )
    squad(tmp_path / "general.json", questions(8))
    own = Question("d", "which drug", "patients with placebo", (Answer("placebo", 14),))
    answered = squad(tmp_path / "domain.json", [own]).read_text(encoding="utf-8")
    (tmp_path / "unanswered.json").write_text(
        re.sub(r', "answers": \[[^]]*\]', "", answered), encoding="utf-8"
    )
    build_tiny_bert(tmp_path / "base")
    config = {
        "model_type": "distilbert",
        "architectures": ["DistilBertForMaskedLM"],
        "vocab_size": 151,
    }
    build_tiny_bert(tmp_path / "distil")
    (tmp_path / "distil" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "text.txt").write_text("tachycardia of the heart\n", encoding="utf-8")
    (tmp_path / "taken" / "adapted").mkdir(parents=True)
    (tmp_path / "taken" / "adapted" / "a").write_text("mine", encoding="utf-8")
    usual = ["--model", "base", "--train", "general.json", "--test", "domain.json", "--out", "out"]
    assert main(["zero-shot", *usual, *given]) == 2
    assert said in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_zero_shot_a_run_is_adapted_and_then_tested_on_what_it_never_saw(tmp_path, capsys):
    general, domain = (
        squad(tmp_path / "general.json", questions(8)),
        squad(tmp_path / "domain.json", questions(5)),
    )
    base = build_tiny_bert(tmp_path / "base")
    train = ["--train", str(general), "--num-epochs", "2", "--learning-rate", "1e-2"]
    assert run_line(f"finetune --model {base} --task qa", *train, "--out", tmp_path / "run") == 0
    folder = adapted_folder(tmp_path / "run", tmp_path / "adapted")
    capsys.readouterr()
    assert main(["evaluate", "--run", str(folder), "--test", str(domain), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["scorer"] == "squad"
    assert list(answer["seeds"][0]["scores"]) == ["base", "adapted", "pooled"]
    assert run_line(f"predict --model {folder} {domain} --out {tmp_path}/said.json --json") == 0
    capsys.readouterr()
    score = f"score --gold {domain} --predicted {tmp_path}/said.json --kind qa --json"
    assert run_line(score) == 0
    assert json.loads(capsys.readouterr().out)["f1"] == answer["mean"]["f1"]
    head = [
        dict(open_model(path).network.named_parameters()) for path in (tmp_path / "run", folder)
    ]
    assert torch.equal(head[0]["qa_outputs.weight"], head[1]["qa_outputs.weight"])
