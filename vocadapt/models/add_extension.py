"""Add an extension module to every layer of a BERT, and read or fix its gates."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError
from vocadapt.models.extension_size import ModuleSettings, ModuleSize, of_extension

if TYPE_CHECKING:
    import torch
    import transformers

OPEN = 100.0  # σ(100) is 1 in every dtype


def extended(
    network: "transformers.PreTrainedModel", settings: ModuleSettings, added: int = 0
) -> "transformers.PreTrainedModel":
    """Return the network with an extension module beside every layer, initialized by the seed of
    the settings; its own weights are kept.

    `added`: how many of its last rows are those of the extension vocabulary. `network` gives its
    tensors up to the new one. Raises InputError for a network that is not a BERT, or is extended
    already.
    """
    import torch

    from vocadapt.models.exbert import HEADS

    kind = HEADS[check_extendable(type(network).__name__)]
    pooler = (
        {"add_pooling_layer": False} if getattr(network.base_model, "pooler", True) is None else {}
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        made: Any = kind(
            _config(network, settings, added), **(pooler if kind is HEADS["BertModel"] else {})
        )
    made = made.to(dtype=network.dtype)
    found = made.load_state_dict(network.state_dict(), strict=False, assign=True)
    made.tie_weights()
    strange = [
        *found.unexpected_keys,
        *(name for name in found.missing_keys if not of_extension(name)),
    ]
    if strange:
        raise AssertionError(f"extending lost or left out {strange[0]}")
    made.get_input_embeddings().padding_idx = cast(Any, network.get_input_embeddings()).padding_idx
    made.train(network.training)
    return cast("transformers.PreTrainedModel", made)


def check_extendable(kind: str) -> str:
    """The name of a network's class; raises InputError where it is not one that can be extended."""
    from vocadapt.models.exbert import HEADS

    if kind not in HEADS:
        raise InputError(
            f"An extension module stands beside the layers of a BERT, and this is a {kind}.",
            f"Choose a model of one of these classes: {', '.join(HEADS)}.",
        )
    return kind


def _config(network: "transformers.PreTrainedModel", settings: ModuleSettings, added: int) -> Any:
    """Return the config of the extended network: the network's own, and the sizes of the
    modules.
    """
    from vocadapt.models.exbert import ExBertConfig

    own = network.config.to_dict()
    size = ModuleSize.of(settings, own)
    kept = {
        key: value
        for key, value in own.items()
        if key not in ("model_type", "architectures", "transformers_version")
    }
    config = ExBertConfig(
        **kept,
        extension_hidden_size=size.hidden,
        extension_intermediate_size=size.intermediate,
        extension_vocab_size=added,
        gate_start=settings.gate,
    )
    config._attn_implementation = network.config._attn_implementation
    return config


def gates(network: "torch.nn.Module") -> "list[torch.nn.Linear]":
    """The gates of a network, by layer; none where it has no extension."""
    return [
        cast("torch.nn.Linear", part)
        for name, part in network.named_modules()
        if name.endswith(".gate")
    ]


@contextmanager
def open_gates(network: "torch.nn.Module") -> Iterator[None]:
    """Let only the original layers contribute within the context: every gate is 1."""
    import torch

    held = [
        (gate, gate.weight.detach().clone(), gate.bias.detach().clone()) for gate in gates(network)
    ]
    with torch.no_grad():
        for gate, _, _ in held:
            gate.weight.zero_()
            gate.bias.fill_(OPEN)
    try:
        yield
    finally:
        with torch.no_grad():
            for gate, weight, bias in held:
                gate.weight.copy_(weight)
                gate.bias.copy_(bias)
