"""The whole method in one function, `adapt`: text → words → word vectors → alignment → plan → new
embeddings → adapted model → continued pretraining.

>>> model = open_model("bert-base-uncased")
>>> adapted = adapt(get_preset("green-bert"), model, Sources(corpus=open_corpus(["articles.txt"])))
>>> adapted.save("bert-with-my-words")

The same call gives it the vocabulary of another model: adapt(get_preset("transfer-syntactic"),
model, Sources(target=other)).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import AdaptedModel, apply_plan
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.network_class import get_network_class
from vocadapt.presets import get_preset
from vocadapt.progress import Progress, parts, silent
from vocadapt.recipe import Recipe
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.trainer import TrainedVectors
from vocadapt.text.corpus import Corpus, open_corpus
from vocadapt.text.glossary import read_glossary
from vocadapt.text.words import count_words
from vocadapt.training.distillation import build_distiller
from vocadapt.training.grounding import build_grounder
from vocadapt.training.joined_states import PieceJoiner, compute_agreement
from vocadapt.training.masked.continued_adaptation import check_adaptable, continue_adaptation
from vocadapt.training.word_vectors import train_domain_vectors, train_token_vectors
from vocadapt.vocabulary.initializers.initialize import Materials, NewEmbeddings, initialize
from vocadapt.vocabulary.plan.exact_words import check_exact_words
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.trim_lines import AddedTokenLines, read_added_token_lines

__all__ = ["Sources", "adapt", "get_preset", "open_corpus", "open_model", "plan_adaptation"]

# Relative costs of stages for the progress bar: about their seconds for the demo's model, measured.
PLAN, MODEL = 1.0, 3.0
WORD_VECTORS = 70.0  # training word vectors on a text
DISTILLATION = 500.0  # training new embeddings through the network
PRETRAINING = 350.0
SHORT = 1.0


@dataclass(frozen=True)
class Sources:
    """The inputs of a recipe.

    corpus: text of the domain.
    vectors: word vectors of the domain.
    target: another model, for its vocabulary and embeddings.
    counts: word counts of the lines of the text that tokens are chosen by, under the model's
        splitter, if already computed; held_out: those of its held-out lines.
    glossary: text with a word and its description on each line.
    """

    corpus: Corpus | None = None
    vectors: EmbeddingSpace | None = None
    target: LanguageModel | None = None
    counts: Mapping[str, int] | None = None
    glossary: Corpus | None = None
    held_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_bare_target(self) -> bool:
        """Whether the target is a vocabulary file, without embeddings."""
        return self.target is not None and self.target.path.is_file()


def adapt(
    recipe: Recipe,
    model: LanguageModel,
    sources: Sources,
    progress: Progress = silent,
    checkpoint: Path | None = None,
) -> AdaptedModel:
    """Return a copy of a model with an adapted vocabulary; `model` itself is not changed.

    checkpoint: folder from which an interrupted pretraining resumes. Raises InputError if a source
    is missing, or if the recipe does not fit the model.
    """
    check_adaptable(model, recipe.module, recipe.pretraining)
    get_network_class(model)  # raises InputError unless it is a network
    # The part of the progress bar of each stage.
    stages = parts(
        progress, weigh_stages(recipe, sources.vectors is not None, sources.has_bare_target)
    )

    # 1. Load or train the word vectors of the domain.
    domain = trained = None
    if "vectors" in recipe.needs:
        domain = sources.vectors
        if domain is None:
            trained = train_domain_space(recipe, model, sources, stages["vectors"])
            domain = trained.space

    # 2. Plan the vocabulary: which tokens are added and removed.
    plan = plan_adaptation(recipe, model, sources, domain, stages["plan"])
    if plan.added and recipe.tokenizer == "exact-word":
        plan = check_exact_words(plan, model.fast_tokenizer, sources.corpus, stages["plan"])

    # 3. Load or train the space in which similar tokens are looked up.
    target = load_target_space(recipe, model, sources, stages["target"])

    # 4. Initialize the new embeddings.
    embeddings = compute_embeddings(
        recipe, model, sources, plan, domain, target, stages["embeddings"]
    )

    # 5. Apply plan and embeddings to the model.
    stages["model"](0.0, f"adding {len(plan.added):,} tokens to the model")
    adapted = apply_plan(model, plan, embeddings, recipe.tokenizer, recipe.module)
    adapted = replace(adapted, domain=domain, trained=trained)

    # 6. Continue pretraining, if the recipe includes it.
    if not recipe.pretraining.stage:
        return adapted
    corpus = require_corpus(recipe, sources, "a text to continue pretraining on")
    return continue_adaptation(
        adapted, corpus, recipe.pretraining, checkpoint, stages["pretraining"]
    )


def train_domain_space(
    recipe: Recipe, model: LanguageModel, sources: Sources, progress: Progress = silent
) -> TrainedVectors:
    """Train word vectors of the domain on the text."""
    if sources.corpus is None:
        raise InputError(
            f"The recipe {recipe.name} needs a text or word vectors of the domain, and got"
            " neither.",
            "Give one of them.",
            code="no-domain",
        )
    return train_domain_vectors(sources.corpus, model, recipe.vectors, progress)


def plan_adaptation(
    recipe: Recipe,
    model: LanguageModel,
    sources: Sources,
    domain: EmbeddingSpace | None = None,
    progress: Progress = silent,
) -> VocabularyPlan:
    """Build the plan of a recipe; count the words of the text if the recipe needs them."""
    progress(0.0, "planning the vocabulary")
    # 1. The word counts of the text.
    counts, held_out = sources.counts, sources.held_out
    if counts is None and "counts" in recipe.needs:
        corpus = require_corpus(recipe, sources, "the words of a text")
        found = count_words(corpus, model.splitter, progress)
        counts, held_out = found.in_sample, found.held_out
    # 2. Count the tokens of lines with added tokens separately: pre-tokens do not determine them.
    added = added_held_out = AddedTokenLines()
    text = sources.corpus
    if counts and recipe.kind.keeps_text and text is not None and text.counted_by is None:
        added = read_added_token_lines(text, model.fast_tokenizer, model.splitter, progress)
        if held_out and added.held_out is not None:
            added_held_out = added.held_out
            added = added.in_sample
            held_out = added_held_out.subtract_from(held_out)
        counts = added.subtract_from(counts)
    # 3. Make the plan.
    target = sources.target
    if target is not None:
        check_casing(model, target)
    given = PlanSources(
        domain,
        target.vocabulary if target else None,
        counts,
        recipe.tokenizer,
        added.tokens,
        held_out,
        added_held_out.tokens,
        lambda tokens: compute_agreement(model, tokens, progress),
    )
    return plan_vocabulary(model.vocabulary, model.splitter, given, recipe.vocabulary)


def check_casing(model: LanguageModel, target: LanguageModel) -> None:
    """Raise InputError for a target of another casing: its tokens would never match the text."""
    if target.splitter.lowercase != model.splitter.lowercase:
        raise InputError(
            f"{target.name} and {model.name} differ in casing: one is cased, the other uncased.",
            "Choose two models of the same casing, or give the casing of a vocab.txt.",
            code="other-casing",
        )


def load_target_space(
    recipe: Recipe, model: LanguageModel, sources: Sources, progress: Progress = silent
) -> EmbeddingSpace | None:
    """Return the space in which similar tokens are looked up: the embeddings of the target model.

    Returns None if the recipe does not use it. A target that is only a vocab.txt has no embeddings:
    vectors of the model's dimension are trained on the text, tokenized with its vocabulary.
    """
    target = sources.target
    if target is None or not recipe.needs_similar_tokens:
        return None
    if not sources.has_bare_target:
        return target.space
    if sources.corpus is None:
        raise InputError(
            f"{target.path} is a vocabulary without embeddings, so it has no similar tokens.",
            "Give the model itself, or a text to train vectors of its tokens on.",
            code="no-embeddings",
        )
    settings = replace(recipe.vectors, dim=recipe.vectors.dim or model.dim)
    return train_token_vectors(
        sources.corpus, target.splitter, target.vocabulary, settings, progress
    )[0]


def compute_embeddings(
    recipe: Recipe,
    model: LanguageModel,
    sources: Sources,
    plan: VocabularyPlan,
    domain: EmbeddingSpace | None,
    target: EmbeddingSpace | None,
    progress: Progress = silent,
) -> NewEmbeddings:
    """Compute the new embeddings of a plan, (tokens, dim) float32.

    Fits the alignment if the initializer needs one.
    """
    progress(0.0, "initializing the new embeddings")
    distiller = grounder = alignment = None
    source = target
    joiner = PieceJoiner(model)
    if recipe.distills:
        corpus = require_corpus(recipe, sources, "a text to train its embeddings on")
        distiller = build_distiller(model, corpus, whole_words=recipe.tokenizer == "exact-word")
    if "glossary" in recipe.needs:
        if sources.glossary is None:
            raise InputError(
                f"The recipe {recipe.name} needs a glossary, and got none.", "Give a glossary."
            )
        grounder = build_grounder(model, read_glossary(sources.glossary))
    # These come first: a missing source is reported even if no token is new.
    if not plan.new_embeddings:
        return NewEmbeddings((), np.empty((0, model.dim), dtype=np.float32), ())
    # Spell the words of the domain as tokens: anchors are matched by name.
    if domain is not None:
        source = domain = model.vocabulary.spell_words(domain)
    if recipe.needs_alignment and source is not None:
        alignment = fit_alignment(source, model.space, recipe.alignment)
    materials = Materials(
        plan, model.space, domain, alignment, target, distiller, progress, joiner, grounder
    )
    return initialize(materials, recipe.initializer)


def require_corpus(recipe: Recipe, sources: Sources, what: str) -> Corpus:
    """Return the text; raise InputError if there is none.

    what: the purpose of the text, for the message.
    """
    if sources.corpus is None:
        raise InputError(f"The recipe {recipe.name} needs {what}, and got none.", "Give a text.")
    return sources.corpus


def weigh_stages(recipe: Recipe, has_vectors: bool, has_bare_target: bool) -> dict[str, float]:
    """Return stage → relative cost, for the progress bar.

    has_vectors: word vectors of the domain were given. has_bare_target: the target is a vocabulary
    without embeddings, and vectors of its tokens are trained.
    """
    weights = {"vectors": 0.0, "plan": PLAN, "target": SHORT, "embeddings": SHORT, "model": MODEL}
    if "vectors" in recipe.needs and not has_vectors:
        weights["vectors"] = WORD_VECTORS
    if recipe.needs_similar_tokens and has_bare_target:
        weights["target"] = WORD_VECTORS
    if recipe.trains_embeddings:
        weights["embeddings"] = DISTILLATION
    if recipe.pretraining.stage:
        weights["pretraining"] = PRETRAINING
    return weights
