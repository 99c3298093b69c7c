"""Size of the extension module of an exBERT layer (Tai et al. 2020, section 4.1), and its settings.

Sizes are fractions of the layer that the module belongs to; at the width of BERT-base they are
exactly the published ones. Does not import torch.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vocadapt.settings import ABOVE_ZERO, MAX_SEED, CheckedSettings, setting

# transformers repeats the name in its error if it does not know it, so it says what to install.
MODEL_TYPE = "vocadapt-exbert"
MODULE = "vocadapt.models.exbert"  # importing it registers the classes with transformers
INSIDE = 8  # the units of the feed-forward part are a multiple of this
PARTS = (".extension.", ".gate.")  # in the names of an extension module's tensors, and no others


@dataclass(frozen=True)
class Size:
    """Fractions of the layer's hidden and intermediate size, as published at 768 and 3,072."""

    hidden: float
    intermediate: float
    about: str


SIZES = {
    "s1": Size(120 / 768, 512 / 3072, "16.4 % of a layer"),
    "s2": Size(180 / 768, 720 / 3072, "23.5 % of a layer"),
    "s3": Size(252 / 768, 1024 / 3072, "33.2 % of a layer, the paper's choice"),
    "s4": Size(504 / 768, 2048 / 3072, "66.3 % of a layer"),
    "s5": Size(1.0, 1.0, "as large as the layer"),
}


@dataclass(frozen=True)
class ModuleSettings(CheckedSettings):
    """Settings of the extension module of every layer.

    With an initial gate of .98 the model starts near the original one.
    """

    size: str = setting(
        "",
        "size of the extension module of every layer",
        choices=SIZES,
        label="Module size",
        empty="none",
    )
    gate: float = setting(
        0.5,
        "initial weight of the original layer in exBERT (published .5)",
        low=ABOVE_ZERO,
        high=1 - ABOVE_ZERO,
        label="Initial gate",
    )
    seed: int = setting(1, "random seed of the module's weights", high=MAX_SEED)


@dataclass(frozen=True)
class ModuleSize:
    """Size of an extension module (0: none): hidden and intermediate units, of the
    module and of the layer.
    """

    hidden: int
    intermediate: int
    layer_hidden: int
    layer_intermediate: int

    @classmethod
    def from_settings(cls, settings: ModuleSettings, config: Mapping[str, Any]) -> "ModuleSize":
        """Compute the size of a module with these settings in a layer of the model of a
        config.json.

        Hidden units are rounded to a multiple of the heads, those of the feed-forward part to a
        multiple of 8: a product of 341 units takes longer than one of 344.
        """
        hidden, inner = int(config["hidden_size"]), int(config["intermediate_size"])
        heads = int(config["num_attention_heads"])
        if not settings.size:
            return cls(0, 0, hidden, inner)
        size = SIZES[settings.size]
        units = max(1, round(size.hidden * hidden / heads)) * heads
        inside = inner
        if size.intermediate < 1:
            inside = max(1, round(size.intermediate * inner / INSIDE)) * INSIDE
        return cls(units, inside, hidden, inner)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "ModuleSize":
        """Read the size of the modules of a model from its config.json; 0 units if it has none."""
        width = int(config.get("hidden_size", 0))
        inner = int(config.get("intermediate_size", 4 * width))
        return cls(
            int(config.get("extension_hidden_size", 0)),
            int(config.get("extension_intermediate_size", 0)),
            width,
            inner,
        )

    @property
    def parameters(self) -> int:
        """Number of parameters of the module of one layer, without its gate."""
        if not self.hidden:
            return 0
        return _count_parameters(self.hidden, self.intermediate, self.layer_hidden)

    @property
    def gate(self) -> int:
        """Number of parameters of its gate."""
        return (self.layer_hidden + 1) * bool(self.hidden)

    @property
    def share(self) -> float:
        """Its parameters as a fraction of those of the layer."""
        layer = _count_parameters(self.layer_hidden, self.layer_intermediate, self.layer_hidden)
        return self.parameters / max(layer, 1)

    def to_dict(self, layers: int) -> dict[str, Any]:
        """Summarize the modules of `layers` layers as JSON values."""
        total = layers * (self.parameters + self.gate)
        return {
            "hidden": self.hidden,
            "intermediate": self.intermediate,
            "share": self.share,
            "parameters": total,
        }


def _count_parameters(hidden: int, intermediate: int, width: int) -> int:
    """Count the parameters of a transformer layer of `hidden` and `intermediate` units whose inputs
    and outputs have `width` units.
    """
    attention = 3 * (width * hidden + hidden) + hidden * width + width
    feed_forward = width * intermediate + intermediate + intermediate * width + width
    return attention + feed_forward + 4 * width  # two norms with weight and bias


def compute_gate_bias(gate: float) -> float:
    """Return the bias of a gate that, with zero weights, has this value: its logit."""
    return math.log(gate / (1 - gate))


def is_extended(config: Mapping[str, Any]) -> bool:
    """Return whether a config.json is that of a model with extension modules."""
    return config.get("model_type") == MODEL_TYPE


def is_extension_tensor(name: str) -> bool:
    """Return whether a tensor belongs to an extension module or its gate, by its name."""
    return any(part in f".{name}." for part in PARTS)
