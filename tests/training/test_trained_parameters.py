"""New embeddings trained alone: old bits, the size of the optimizer's state, resuming, refusals, in
masked training, fine-tuning and distillation, and for networks of several architectures.
"""

import json
from functools import partial

import numpy as np
import pytest
import torch
import transformers

from tests.material.finetuning import ner_task, write_conll
from tests.material.finetuning import sentences as tagged
from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import find_numbers
from vocadapt.cli import main
from vocadapt.errors import Canceled
from vocadapt.models.certificate.certificate import Edit, run_check
from vocadapt.models.language_model import open_model
from vocadapt.models.layers import get_embeddings, get_output_bias, get_output_layer, is_tied
from vocadapt.text.corpus import open_corpus
from vocadapt.training.finetune.finetune import finetune, prepare
from vocadapt.training.finetune.run_files import save_run
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.masked.continued import (
    ContinuedSettings,
    continue_and_save,
    continue_pretraining,
)
from vocadapt.training.masked.continued_adaptation import ContinuedAdaptation
from vocadapt.training.masked.settings import STAGES, MaskedSettings
from vocadapt.training.separated_embeddings import PartlyTrainedEmbedding, SeparatedEmbeddings
from vocadapt.training.trained_parameters import (
    NEW_EMBEDDINGS,
    compare_old_embeddings,
    find_new_ids,
    measure_optimizer,
    require_new_ids,
)

pytestmark = pytest.mark.usefixtures("one_thread")

