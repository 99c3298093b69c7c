"""Rounding of trained weights to the stored dtype, which can undo small updates made in float32."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Rounding:
    """Effect of rounding on trained weights.

    dtype: stored dtype. changed: number of weights that training changed. lost: number of these
    changes that rounding undid.
    """

    dtype: str
    changed: int
    lost: int

    def to_dict(self) -> dict[str, Any]:
        """Return the dtype and the fraction of updates lost to rounding, for a report."""
        fraction = self.lost / max(self.changed, 1)
        return {"stored_as": self.dtype, "updates_lost_to_rounding": fraction}


def copy_weights(network: "torch.nn.Module", dtype: "torch.dtype") -> "dict[str, torch.Tensor]":
    """Copy every parameter in `dtype`, by name."""
    return {name: value.detach().to(dtype, copy=True) for name, value in network.named_parameters()}


def round_weights(
    network: "torch.nn.Module",
    dtype: "torch.dtype",
    before: "dict[str, torch.Tensor] | None" = None,
) -> Rounding:
    """Round every parameter in place to the nearest value of `dtype`.

    before: stored weights before training; without them, lost updates are not counted.
    """
    import torch

    changed = lost = 0
    with torch.no_grad():
        for name, value in network.named_parameters():
            rounded = value.to(dtype).to(value.dtype)
            if before is not None:
                old = before[name].to(value.dtype)
                was_updated = value != old
                changed += int(was_updated.sum())
                lost += int((was_updated & (rounded == old)).sum())
            value.copy_(rounded)
    return Rounding(str(dtype).removeprefix("torch."), changed, lost)
