"""The training examples of a model are known even if its folder is moved; zero-shot means that
the test contains none of them."""

import json

import numpy as np
import pytest

from tests.material.adapted import adapted_folder
from tests.material.commands import run_line
from tests.material.finetuning import sentences, tiny_adapted
from tests.material.questions import questions, squad
from tests.material.stated_numbers import find_numbers
from tests.material.tiny_bert import TINY_TOKENS, build_tiny_bert
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.models.language_model import open_model
from vocadapt.spaces.io.storage import save_space
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.training.examples.examples import Answer, Question, Sentence, Split, Text
from vocadapt.training.finetune.finetune import prepare
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.tasks.formats.squad import read_questions
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.seen_examples import (
    compute_fingerprints,
    count_seen,
    fingerprint_examples,
    read_seen,
    write_seen,
)
from vocadapt.training.tasks.task import Task

pytestmark = pytest.mark.usefixtures("one_thread")


def test_what_is_read_counts_and_neither_case_nor_blanks_nor_labels():
    assert compute_fingerprints(Sentence(("A", "drug"), ("O", "B"))) == compute_fingerprints(
        Sentence(("a", "Drug"), None, "d1")
    )
    assert compute_fingerprints(Text("1", "A  drug\n", ("x",))) == compute_fingerprints(
        Text("2", "a drug", ("y",))
    )
    assert compute_fingerprints(Text("1", "a", None, "b")) != compute_fingerprints(
        Text("1", "a b", None)
    )
    assert compute_fingerprints(Text("1", "a drug", None)) != compute_fingerprints(
        Sentence(("a", "drug"), None)
    )
    seen = fingerprint_examples([Question("1", "Who?", "A long context.", ())])
    asked = [("Who?", "Another."), ("What?", "A long  context."), ("Why?", "Another.")]
    assert [count_seen([Question("2", *one, ())], seen) for one in asked] == [1, 1, 0]


def test_fingerprints_are_read_back_and_hold_no_text(tmp_path):
    assert read_seen(tmp_path) is None
    seen = fingerprint_examples([Text("1", "a secret", None)])
    write_seen(seen, tmp_path)
    assert read_seen(tmp_path) == seen
    assert "secret" not in (tmp_path / "trained_on.txt").read_text(encoding="utf-8")
    (tmp_path / "trained_on.txt").write_text("a secret\n", encoding="utf-8")
    with pytest.raises(InputError, match="fingerprint"):
        read_seen(tmp_path)


def test_test_sentences_that_are_trained_on_are_counted_before_training(tmp_path):
    train, test = Split(sentences(6)), Split((*sentences(2), *sentences(3, seed=7)))
    task = Task(
        "toy",
        TASK_KINDS["ner"],
        {"train": train, "dev": Split(sentences(2, seed=8)), "test": test},
        ("Disease",),
    )
    found = prepare(open_model(tiny_adapted(tmp_path)), task, FinetuneSettings()).findings
    (finding,) = [one for one in found if "trained on" in one]
    assert find_numbers(finding)[:2] == [2, 5] and finding.startswith("test: ")


