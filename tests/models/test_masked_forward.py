"""The last layer at masked positions only gives the same outputs and gradients as the full
layer."""

import pytest
import torch
import transformers

from vocadapt.models.add_extension import add_extension
from vocadapt.models.contextual.masked_loss import compute_states_at
from vocadapt.models.extension_size import ModuleSettings
from vocadapt.training.masked.trainer import override_dropout

SIZES = {
    "vocab_size": 50,
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "max_position_embeddings": 16,
}


def network_of(kind, attention="sdpa"):
    torch.manual_seed(0)
    name = "BertForPreTraining" if kind.endswith("pairs") else "BertForMaskedLM"
    network = getattr(transformers, name)(
        transformers.BertConfig(**SIZES, attn_implementation=attention)
    )
    if kind.startswith("exbert"):
        network = add_extension(
            network, ModuleSettings("" if kind == "exbert-no-module" else "s3"), 10
        )
    return network.train()


def batch(rows):
    """Ids with padding, and places of different numbers in each row, one without any."""
    lengths, generator = torch.tensor([16, 9, 12, 5][:rows]), torch.Generator().manual_seed(1)
    attended = (torch.arange(16) < lengths[:, None]).long()
    ids = torch.randint(5, 50, (rows, 16), generator=generator) * attended
    places = (torch.rand(rows, 16, generator=generator) < 0.3) & attended.bool()
    places[-1] = False
    return ids, attended, places


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize(
    "kind", ["bert", "bert-pairs", "exbert", "exbert-pairs", "exbert-no-module"]
)
def test_it_equals_the_full_layer_at_these_positions(kind, attention):
    network, (ids, attended, places) = network_of(kind, attention), batch(4)
    weights = torch.randn(int(places.sum()), 48, generator=torch.Generator().manual_seed(2))
    with override_dropout(network, 0.0):
        whole = network.base_model(ids, attention_mask=attended)[0][places]
        (whole * weights).sum().backward()
        expected = {
            name: value.grad.clone()
            for name, value in network.named_parameters()
            if value.grad is not None
        }
        network.zero_grad(set_to_none=True)
        found = compute_states_at(network.base_model, ids, attended, places)
        (found * weights).sum().backward()
    torch.testing.assert_close(found, whole, rtol=1e-4, atol=1e-5)
    moved = {
        name: value.grad for name, value in network.named_parameters() if value.grad is not None
    }
    assert moved.keys() == expected.keys() and len(moved) > 20
    for name, gradient in moved.items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-3, atol=1e-4, msg=name)
    assert "forward" not in vars(network.base_model.encoder.layer[-1])


def test_less_of_the_last_layer_is_computed():
    network, (ids, attended, places) = network_of("exbert"), batch(4)
    seen = []
    for layer in network.base_model.encoder.layer:
        for part in (layer.intermediate, layer.extension.intermediate):
            part.register_forward_hook(lambda module, given, out: seen.append(out.shape[1]))
    compute_states_at(network.base_model, ids, attended, places)
    assert seen == [16, 16, *[int(places.sum(dim=1).max())] * 2]


def test_no_place_and_another_kind_of_network():
    network, (ids, attended, places) = network_of("bert"), batch(4)
    assert compute_states_at(network.base_model, ids, attended, torch.zeros_like(places)).shape == (
        0,
        48,
    )
    other = transformers.ElectraForMaskedLM(
        transformers.ElectraConfig(**SIZES, embedding_size=48)
    ).eval()
    whole = other.base_model(ids, attention_mask=attended)[0][places]
    torch.testing.assert_close(compute_states_at(other.base_model, ids, attended, places), whole)


def test_a_layer_that_fails_has_its_own_way_again():
    network, (ids, attended, places) = network_of("bert"), batch(4)
    with pytest.raises(IndexError):
        compute_states_at(network.base_model, ids + 1000, attended, places)
    assert "forward" not in vars(network.base_model.encoder.layer[-1])


def test_dropout_drops_there_too():
    network, (ids, attended, places) = network_of("exbert"), batch(4)
    with override_dropout(network, 0.5):
        first, second = (
            compute_states_at(network.base_model, ids, attended, places) for _ in range(2)
        )
    assert not torch.allclose(first, second)
