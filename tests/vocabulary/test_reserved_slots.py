"""New tokens take the ids of reserved ones, such as [unused0], before the vocabulary grows."""

import json
from dataclasses import replace

import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

from vocadapt.vocabulary.families import family_of, vocabulary_of
from vocadapt.vocabulary.families.byte_level_bpe import BYTE_ALPHABET
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer

COUNTS = {"Ġfever": 9, "Fever": 2, "Ġpain": 5, "Ġof": 3, "cough": 1}
EXTEND = PlanSettings("extend", add_by="words", max_added=3)


def build_tokenizer() -> Tokenizer:
    """As in ModernBERT: the reserved tokens stand between the bytes and the mask."""
    special = ("<s>", "</s>", "[unused0]", "[unused1]", "<mask>")
    tokens = [*special[:2], *BYTE_ALPHABET, "Ġo", *special[2:]]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, [("Ġ", "o")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    return tokenizer


def make_plan(tokenizer: Tokenizer, settings: PlanSettings, mode: str) -> VocabularyPlan:
    family = family_of(tokenizer)
    splitter = family.make_splitter(tokenizer)
    sources = PlanSources(counts=COUNTS, mode=mode)
    return plan_vocabulary(family.read_vocabulary(tokenizer), splitter, sources, settings)


def test_the_first_tokens_take_reserved_ids_and_the_others_follow() -> None:
    tokenizer = build_tokenizer()
    before = vocabulary_of(tokenizer)
    plan = make_plan(tokenizer, EXTEND, "exact-word")
    assert [word.token for word in plan.added] == ["Ġfever", "Fever", "Ġpain", "Ġof"]
    assert plan.reserved_tokens == ("[unused0]", "[unused1]") == plan.removed_tokens
    assert plan.summary().reserved_filled == 2 and len(plan.tokens) == len(before) + 2

    after = adapt_tokenizer(tokenizer, plan, "exact-word")
    ids = vocabulary_of(after).ids
    assert ids == plan.after.ids
    assert (ids["Ġfever"], ids["Fever"]) == (before.ids["[unused0]"], before.ids["[unused1]"])
    assert (ids["Ġpain"], ids["Ġof"]) == (len(before), len(before) + 1)
    kept = [token for token in before.tokens if not token.startswith("[unused")]
    assert all(ids[token] == before.ids[token] for token in kept)
    again = Tokenizer.from_str(after.to_str())
    tokens = again.encode("Fever of fever <mask>").tokens
    assert tokens == ["<s>", "Fever", "Ġof", "Ġfever", "Ġ", "<mask>", "</s>"]
    assert "[unused0]" not in json.dumps(json.loads(after.to_str())["added_tokens"])


@pytest.mark.parametrize("mode", ["exact-word", "insertion"])
def test_reserved_tokens_stay_on_request(mode: str) -> None:
    tokenizer = build_tokenizer()
    before = vocabulary_of(tokenizer)
    plan = make_plan(tokenizer, replace(EXTEND, fill_reserved=False), mode)
    assert plan.reserved_tokens == () and plan.tokens[: len(before)] == before.tokens
    assert vocabulary_of(adapt_tokenizer(tokenizer, plan, mode)).ids == plan.after.ids


def test_inserted_tokens_take_reserved_ids_too() -> None:
    tokenizer = build_tokenizer()
    plan = make_plan(tokenizer, EXTEND, "insertion")
    after = adapt_tokenizer(tokenizer, plan, "insertion")
    assert vocabulary_of(after).ids == plan.after.ids and len(plan.reserved_tokens) == 2
    assert after.encode(" fever fevers").tokens[1:-1] == ["Ġfever", "Ġfever", "s"]
