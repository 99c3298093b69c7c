"""Embeddings fitted to the attention of the first layers: which modules are read, and what is
computed; `test_encoders_of_other_families` recovers a known embedding."""

import pytest
import torch

from tests.material.architectures import ARCHITECTURES, build_tiny_model
from tests.material.input_errors import raises_input_error
from vocadapt.models.contextual.word_vectors import load_until_layer
from vocadapt.models.language_model import open_model
from vocadapt.models.layers import find_attention_modules
from vocadapt.training.distillation import read_attention_outputs
from vocadapt.vocabulary.initializers.materials import AttentionSettings

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

    with raises_input_error("no-attention", "Network"):
        read_attention_outputs(Network(), 1, {"input_ids": torch.zeros(1)})
