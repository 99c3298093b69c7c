"""Filling in a masked word under each tokenization: the same as transformers, and the base
tokenization of an adapted model the same as the model before."""

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from tests.material.finetuning import one_thread, tiny_adapted
from vocadapt.errors import InputError
from vocadapt.models.abilities import has_masked_head
from vocadapt.models.language_model import open_model
from vocadapt.training.prediction.fill_mask import fill_mask

TEXT = "the patients with [MASK] and tachycardia"


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A tiny model before and after it was taught tachycardia."""
    root = tmp_path_factory.mktemp("fill")
    with one_thread():
        adapted = tiny_adapted(root)
        yield open_model(root / "before"), open_model(adapted)


def expected(folder, text):
    """Token and probability at the mask, most probable first, by transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForMaskedLM.from_pretrained(folder).eval()
    batch = tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        logits = network(**batch).logits[0, batch["input_ids"][0] == tokenizer.mask_token_id][0]
    values, ids = logits.softmax(0).topk(8)
    return list(zip(tokenizer.convert_ids_to_tokens(ids.tolist()), values.tolist(), strict=True))


def check(filling, wanted):
    assert [token for token, _ in filling.tokens] == [token for token, _ in wanted]
    assert [p for _, p in filling.tokens] == pytest.approx([p for _, p in wanted], rel=1e-4)


def test_a_model_that_was_not_adapted_fills_as_transformers_does(pair):
    before, _ = pair
    found = fill_mask(before, TEXT)
    assert list(found) == ["base"] and found["base"].n_candidates == len(before.vocabulary)
    check(found["base"], expected(before.path, TEXT))


def test_base_fills_as_the_model_before_and_adapted_with_the_new_words(pair):
    before, after = pair
    found = fill_mask(after, TEXT, k=8)
    assert list(found) == ["base", "adapted"]
    check(found["base"], expected(before.path, TEXT))
    check(found["adapted"], expected(after.path, TEXT))
    assert found["adapted"].n_candidates == found["base"].n_candidates + 3
    every = fill_mask(after, TEXT, k=10_000)
    assert "tachycardia" in dict(every["adapted"].tokens)
    assert "tachycardia" not in dict(every["base"].tokens)
    assert [sum(dict(one.tokens).values()) for one in every.values()] == pytest.approx([1, 1])


def test_a_head_for_pretraining_fills_too(make_bert):
    model = open_model(make_bert(head="BertForPreTraining"))
    assert has_masked_head(model) and len(fill_mask(model, "the [MASK]", 3)["base"].tokens) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("the heart", "no [MASK]"),
        ("", "no [MASK]"),
        ("the \u202e heart \x00 <b>", "no [MASK]"),
        ("[MASK] and [MASK]", "2 masks"),
        ("[MASK] " + "heart " * 100, "at most 62"),
    ],
)
def test_what_cannot_be_filled_is_said(pair, text, problem):
    with pytest.raises(InputError) as raised:
        fill_mask(pair[1], text)
    assert problem in raised.value.problem and raised.value.remedy


def test_a_model_without_the_head_is_refused(make_bert):
    model = open_model(make_bert(head="BertModel"))
    assert not has_masked_head(model)
    with pytest.raises(InputError, match="BertModel"):
        fill_mask(model, TEXT)
