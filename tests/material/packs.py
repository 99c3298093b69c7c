"""Adapted models and vocabulary packs of tiny models, and their restored bases."""

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.certificate.comparisons import view_bits
from vocadapt.models.language_model import open_model
from vocadapt.models.packs.make import make_pack
from vocadapt.models.packs.pack import VocabularyPack
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.initializers.initialize import InitializerSettings, Materials, initialize
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.planning import plan_from_words

MEDICAL = ("tachycardia", "euthymia", "hyperoxia")


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


def check_restored(base: Path, restored: Path) -> None:
    """Check that a folder has every tensor of a base bit by bit, its config and its tokenizer."""
    before, after = open_model(base), open_model(restored)
    old, new = before.network.state_dict(), after.network.state_dict()
    assert old.keys() == new.keys()
    for name, value in (read_tensors(base) | old).items():
        stored = (read_tensors(restored) | new).get(name, value)  # a tied tensor is stored once
        assert stored.dtype == value.dtype and stored.shape == value.shape, name
        assert torch.equal(view_bits(stored), view_bits(value)), name
    assert before.network.config.to_dict() == after.network.config.to_dict() | {
        "_name_or_path": before.network.config._name_or_path
    }
    assert before.fast_tokenizer.to_str() == after.fast_tokenizer.to_str()
    assert before.limits == after.limits


def read_tensors(folder: Path) -> dict[str, torch.Tensor]:
    """Read all stored tensors of a model folder."""
    found = {}
    for file in folder.glob("*.safetensors"):
        found |= load_file(file)
    return found
