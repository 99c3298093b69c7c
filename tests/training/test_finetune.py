"""Fine-tuning: it learns, resumes with identical results, freezes the right parameters, and
reports errors."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.material.architectures import build_tiny_model
from tests.material.finetuning import ner_task, sentences, texts
from tests.material.input_errors import raises_input_error
from tests.material.nightly import mark_slow
from tests.material.stated_numbers import find_numbers
from vocadapt.errors import Canceled, InputError
from vocadapt.models.heads import initialize_biases, load_with_new_head
from vocadapt.models.language_model import open_model
from vocadapt.training.callbacks import StepClock, read_live
from vocadapt.training.examples.examples import Sentence, Split, Text
from vocadapt.training.finetune import trainer
from vocadapt.training.finetune.finetune import finetune, freeze, prepare
from vocadapt.training.finetune.run_files import load_logits, load_run, load_runs, save_run
from vocadapt.training.finetune.settings import (
    FINETUNING_PRESETS,
    FinetuneSettings,
    training_preset,
)
from vocadapt.training.scoring.summary import Baseline
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.task import Task

pytestmark = pytest.mark.usefixtures("one_thread")

FAST = FinetuneSettings(epochs=20, batch=5, lr=1e-2)
SHORT = FinetuneSettings(epochs=2, batch=4, lr=1e-3)


@pytest.fixture(scope="module")
def learned(adapted):
    prepared = prepare(
        adapted,
        replace(ner_task(), splits={"train": Split(sentences(10)), "test": Split(sentences(10))}),
        FAST,
    )
    return prepared, finetune(prepared)


def test_ten_sentences_are_learned_by_heart_under_both_cuts(learned):
    _, run = learned
    assert {tokenization: score.value for tokenization, score in run.scores.items()} == {
        "base": 1.0,
        "adapted": 1.0,
        "pooled": 1.0,
    }
    assert run.tokenization == "mixed" and run.main_tokenization == "pooled" and not run.collapsed
    assert run.examples == 200 and run.curve[-1][1] < run.curve[0][1]
    assert 0 < run.training_seconds < run.seconds


def test_the_time_of_training_has_no_setup_and_no_scoring(monkeypatch):
    times = iter([30.0, 32.0, 40.0, 43.0])  # a first step of unknown length, then 2 s and 3 s
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    clock = StepClock()
    clock.finish_step()
    assert clock.estimate_seconds(1) == 0
    clock.begin_step()
    clock.finish_step()
    clock.begin_step()  # 8 s later: the dev split was scored
    clock.finish_step()
    assert clock.estimate_seconds(3) == pytest.approx(7.5)


def test_without_a_dev_split_a_run_is_judged_by_training_examples_and_never_by_the_test_split(
    adapted,
):
    # What is learned by heart, and of no use on a test split whose answers are the other way around.
    learned = replace(sentences(10)[0], tags=("O",) * 8)
    opposite = tuple(
        replace(one, tags=tuple("O" if tag != "O" else "B-Disease" for tag in one.tags))
        for one in sentences(10)
    )
    task = replace(
        ner_task(), splits={"train": Split(sentences(10)), "test": Split((*opposite, learned))}
    )
    run = finetune(prepare(adapted, task, FAST))
    assert run.scores["pooled"].value < 0.2 and not run.collapsed and run.dev == ()

    # Nothing is learned at a vanishing learning rate, whatever the test split would say.
    still = replace(FAST, epochs=1, lr=1e-9)
    for splits in (task.splits, {"train": task.splits["train"]}):
        assert finetune(prepare(adapted, replace(task, splits=splits), still)).collapsed
    # With a dev split that one tells.
    split = {**ner_task().splits, "dev": Split(sentences(10))}
    prepared = prepare(adapted, replace(ner_task(), splits=split), FAST)
    assert prepared.collapse_sample is None and not finetune(prepared).collapsed
    # Trained on the dev split too, there are no dev scores again.
    with_dev = prepare(adapted, ner_task(), replace(SHORT, with_dev=True))
    assert with_dev.collapse_sample is not None
    assert with_dev.collapse_sample[0].examples == sentences(10)


def test_a_run_is_judged_by_a_fixed_sample_of_many_training_examples(adapted, monkeypatch):
    monkeypatch.setattr("vocadapt.training.finetune.finetune.COLLAPSE_SAMPLE", 4)
    task = replace(ner_task(), splits={"train": Split(sentences(10))})
    first, again = (prepare(adapted, task, SHORT) for _ in range(2))
    assert first.collapse_sample is not None and again.collapse_sample is not None
    assert first.collapse_sample[0].examples == again.collapse_sample[0].examples
    assert len(first.collapse_sample[0]) == 4
    assert set(first.collapse_sample[0].examples) < set(sentences(10))
    assert [4, 10] in [find_numbers(finding)[:2] for finding in first.findings]


@pytest.mark.parametrize("tokenization", ["base", "adapted", "both"])
def test_every_tokenization_trains_and_is_scored_three_ways(adapted, tokenization):
    run = finetune(prepare(adapted, ner_task(), SHORT, tokenization))
    assert list(run.scores) == ["base", "adapted", "pooled"]
    assert run.examples == (40 if tokenization == "both" else 20)


def test_a_plain_model_has_the_base_cut_only(tiny_bert):
    run = finetune(prepare(open_model(tiny_bert), ner_task(), SHORT))
    assert list(run.logits) == list(run.scores) == ["base"] and run.main_tokenization == "base"
    with raises_input_error("no-tokenization", "adapted"):
        prepare(open_model(tiny_bert), ner_task(), SHORT, "mixed")


def test_what_a_training_writes_while_it_runs_is_what_the_run_says_in_the_end(adapted, tmp_path):
    run = finetune(prepare(adapted, ner_task(), SHORT), folder=tmp_path)
    live = read_live(tmp_path)
    assert live.curve == run.curve and live.dev == run.dev and len(live.dev) == 2
    assert (live.epoch, live.steps) == (3, 6)  # ten sentences, four a step, twice


@pytest.mark.parametrize("stops", [(2, 5), *mark_slow([((3,),), ((4, 5, 7),)])])
def test_a_stopped_training_goes_on_to_byte_equal_predictions(adapted, tmp_path, stops):
    # 8 steps, a checkpoint after each.
    settings = FinetuneSettings(epochs=2, batch=3, lr=1e-3, save_minutes=1e-9)
    whole = finetune(prepare(adapted, ner_task(), settings), 5)
    folder = tmp_path / "stopped"
    folder.mkdir()
    for stop in (*stops, None):
        torch.manual_seed(stop or 99)  # what happens elsewhere must not matter
        np.random.seed(stop or 99)  # noqa: NPY002

        def progress(fraction, message="", stop=stop):
            if stop is not None and f"step {stop} " in message:
                raise Canceled

        try:
            run = finetune(prepare(adapted, ner_task(), settings), 5, folder, progress)
        except Canceled:
            assert (folder / f"checkpoint-{stop - 1}").is_dir()
            shutil.copytree(
                folder / f"checkpoint-{stop - 1}", folder / f"checkpoint-{stop}"
            )  # and one was being written
            (folder / f"checkpoint-{stop}" / "trainer_state.json").write_text("{", encoding="utf-8")
    assert run.dev == whole.dev and len(run.dev) == 2
    for tokenization in whole.logits:
        assert b"".join(map(np.ndarray.tobytes, run.logits[tokenization])) == b"".join(
            map(np.ndarray.tobytes, whole.logits[tokenization])
        )


def test_the_same_seed_gives_the_same_run_and_leaves_the_random_state_alone(adapted):
    prepared = prepare(adapted, ner_task(), SHORT)
    first = finetune(prepared, 7)
    torch.manual_seed(123)
    np.random.seed(123)  # noqa: NPY002
    before = torch.random.get_rng_state()
    again, other = finetune(prepared, 7), finetune(prepared, 8)
    assert torch.equal(before, torch.random.get_rng_state()) and np.random.randint(1000) == 510  # noqa: NPY002
    equal = [
        np.array_equal(a, b)
        for a, b in zip(first.logits["pooled"], again.logits["pooled"], strict=True)
    ]
    assert all(equal)
    assert not np.array_equal(first.logits["pooled"][0], other.logits["pooled"][0])


@pytest.mark.parametrize(
    ("how", "still"),
    [
        ("all", lambda name: False),
        ("embeddings", lambda name: ".embeddings." in name),
        ("top-1", lambda name: name.startswith("bert.") and ".layer.1." not in name),
        ("head", lambda name: name.startswith("bert.")),
    ],
)
def test_frozen_parts_stay_bit_equal_and_the_others_move(adapted, how, still):
    prepared = prepare(adapted, ner_task(), replace(SHORT, freeze=how))
    before = {name: value.detach().clone() for name, value in adapted.network.named_parameters()}
    run = finetune(prepared, 1)
    for name, value in run.network.named_parameters():
        if still(name):
            assert torch.equal(value.detach(), before[name]), name
        elif name in before and not name.endswith("key.bias"):  # which softmax makes no use of
            assert not torch.equal(value.detach(), before[name]), name
    frozen = sum(value.numel() for name, value in run.network.named_parameters() if still(name))
    assert run.frozen == frozen


def test_rows_that_no_example_uses_stay_bit_equal(adapted):
    before = adapted.network.get_input_embeddings().weight.detach().clone()
    run = finetune(prepare(adapted, ner_task(), replace(SHORT, weight_decay=0.1)))
    after = run.network.get_input_embeddings().weight.detach()
    used = {adapted.vocabulary.ids[token] for token in ("heart", "tachycardia", "[CLS]")}
    unused = {adapted.vocabulary.ids[token] for token in ("hypertension", "blood", "[MASK]")}
    assert all(not torch.equal(before[row], after[row]) for row in used)
    assert all(torch.equal(before[row], after[row]) for row in unused)
    assert len(after) == len(before) == run.network.config.vocab_size


def test_the_body_is_as_stored_and_the_head_is_by_the_seed(tiny_bert):
    torch.manual_seed(4)
    state = torch.random.get_rng_state()
    first, again, other = (
        load_with_new_head(open_model(tiny_bert), "sequence", ("a", "b", "c"), seed)
        for seed in (1, 1, 2)
    )
    assert torch.equal(torch.random.get_rng_state(), state)
    stored = load_file(tiny_bert / "model.safetensors")
    body = [
        name
        for name, _ in first.named_parameters()
        if name.startswith("bert.") and ".pooler." not in name
    ]
    assert len(body) == 37
    assert all(torch.equal(first.get_parameter(name), stored[name]) for name in body)
    assert first.config.id2label == {0: "a", 1: "b", 2: "c"}
    assert torch.equal(first.classifier.weight, again.classifier.weight)
    assert torch.equal(first.bert.pooler.dense.weight, again.bert.pooler.dense.weight)
    assert not torch.equal(first.classifier.weight, other.classifier.weight)
    assert first.classifier.bias.tolist() == [0.0, 0.0, 0.0]


def test_output_biases_start_at_the_label_frequencies(tiny_bert):
    network = load_with_new_head(open_model(tiny_bert), "sequence", ("a", "b"), 1, several=True)
    initialize_biases(network, np.array([0.2, 0.5]))
    assert network.classifier.bias.tolist() == pytest.approx(
        [-1.3863, 0.0], abs=1e-4
    )  # log(.2 / .8)
    assert not network.bert.pooler.dense.bias.any()


def test_a_head_of_another_task_is_replaced(make_bert, tmp_path):
    network = load_with_new_head(
        open_model(make_bert(head="BertForTokenClassification")), "token", ("O", "B", "I"), 1
    )
    assert network.classifier.weight.shape == (3, 16)
    same = open_model(make_bert("same", head="BertForTokenClassification", num_labels=3))
    fresh = load_with_new_head(same, "token", ("O", "B", "I"), 1)
    assert torch.equal(fresh.classifier.weight, network.classifier.weight)
    # DeBERTa's stored pooler is no part of its body: it is replaced with the head.
    folder = build_tiny_model("deberta-v2", tmp_path, network="DebertaV2ForSequenceClassification")
    first = load_with_new_head(open_model(folder), "sequence", ("a", "b"), 1)
    second = load_with_new_head(open_model(folder), "sequence", ("a", "b"), 2)
    assert not torch.equal(first.pooler.dense.weight, second.pooler.dense.weight)


def test_a_network_without_segments_is_trained_too(tiny_bert, tmp_path):
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert)
    config = transformers.DistilBertConfig(
        vocab_size=len(tokenizer),
        dim=16,
        n_layers=2,
        n_heads=2,
        hidden_dim=32,
        max_position_embeddings=64,
    )
    transformers.DistilBertForMaskedLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    run = finetune(
        prepare(open_model(tmp_path), ner_task(), replace(FAST, freeze="top-1", epochs=2))
    )
    assert list(run.scores) == ["base"] and 0 < run.trainable < run.frozen


def test_a_body_without_its_weights_is_refused(make_bert):
    from safetensors.torch import save_file

    folder = make_bert()
    tensors = load_file(folder / "model.safetensors")
    save_file(
        {name: value for name, value in tensors.items() if "layer.1" not in name},
        folder / "model.safetensors",
    )
    with raises_input_error("config-mismatch", "num_hidden_layers is 2", "1 layers"):
        load_with_new_head(open_model(folder), "token", ("O", "B"), 1)


def test_the_best_epoch_is_kept_and_a_flat_dev_score_ends_the_training(tiny_bert, monkeypatch):
    scores = iter([0.1, 0.5, 0.3, 0.4])
    kept = {}

    class Scripted(trainer.EpochScorer):
        def __init__(self, network, reading, settings, folder, score, baseline):
            super().__init__(
                network,
                reading,
                settings,
                folder,
                lambda: trainer.DevScore(next(scores), 1.0),
                baseline,
            )

        def finish_step(self, step):
            ends = super().finish_step(step)
            if step == 6:
                kept.update(
                    {
                        name: value.clone()
                        for name, value in self.network.state_dict().items()
                        if "classifier" in name
                    }
                )
            return ends

    monkeypatch.setattr(trainer, "EpochScorer", Scripted)
    run = finetune(
        prepare(
            open_model(tiny_bert),
            ner_task(),
            FinetuneSettings(epochs=9, batch=4, lr=1e-3, patience=2),
        )
    )
    assert run.dev == (0.1, 0.5, 0.3, 0.4) and run.examples == 40
    assert all(torch.equal(run.network.state_dict()[name], value) for name, value in kept.items())
    assert kept
    numbers = [find_numbers(finding) for finding in run.findings]
    assert [4, 9, 2] in numbers  # epochs: done, of all, without a better score
    assert [2] in numbers  # the best epoch


@pytest.mark.parametrize(
    ("losses", "epochs", "ends"),
    [
        ([0.359, 0.368, 0.363], 5, True),  # BC5CDR-chem, 23 entities in 200 sentences: collapsed
        ([0.345, 0.303, 0.323], 5, False),  # 48 entities: F1 .219 after epoch 5
        ([0.382, 0.361, 0.322], 5, False),  # 106 entities in 800 sentences: .587 after epoch 5
        ([0.4, 0.4], 3, False),  # too few evaluations
        ([0.4, 0.4, 0.4], 7, False),  # not half of the epochs
        ([0.4, 0.4, 0.4, 0.4], 7, True),
    ],
)
def test_a_training_ends_early_only_if_nothing_is_learned(losses, epochs, ends):
    baseline = Baseline(0.0, (0.0,))
    zeros = [0.0] * len(losses)
    assert trainer.has_learned_nothing(zeros, losses, baseline, epochs) is ends
    assert not trainer.has_learned_nothing([*zeros[:-1], 0.1], losses, baseline, epochs)
    assert not trainer.has_learned_nothing(zeros, losses[1:], baseline, epochs)


def test_a_training_in_which_nothing_is_learned_ends_with_a_sentence(tiny_bert, tmp_path):
    """A learning rate of almost 0: no prediction ever changes."""
    settings = FinetuneSettings(epochs=6, batch=4, lr=1e-9)
    prepared = prepare(open_model(tiny_bert), ner_task(), settings)
    run = finetune(prepared, folder=tmp_path)
    assert run.collapsed and len(run.dev) == 3 and run.examples == 30
    (ended,) = [one for one in run.findings if find_numbers(one)[:2] == [3, 6]]
    assert "learned" in ended
    # A resumed training knows the losses of its earlier epochs.
    assert len(json.loads((tmp_path / trainer.DEV_LOSSES).read_text())) == 3


def test_the_loss_of_each_kind_by_hand():
    """Even logits: ln 2 for two outputs; a label that the head lacks is left out."""
    even = np.zeros((2, 2), dtype=np.float32)
    ner, index = TASK_KINDS["ner"], {"O": 0, "B": 1}
    assert ner.compute_loss(even, Sentence(("a", "b"), ("O", "B")), index) == pytest.approx(
        np.log(2)
    )
    sure = np.array([[9.0, 0.0], [0.0, 0.0]], dtype=np.float32)
    assert ner.compute_loss(sure, Sentence(("a", "b"), ("O", "X")), index) < 1e-3
    multilabel = TASK_KINDS["multilabel"]
    text = Text("1", "t", ("a",))
    found = multilabel.compute_loss(even[:1], text, {"a": 0, "b": 1})
    assert found == pytest.approx(np.log(2))


def test_dev_is_trained_on_if_requested(tiny_bert):
    prepared = prepare(open_model(tiny_bert), ner_task(), replace(SHORT, with_dev=True))
    assert len(prepared.train) == 16 and prepared.dev is None


def test_a_diverging_loss_is_reported(make_bert):
    folder = make_bert()
    tensors = load_file(folder / "model.safetensors")
    tensors["bert.encoder.layer.0.output.dense.bias"][0] = float("nan")
    from safetensors.torch import save_file

    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with raises_input_error("diverged", "nan", "step 1"):
        finetune(prepare(open_model(folder), ner_task(), SHORT))


def test_short_memory_halves_the_batch_to_the_same_gradient(make_bert, monkeypatch):
    model = open_model(make_bert(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    plain = FinetuneSettings(epochs=1, batch=4, lr=1e-3)
    from vocadapt.training.losses import compute_label_loss

    whole = finetune(prepare(model, ner_task(12), plain))
    calls = []

    def short(logits, labels, whole):
        calls.append(len(labels))
        if len(labels) > 2:
            raise RuntimeError(
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
            )
        return compute_label_loss(logits, labels, whole)

    monkeypatch.setattr("vocadapt.training.losses.compute_label_loss", short)
    halved = finetune(prepare(model, ner_task(12), plain))
    assert calls[:3] == [4, 2, 2]
    (finding,) = [one for one in halved.findings if "Memory" in one]
    assert find_numbers(finding) == [4, 2]
    for ours, theirs in zip(whole.logits["base"], halved.logits["base"], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_one_example_too_much_for_the_memory_is_reported(tiny_bert, monkeypatch):
    def full(logits, labels, whole):
        raise RuntimeError("CUDA out of memory. Tried to allocate 20 GiB")

    monkeypatch.setattr("vocadapt.training.losses.compute_label_loss", full)
    with raises_input_error("out-of-memory"):
        finetune(prepare(open_model(tiny_bert), ner_task(), SHORT))


def test_other_runtime_errors_are_bugs(tiny_bert, monkeypatch):
    def broken(logits, labels, whole):
        raise RuntimeError("shape")

    monkeypatch.setattr("vocadapt.training.losses.compute_label_loss", broken)
    with pytest.raises(RuntimeError, match="shape"):
        finetune(prepare(open_model(tiny_bert), ner_task(), SHORT))


def test_parts_of_a_batch_add_up_to_its_loss():
    from vocadapt.training.losses import compute_label_loss

    logits, labels = (
        torch.randn(4, 5, 3, generator=torch.manual_seed(0)),
        torch.tensor([[0, -100, 1, 2, -100]] * 4),
    )
    whole = compute_label_loss(logits, labels, 12)
    assert torch.allclose(
        whole,
        compute_label_loss(logits[:1], labels[:1], 12)
        + compute_label_loss(logits[1:], labels[1:], 12),
    )
    assert torch.allclose(
        whole, torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
    )


def test_an_unlabeled_test_split_is_predicted_and_not_scored(tiny_bert, tmp_path):
    task = ner_task()
    bare = Split(tuple(Sentence(example.words, None) for example in task.split("test").examples))
    prepared = prepare(
        open_model(tiny_bert), replace(task, splits={**task.splits, "test": bare}), SHORT
    )
    run = finetune(prepared)
    assert run.scores == {} and [len(tags) for tags in run.predict(bare)] == [8] * 6
    save_run(run, prepared, tmp_path / "run")
    assert load_run(tmp_path / "run").test_predictions.split.labeled is False


def test_labels_unseen_in_training_are_missed_and_reported(tiny_bert):
    strange = Split((Sentence(("aspirin", "was", "cancer"), ("B-Drug", "O", "B-Disease")),))
    task = Task(
        "toy",
        TASK_KINDS["ner"],
        {"train": Split(sentences(10)), "test": strange},
        ("Disease", "Drug"),
    )
    run = finetune(prepare(open_model(tiny_bert), task, FAST))
    assert any(one.startswith("test ") and one.endswith(": Drug.") for one in run.findings)
    assert run.scores["base"].values["recall"] <= 0.5
    assert set(run.outputs.names) == {"O", "B-Disease", "I-Disease"}


def test_one_label_only_cannot_be_trained_on(tiny_bert):
    task = Task(
        "toy",
        TASK_KINDS["classification"],
        {"train": Split((Text("1", "a trial", ("yes",)),))},
        ("yes",),
    )
    with raises_input_error("one-label"):
        prepare(open_model(tiny_bert), task, SHORT)
    with raises_input_error("no-labels"):
        prepare(
            open_model(tiny_bert),
            replace(task, splits={"train": Split((Text("1", "a trial", None),))}),
            SHORT,
        )


@pytest.mark.parametrize("kind", ["classification", "multilabel", "nli"])
def test_texts_of_every_kind_are_learned(adapted, kind):
    pair = "the heart" if kind == "nli" else ""
    split = Split(tuple(replace(text, pair=pair) for text in texts(12)))
    task = Task("toy", TASK_KINDS[kind], {"train": split, "test": split}, ("ill", "well"))
    run = finetune(prepare(adapted, task, replace(FAST, epochs=30)))
    assert all(score.value == 1.0 for score in run.scores.values()), run.scores
    assert [rows.shape for rows in run.logits["pooled"]] == [(1, 2)] * 12


def test_a_run_is_saved_and_predicts_the_same_again(learned, tmp_path):
    prepared, run = learned
    save_run(run, prepared, tmp_path / "run")
    json.loads((tmp_path / "run/run.json").read_text("utf-8"), parse_constant=pytest.fail)
    again = load_run(tmp_path / "run")
    assert again.outputs == run.outputs
    assert (again.seed, again.record["trained_on"]) == (1, "mixed")
    assert again.record["scores"]["pooled"]["f1"] == 1.0
    stored, fresh = (
        load_logits(tmp_path / "run"),
        again.logits(prepared.task.split("test").examples),
    )
    for tokenization, own in run.logits.items():
        for kept, found, rows in zip(stored[tokenization], fresh[tokenization], own, strict=True):
            np.testing.assert_array_equal(kept, rows)
            np.testing.assert_array_equal(found, rows)
    assert again.test_predictions.predicted["base"] == list(
        run.predict(prepared.task.split("test"), "base")
    )
    assert again.predict([Sentence(("the", "tachycardia"), None)])[0][1] == "B-Disease"
    with raises_input_error("no-tokenization", "other"):
        again.predict([Sentence(("the",), None)], "other")


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with raises_input_error("not-a-run"):
        load_runs(tmp_path)
    (tmp_path / "run.json").write_text("{", encoding="utf-8")
    with raises_input_error("invalid-json"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch": -1},
        {"lr": float("nan")},
        {"length": 4},
        {"freeze": "nothing"},
        {"freeze": "top-0"},
        {"freeze": "top-K"},
        {"schedule": "wild"},
        {"warm_up": 1.0},
        {"patience": -1},
    ],
)
def test_settings_without_sense_are_refused(wrong):
    with pytest.raises(InputError):
        FinetuneSettings(**wrong)


def test_presets_are_the_papers():
    poerner, exbert, thesis = (
        FINETUNING_PRESETS[name].settings for name in ("poerner", "exbert", "thesis")
    )
    assert poerner.epochs == 100
    assert poerner.batch == 32
    assert poerner.lr == 1e-5
    assert poerner.warm_up == 0.1
    assert poerner.chunk == 30
    assert poerner.with_dev and len(FINETUNING_PRESETS["poerner"].seeds) == 8
    assert (exbert.epochs, exbert.batch, exbert.lr, exbert.top) == (3, 20, 1e-5, 3)
    assert (thesis.epochs, thesis.batch, thesis.lr, thesis.length) == (10, 8, 2e-5, 512)
    assert FINETUNING_PRESETS["thesis"].seeds == (142,)
    assert training_preset("quick", epochs=2).epochs == 2
    with raises_input_error("unknown-choice", "slow"):
        training_preset("slow")


def test_more_top_layers_than_there_are(adapted):
    with raises_input_error("missing-layer", "2", "3"):
        freeze(load_with_new_head(adapted, "token", ("O", "B"), 1), replace(SHORT, freeze="top-3"))
