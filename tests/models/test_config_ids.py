"""Ids in config.json and generation_config.json follow their tokens, worked by hand, and what may be an
id but is not known to be one is refused by name.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from tests.material.architectures import TinyTokenizer, build_tiny_model
from vocadapt.errors import InputError
from vocadapt.models.card import render_model_card
from vocadapt.models.certificate.certificate import Edit, run_check
from vocadapt.models.config_ids import find_unknown_lists, list_ids, rename_ids
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.model_files import CONFIG, GENERATION
from vocadapt.pipeline import Sources, adapt
from vocadapt.presets import build_trim
from vocadapt.text.corpus import open_corpus

SYMBOLS = "abcde"
MERGES = [("a", "b"), ("c", "d"), ("cd", "e"), ("d", "e"), ("ab", "c")]


def build_letters() -> TinyTokenizer:
    """a b c d e ab cd cde de abc <pad> <eos>, with ids 0 to 11."""
    tokens = [*SYMBOLS, "ab", "cd", "cde", "de", "abc"]
    ids = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(ids, MERGES))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = {"pad_token": "<pad>", "eos_token": "<eos>"}
    tokenizer.add_special_tokens(list(special.values()))
    return TinyTokenizer(tokenizer, special, "PreTrainedTokenizerFast")


def build_letter_model(folder: Path, generation: dict[str, Any], **config: Any) -> LanguageModel:
    """A GPT-2 with these tokens, and entries of its two config files."""
    build_tiny_model("gpt2", folder, build_letters)
    for name, entries in ((CONFIG, config), (GENERATION, generation)):
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps(content | entries), encoding="utf-8")
    return open_model(folder)


def trim_to_text(model: LanguageModel, folder: Path) -> LanguageModel:
    """Trim the model to a text without ab and abc: cde becomes 6, de 7, <pad> 8 and <eos> 9."""
    text = folder.with_name("text.txt")
    text.write_text("cde\ncde d\nde c\n", encoding="utf-8")
    adapted = adapt(build_trim(cover=1.0), model, Sources(corpus=open_corpus([text])))
    return open_model(adapted.save(folder))


def read(model: LanguageModel, name: str) -> dict[str, Any]:
    return dict(json.loads((model.path / name).read_text(encoding="utf-8")))


def test_ids_follow_their_tokens_through_a_trim(tmp_path: Path) -> None:
    generation = {
        "eos_token_id": [11, 10],
        "suppress_tokens": [7],
        "begin_suppress_tokens": [5, 10],  # ab is removed
        "bad_words_ids": [[8], [7, 9], [2, 7]],  # abc is removed
        "sequence_bias": [[[8, 7], -1.5], [[9], 2.0]],
        "lang_to_id": {"<|c|>": 7, "<|ab|>": 5},
        "task_specific_params": {"spell": {"forced_eos_token_id": 11, "max_length": 11}},
        "temperature": 0.9,  # without do_sample: transformers would refuse to save it
    }
    before = build_letter_model(
        tmp_path / "before",
        generation,
        forced_decoder_ids=[[1, None], [2, 8], [3, 9]],
        task_specific_params={"spell": {"bad_words_ids": [[8]], "num_beams": 8}},
        layer_sizes=[7, 8, 9],
    )
    after = trim_to_text(before, tmp_path / "after")
    assert list(after.vocabulary.tokens) == [*SYMBOLS, "cd", "cde", "de", "<pad>", "<eos>"]
    found = read(after, GENERATION)
    assert {key: found[key] for key in generation} == {
        "eos_token_id": [9, 8],
        "suppress_tokens": [6],
        "begin_suppress_tokens": [8],
        "bad_words_ids": [[7], [2, 6]],
        "sequence_bias": [[[7, 6], -1.5]],
        "lang_to_id": {"<|c|>": 6},
        "task_specific_params": {"spell": {"forced_eos_token_id": 9, "max_length": 11}},
        "temperature": 0.9,
    }
    config = read(after, CONFIG)
    assert config["forced_decoder_ids"] == [[1, None], [2, 7]]
    assert config["task_specific_params"] == {"spell": {"bad_words_ids": [[7]], "num_beams": 8}}
    assert config["layer_sizes"] == [7, 8, 9]
    assert after.network.generation_config.suppress_tokens == [6]
    record = read(after, "vocadapt.json")
    assert record["dropped_ids"]["generation_config.json: begin_suppress_tokens"] == ["ab"]
    assert record["dropped_ids"]["config.json: forced_decoder_ids"] == ["abc"]
    assert "begin_suppress_tokens" in render_model_card(record)
    assert run_check("token ids", Edit(before, after)).passed


@pytest.mark.parametrize(
    "key, value",
    [("suppress_tokens", [7]), ("bad_words_ids", [[8], [2, 6]]), ("eos_token_id", [9])],
)
def test_the_certificate_names_a_list_that_names_other_tokens(
    tmp_path: Path, key: str, value: Any
) -> None:
    generation = {
        "suppress_tokens": [7],
        "bad_words_ids": [[8], [7, 9], [7]],
        "eos_token_id": [11, 10],
    }
    before = build_letter_model(tmp_path / "before", generation)
    after = trim_to_text(before, tmp_path / "after")
    assert run_check("token ids", Edit(before, after)).passed
    (after.path / GENERATION).write_text(json.dumps(read(after, GENERATION) | {key: value}))
    check = run_check("token ids", Edit(before, open_model(after.path)))
    assert not check.passed and key in check.detail


def test_an_unknown_list_of_integers_is_refused_by_name(tmp_path: Path) -> None:
    before = build_letter_model(tmp_path / "before", {"favorites": {"best": [7, 8]}})
    with pytest.raises(InputError, match=r"generation_config.json: favorites\.best "):
        trim_to_text(before, tmp_path / "after")


def test_lists_that_are_no_ids_are_kept() -> None:
    config = {
        "hidden_sizes": [8, 8],
        "conv_kernel": [10, 3],
        "rope_scaling": {"mrope_section": [16, 24, 24], "factor": 8.0},
        "architectures": ["BertModel"],
        "pruned_heads": {"1": [0, 2]},
        "local_layer_ids": [0, 2],
        "mlp_only_layers": [],
        "attention_window": [512, 512],
        "id2label": {"0": "no"},
        "num_image_tokens": 8,
        "vision_config": {"vocab_size": 99, "pad_token_id": 3},
        "vocab_size": 12,
    }
    assert list_ids(config) == {} and find_unknown_lists(config, CONFIG) == {}
    whisper = {"alignment_heads": [[1, 0], [2, 0]], "temperature": [0, 1], "dola_layers": [1, 2]}
    assert list_ids(whisper) == {} and find_unknown_lists(whisper, GENERATION) == {}
    assert find_unknown_lists({"banned_tokens": [3]}, CONFIG) == {("banned_tokens",): [3]}


def test_a_list_of_which_nothing_is_left_becomes_none() -> None:
    content = {
        "suppress_tokens": [1],
        "begin_suppress_tokens": [],
        "force_words_ids": [[[1, 2], [2]], [[1]]],
        "pad_token_id": 1,
        "eos_token_id": -1,
    }
    found = rename_ids(content, lambda i: None if i == 1 else i + 5 if i > 0 else i)
    assert found.content == {
        "suppress_tokens": None,
        "begin_suppress_tokens": [],
        "force_words_ids": [[[7]]],
        "pad_token_id": None,
        "eos_token_id": -1,
    }
    assert found.dropped == {
        ("suppress_tokens",): [1],
        ("force_words_ids",): [1, 1],
        ("pad_token_id",): [1],
    }


@pytest.mark.parametrize("value", [{"(5, 6)": -1.0}, [[5]], 5, "x"])
def test_pairs_of_another_form_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="sequence_bias"):
        list_ids({"sequence_bias": value})
