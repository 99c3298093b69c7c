"""What initializers draw on and what they give: the materials, the rows, and where each row came
from.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.spaces.alignment.alignment import Alignment
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.vocabulary.overlap import position
from vocadapt.vocabulary.plan.plan import VocabularyPlan

if TYPE_CHECKING:
    from vocadapt.vocabulary.initializers.distilled import DistilSettings
    from vocadapt.vocabulary.initializers.initialize import RowSettings

NO_VECTOR = "without a vector in the target space"
SHOWN = 5  # donors of a row that stand in its line


class Donors(Sequence[tuple[str, float]]):
    """Sequence of (donor, weight) pairs of an embedding, created lazily: FOCUS has millions of
    them.

    Equal to the tuple of its pairs.
    """

    def __init__(self, names: Sequence[str], columns: NDArray[np.int64], weights: Matrix) -> None:
        self._names, self._columns, self._weights = names, columns, weights

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(
            map(self._names.__getitem__, self._columns.tolist()),
            self._weights.tolist(),
            strict=True,
        )

    @overload
    def __getitem__(self, place: int) -> tuple[str, float]: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[tuple[str, float], ...]: ...
    def __getitem__(self, place: int | slice) -> tuple[str, float] | tuple[tuple[str, float], ...]:
        return tuple(self)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Donors, tuple)) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True)
class Provenance:
    """What a row is made of: a sentence's worth of how, and its donors with their weights.

    `fallback`: the initializer could not make this row, and another one did, as `how` says.
    """

    how: str
    donors: Sequence[tuple[str, float]] = ()
    fallback: bool = False


@dataclass(frozen=True, eq=False)
class Rows:
    """One float32 row of the model's width for each token, in the same order, and where each came
    from.
    """

    tokens: tuple[str, ...]
    matrix: Matrix
    provenance: tuple[Provenance, ...]

    @property
    def fallbacks(self) -> int:
        """How many rows another initializer had to make."""
        return sum(source.fallback for source in self.provenance)


Made = tuple[Matrix, tuple[Provenance, ...]]
Distil = Callable[
    [VocabularyPlan, Matrix, "DistilSettings", Progress], tuple[Matrix, NDArray[np.int64]]
]


@dataclass(frozen=True, eq=False)
class Materials:
    """What initializers draw on: the plan, the model's own rows, and other vectors with their map
    where there are any.

    `domain` holds word vectors; `target` the rows of a target model, or vectors trained over the
    text cut by its vocabulary. `alignment` goes from the domain, or from the target where there is
    no domain, to the model. `distiller` fits rows to a text through the network: from the plan and
    the rows to begin with to the rows, and over how many contexts each was fitted. It takes long,
    and tells `progress` how far it is.
    """

    plan: VocabularyPlan
    model: EmbeddingSpace
    domain: EmbeddingSpace | None = None
    alignment: Alignment | None = None
    target: EmbeddingSpace | None = None
    distiller: Distil | None = None
    progress: Progress = silent

    @property
    def similar(self) -> EmbeddingSpace:
        """Where it is read which tokens are alike: the target space, else the word vectors;
        InputError without either.
        """
        space = self.domain if self.target is None else self.target
        if space is None:
            problem = "These rows are made of tokens alike in a target space, and none was given."
            raise InputError(problem, "Give --target, --vectors or --corpus.")
        return space

    @cached_property
    def donors(self) -> tuple[str, ...]:
        """The common tokens: the model's, kept with their row, that have a vector in the target
        space; by id.

        Special and [unused] tokens are none. Raises InputError where there is not one.
        """
        space, stays = self.similar, frozenset(self.plan.kept)
        found = tuple(
            token
            for token in ordinary(self.plan, self.model)
            if token in stays and has_vector(space, token)
        )
        if not found:
            raise InputError(
                f"{self.model.name} and {space.name} ({len(space):,} tokens) have no token in"
                " common that keeps its row.",
                "Check that both are of one language and one casing.",
            )
        return found


@dataclass(frozen=True)
class Initializer:
    """An initializer, the sentence that explains it, its formula, its source, and what it needs
    beside the model.

    `needs`: "" nothing, "words" word vectors, "target" rows of a target model, "similar" one of
    these, "text" a text to be read through the network.
    """

    make: Callable[[Materials, "RowSettings"], Made]
    about: str
    formula: str
    source: str
    needs_alignment: bool = False
    needs: str = ""


Registered = Mapping[str, Initializer]


def ordinary(plan: VocabularyPlan, model: EmbeddingSpace) -> list[str]:
    """The model's old tokens whose rows were trained on text, by id: neither special nor
    [unused].
    """
    base = plan.base
    return [
        token
        for token in base.tokens
        if token in model and position(token, base) not in ("special", "unused")
    ]


def has_vector(space: EmbeddingSpace, token: str) -> bool:
    """Whether a token has a vector there that points somewhere."""
    return token in space and bool(space[token].any())


def mean_row(model: EmbeddingSpace) -> Matrix:
    """The mean of all rows (dim,), summed in double precision."""
    mean: Matrix = model.matrix.mean(axis=0, dtype=np.float64).astype(np.float32)
    return mean


def provenance_line(token: str, source: Provenance, most: int = SHOWN) -> str:
    """One readable line: "hypertension = 1/3 obesity + 1/3 asthma + 1/3 alcoholism"; heaviest
    donors first, so many of them.
    """
    if not source.donors or source.donors == ((token, 1.0),):
        return f"{token} = {source.how}"
    equal = (
        len({weight for _, weight in source.donors}) == 1
        and abs(source.donors[0][1] * len(source.donors) - 1) < 1e-6
    )
    ordered = sorted(source.donors, key=lambda donor: -abs(donor[1]))[:most]
    terms = [
        f"{_weight(weight, len(source.donors) if equal else 0)}{name}" for name, weight in ordered
    ]
    line = f"{token} = {' + '.join(terms)}".replace("+ -", "− ")
    rest = len(source.donors) - len(ordered)
    return (
        line
        + (f" + … ({rest} more)" if rest > 0 else "")
        + (f"  ({source.how})" if source.fallback else "")
    )


def _weight(weight: float, equal: int) -> str:
    if equal:
        return f"1/{equal} " if equal > 1 else ""
    return f"{weight:.2f} ".replace("0.", ".", 1) if abs(weight) >= 0.005 else f"{weight:.1g} "
