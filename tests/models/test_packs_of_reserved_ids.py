"""Packs of adapted models whose new tokens took the ids of reserved ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.material.packs import MEDICAL, check_restored
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.language_model import open_model
from vocadapt.models.packs.apply import apply_pack, remove_pack
from vocadapt.models.packs.make import make_pack
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.initializers.initialize import InitializerSettings, Materials, initialize
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.planning import plan_from_words


def test_words_in_the_ids_of_reserved_tokens_follow_the_base_in_a_pack(
    tiny_bert: Path, tmp_path: Path
) -> None:
    """An adapted model may use the ids of unused tokens; a pack leaves these tokens as they are."""
    base = open_model(tiny_bert)
    slot = base.vocabulary.ids["[unused0]"]
    vectors = np.random.default_rng(3).normal(size=(3, base.dim)).astype(np.float32)
    domain = EmbeddingSpace(MEDICAL, vectors)
    plan = plan_from_words(base.vocabulary, base.splitter, domain, PlanSettings("append"))
    plan = replace(plan, reserved_tokens=("[unused0]",))
    new = initialize(Materials(plan, base.space, domain), InitializerSettings("identity"))
    apply_plan(base, plan, new).save(tmp_path / "adapted")
    adapted = open_model(tmp_path / "adapted")
    assert adapted.vocabulary.tokens[slot] == "tachycardia"

    pack = make_pack(base, adapted, "medical")
    apply_pack(base, pack, tmp_path / "applied")
    applied = open_model(tmp_path / "applied")
    assert applied.vocabulary.tokens == (*base.vocabulary.tokens, *MEDICAL)
    for word in MEDICAL:
        assert np.array_equal(applied.space[word], adapted.space[word])
        encoded = applied.fast_tokenizer.encode(word, add_special_tokens=False)
        assert encoded.tokens == [word]
    remove_pack(applied, tmp_path / "restored")
    check_restored(tiny_bert, tmp_path / "restored")
