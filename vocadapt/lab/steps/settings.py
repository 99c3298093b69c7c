"""Settings of the steps, one frozen dataclass each, with the seed of the step's randomness."""

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
    """Base of the settings of steps without randomness."""

    seed: ClassVar[int | None] = None


def _seed_property(settings: str) -> property:
    """Return a property that reads the seed at this attribute path."""
    return property(attrgetter(settings), doc="The seed that the step's randomness comes from.")


@dataclass(frozen=True)
class CorpusStep(Unseeded):
    """How text is imported: by reference to its files, or as copies (`copy`)."""

    copy: bool = False
    corpus: CorpusSettings = field(default_factory=CorpusSettings)


@dataclass(frozen=True)
class VectorsStep:
    """Which lines are read, and how the vectors are trained.

    `resample`: seed of a bootstrap resample of the lines; 0 uses the text itself.
    """

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    word2vec: Word2VecSettings = field(default_factory=Word2VecSettings)
    resample: int = bounded(0, 0, LARGEST_SEED, "Seed of the resampled lines")

    def __post_init__(self) -> None:
        check_settings(self)

    seed = _seed_property("word2vec.seed")


@dataclass(frozen=True)
class ContextualStep:
    """Which lines are read, and which contextual vectors are made of them."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    contextual: ContextualSettings = field(default_factory=ContextualSettings)

    seed = _seed_property("contextual.seed")


@dataclass(frozen=True)
class ImportStep(Unseeded):
    """How imported vectors are read: the first `limit` words (0: all), folded to an uncased model
    or not.

    `collisions`: how cased spellings of one word are merged. `corpus`: how the text is read if only
    its words are imported.
    """

    limit: int = bounded(0, 0, MAX_COUNT, "Words to read")
    fold: bool = False
    collisions: str = "first"
    corpus: CorpusSettings = field(default_factory=CorpusSettings)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class AlignmentStep:
    """Which alignment is saved, the number of folds, and whether all methods are compared."""

    alignment: AlignmentSettings = field(default_factory=AlignmentSettings)
    folds: int = bounded(10, 2, 1_000, "Folds")
    compare: bool = False

    def __post_init__(self) -> None:
        check_settings(self)

    seed = _seed_property("alignment.seed")


@dataclass(frozen=True)
class ModelStep:
    """The recipe of an adapted model, which lines are read, and whether the model is certified."""

    recipe: Recipe = field(default_factory=lambda: PRESETS["green-bert"])
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    certify: bool = True

    seed = _seed_property("recipe.vectors.seed")


@dataclass(frozen=True)
class LeaderboardStep:
    """How initializers are compared, and which lines of the texts are read."""

    leaderboard: LeaderboardSettings = field(default_factory=LeaderboardSettings)
    corpus: CorpusSettings = field(default_factory=CorpusSettings)

    seed = _seed_property("leaderboard.seed")


@dataclass(frozen=True)
class PretrainStep:
    """Which lines are read, and how a model is pretrained from scratch; `half`: save it in float16."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    scratch: ScratchSettings = field(default_factory=ScratchSettings)
    half: bool = False

    seed = _seed_property("scratch.training.seed")


@dataclass(frozen=True)
class ContinuedPretrainingStep:
    """Which lines are read, and how pretraining is continued on them."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    further: ContinuedSettings = field(default_factory=ContinuedSettings)

    seed = _seed_property("further.training.seed")


@dataclass(frozen=True)
class FinetuneStep:
    """How a model is fine-tuned, under which tokenization ("": the model's default) and seeds.

    `kind`: task kind of single files (train, dev, test); `unit`: what an example of them is;
    `scorer` replaces the task's; `fold`: one fold of a k-fold task (1 is the first, ALL_FOLDS all
    of them); `limit`: maximum number of examples per split (0: all).
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
    """Converting .bin weights to safetensors has no settings."""


@dataclass(frozen=True)
class ProjectionStep:
    """Which tokens of a space are projected, and how."""

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
