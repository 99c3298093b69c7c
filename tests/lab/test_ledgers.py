"""Two sets of predictions by name: runs, tokenizations of one run, files of other programs; and
every way in which they do not match."""

import json
from dataclasses import replace

import pytest

from tests.material.finetuning import one_thread, sentences, texts, tiny_adapted, write_conll
from tests.material.input_errors import raises_input_error
from tests.material.runs import write_run
from vocadapt.analysis.errors.slicing import SliceSettings
from vocadapt.analysis.errors.word_tokenizations import WordIndex
from vocadapt.lab.reports.ledgers import MAX_CACHED_SLICINGS, PairSpec, open_pair
from vocadapt.lab.results.runs import find_corpus, load_training_examples
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.training.examples.examples import Sentence, Text
from vocadapt.training.finetune.run_files import load_run
from vocadapt.training.finetune.settings import FinetuneSettings

GOLD = (Sentence(("no", "fever"), ("O", "B-D")), Sentence(("a", "cough"), ("O", "B-D")))
RIGHT, NOTHING = [("O", "B-D"), ("O", "B-D")], [("O", "O"), ("O", "O")]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a really trained run of an adapted model, and the model's own."""
    folder = tmp_path_factory.mktemp("trained")
    tiny_adapted(folder)
    train, test = (
        write_conll(folder / f"{name}.txt", sentences(count, seed))
        for name, seed, count in (("train", 0, 20), ("test", 3, 8))
    )
    given = {"model": str(folder / "adapted"), "train": str(train), "test": str(test)}
    settings = FinetuneStep(FinetuneSettings(epochs=2, batch=5, lr=5e-3), kind="ner", limit=15)
    with one_thread():
        run_step(Spec(settings, given), folder / "runs" / "one")
    return folder


def runs(tmp_path, **said):
    return [str(write_run(tmp_path / name, GOLD, {"base": own})) for name, own in said.items()]


def test_two_runs(tmp_path):
    found = open_pair(PairSpec(*runs(tmp_path, a=NOTHING, b=RIGHT)))
    assert found.ledger.counts["fixed"] == 2 and (found.test.a, found.test.b) == (0.0, 1.0)
    assert found.tokenizations == ("base", "base")
    assert found.slicing().by_tokenization() == {}
    assert found.train is None
    assert not found.words.has_two_tokenizations
    assert found.ending("ia") is None
    assert [one.name for one in found.slicing().scores()] == ["suffix", "rest"]


def test_the_scores_of_a_few_settings_are_kept(tmp_path):
    found = open_pair(PairSpec(*runs(tmp_path, a=NOTHING, b=RIGHT)))
    first = found.slicing()
    assert found.slicing(SliceSettings()) is first and first.entries() is first.entries()
    for number in range(MAX_CACHED_SLICINGS):
        found.slicing(SliceSettings(seldom=10 + number))
    assert found.slicing() is not first
    assert found.slicing().scores() == first.scores()


def test_other_settings_of_the_slices_tokenize_no_word_again(tmp_path, monkeypatch):
    found = open_pair(PairSpec(*runs(tmp_path, a=NOTHING, b=RIGHT)))
    before = found.slicing().scores()
    monkeypatch.setattr(WordIndex, "tokenize_all", None)
    other = found.slicing(SliceSettings(suffix="zzz"))
    assert [one.n for one in other.scores(["suffix"])] == [0]
    assert found.slicing(SliceSettings()).scores() == before


def test_the_tokenizations_of_one_run(trained):
    run = str(trained / "runs" / "one")
    found = open_pair(PairSpec(run))
    assert found.tokenizations == ("base", "pooled")
    assert list(found.slicing().by_tokenization()) == ["base", "adapted", "pooled"]
    assert found.words.tokenize("tachycardia").new == ("tachycardia",)
    assert found.words.tokenize("tachycardia").seen > 0
    words = [
        (word, tag)
        for one in found.train
        for word, tag in zip(one.words, one.tags, strict=True)
        if word.endswith("ia")
    ]
    ending = found.ending("ia")
    assert ending.occurrences == len(words)
    assert ending.inside == sum(tag != "O" for _, tag in words)
    assert ending.inside > 0
    assert found.ending("ia") is ending  # counted once
    assert len(found.train) == 15
    assert set(found.slicing().available) >= {"new-token", "unseen", "unseen-entity"}
    counts = open_pair(PairSpec(run, run, ("base", "adapted"))).ledger.counts
    gold = sum(tag != "O" for example in found.split.examples for tag in example.tags)
    assert sum(counts[name] for name in ("fixed", "broken", "both wrong", "both right")) == gold
    for entry in found.ledger.entries:
        vote = found.ledger.vote(entry)
        assert vote is None or set(vote.predicted) == {"base", "adapted", "pooled"}


