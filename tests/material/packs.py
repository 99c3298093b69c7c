"""Adapted models and vocabulary packs of tiny models, and hashes of folders."""

import hashlib
from pathlib import Path

import numpy as np

from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.language_model import open_model
from vocadapt.models.packs.make import make_pack
from vocadapt.models.packs.pack import VocabularyPack
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.initializers.initialize import InitializerSettings, Materials, initialize
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.planning import plan_from_words

MEDICAL = ("tachycardia", "euthymia", "hyperoxia")
CHEMICAL = ("hyperoxia", "benzene", "toluene")  # one word in common


def adapt_words(
    folder: Path,
    words: tuple[str, ...],
    out: Path,
    mode: str = "exact-word",
    kind: str = "append",
    seed: int = 1,
) -> Path:
    """Add words with random embeddings to a model."""
    model = open_model(folder)
    vectors = np.random.default_rng(seed).normal(size=(len(words), model.dim)).astype(np.float32)
    domain = EmbeddingSpace(words, vectors)
    plan = plan_from_words(model.vocabulary, model.splitter, domain, PlanSettings(kind))
    new = initialize(Materials(plan, model.space, domain), InitializerSettings("identity"))
    return apply_plan(model, plan, new, mode).save(out)


def build_pack(
    folder: Path, words: tuple[str, ...], place: Path, name: str, mode: str = "exact-word"
) -> VocabularyPack:
    """Make a pack of words for a model; each name has other embeddings."""
    adapted = adapt_words(folder, words, place / f"adapted-{name}", mode, seed=len(name))
    return make_pack(open_model(folder), open_model(adapted), name)


def hash_folder(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a folder, by its path in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
