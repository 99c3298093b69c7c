"""Size of the extension module of an exBERT layer (Tai et al. 2020, section 4.1), and its settings.
Does not import torch.

Sizes are shares of the layer that the module stands beside. At the width of BERT-base they are the
published ones, exactly.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vocadapt.settings import LARGEST_SEED, SMALLEST, check_settings, setting

MODEL_TYPE = (  # transformers repeats it where it does not know it: the name says whom to ask
    "vocadapt-exbert"
)
MODULE = "vocadapt.models.exbert"  # importing it is what makes transformers know it
INSIDE = 8  # units of the feed-forward part come in multiples of so many
PARTS = (
    ".extension.",
    ".gate.",
)  # what an extension module's tensors are called by, and nothing else is


@dataclass(frozen=True)
class Size:
    """Shares of the layer's hidden and intermediate size, as published at 768 and 3,072."""

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
class ModuleSettings:
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
        low=SMALLEST,
        high=1 - SMALLEST,
        label="Initial gate",
    )
    seed: int = setting(1, "random seed of the module's weights", high=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_settings(self)


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
    def of(cls, settings: ModuleSettings, config: Mapping[str, Any]) -> "ModuleSize":
        """The module of the settings beside a layer of the model with this config.json.

        Rounded so that heads are alike, and the feed-forward part to eights: a product of 341 units
        takes longer than of 344.
        """
        hidden, inner, heads = (
            int(config[key]) for key in ("hidden_size", "intermediate_size", "num_attention_heads")
        )
        if not settings.size:
            return cls(0, 0, hidden, inner)
        size = SIZES[settings.size]
        units = max(1, round(size.hidden * hidden / heads)) * heads
        inside = (
            inner
            if size.intermediate == 1
            else max(1, round(size.intermediate * inner / INSIDE)) * INSIDE
        )
        return cls(units, inside, hidden, inner)

    @classmethod
    def beside(cls, config: Mapping[str, Any]) -> "ModuleSize":
        """The module that a model with this config.json has; of 0 units where it has none."""
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
        """Parameters of the module beside one layer, its gate left out."""
        return _parameters(self.hidden, self.intermediate, self.layer_hidden) if self.hidden else 0

    @property
    def gate(self) -> int:
        """Parameters of its gate."""
        return self.layer_hidden + 1 if self.hidden else 0

    @property
    def share(self) -> float:
        """Its parameters over those of the layer."""
        layer = _parameters(self.layer_hidden, self.layer_intermediate, self.layer_hidden)
        return self.parameters / layer if layer else 0.0

    def to_dict(self, layers: int) -> dict[str, Any]:
        """What was built beside so many layers, in numbers."""
        total = layers * (self.parameters + self.gate)
        return {
            "hidden": self.hidden,
            "intermediate": self.intermediate,
            "share": self.share,
            "parameters": total,
        }


def _parameters(hidden: int, intermediate: int, width: int) -> int:
    """Parameters of a transformer layer of `hidden` and `intermediate` units that reads and gives
    vectors of `width`.
    """
    attention = 3 * (width * hidden + hidden) + hidden * width + width
    feed_forward = width * intermediate + intermediate + intermediate * width + width
    return attention + feed_forward + 4 * width  # two norms with weight and bias


def gate_bias(gate: float) -> float:
    """The bias under which a gate without weights gives this share."""
    return math.log(gate / (1 - gate))


def is_extended(config: Mapping[str, Any]) -> bool:
    """Whether a config.json is that of a model with extension modules."""
    return config.get("model_type") == MODEL_TYPE


def of_extension(name: str) -> bool:
    """Whether a tensor belongs to an extension module or its gate, by its name."""
    return any(part in f".{name}." for part in PARTS)
