"""Add an extension module to every layer of a BERT, and read or fix its gates."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError
from vocadapt.models.extension_size import ModuleSettings, ModuleSize, is_extension_tensor

if TYPE_CHECKING:
    import torch
    import transformers

OPEN = 100.0  # σ(100) is 1 in every dtype


def add_extension(
    network: "transformers.PreTrainedModel", settings: ModuleSettings, added: int = 0
) -> "transformers.PreTrainedModel":
    """Return the network with an extension module in every layer, initialized with the seed of the
    settings; the other weights are unchanged.

    added: size of the extension vocabulary, whose embeddings are the last ones. The new network
    takes over the tensors of `network`, which must not be used afterwards. Raises InputError for a
    network that is not a BERT, or that already has extension modules.
    """
    import torch

    from vocadapt.models.exbert import HEADS

    # 1. Build a network of the exBERT class with the same head. A BertModel may lack a pooler.
    kind = HEADS[check_extendable(type(network).__name__)]
    options = {}
    if kind is HEADS["BertModel"] and getattr(network.base_model, "pooler", True) is None:
        options = {"add_pooling_layer": False}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        extended: Any = kind(_build_config(network, settings, added), **options)
    extended = extended.to(dtype=network.dtype)

    # 2. Load the tensors of the original network; only those of the extension may be missing.
    found = extended.load_state_dict(network.state_dict(), strict=False, assign=True)
    extended.tie_weights()
    missing = [name for name in found.missing_keys if not is_extension_tensor(name)]
    if found.unexpected_keys or missing:
        raise AssertionError(
            f"the extended network lacks or does not expect {[*found.unexpected_keys, *missing][0]}"
        )

    # 3. Copy the attributes that are not stored in tensors.
    padding = cast(Any, network.get_input_embeddings()).padding_idx
    extended.get_input_embeddings().padding_idx = padding
    extended.train(network.training)
    return cast("transformers.PreTrainedModel", extended)


def check_extendable(kind: str) -> str:
    """Return the class name if networks of the class can be extended, else raise InputError."""
    from vocadapt.models.exbert import HEADS

    if kind not in HEADS:
        raise InputError(
            f"Extension modules can only be added to a BERT, and this model is a {kind}.",
            f"Choose a model of one of these classes: {', '.join(HEADS)}.",
            code="not-a-bert",
        )
    return kind


def _build_config(
    network: "transformers.PreTrainedModel", settings: ModuleSettings, added: int
) -> Any:
    """Return the config of the extended network: that of the original network with the sizes of
    the modules.
    """
    from vocadapt.models.exbert import ExBertConfig

    own = network.config.to_dict()
    size = ModuleSize.from_settings(settings, own)
    for key in ("model_type", "architectures", "transformers_version"):
        own.pop(key, None)
    config = ExBertConfig(
        **own,
        extension_hidden_size=size.hidden,
        extension_intermediate_size=size.intermediate,
        extension_vocab_size=added,
        gate_start=settings.gate,
    )
    config._attn_implementation = network.config._attn_implementation
    return config


def list_gates(network: "torch.nn.Module") -> "list[torch.nn.Linear]":
    """List the gates of a network, by layer; empty if it has no extension modules."""
    return [
        cast("torch.nn.Linear", part)
        for name, part in network.named_modules()
        if name.endswith(".gate")
    ]


@contextmanager
def open_gates(network: "torch.nn.Module") -> Iterator[None]:
    """Set every gate to 1 within the context, so that only the original layers contribute."""
    import torch

    gates = list_gates(network)
    before = [(gate.weight.detach().clone(), gate.bias.detach().clone()) for gate in gates]
    with torch.no_grad():
        for gate in gates:
            gate.weight.zero_()
            gate.bias.fill_(OPEN)
    try:
        yield
    finally:
        with torch.no_grad():
            for gate, (weight, bias) in zip(gates, before, strict=True):
                gate.weight.copy_(weight)
                gate.bias.copy_(bias)
