"""Recipe: the settings of every stage of the pipeline, read from and written to TOML."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.models.extension_size import ModuleSettings
from vocadapt.settings import build_settings, check_settings, setting
from vocadapt.spaces.alignment.alignment import AlignmentSettings
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.system.files import read_toml
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS, InitializerSettings
from vocadapt.vocabulary.plan.plan import KINDS, PlanKind, PlanSettings
from vocadapt.vocabulary.plan.planning import find_plan_inputs
from vocadapt.vocabulary.plan.tokenizer import TOKENIZER_MODES

# Word vectors as in Poerner et al. 2020: CBOW, five passes over the text.
PUBLISHED_VECTORS = Word2VecSettings(trainer="gensim", epochs=5)


@dataclass(frozen=True)
class Recipe:
    """All settings of an adaptation, one group for each stage.

    title: its display name; "" if it has only a name. vocabulary: settings of the plan;
    `vocabulary.kind` is the name of its kind, `kind` the declaration of that. initializer: how the
    embeddings of new tokens are initialized. module: exBERT's extension modules, if any.
    pretraining: continued pretraining; disabled if its stage is "".
    """

    name: str = "green-bert"
    about: str = ""
    vectors: Word2VecSettings = field(default_factory=lambda: PUBLISHED_VECTORS)
    vocabulary: PlanSettings = field(default_factory=PlanSettings)
    alignment: AlignmentSettings = field(default_factory=AlignmentSettings)
    initializer: InitializerSettings = field(default_factory=InitializerSettings)
    tokenizer: str = setting(
        "exact-word",
        "how the tokenizer uses new tokens",
        choices=TOKENIZER_MODES,
        label="Tokenizer mode",
        flag="--tokenizer-mode",
    )
    module: ModuleSettings = field(default_factory=ModuleSettings)
    pretraining: ContinuedSettings = field(default_factory=lambda: ContinuedSettings(stage=""))
    # Not compared: recipes that were saved before there were titles still equal their preset.
    title: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.kind.rearranges and not TOKENIZER_MODES[self.tokenizer].rearranges:
            raise InputError(
                f"A plan of the kind {self.vocabulary.kind} removes or moves tokens, which"
                f" {self.tokenizer} cannot do.",
                'Set tokenizer = "replacement".',
            )

    @property
    def kind(self) -> PlanKind:
        """The kind of the plan."""
        return KINDS[self.vocabulary.kind]

    @property
    def makes_embeddings(self) -> bool:
        """Whether there are new embeddings; a reduction has none."""
        return self.kind.adds or self.vocabulary.renew

    @property
    def initializer_needs(self) -> str:
        """The input that the initializer needs (`Initializer.needs`); "" without new embeddings."""
        return INITIALIZERS[self.initializer.method].needs if self.makes_embeddings else ""

    @property
    def needs_alignment(self) -> bool:
        """Whether the initializer needs a fitted alignment."""
        return self.makes_embeddings and INITIALIZERS[self.initializer.method].needs_alignment

    @property
    def needs_similar_tokens(self) -> bool:
        """Whether the initializer looks up similar tokens in the embeddings of a target."""
        return self.initializer_needs in ("target", "similar")

    @property
    def distills(self) -> bool:
        """Whether the embeddings are trained on the text, which takes long."""
        return self.initializer_needs == "text"

    @property
    def trains_embeddings(self) -> bool:
        """Whether the embeddings are trained through the network, on a text or a glossary."""
        return self.initializer_needs in ("text", "glossary")

    @property
    def needs(self) -> frozenset[str]:
        """The sources that the recipe needs: a subset of "vectors", "target", "counts", "text" and
        "glossary".
        """
        found = {*self.kind.needs, *find_plan_inputs(self.vocabulary)}
        # Similar tokens are those of the target if the plan has one, else those of the vectors.
        similar = "target" if "target" in found else "vectors"
        sources = {"words": "vectors", "similar": similar}
        found.add(sources.get(self.initializer_needs, self.initializer_needs))
        if self.pretraining.stage:
            found.add("text")
        return frozenset(found - {"", "network"})

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as plain values."""
        return asdict(self)


def read_recipe(path: Path) -> Recipe:
    """Read a recipe from TOML; missing settings keep their defaults.

    Raises InputError if the file is missing, is not TOML, or has an unknown setting.
    """
    return build_settings(Recipe, {"name": path.stem, **read_toml(path)}, str(path))


def write_recipe(recipe: Recipe, path: Path) -> None:
    """Write a recipe as TOML, with every setting."""
    path.write_text(format_toml(recipe), encoding="utf-8")


def format_toml(recipe: Recipe) -> str:
    """Return a recipe as TOML, with every setting, as `read_recipe` reads it."""
    import tomli_w

    return tomli_w.dumps(recipe.to_dict())
