"""READ FIRST. The whole pipeline in a few calls: text → words → word vectors → alignment → plan → new
embeddings → adapted model.

>>> model = open_model("bert-base-uncased")
>>> adapted = adapt(preset("green-bert"), model, Sources(corpus=open_corpus(["articles.txt"])))
>>> adapted.save("bert-with-my-words")

The same call gives it the vocabulary of another model: adapt(preset("transfer-syntactic"), model,
Sources(target=other)).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import AdaptedModel, apply_plan
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.progress import Progress, part, parts, silent
from vocadapt.recipe import Recipe, preset
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.resampling import train_resampled
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec
from vocadapt.text.corpus import Corpus, open_corpus
from vocadapt.text.words import count_words, write_sentences
from vocadapt.training.token_space import token_space
from vocadapt.vocabulary.initializers.initialize import (
    INITIALIZERS,
    Materials,
    NewEmbeddings,
    initialize,
)
from vocadapt.vocabulary.initializers.materials import Distil
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.tokenizer import Departures, measure_departures

__all__ = [
    "Sources",
    "adapt",
    "count_departures",
    "domain_space",
    "open_corpus",
    "open_model",
    "preset",
]

# Relative cost of stages, for the progress bar: training word vectors, and training embeddings.
VECTORS, DISTILLING = 70.0, 500.0
WRITING = (
    0.05  # part of the distillation stage in which the words of the text are written to a file
)
COUNTING = 0.8  # cost of reading and counting a text, in epochs of training on it


@dataclass(frozen=True)
class Sources:
    """The inputs of a recipe.

    corpus: text of the domain; vectors: word vectors that are ready.
    target: another model, for its vocabulary and embeddings.
    counts: words of the text, as the model's splitter makes them, if they are already counted.
    """

    corpus: Corpus | None = None
    vectors: EmbeddingSpace | None = None
    target: LanguageModel | None = None
    counts: Mapping[str, int] | None = None


def adapt(
    recipe: Recipe,
    model: LanguageModel,
    sources: Sources,
    progress: Progress = silent,
    scratch: Path | None = None,
) -> AdaptedModel:
    """Teach a model the words of a domain, or give it another vocabulary; `model` is not changed.

    scratch: folder for temporary files (None: the system's, which is often in memory).
    Raises InputError if a source is missing, and for a recipe with continued pretraining: the
    step of the lab does both; here `training.masked.continued.continue_pretraining` follows.

    1. Train or take the word vectors of the domain.
    2. Plan the vocabulary.
    3. Find the space in which similar tokens are looked up.
    4. Compute the new embeddings.
    5. Apply plan and embeddings to the model.
    """
    if recipe.further.stage:
        raise InputError(
            f"The recipe {recipe.name} trains the adapted model further, which this call does not.",
            "Adapt by recipe.untrained, save, open, and give that to continue_pretraining; `vocadapt"
            " adapt` does both.",
        )
    told, domain = parts(progress, shares(recipe, sources)), None
    if "vectors" in recipe.needs:
        domain = domain_space(sources, model, recipe.vectors, told["vectors"], scratch)
    told["plan"](0.0, "planning the vocabulary")
    plan = plan_for(recipe, model, sources, domain, told["plan"])
    alike = target_space(recipe, sources, model.dim, told["alike"], scratch)
    told["rows"](0.0, "making the rows")
    with open_distiller(
        recipe, model, sources, part(told["rows"], 0.0, WRITING), scratch
    ) as distiller:
        rows = make_rows(
            recipe, model, plan, domain, alike, distiller, part(told["rows"], WRITING, 1.0)
        )
    told["model"](0.0, f"giving the model {len(plan.added):,} tokens")
    return apply_plan(model, plan, rows, recipe.tokenizer, recipe.module)


def shares(recipe: Recipe, sources: Sources) -> dict[str, float]:
    """Return the relative cost of each stage, for the progress bar."""
    trained = "vectors" in recipe.needs and sources.vectors is None
    bare = _reads_target(recipe) and sources.target is not None and sources.target.path.is_file()
    alike, rows = VECTORS if bare else 5.0, DISTILLING if recipe.distils else 5.0
    return {
        "vectors": VECTORS if trained else 0.0,
        "plan": 10.0,
        "alike": alike,
        "rows": rows,
        "model": 10.0,
    }


def plan_for(
    recipe: Recipe,
    model: LanguageModel,
    sources: Sources,
    domain: EmbeddingSpace | None = None,
    progress: Progress = silent,
) -> VocabularyPlan:
    """Make the plan of a recipe; the words of the text are counted if the recipe needs them."""
    counts = sources.counts
    if counts is None and "counts" in recipe.needs:
        if sources.corpus is None:
            raise InputError(
                f"The recipe {recipe.name} needs the words of a text, and got none.",
                "Give a text.",
            )
        counts = count_words(sources.corpus, model.splitter, progress).counts
    target = sources.target
    if target is not None and target.splitter.lowercase != model.splitter.lowercase:
        raise InputError(
            f"Of {target.name} and {model.name} one is cased, the other uncased.",
            "Choose two models of the same casing, or give the casing of a vocab.txt.",
        )
    given = PlanSources(domain, target.vocabulary if target else None, counts, recipe.tokenizer)
    return plan_vocabulary(model.vocabulary, model.splitter, given, recipe.vocabulary)


def make_rows(
    recipe: Recipe,
    model: LanguageModel,
    plan: VocabularyPlan,
    domain: EmbeddingSpace | None,
    alike: EmbeddingSpace | None,
    distiller: Distil | None = None,
    progress: Progress = silent,
) -> NewEmbeddings:
    """Compute the new embeddings of a plan, (tokens, dim) float32; the alignment is fitted if the
    initializer needs one.
    """
    if not plan.new_embeddings:
        return NewEmbeddings((), np.empty((0, model.dim), dtype=np.float32), ())
    source = domain or alike
    alignment = None
    if recipe.needs_alignment and source is not None:
        alignment = fit_alignment(source, model.space, recipe.alignment, model.vocabulary.special)
    return initialize(
        Materials(plan, model.space, domain, alignment, alike, distiller, progress), recipe.rows
    )


@contextmanager
def open_distiller(
    recipe: Recipe,
    model: LanguageModel,
    sources: Sources,
    progress: Progress = silent,
    scratch: Path | None = None,
) -> Iterator[Distil | None]:
    """Yield the function that trains embeddings on the text, None if the recipe needs none.

    The words of the text are in a temporary file until the context is left.
    """
    if not recipe.distils:
        yield None
        return
    if sources.corpus is None:
        raise InputError(
            f"The recipe {recipe.name} needs a text to train its embeddings on, and got none.",
            "Give a text.",
        )
    from vocadapt.training.distillation import Distiller

    with TemporaryDirectory(prefix="vocadapt-", dir=scratch) as folder:
        sentences = Path(folder) / "sentences.txt"
        write_sentences(sources.corpus, model.splitter, sentences, progress)
        yield Distiller(model, sentences, recipe.tokenizer == "exact-word")


def target_space(
    recipe: Recipe,
    sources: Sources,
    width: int,
    progress: Progress = silent,
    scratch: Path | None = None,
) -> EmbeddingSpace | None:
    """Return the space in which similar tokens are looked up: the embeddings of the target model.

    None if the recipe does not use them. A target that is only a vocab.txt has no embeddings: vectors
    of `width` are trained on the text, tokenized by its vocabulary.
    """
    if sources.target is None or not _reads_target(recipe):
        return None
    if not sources.target.path.is_file():
        return sources.target.space
    if sources.corpus is None:
        raise InputError(
            f"{sources.target.path} is a vocabulary without embeddings, so it has no similar tokens.",
            "Give the model itself, or a text to train vectors of its tokens on.",
        )
    vectors = replace(recipe.vectors, dim=recipe.vectors.dim or width)
    return token_space(
        sources.corpus,
        sources.target.splitter,
        sources.target.vocabulary,
        vectors,
        progress,
        scratch,
    )[0]


def _reads_target(recipe: Recipe) -> bool:
    """Return whether the new embeddings depend on those of a target."""
    return recipe.makes_embeddings and INITIALIZERS[recipe.rows.method].needs in (
        "target",
        "similar",
    )


def domain_space(
    sources: Sources,
    model: LanguageModel,
    settings: Word2VecSettings,
    progress: Progress = silent,
    scratch: Path | None = None,
    resample: int = 0,
) -> EmbeddingSpace:
    """Return the word vectors of the domain: the given ones, or trained on the corpus.

    They are trained on words by the model's splitter, and get the model's width unless the settings
    say otherwise. The words are written to a temporary file in `scratch`.
    resample: seed of a bootstrap resample of the lines to train on; 0 for the text as it is.
    """
    if sources.vectors is not None:
        return sources.vectors
    if sources.corpus is None:
        raise InputError(
            "This recipe needs a text of the domain or ready word vectors, and got neither."
        )
    width = settings.dim or _width_of(model)
    with TemporaryDirectory(prefix="vocadapt-", dir=scratch) as folder:
        sentences = Path(folder) / "sentences.txt"
        share = 1 / (1 + COUNTING * settings.epochs)
        counts = write_sentences(
            sources.corpus, model.splitter, sentences, part(progress, 0.0, share)
        )
        training, rest = replace(settings, dim=width), part(progress, share, 1.0)
        if resample:
            return train_resampled(sentences, counts, training, resample, rest)
        return train_word2vec(sentences, counts, training, rest)


def _width_of(model: LanguageModel) -> int:
    """Return the width of a model's embeddings; raises InputError for a vocab.txt, which
    has none.
    """
    if model.path.is_file():
        raise InputError(
            f"{model.path} is a bare vocabulary: it has no width that the word vectors could have.",
            "Give their dimension: --dim 300, for example. Or give the model itself.",
        )
    return model.dim


def count_departures(
    corpus: Corpus, model: LanguageModel, tokenizer: Tokenizer, progress: Progress = silent
) -> Departures:
    """Count how often an adapted tokenizer departs from the exact-word rule on a corpus; each distinct
    piece is tokenized once.
    """
    pieces: Counter[str] = Counter()
    for passage in corpus.passages():
        pieces.update(passage.text.split())
        progress(passage.fraction, "looking for words that depart from the exact-word rule")
    return measure_departures(model.vocabulary, tokenizer, model.splitter, pieces)
