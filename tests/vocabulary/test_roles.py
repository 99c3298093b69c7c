"""Special tokens by role, wherever a model's files declare them."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, processors

from tests.material.byte_level import build_tiny
from vocadapt.vocabulary.families import read_roles
from vocadapt.vocabulary.families.roles import find_roles

ROBERTA = {"cls": "<s>", "sep": "</s>", "mask": "<mask>", "pad": "<pad>"}


def without_template(tokenizer: Tokenizer) -> Tokenizer:
    content = json.loads(tokenizer.to_str())
    return Tokenizer.from_str(json.dumps(content | {"post_processor": None}))


def test_the_template_and_the_usual_names() -> None:
    """No file declares a role: the template has the first and the last token."""
    assert find_roles(build_tiny(), {}, {}) == ROBERTA


def test_a_template_of_pieces_and_a_sequence_of_processors() -> None:
    tokenizer = build_tiny()
    template = processors.TemplateProcessing(
        single="<pad> $A <unk> </s>", special_tokens=[("<pad>", 1), ("<unk>", 3), ("</s>", 2)]
    )
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(), template])
    found = find_roles(tokenizer, {}, {})
    assert (found["cls"], found["sep"]) == ("<pad>", "<unk>")  # the first one on each side


@pytest.mark.parametrize("declared", ["<unk>", {"content": "<unk>", "lstrip": True}])
def test_a_declared_token_comes_first(declared: object) -> None:
    found = find_roles(build_tiny(), {"cls_token": declared, "mask_token": None}, {})
    assert found == ROBERTA | {"cls": "<unk>"}


def test_beginning_and_end_of_a_text_are_read_where_others_are_missing() -> None:
    declared = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = without_template(build_tiny())
    assert find_roles(tokenizer, declared, {}) == ROBERTA | {"unk": "<unk>"}
    own = {"cls_token": "<unk>", "sep_token": "<pad>"}
    found = find_roles(tokenizer, declared | own, {})
    assert (found["cls"], found["sep"]) == ("<unk>", "<pad>")


def test_tokens_that_the_vocabulary_lacks_are_passed_over() -> None:
    found = find_roles(build_tiny(), {"cls_token": "[CLS]", "pad_token": "[PAD]"}, {})
    assert (found["cls"], found["pad"]) == ("<s>", "<pad>")


@pytest.mark.parametrize("i", [-1, 10**9, "2", None, True, [], [10**9]])
def test_ids_of_the_config_and_those_that_are_none(i: object) -> None:
    tokenizer = without_template(build_tiny())
    config = {"bos_token_id": 0, "eos_token_id": [2, 3], "pad_token_id": 1}
    assert find_roles(tokenizer, {}, config) == ROBERTA
    assert "sep" not in find_roles(tokenizer, {}, {"eos_token_id": i})


def test_the_unknown_token_of_the_model() -> None:
    tokenizer = Tokenizer(models.BPE({"<unk>": 0, "a": 1}, [], unk_token="<unk>"))
    assert find_roles(tokenizer, {}, {}) == {"unk": "<unk>"}
    assert find_roles(Tokenizer(models.BPE({"a": 1}, [], unk_token="<unk>")), {}, {}) == {}


def test_a_decoder_without_a_mask_has_no_such_role() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0, "<|endoftext|>": 1}, []))
    tokenizer.add_special_tokens(["<|endoftext|>"])
    config = {"bos_token_id": 1, "eos_token_id": 1}
    found = find_roles(tokenizer, {}, config)
    assert found == {"cls": "<|endoftext|>", "sep": "<|endoftext|>"}


def test_the_files_of_a_folder(tmp_path: Path) -> None:
    """tokenizer_config.json comes before special_tokens_map.json, and both before config.json."""
    tokenizer = without_template(build_tiny())
    files = {
        "special_tokens_map.json": {"cls_token": "<pad>", "sep_token": "<unk>"},
        "tokenizer_config.json": {"cls_token": "<s>"},
        "config.json": {"sep_token_id": 2, "pad_token_id": 1},
    }
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    found = read_roles(tmp_path, tokenizer)
    assert found == {"cls": "<s>", "sep": "<unk>", "pad": "<pad>", "mask": "<mask>"}
    assert read_roles(tmp_path / "config.json", tokenizer) == {}  # a bare vocabulary file
