"""Size of the extension module of an exBERT layer (Tai et al. 2020, section 4.1), and its settings.

Sizes are fractions of the size of the layer; for BERT-base they are exactly the published sizes.
This module does not import torch.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vocadapt.settings import ABOVE_ZERO, MAX_SEED, CheckedSettings, setting

# The error of transformers for an unknown model type contains this name, which tells the user what
# to install.
MODEL_TYPE = "vocadapt-exbert"
MODULE = "vocadapt.models.exbert"  # importing it registers the classes with transformers
INTERMEDIATE_MULTIPLE = 8  # the intermediate size is a multiple of this
PARTS = (".extension.", ".gate.")  # only names of an extension module's tensors contain these


@dataclass(frozen=True)
class Size:
    """Fractions of the layer's hidden and intermediate size, as published at 768 and 3,072."""

    hidden: float
    intermediate: float
    about: str


SIZES = {
    "s1": Size(120 / 768, 512 / 3072, "16.4 % of a layer"),
    "s2": Size(180 / 768, 720 / 3072, "23.5 % of a layer"),
    "s3": Size(252 / 768, 1024 / 3072, "33.2 % of a layer, chosen by Tai et al. 2020"),
    "s4": Size(504 / 768, 2048 / 3072, "66.3 % of a layer"),
    "s5": Size(1.0, 1.0, "as large as the layer"),
}


@dataclass(frozen=True)
class ModuleSettings(CheckedSettings):
    """Settings of the extension module of every layer.

    With an initial gate of .98 the outputs are at first close to those of the original model.
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
    """Hidden and intermediate size of an extension module (0 if there is none) and of its layer."""

    hidden: int
    intermediate: int
    layer_hidden: int
    layer_intermediate: int

    @classmethod
    def from_settings(cls, settings: ModuleSettings, config: Mapping[str, Any]) -> "ModuleSize":
        """Compute the size of a module with these settings in a model with this config.json.

        The hidden size is rounded to a multiple of the number of heads. The intermediate size is
        rounded to a multiple of 8, because a matrix product with 341 units is slower than with 344.
        """
        hidden = int(config["hidden_size"])
        inner = int(config["intermediate_size"])
        heads = int(config["num_attention_heads"])
        if not settings.size:
            return cls(0, 0, hidden, inner)
        size = SIZES[settings.size]
        units = max(1, round(size.hidden * hidden / heads)) * heads
        intermediate = inner
        if size.intermediate < 1:
            multiple = INTERMEDIATE_MULTIPLE
            intermediate = max(1, round(size.intermediate * inner / multiple)) * multiple
        return cls(units, intermediate, hidden, inner)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "ModuleSize":
        """Read the size of a model's extension modules from its config.json; 0 if it has none."""
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
        """Number of parameters of a layer's module, without its gate."""
        if not self.hidden:
            return 0
        return _count_parameters(self.hidden, self.intermediate, self.layer_hidden)

    @property
    def gate(self) -> int:
        """Number of parameters of a layer's gate."""
        return (self.layer_hidden + 1) * bool(self.hidden)

    @property
    def share(self) -> float:
        """Parameters of the module as a fraction of those of the layer."""
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
    """Count the parameters of a transformer layer with this hidden and intermediate size, and
    inputs and outputs of `width`.
    """
    attention = 3 * (width * hidden + hidden) + hidden * width + width
    feed_forward = width * intermediate + intermediate + intermediate * width + width
    return attention + feed_forward + 4 * width  # weight and bias of two LayerNorms


def compute_gate_bias(gate: float) -> float:
    """Return the bias with which a gate of zero weights has this value: the logit of the value."""
    return math.log(gate / (1 - gate))


def is_extended(config: Mapping[str, Any]) -> bool:
    """Return whether a config.json belongs to a model with extension modules."""
    return config.get("model_type") == MODEL_TYPE


def is_extension_tensor(name: str) -> bool:
    """Return whether the tensor with this name belongs to an extension module or its gate."""
    return any(part in f".{name}." for part in PARTS)