DECAYING = MaskedSettings(length=16, batch=8, lr=3e-3, tokens=16 * 8 * 8, weight_decay=0.5)
DIM = 16
SMALL = {
    "vocab_size": 60,
    "hidden_size": DIM,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
    "pad_token_id": 1,
}
NETWORKS = {
    "BertForMaskedLM": ("BertConfig", SMALL),
    "RobertaForMaskedLM": ("RobertaConfig", SMALL),
    "ModernBertForMaskedLM": ("ModernBertConfig", SMALL),
    "DistilBertForMaskedLM": (
        "DistilBertConfig",
        {"vocab_size": 60, "dim": DIM, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
    ),
    "DebertaV2ForMaskedLM": ("DebertaV2Config", SMALL),
    "GPT2LMHeadModel": (
        "GPT2Config",
        {"vocab_size": 60, "n_embd": DIM, "n_layer": 2, "n_head": 2, "n_positions": 40},
    ),
    "LlamaForCausalLM": ("LlamaConfig", SMALL | {"pad_token_id": 0}),
}


def build_network(name, **changes):
    """Build a small network with random weights, biases included."""
    kind, values = NETWORKS[name]
    config = getattr(transformers, kind)(**values, **changes)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = getattr(transformers, name)(config)
        for parameter in network.parameters():
            if parameter.dim() == 1:
                torch.nn.init.normal_(parameter)
    return network.eval()


def bits(matrix):
    return matrix.detach().contiguous().view(torch.int32).clone()


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("new", [[57, 58, 59], [7, 30, 59]], ids=["last", "among"])
@pytest.mark.parametrize("name", NETWORKS)
def test_weight_decay_and_training_leave_old_rows_of_any_network_bit_equal(name, new, tied):
    network = build_network(name, tie_word_embeddings=tied)
    assert is_tied(network) == tied
    ids = torch.tensor([[5, 7, 30, 59, 58, 57, 9]])
    before = {key: value.clone() for key, value in network.state_dict().items()}
    with torch.no_grad():
        logits = network(ids).logits
    network.requires_grad_(False)
    separated = SeparatedEmbeddings(network, torch.tensor(new))
    separated.separate()
    with torch.no_grad():
        torch.testing.assert_close(network(ids).logits, logits, atol=1e-5, rtol=1e-5)

    trained = [value for value in network.parameters() if value.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2, weight_decay=1.0)
    for _ in range(3):
        optimizer.zero_grad()
        network(ids, labels=ids).loss.backward()
        optimizer.step()
    # AdamW has two values for each trained value, and a step count for each of these parameters.
    has_bias = getattr(get_output_layer(network), "bias", None) is not None
    n_values = len(new) * (DIM * (2 - tied) + has_bias)
    assert sum(value.numel() for value in trained) == n_values
    assert measure_optimizer(optimizer) == 4 * (2 * n_values + len(trained))
    separated.merge()

    after = network.state_dict()
    assert set(after) == set(before) and is_tied(network) == tied
    old = [i for i in range(60) if i not in new]
    changed = {key for key in before if not torch.equal(before[key], after[key])}
    assert {after[key].shape[0] for key in changed} == {60}
    for key in changed:
        assert torch.equal(bits(after[key][old]), bits(before[key][old]))
        assert (after[key][new] != before[key][new]).any()
    matrices = [get_embeddings(network), get_output_layer(network).weight]
    assert all((bits(m)[new] != bits(before_of(m, before, after))[new]).any() for m in matrices)


def before_of(matrix, before, after):
    """The tensor as it was before, of a matrix in the network."""
    name = next(name for name, value in after.items() if value.data_ptr() == matrix.data_ptr())
    return before[name]


def test_the_gradients_are_those_of_the_whole_matrix():
    ids, new = torch.tensor([[5, 7, 30, 59, 58, 57, 9]]), [7, 59]
    for name in NETWORKS:
        whole, parts = build_network(name), build_network(name)
        whole(ids, labels=ids).loss.backward()
        separated = SeparatedEmbeddings(parts, torch.tensor(new))
        separated.separate()
        parts(ids, labels=ids).loss.backward()
        wanted = get_embeddings(whole).grad[new]
        torch.testing.assert_close(separated.rows.trained.grad, wanted, atol=1e-6, rtol=1e-4)
        bias = get_output_bias(whole)
        if bias is not None and bias.grad is not None:
            found = separated.output.trained_bias.grad
            torch.testing.assert_close(found, bias.grad[new], atol=1e-6, rtol=1e-4)


def test_a_layer_that_reads_the_whole_matrix_gets_it_and_passes_the_gradient_on():
    """DeBERTa's newer head multiplies by the embedding matrix itself."""
    network = build_network("DebertaV2ForMaskedLM", legacy=False)
    matrix = PartlyTrainedEmbedding(get_embeddings(network), torch.tensor([3, 59]))
    with torch.no_grad():
        matrix.trained += 1
    expected = get_embeddings(network).detach().clone()
    expected[[3, 59]] += 1
    assert torch.equal(matrix.weight, expected)
    matrix.weight.sum().backward()
    assert torch.equal(matrix.trained.grad, torch.ones(2, DIM))


def test_tokens_beyond_the_matrix_and_scaled_embeddings():
    matrix = torch.arange(8.0).reshape(4, 2)
    layer = PartlyTrainedEmbedding(
        matrix, torch.tensor([4, 5]), start=torch.full((2, 2), 100.0), scale=2.0, sparse=True
    )
    found = layer(torch.tensor([[0, 5, 3], [4, 4, 1]]))
    assert found.tolist() == [[[0, 2], [200, 200], [12, 14]], [[200, 200], [200, 200], [4, 6]]]
    found.sum().backward()
    gradient = layer.trained.grad.coalesce()
    assert gradient.indices().tolist() == [[0, 1]]
    assert gradient.values().tolist() == [[4, 4], [2, 2]]


def test_an_embedding_layer_of_another_kind_is_refused():
    class Hashed(torch.nn.Embedding):
        def forward(self, ids):
            return super().forward(ids % 7)

    network = build_network("BertForMaskedLM")
    network.set_input_embeddings(Hashed(60, DIM))
    with raises_input_error("other-embedding-layer", "Hashed") as caught:
        SeparatedEmbeddings(network, torch.tensor([59]))
    assert caught.value.setting == "trained"


@pytest.mark.parametrize("stage", ["continued", "whole", "embeddings"])
def test_masked_training_of_new_embeddings_is_the_same_in_every_stage(
    stage, adapted_path, long_text, tmp_path
):
    settings = ContinuedSettings(stage, trained=NEW_EMBEDDINGS, training=DECAYING)
    model = open_model(adapted_path)
    done = continue_and_save(model, open_corpus([long_text]), settings, tmp_path / "m")
    new = find_new_ids(model)
    old = [i for i in range(len(model.vocabulary)) if i not in new]
    after = open_model(tmp_path / "m")
    before_state, after_state = model.network.state_dict(), after.network.state_dict()
    changed = {k for k in before_state if not torch.equal(before_state[k], after_state[k])}
    assert changed == {
        "bert.embeddings.word_embeddings.weight",
        "cls.predictions.bias",
        "cls.predictions.decoder.weight",
        "cls.predictions.decoder.bias",
    }
    for key in changed:
        assert torch.equal(bits(after_state[key][old]), bits(before_state[key][old]))

    report = done.report
    n_values = len(new) * (DIM + 1)
    assert report.trained == NEW_EMBEDDINGS and report.trainable == n_values
    assert report.optimizer_bytes == 4 * (2 * n_values + 2)
    assert report.old_embeddings == {"of": len(old), "bit_equal": len(old)}
    certified = Edit(open_model(adapted_path.parent / "before"), after)
    for check in ("kept embeddings", "new embeddings", "output bias", "other tensors", "outputs"):
        assert run_check(check, certified).passed, check


def test_the_optimizer_of_all_parameters_is_larger(adapted_path, long_text, tmp_path):
    settings = ContinuedSettings("continued", training=DECAYING)
    done = continue_pretraining(
        open_model(adapted_path), open_corpus([long_text]), settings, tmp_path
    )
    whole = done.report
    assert whole.old_embeddings is None
    n_parameters = len([*done.loaded.network.parameters()])
    assert whole.optimizer_bytes == 4 * (2 * whole.trainable + n_parameters)
    model = open_model(adapted_path)
    new = find_new_ids(model)
    compared = compare_old_embeddings(model, done.loaded.network, new)
    assert compared["of"] == len(model.vocabulary) - len(new) > compared["bit_equal"]


@pytest.mark.parametrize("tokenization", ["mixed", "adapted"])
def test_fine_tuning_of_new_embeddings_and_the_head(tokenization, adapted_path, tmp_path):
    settings = FinetuneSettings(epochs=3, lr=1e-2, weight_decay=0.5, trained=NEW_EMBEDDINGS)
    prepared = prepare(open_model(adapted_path), ner_task(), settings, tokenization)
    run = finetune(prepared)
    model = open_model(adapted_path)
    stored, state = model.network.state_dict(), run.network.state_dict()
    used = list(prepared.new_ids)
    # hypertension does not occur in the examples.
    assert {model.vocabulary.tokens[i] for i in used} == {"tachycardia", "euthymia"}
    body = [key for key in state if key.startswith("bert.")]
    changed = {key for key in body if not torch.equal(state[key], stored[key])}
    assert changed == {"bert.embeddings.word_embeddings.weight"}
    rows = "bert.embeddings.word_embeddings.weight"
    others = [i for i in range(len(model.vocabulary)) if i not in used]
    assert torch.equal(bits(state[rows][others]), bits(stored[rows][others]))
    assert (state[rows][used] != stored[rows][used]).any(dim=1).all()

    # The head has 3 outputs (O, B, I) at most, each with 16 weights and a bias.
    n_head = len(run.outputs.names) * (DIM + 1)
    assert run.trainable == n_head + len(used) * DIM
    assert run.trainable + run.frozen == run.network.num_parameters()
    assert run.optimizer_bytes == 4 * (2 * run.trainable + 3)
    assert run.old_embeddings == {"of": len(others), "bit_equal": len(others)}
    assert any(find_numbers(finding)[:2] == [2, 3] for finding in run.findings)
    assert run.curve[-1][1] < run.curve[0][1]

    save_run(run, prepared, tmp_path)
    certified = Edit(open_model(adapted_path.parent / "before"), open_model(tmp_path))
    for check in ("kept embeddings", "new embeddings", "token ids", "padding token"):
        assert run_check(check, certified).passed, check


def test_fine_tuning_stopped_twice_ends_with_the_same_bits(adapted_path, tmp_path):
    settings = FinetuneSettings(
        epochs=2, batch=4, lr=1e-2, trained=NEW_EMBEDDINGS, save_minutes=1e-6
    )
    prepared = prepare(open_model(adapted_path), ner_task(), settings)
    expected = finetune(prepared, 2).network.state_dict()
    for stop in (2, 4, None):

        def progress(fraction, message="", stop=stop):
            if stop is not None and f"step {stop} " in message:
                raise Canceled

        try:
            found = finetune(prepared, 2, tmp_path, progress).network.state_dict()
        except Canceled:
            assert list(tmp_path.glob("checkpoint-*"))
    assert all(torch.equal(found[key], value) for key, value in expected.items())


def test_distillation_keeps_state_for_new_embeddings_only(adapted_path):
    from vocadapt.models.contextual.word_vectors import load_until_layer
    from vocadapt.training.distillation import AlignedContext, StateMatcher, read_hidden_states

    model = open_model(adapted_path)
    network = load_until_layer(model, 2)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    size = len(model.vocabulary)
    states = partial(read_hidden_states, network, 2)
    fitter = StateMatcher(network, states, np.zeros((3, DIM), np.float32), size, 0)
    fixed = fitter.lookup.fixed.clone()
    ids = model.vocabulary.ids
    context = AlignedContext(
        [ids["[CLS]"], ids["heart"], ids["[SEP]"]],
        [ids["[CLS]"], size + 1, ids["[SEP]"]],
        [(0, 0), (1, 1), (2, 2)],
    )
    losses = [fitter.step([context], 0.05) for _ in range(5)]
    assert losses[-1] < losses[0]
    found = fitter.embeddings
    assert found[[0, 2]].eq(0).all() and found[1].ne(0).all()
    assert fitter.steps.flatten().tolist() == [0, 5, 0]
    assert fitter.first.shape == fitter.second.shape == (3, DIM)
    assert torch.equal(fitter.lookup.fixed, fixed)
    after = network.state_dict()
    assert all(torch.equal(after[key], before[key]) for key in after.keys() & before.keys())


def test_a_model_without_a_record_of_new_tokens_is_refused(tiny_bert, long_text, tmp_path):
    plain = open_model(tiny_bert)
    settings = ContinuedSettings("continued", trained=NEW_EMBEDDINGS, training=DECAYING)
    with raises_input_error("not-adapted") as caught:
        continue_pretraining(plain, open_corpus([long_text]), settings, tmp_path)
    assert caught.value.setting == "trained"
    with raises_input_error("not-adapted"):
        prepare(plain, ner_task(), FinetuneSettings(trained=NEW_EMBEDDINGS))
    assert list(STAGES) and not list(tmp_path.iterdir())


def test_what_contradicts_the_setting_is_refused(adapted_path):
    with raises_input_error("untrained-head"):
        ContinuedSettings("extension", train_heads=True, trained=NEW_EMBEDDINGS)
    with raises_input_error("two-selections", "top-1"):
        FinetuneSettings(freeze="top-1", trained=NEW_EMBEDDINGS)
    with raises_input_error("unknown-choice", "new"):
        FinetuneSettings(trained="new")
    with raises_input_error("no-new-token"):
        prepare(
            open_model(adapted_path), ner_task(), FinetuneSettings(trained=NEW_EMBEDDINGS), "base"
        )
    assert len(require_new_ids(open_model(adapted_path))) == 3


def test_both_commands_have_the_setting(adapted_path, long_text, tmp_path, capsys):
    given = ["--model", str(adapted_path), "--trained-parameters", NEW_EMBEDDINGS, "--json"]
    text = ["--corpus", str(long_text), "--stage", "continued", "--length", "16"]
    code = main(["pretrain", *given, *text, "--tokens", "512", "--out", str(tmp_path / "m")])
    answer = json.loads(capsys.readouterr().out)
    assert code == 0 and answer["trained"] == NEW_EMBEDDINGS
    assert answer["old_embeddings"]["of"] == answer["old_embeddings"]["bit_equal"] > 0
    command = json.loads((tmp_path / "m" / "manifest.json").read_text(encoding="utf-8"))["command"]
    assert f"--trained-parameters {NEW_EMBEDDINGS}" in command

    files = [str(write_conll(tmp_path / f"{name}.tsv", tagged(8))) for name in ("train", "test")]
    splits = ["--train", files[0], "--test", files[1], "--num-epochs", "1"]
    code = main(["finetune", *given, "--task", "ner", *splits, "--out", str(tmp_path / "r")])
    answer = json.loads(capsys.readouterr().out)
    assert code == 0 and answer["old_embeddings"]["of"] == answer["old_embeddings"]["bit_equal"] > 0
    record = json.loads((tmp_path / "r" / "run.json").read_text(encoding="utf-8"))
    assert record["settings"]["trained"] == NEW_EMBEDDINGS


def test_a_continued_adaptation_keeps_old_weights_only_then():
    class Trained:
        settings = ContinuedSettings("continued", trained=NEW_EMBEDDINGS)

    class All:
        settings = ContinuedSettings("continued")

    kept = ContinuedAdaptation.keeps_old_weights.fget
    holder = type("Holder", (), {"training": Trained})
    assert kept(holder) is True
    holder.training = All
    assert kept(holder) is False
