"""Checkpoints of masked-language-model training: only the trainable parameters are stored."""

from pathlib import Path
from typing import TYPE_CHECKING

from vocadapt.errors import InputError

if TYPE_CHECKING:
    import torch

TRAINABLE = "moving.safetensors"  # file of the trainable parameters in a checkpoint


def trainable_parameters(network: "torch.nn.Module") -> "dict[str, torch.nn.Parameter]":
    """Return the parameters that require a gradient, by name; shared ones once."""
    return {name: value for name, value in network.named_parameters() if value.requires_grad}


def save_trainable_parameters(network: "torch.nn.Module", folder: Path) -> None:
    """Write the trainable parameters into a checkpoint folder."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    parameters = trainable_parameters(network)
    stored = {name: value.detach().cpu().contiguous() for name, value in parameters.items()}
    save_file(stored, folder / TRAINABLE)


def load_trainable_parameters(network: "torch.nn.Module", folder: Path) -> None:
    """Load the trainable parameters of a checkpoint in place; raises InputError if it belongs to
    another training.
    """
    import torch
    from safetensors.torch import load_file

    stored, parameters = load_file(folder / TRAINABLE), trainable_parameters(network)
    if set(stored) != set(parameters):
        raise InputError(
            f"{folder} is a checkpoint of another training.", "Remove it, or choose another folder."
        )
    with torch.no_grad():
        for name, value in parameters.items():
            value.copy_(stored[name])
