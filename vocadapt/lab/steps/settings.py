"""What each step of the walk is told: its settings as one frozen value, and the seed that its
randomness comes from.
"""

from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar

from vocadapt.analysis.leaderboard.leaderboard import LeaderboardSettings
from vocadapt.models.contextual.occurrences import ContextualSettings
from vocadapt.recipe import PRESETS, Recipe
from vocadapt.settings import LARGEST_SEED, MAX_COUNT, bounded, check_settings
from vocadapt.spaces.alignment.alignment import AlignmentSettings
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.text.corpus import CorpusSettings
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.from_scratch import ScratchSettings

ALL_FOLDS = -1  # as the fold of a FinetuneStep


class Unseeded:
    """Settings of a step in which nothing is drawn at random."""

    seed: ClassVar[int | None] = None


def _seed_property(settings: str) -> property:
    """The seed of the settings of this name, as that of a step."""
    return property(attrgetter(settings), doc="The seed that the step's randomness comes from.")


@dataclass(frozen=True)
class CorpusStep(Unseeded):
    """How text enters the workspace: by reference to the files, or with `copy` as copies of
    them.
    """

    copy: bool = False
    corpus: CorpusSettings = field(default_factory=CorpusSettings)


@dataclass(frozen=True)
class VectorsStep:
    """Which lines are read, and how the vectors are trained; `resample`: on lines drawn anew with
    this seed, 0 for the text.
    """

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    word2vec: Word2VecSettings = field(default_factory=Word2VecSettings)
    resample: int = bounded(0, 0, LARGEST_SEED, "Seed of the resampled lines")

    def __post_init__(self) -> None:
        check_settings(self)

    seed = _seed_property("word2vec.seed")


@dataclass(frozen=True)
class ContextualStep:
    """Which lines are read, and which vectors in context are made of them."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    contextual: ContextualSettings = field(default_factory=ContextualSettings)

    seed = _seed_property("contextual.seed")


@dataclass(frozen=True)
class ImportStep(Unseeded):
    """How foreign vectors are read: the first `limit` words (0: all), cased words folded onto an
    uncased model.

    `collisions` says how cased spellings of one word are merged. `corpus`: see `only words of this
    text`.
    """

    limit: int = bounded(0, 0, MAX_COUNT, "Words to read")
    fold: bool = False
    collisions: str = "first"
    corpus: CorpusSettings = field(default_factory=CorpusSettings)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class AlignmentStep:
    """Which map is kept, how many folds judge it, and whether all maps are judged beside it."""

    alignment: AlignmentSettings = field(default_factory=AlignmentSettings)
    folds: int = bounded(10, 2, 1_000, "Folds")
    compare: bool = False

    def __post_init__(self) -> None:
        check_settings(self)

    seed = _seed_property("alignment.seed")


@dataclass(frozen=True)
class ModelStep:
    """The recipe of an adapted model, which lines of a text are read, and whether the certificate
    is made at once.
    """

    recipe: Recipe = field(default_factory=lambda: PRESETS["green-bert"])
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    certify: bool = True

    seed = _seed_property("recipe.vectors.seed")


@dataclass(frozen=True)
class LeaderboardStep:
    """How initializers are judged, and which lines are read of the texts that vectors are trained
    on and losses asked of.
    """

    leaderboard: LeaderboardSettings = field(default_factory=LeaderboardSettings)
    corpus: CorpusSettings = field(default_factory=CorpusSettings)

    seed = _seed_property("leaderboard.seed")


@dataclass(frozen=True)
class PretrainStep:
    """Which lines are read, what is built on them from scratch and how it is trained; with `half`
    saved in float16.
    """

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    scratch: ScratchSettings = field(default_factory=ScratchSettings)
    half: bool = False

    seed = _seed_property("scratch.training.seed")


@dataclass(frozen=True)
class ContinuedPretrainingStep:
    """Which lines are read, and how a model is pretrained further on them."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    further: ContinuedSettings = field(default_factory=ContinuedSettings)

    seed = _seed_property("further.training.seed")


@dataclass(frozen=True)
class FinetuneStep:
    """How a task is trained on, under which tokenization ("": the model's usual one) and seeds.

    `kind` is that of loose files (train, dev, test), `unit` what an example of them is; `scorer`
    overrules the task's, `fold` is one of a k-fold task (1 is the first, ALL_FOLDS all of them),
    `limit` the examples of each split at most (0: all).
    """

    finetune: FinetuneSettings = field(default_factory=FinetuneSettings)
    tokenization: str = ""
    seeds: tuple[int, ...] = bounded((1,), 0, LARGEST_SEED, "Seeds")
    kind: str = ""
    scorer: str = ""
    fold: int = bounded(0, ALL_FOLDS, 1_000, "Fold")
    limit: int = bounded(0, 0, MAX_COUNT, "Examples of each split")
    unit: str = ""

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def seed(self) -> int:
        """The first seed that the step's randomness comes from."""
        return self.seeds[0]


@dataclass(frozen=True)
class ConvertStep(Unseeded):
    """Turning a model's .bin weights into safetensors has no settings."""


@dataclass(frozen=True)
class ProjectionStep:
    """Which tokens of a space are shown, and how they are laid out in the plane."""

    choice: TokenChoice = field(default_factory=TokenChoice)
    projection: ProjectionSettings = field(default_factory=ProjectionSettings)

    seed = _seed_property("projection.seed")


Settings = (
    CorpusStep
    | VectorsStep
    | ContextualStep
    | ImportStep
    | AlignmentStep
    | ModelStep
    | LeaderboardStep
    | PretrainStep
    | ContinuedPretrainingStep
    | FinetuneStep
    | ConvertStep
    | ProjectionStep
)