def evaluate(capsys, *arguments):
    """The exit code, the answer where there is one, and what was said of a mistake."""
    capsys.readouterr()
    code = main(["evaluate", *map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


@pytest.mark.slow
def test_zero_shot_no_example_of_the_test_was_ever_trained_on(tmp_path, capsys):
    pool = questions(20)
    general, domain = (
        squad(tmp_path / "general.json", pool[:8]),
        squad(tmp_path / "domain.json", asked(pool[8:])),
    )
    mixed = squad(tmp_path / "mixed.json", (*pool[:8], *asked(pool[8:10])))
    base, train = build_tiny_bert(tmp_path / "base"), ["--task", "qa", "--num-epochs", "1"]
    assert (
        run_line(
            f"finetune --model {base}", *train, "--train", general, "--out", tmp_path / "clean"
        )
        == 0
    )
    folder = adapted_folder(tmp_path / "clean", tmp_path / "adapted")
    code, answer, _ = evaluate(capsys, "--run", folder, "--test", domain, "--unseen")
    assert (code, answer["seen"], answer["examples"], answer["of"]) == (0, 0, 12, 12)
    assert list(answer["seeds"][0]["scores"]) == ["base", "adapted", "pooled"]

    # Two of the test's questions in training, and a second training without them: the folder
    # remembers.
    assert (
        run_line(f"finetune --model {base}", *train, "--train", mixed, "--out", tmp_path / "mixed")
        == 0
    )
    again = ["--train", str(general), "--out", str(tmp_path / "again")]
    assert main(["finetune", "--model", str(tmp_path / "mixed"), *train, *again]) == 0
    folder = adapted_folder(tmp_path / "again", tmp_path / "tainted")
    code, _, said = evaluate(capsys, "--run", folder, "--test", domain, "--unseen")
    assert code == 2 and "2 of" in said and "12 questions" in said
    code, answer, _ = evaluate(capsys, "--run", folder, "--test", domain)
    assert (code, answer["seen"]) == (0, 2)


def test_zero_shot_in_one_command(tmp_path, ask):
    pool = questions(20)
    general, domain = (
        squad(tmp_path / "general.json", pool[:8]),
        squad(tmp_path / "domain.json", asked(pool[8:])),
    )
    words = [
        "tachycardia",
        "euthymia",
        "hypertension",
        *(token for token in TINY_TOKENS if token.isalpha()),
    ]
    rng = np.random.default_rng(0)
    save_space(
        EmbeddingSpace(tuple(words), rng.normal(size=(len(words), 16)).astype(np.float32)),
        tmp_path / "vectors",
    )
    line = (
        f"zero-shot --model {build_tiny_bert(tmp_path / 'base')} --train {general} --num-epochs 1"
        f" --vectors {tmp_path}/vectors"
    )
    answer = ask(f"{line} --test {domain} --limit 5 --out {tmp_path}/out")
    assert (answer["seen"], answer["examples"], answer["of"]) == (0, 5, 12)
    assert list(answer["seeds"][0]["scores"]) == ["base", "adapted", "pooled"]
    kept = json.loads((tmp_path / "out" / "scores.json").read_text(encoding="utf-8"))
    assert kept["mean"] == answer["mean"]
    limit, seen = kept["findings"]
    assert find_numbers(limit) == [5, 12] and find_numbers(seen) == [0, 12]
    head = [
        open_model(tmp_path / "out" / name).network.state_dict()["qa_outputs.weight"]
        for name in ("general", "adapted")
    ]
    assert head[0].equal(head[1])

    # One context of the general questions in the test: refused before anything is trained.
    tainted = squad(tmp_path / "tainted.json", (*asked(pool[8:]), pool[0]))
    refused = ask(f"{line} --test {tainted} --out {tmp_path}/no", code=2)
    assert "of 13" in refused
    assert not (tmp_path / "no").exists()


def asked(found):
    """Questions of their own on contexts of their own."""
    return tuple(
        Question(
            q.id,
            f"question {q.id}",
            f"{q.context} {q.id}",
            (Answer(q.answers[0].text, q.answers[0].start),),
        )
        for q in found
    )


def test_a_folder_that_does_not_say_what_it_was_trained_on(tmp_path, capsys):
    general = squad(tmp_path / "general.json", questions(6))
    base = build_tiny_bert(tmp_path / "base", head="BertForQuestionAnswering")
    code, answer, _ = evaluate(capsys, "--run", base, "--test", general)
    assert code == 0 and answer["seen"] is None
    code, _, said = evaluate(capsys, "--run", base, "--test", general, "--unseen")
    assert code == 2 and "not record" in said


def test_a_sample_of_the_test_is_reported(tmp_path, capsys):
    general = squad(tmp_path / "general.json", questions(6))
    base = build_tiny_bert(tmp_path / "base", head="BertForQuestionAnswering")
    code, answer, _ = evaluate(capsys, "--run", base, "--test", general, "--limit", 4)
    assert (code, answer["examples"], answer["of"]) == (0, 4, 6)
    (finding,) = [one for one in answer["findings"] if one.startswith("test: ")]
    assert find_numbers(finding) == [4, 6]
    assert evaluate(capsys, "--run", base, "--limit", 4)[0] == 2


def test_no_covid_question_is_among_the_general_ones(shared):
    general, covid = (
        read_questions(shared / "data/qa" / name)
        for name in ("xquad.en.json", "200423_covidQA.json")
    )
    assert (len(general), len(covid)) == (1190, 1380)
    assert count_seen(covid.examples, fingerprint_examples(general.examples)) == 0
