"""Embeddings fitted to the attention of the first layers: which modules are read, what is computed,
and recovery of a known embedding in every kind of network."""

import numpy as np
import pytest
import torch

from tests.material.architectures import ARCHITECTURES, build_tiny_model
from vocadapt.errors import InputError
from vocadapt.models.contextual.word_vectors import load_until_layer
from vocadapt.models.language_model import open_model
from vocadapt.models.layers import find_attention_modules
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import write_sentences
from vocadapt.training.distillation import Distiller, read_attention_outputs
from vocadapt.vocabulary.initializers.materials import AttentionSettings
from vocadapt.vocabulary.plan.plan import VocabularyPlan

pytestmark = pytest.mark.usefixtures("one_thread")
SHARED = {"albert": 1}  # modules that the layers share
KINDS = ("bert", "roberta", "modernbert", "deberta-v2", "albert", "distilbert", "gpt2", "llama")


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    def load(name):
        return open_model(build_tiny_model(name, tmp_path_factory.mktemp("tiny") / name))

    return load


@pytest.mark.parametrize(
    ("layers", "depth", "needed"),
    [(6, 0.333, 2), (12, 0.333, 4), (24, 0.333, 8), (2, 0.333, 1), (6, 1, 6)],
)
def test_the_first_third_of_the_layers_is_needed(layers, depth, needed):
    assert AttentionSettings(depth=depth).count_layers_needed(layers) == needed


@pytest.mark.parametrize("name", [name for name in KINDS if name in ARCHITECTURES])
def test_every_layer_has_one_attention_module(name, load):
    model = load(name)
    network = load_until_layer(model, 2)
    assert len(find_attention_modules(network)) == SHARED.get(name, 2)
    ids = torch.tensor([[3, 4, 5, 6]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    one = read_attention_outputs(network, 1, inputs)
    two = read_attention_outputs(network, 2, inputs)
    assert two.shape == (1, 4, 2 * one.shape[2])
    assert torch.equal(two[..., : one.shape[2]], one)


def test_the_outputs_are_the_values_weighted_by_the_attention(load):
    """Worked out with the weights of a BERT, for one head after the other."""
    network = load_until_layer(load("bert"), 1)
    ids = torch.tensor([[3, 4, 5]])
    found = read_attention_outputs(
        network, 1, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    )
    module, states = network.encoder.layer[0].attention.self, network.embeddings(ids)
    query, key, value = module.query(states), module.key(states), module.value(states)
    width = module.attention_head_size
    heads = []
    for first in range(0, module.all_head_size, width):
        head = slice(first, first + width)
        scores = query[..., head] @ key[..., head].transpose(1, 2) / width**0.5
        heads.append(scores.softmax(dim=-1) @ value[..., head])
    assert torch.allclose(found, torch.cat(heads, dim=-1), atol=1e-5)


def test_later_layers_are_not_computed(load):
    network = load_until_layer(load("llama"), 2)
    calls = []
    network.layers[1].register_forward_hook(lambda *_: calls.append(1))
    ids = torch.tensor([[3, 4]])
    read_attention_outputs(network, 1, {"input_ids": ids})
    assert not calls
    assert not network.layers[0].self_attn._forward_hooks  # removed again


def test_a_network_without_attention_is_refused():
    class Network(torch.nn.Module):
        def forward(self, input_ids):
            return input_ids

    with pytest.raises(InputError, match="attention of Network cannot be read"):
        read_attention_outputs(Network(), 1, {"input_ids": torch.zeros(1)})


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2"])
def test_the_embedding_of_a_known_token_is_recovered(name, load, tmp_path):
    """A token that is replaced by itself has one embedding with distance 0: its old one."""
    model = load(name)
    token = model.vocabulary.spell("heart")
    corpus, sentences = tmp_path / "text.txt", tmp_path / "sentences.txt"
    rng = np.random.default_rng(0)
    known = ["the", "patients", "drug", "cancer", "with", "pain", "trial"]
    lines = [[*rng.choice(known, 4), "heart", *rng.choice(known, 3)] for _ in range(40)]
    corpus.write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")
    write_sentences(open_corpus([corpus]), model.splitter, sentences, pretokens=True)
    plan = VocabularyPlan(model.vocabulary, (), replaced=(token,))
    true = model.space.matrix[model.space.rows([token])]
    start = rng.normal(scale=0.02, size=true.shape).astype(np.float32)
    settings = AttentionSettings(contexts=20, passes=80, length=16, batch=1, lr=0.01)
    rows, contexts = Distiller(model, sentences, True)(plan, start, settings)
    assert contexts.tolist() == [20]

    def cosine(found):
        a, b = (one - one.mean(axis=1, keepdims=True) for one in (found, true))
        return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))

    assert cosine(rows) > max(0.7, cosine(start))