def test_training_examples_that_were_changed_since_are_not_known(trained, tmp_path):
    run = load_run(trained / "runs" / "one")
    assert len(load_training_examples(run)) == 15 and find_corpus(run.folder) is None
    path, kept = trained / "train.txt", (trained / "train.txt").read_text(encoding="utf-8")
    path.write_text(kept + "\nmore\tO\n", encoding="utf-8")
    assert load_training_examples(run) is None
    path.write_text(kept, encoding="utf-8")
    assert len(load_training_examples(run)) == 15
    # A run of a version that drew another sample.
    changed = replace(run, record={**run.record, "trained_labels": {"X": 3}})
    assert run.record["trained_labels"] and load_training_examples(changed) is None
    alone = write_run(tmp_path / "alone", GOLD, {"base": RIGHT})
    assert load_training_examples(load_run(alone)) is None


def test_predictions_of_others_against_gold_and_against_a_run(tmp_path):
    gold = write_conll(tmp_path / "gold.txt", GOLD)
    ours = write_conll(
        tmp_path / "ours.txt",
        tuple(Sentence(one.words, tags) for one, tags in zip(GOLD, RIGHT, strict=True)),
    )
    lines = [
        json.dumps({"words": one.words, "tags": tags})
        for one, tags in zip(GOLD, NOTHING, strict=True)
    ]
    theirs = tmp_path / "theirs.jsonl"
    theirs.write_text("\n".join(lines), encoding="utf-8")
    found = open_pair(PairSpec(str(theirs), str(ours), gold=str(gold), kind="ner"))
    assert found.ledger.counts["fixed"] == 2 and found.sides[0].name == "theirs.jsonl"
    (run,) = runs(tmp_path, run=RIGHT)
    against = open_pair(PairSpec(str(theirs), run))
    assert against.ledger.counts["fixed"] == 2 and against.tokenizations == ("", "base")
    assert open_pair(PairSpec(run, str(theirs), gold=str(gold))).ledger.counts["broken"] == 2


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ((GOLD[0], Sentence(("a", "cold"), ("O", "B-D"))), "example 2"),
        ((Sentence(("no", "fever"), ("O", "O")), GOLD[1]), "labels"),
        ((*GOLD, Sentence(("x", "y"), ("O", "O"))), "2 and 3"),
    ],
)
def test_other_examples_are_refused_and_the_first_that_differs_is_reported(tmp_path, other, said):
    first = write_run(tmp_path / "a", GOLD, {"base": RIGHT})
    second = write_run(tmp_path / "b", other, {"base": [("O",) * 2] * len(other)})
    with raises_input_error("different-examples", said):
        open_pair(PairSpec(str(first), str(second)))


def test_other_tasks_and_missing_parts_are_messages(tmp_path):
    (ner,) = runs(tmp_path, ner=RIGHT)
    labeled = texts(2)
    said = {"base": [one.labels for one in labeled]}
    other = str(write_run(tmp_path / "text", labeled, said, kind="classification"))
    bare = tmp_path / "bare.txt"
    bare.write_text("no\tO\nfever\tB-D\n", encoding="utf-8")
    for asked, code in (
        (PairSpec(ner, other), "different-tasks"),
        (PairSpec(ner, kind="qa"), "different-tasks"),
        (PairSpec(str(bare), str(bare)), "no-kind"),
        (PairSpec(str(bare), str(bare), kind="ner"), "no-gold"),
        (PairSpec(ner, str(tmp_path / "nowhere")), "no-run"),
        (PairSpec(ner, str(bare)), "other-length"),
        (PairSpec(ner, ner, ("base", "adapted")), "no-tokenization"),
        (PairSpec(ner, scorer="squad"), "unknown-choice"),
    ):
        with raises_input_error(code):
            open_pair(asked)


def test_without_labels_there_is_nothing_to_compare(tmp_path):
    files = [
        write_conll(tmp_path / name, GOLD, tags)
        for name, tags in (("gold.txt", False), ("ours.txt", True))
    ]
    with raises_input_error("no-labels"):
        open_pair(PairSpec(str(files[1]), str(files[1]), gold=str(files[0]), kind="ner"))


def test_relations_in_files(tmp_path):
    gold = tmp_path / "gold.jsonl"
    rows = [Text("1", "@A$ makes @B$", ("cause",)), Text("2", "@A$ and @B$", ("false",))]
    gold.write_text(
        "\n".join(
            json.dumps({"id": one.id, "text": one.text, "label": one.labels[0]}) for one in rows
        )
    )
    names = []
    for name, labels in (("a", ("false", "cause")), ("b", ("cause", "false"))):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(
            "\n".join(
                json.dumps({"id": str(n), "label": label})
                for n, label in enumerate(labels, start=1)
            )
        )
        names.append(str(path))
    found = open_pair(PairSpec(*names, gold=str(gold), kind="relations")).ledger
    assert found.counts["fixed"] == 1 and found.counts["false alarm removed"] == 1
    assert found.entries[0].first.error == "none"
