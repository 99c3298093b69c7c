"""READ FIRST. The whole walk in a few calls: text → words → vectors → aligned space → plan → rows → adapted model.

>>> model = open_model("bert-base-uncased")
>>> adapted = adapt(preset("green-bert"), model, Sources(corpus=open_corpus(["articles.txt"])))
>>> adapted.save("bert-with-my-words")
"""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.models.adapt import AdaptedModel, apply_plan
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.progress import Progress, part, silent
from vocadapt.recipe import Recipe, preset
from vocadapt.spaces.alignment import fit_alignment
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec import Word2VecSettings, train_word2vec
from vocadapt.text.corpus import Corpus, open_corpus
from vocadapt.text.words import write_sentences
from vocadapt.vocabulary.initialise import Materials, initialise
from vocadapt.vocabulary.planning import plan_from_words
from vocadapt.vocabulary.tokenizer import Departures, departures

__all__ = ["Sources", "adapt", "departures_on", "domain_space", "open_corpus", "open_model", "preset"]


@dataclass(frozen=True)
class Sources:
    """What a recipe draws on: a text of the domain, or word vectors that are ready."""

    corpus: Corpus | None = None
    vectors: EmbeddingSpace | None = None


def adapt(
    recipe: Recipe, model: LanguageModel, sources: Sources, progress: Progress = silent, scratch: Path | None = None
) -> AdaptedModel:
    """Teach `model` the words of a domain; `model` itself is not changed.

    `scratch` is a folder for what is needed meanwhile; without it the system's, often in memory.
    Raises InputError when the sources do not hold what the recipe needs.
    """
    domain = domain_space(sources, model, recipe.vectors, part(progress, 0.0, 0.8), scratch)
    progress(0.8, "planning the vocabulary")
    plan = plan_from_words(model.vocabulary, model.splitter, domain, recipe.vocabulary)
    progress(0.82, "fitting the map")
    alignment = fit_alignment(domain, model.space, recipe.alignment, model.vocabulary.special) if recipe.needs_alignment else None
    rows = initialise(Materials(plan, model.space, domain, alignment), recipe.rows)
    progress(0.9, f"giving the model {len(plan.added)} words")
    return apply_plan(model, plan, rows, recipe.tokenizer)


def domain_space(
    sources: Sources, model: LanguageModel, settings: Word2VecSettings, progress: Progress = silent, scratch: Path | None = None
) -> EmbeddingSpace:
    """The word vectors of the domain: the ready ones, or trained on the corpus in the model's own words and width.

    The words of the corpus are written to a file in `scratch` (the system's folder for such files where it is None) and removed.
    """
    if sources.vectors is not None:
        return sources.vectors
    if sources.corpus is None:
        raise InputError("This recipe needs a text of the domain or ready word vectors, and got neither.")
    width = settings.dim or _width_of(model)
    with TemporaryDirectory(prefix="vocadapt-", dir=scratch) as folder:
        sentences = Path(folder) / "sentences.txt"
        counts = write_sentences(sources.corpus, model.splitter, sentences, part(progress, 0.0, 0.2))
        return train_word2vec(sentences, counts, replace(settings, dim=width), part(progress, 0.2, 1.0))


def _width_of(model: LanguageModel) -> int:
    """The width of a model's rows; raises InputError for a bare vocab.txt, which has none."""
    if model.path.is_file():
        raise InputError(
            f"{model.path} is a bare vocabulary: it has no width for the word vectors to take over.",
            "Say how wide they shall be: --dim 300, for example. Or give the model itself.",
        )
    return model.dim


def departures_on(corpus: Corpus, model: LanguageModel, tokenizer: Tokenizer, progress: Progress = silent) -> Departures:
    """How often an adapted tokenizer departs from the exact-word rule on a whole corpus; each distinct piece is cut once."""
    pieces: Counter[str] = Counter()
    for passage in corpus.passages():
        pieces.update(passage.text.split())
        progress(passage.fraction, "looking for words that are cut otherwise than the rule says")
    return departures(model.vocabulary, tokenizer, model.splitter, pieces)
