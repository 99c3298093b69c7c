"""Rounding of trained weights to the dtype that a model is stored in: a training in float32 may move them by less."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Rounding:
    """The dtype that weights were rounded to, how many of them training had changed, and how many of these are as before."""

    dtype: str
    changed: int
    lost: int

    def to_dict(self) -> dict[str, Any]:
        """Return what a report holds: the dtype, and the fraction of the changed weights whose update was lost."""
        fraction = self.lost / self.changed if self.changed else 0.0
        return {"stored_as": self.dtype, "updates_lost_to_rounding": fraction}


def copy_weights(network: "torch.nn.Module", dtype: "torch.dtype") -> "dict[str, torch.Tensor]":
    """Return a copy of every parameter in `dtype`, by name."""
    return {name: value.detach().to(dtype, copy=True) for name, value in network.named_parameters()}


def round_weights(
    network: "torch.nn.Module", dtype: "torch.dtype", before: "dict[str, torch.Tensor] | None" = None
) -> Rounding:
    """Round every parameter in place to a value that `dtype` holds.

    `before` holds the stored weights that training began with; without them no update is counted.
    """
    import torch

    changed = lost = 0
    with torch.no_grad():
        for name, value in network.named_parameters():
            rounded = value.to(dtype).to(value.dtype)
            if before is not None:
                old = before[name].to(value.dtype)
                moved = value != old
                changed += int(moved.sum())
                lost += int((moved & (rounded == old)).sum())
            value.copy_(rounded)
    return Rounding(str(dtype).removeprefix("torch."), changed, lost)


def describe_rounding(numbers: Mapping[str, Any]) -> str:
    """Return a sentence on the rounding that a report holds, "" if it holds none."""
    if "stored_as" not in numbers:
        return ""
    return (
        f"Stored in {numbers['stored_as']}: rounding undid {numbers['updates_lost_to_rounding']:.1%} of the weight updates. "
        "The losses are those of the stored weights."
    )
