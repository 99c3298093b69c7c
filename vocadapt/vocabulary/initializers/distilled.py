"""The initializer that asks the network itself: rows under which it reads a new token as it read
the token's old pieces.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vocadapt.errors import InputError
from vocadapt.settings import LARGEST_RATE, LARGEST_SEED, SMALLEST, bounded, check_settings
from vocadapt.vocabulary.initializers.materials import (
    Initializer,
    Made,
    Materials,
    Provenance,
    Registered,
)
from vocadapt.vocabulary.initializers.mixing import mean_of_pieces

if TYPE_CHECKING:
    from vocadapt.vocabulary.initializers.initialize import RowSettings

NEEDED = "These rows are fitted to a text through the network, and no text was given for it."


@dataclass(frozen=True)
class DistilSettings:
    """How rows are distilled: hidden states of which `layer` are to match (−1: the last), over how
    many `contexts` of each token.

    A context is a stretch of at most `length` wordpieces of a line. A token of fewer contexts meets
    those it has again, so that every row is moved `passes` × `contexts` times; `batch` tokens at a
    time, Adam with a rate of its own for each row, falling from `lr` to 0. `seed` draws contexts
    and order. Raises InputError for values without sense.
    """

    layer: int = bounded(-1, -1, 1_000, "Distilled rows: layer to match")
    contexts: int = bounded(12, 1, 100_000, "Distilled rows: contexts of a token")
    passes: int = bounded(1, 1, 10_000, "Distilled rows: passes over the contexts")
    length: int = bounded(32, 4, 4096, "Distilled rows: wordpieces of a context")
    batch: int = bounded(32, 1, 65_536, "Distilled rows: tokens in a batch")
    lr: float = bounded(5e-3, SMALLEST, LARGEST_RATE, "Distilled rows: learning rate")
    seed: int = bounded(1, 0, LARGEST_SEED, "Distilled rows: seed")

    def __post_init__(self) -> None:
        check_settings(self)
        if self.layer < 1 and self.layer != -1:
            raise InputError(
                f"Distilled rows: there is no layer {self.layer} to match.",
                "Give 1 or more, or -1 for the last.",
            )


def distilled(materials: Materials, settings: "RowSettings") -> Made:
    """The mean of a token's pieces, moved until the network reads the token as it read the
    pieces.
    """
    if materials.distiller is None:
        raise InputError(
            NEEDED,
            "Give --corpus TEXT; a leaderboard must be asked for distilled by name: it takes long.",
        )
    start, sources = mean_of_pieces(materials, materials.plan.new_rows)
    rows, contexts = materials.distiller(materials.plan, start, settings.distil, materials.progress)
    provenance = (
        (
            Provenance(
                f"distilled from the mean of its pieces, over {n} of {settings.distil.contexts}"
                " contexts asked for"
            )
            if n
            else Provenance(f"no context in the text: {source.how}", source.donors, fallback=True)
        )
        for n, source in zip(contexts.tolist(), sources, strict=True)
    )
    return rows, tuple(provenance)


DISTILLED: Registered = {
    "distilled": Initializer(
        distilled,
        "the mean of its pieces, moved until the network's hidden states are those it had with the"
        " pieces; needs a text",
        "argmin Σ ‖h(t) − h(pieces of t)‖²",
        "Token Distillation (2026), here for encoders",
        needs="text",
    ),
}
