"""Every change of a model's vocabulary in a row, and what each must leave as it was."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.material.real_tokenizers import list_lost
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.certificate.certificate import CHECKS, Edit, run_check
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
TRIM = PlanSettings("trim", cover=1.0)


def list_failures(edit: Edit) -> dict[str, str]:
    """List the checks of a certificate that fail, without the one that starts a process."""
    results = {name: check(edit) for name, check in CHECKS.items() if name != "reload"}
    return {name: detail for name, (ok, detail) in results.items() if not ok}


def remove_tokens(
    model: LanguageModel, settings: PlanSettings, text: Sequence[str], out: Path
) -> LanguageModel:
    """Apply a plan that removes tokens, and save the model."""
    counts = Counter(token for line in text for token in model.splitter.pretokens(line))
    sources = PlanSources(counts=counts)
    plan = plan_vocabulary(model.vocabulary, model.splitter, sources, settings)
    none = NewEmbeddings((), np.empty((0, model.dim), np.float32), ())
    return open_model(apply_plan(model, plan, none, "replacement").save(out))


def add_words(model: LanguageModel, corpus: Corpus | None, out: Path) -> LanguageModel:
    """Add exact words, which are checked on a text where the tokenizer needs it, as Gemma does."""
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(len(WORDS), model.dim)).astype(np.float32)
    domain = EmbeddingSpace(WORDS, vectors)
    plan = plan_from_words(model.vocabulary, model.splitter, domain)
    plan = check_exact_words(plan, model.fast_tokenizer, corpus)
    new = initialize(Materials(plan, model.space, domain), InitializerSettings("syntactic"))
    return open_model(apply_plan(model, plan, new).save(out))


def tokenize(model: LanguageModel, lines: Sequence[str]) -> list[list[str]]:
    """Return the tokens of each line."""
    tokens = model.vocabulary.tokens
    encoded = model.fast_tokenizer.encode_batch(list(lines), add_special_tokens=False)
    return [[tokens[i] for i in one.ids] for one in encoded]


def check_every_change(
    before: LanguageModel,
    text: Sequence[str],
    place: Path,
    removed: float = 0.25,
    unchecked: Sequence[str] = (),
) -> list[LanguageModel]:
    """Adapt, pack, trim and reduce a model, and reload each result; return the results.

    removed: fraction of the tokens that a reduction removes. unchecked: checks of the certificate that are left out.
    """

    def check(after: LanguageModel) -> None:
        edit = Edit(before, after)
        checks = [run_check(name, edit) for name in CHECKS if name not in unchecked]
        assert {one.name: one.detail for one in checks if not one.passed} == {}
        assert list_lost(before, after) == {}

    # 1. Words are added, and added again by a pack.
    file = place / "text.txt"
    file.write_text("\n".join(text), encoding="utf-8")
    adapted = add_words(before, open_corpus([file]), place / "adapted")
    check(adapted)
    other = [line for line in text if not any(word in line for word in WORDS)]
    assert tokenize(adapted, other) == tokenize(before, other)
    around = len(tokenize(before, ["of and"])[0])
    assert all(len(tokens) == around + 1 for tokens in tokenize(adapted, PHRASES))
    apply_pack(before, make_pack(before, adapted, "medicine"), place / "packed")
    packed = open_model(place / "packed")
    assert list_lost(before, packed) == {}
    assert tokenize(packed, [*text, *PHRASES]) == tokenize(adapted, [*text, *PHRASES])
    # 2. Tokens are removed.
    trimmed = remove_tokens(before, TRIM, text, place / "trimmed")
    check(trimmed)
    assert tokenize(trimmed, text) == tokenize(before, text)
    reduced = remove_tokens(
        before, PlanSettings("reduce", removed=removed), text, place / "reduced"
    )
    check(reduced)
    assert len(reduced.vocabulary) == round((1 - removed) * len(before.vocabulary))
    return [adapted, packed, trimmed, reduced]
