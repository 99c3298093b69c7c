"""Folders with a vocabulary and merges but no tokenizer.json, compared with transformers."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.material.byte_level import SPECIAL, TINY_MERGES, build_gpt2, build_tiny, read_abstracts
from tests.material.input_errors import raises_input_error
from vocadapt.vocabulary.families import family_of, read_roles, read_tokenizer

LINES = ["a hypertension, (hypo)", " na\u00efve  x", "", "it's hyper<mask>"]
ROBERTA = {"config.json": {"model_type": "roberta"}}


def write_folder(folder: Path, tokenizer: Tokenizer, files: dict[str, Any], **names: str) -> Path:
    """Write the two files of a tokenizer, and other files."""
    model = json.loads(tokenizer.to_str())["model"]
    folder.mkdir(exist_ok=True)
    entries = folder / names.get("entries", "vocab.json")
    entries.write_text(json.dumps(model["vocab"]), encoding="utf-8")
    lines = ["#version: 0.2", *map(" ".join, model["merges"])]
    merges = folder / names.get("merges", "merges.txt")
    merges.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def encode_by_transformers(folder: Path, class_name: str, lines: list[str]) -> list[list[int]]:
    import transformers

    tokenizer = getattr(transformers, class_name).from_pretrained(folder)
    return [tokenizer(line)["input_ids"] for line in lines]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (ROBERTA, {}),
        ({"tokenizer_config.json": {"tokenizer_class": "RobertaTokenizerFast"}}, {}),
        ({**ROBERTA, "tokenizer_config.json": {"add_prefix_space": True}}, {}),
        (ROBERTA, {"entries": "encoder.json", "merges": "vocab.bpe"}),
    ],
)
def test_a_roberta_is_read_as_transformers_reads_it(
    files: dict[str, Any], names: dict[str, str], tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "own", build_tiny(), files, **names)
    tokenizer = read_tokenizer(folder)
    assert family_of(tokenizer).name == "byte-level-bpe"
    plain = write_folder(tmp_path / "theirs", build_tiny(), files)
    expected = encode_by_transformers(plain, "RobertaTokenizer", LINES)
    assert [tokenizer.encode(line).ids for line in LINES] == expected
    assert read_roles(folder, tokenizer) == {
        **{"cls": "<s>", "sep": "</s>", "pad": "<pad>", "mask": "<mask>"}
    }
    ids = tokenizer.encode("a <mask>", add_special_tokens=False).ids
    assert ids[-2:] == [tokenizer.token_to_id(token) for token in ("a", "<mask>")]  # no space


def test_the_real_files_of_gpt2(shared: Path, tmp_path: Path) -> None:
    names = {"entries": "encoder.json", "merges": "vocab.bpe"}
    expected = build_gpt2(shared)
    folder = write_folder(tmp_path, expected, {"config.json": {"model_type": "gpt2"}}, **names)
    tokenizer = read_tokenizer(folder)
    for line in read_abstracts(shared)[:50]:
        assert tokenizer.encode(line).ids == expected.encode(line).ids
    assert tokenizer.encode("a<|endoftext|>").ids[-1] == 50256
    assert tokenizer.get_vocab_size() == 50257


def test_declared_special_tokens_and_added_ones(tmp_path: Path) -> None:
    mask = {"content": "[M]", "lstrip": False, "rstrip": True, "normalized": False}
    files = {
        **ROBERTA,
        "special_tokens_map.json": {"mask_token": mask, "pad_token": "</s>"},
        "tokenizer_config.json": {"additional_special_tokens": ["<e1>"]},
        "added_tokens.json": {"tachy": 280},
    }
    tokenizer = read_tokenizer(write_folder(tmp_path, build_tiny(), files))
    own = {token.content: token for token in tokenizer.get_added_tokens_decoder().values()}
    assert (own["[M]"].rstrip, own["[M]"].lstrip, own["[M]"].special) == (True, False, True)
    assert own["<e1>"].special and not own["tachy"].special
    assert tokenizer.token_to_id("tachy") == 280
    assert sorted(tokenizer.token_to_id(token) for token in ("[M]", "<e1>")) == [281, 282]
    assert read_roles(tmp_path, tokenizer)["mask"] == "[M]"


def test_a_decoder_without_a_template_may_have_a_padding_token(tmp_path: Path) -> None:
    files = {
        "config.json": {"model_type": "gpt2"},
        "tokenizer_config.json": {"bos_token": "<s>", "eos_token": "<s>", "pad_token": "<pad>"},
        "special_tokens_map.json": {"unk_token": "<s>"},
    }
    tokenizer = read_tokenizer(write_folder(tmp_path, build_tiny(), files))
    assert tokenizer.encode("a").tokens == ["a"]
    assert tokenizer.encode("<pad>").ids == [SPECIAL.index("<pad>")]
    assert read_roles(tmp_path, tokenizer)["pad"] == "<pad>"


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, "roberta"),
        ({"config.json": {"model_type": "clip"}}, "'clip'"),
        ({"config.json": {"model_type": ["roberta"]}}, "roberta"),
        ({"tokenizer_config.json": {"tokenizer_class": "Qwen2Tokenizer"}}, "'qwen2'"),
        (
            {
                "config.json": {"model_type": "gpt2"},
                "tokenizer_config.json": {"add_bos_token": True},
            },
            "'gpt2'",
        ),
    ],
)
def test_other_kinds_are_refused_with_the_way_out(
    files: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    with raises_input_error("unknown-model-type", kind, "AutoTokenizer.from_pretrained"):
        read_tokenizer(write_folder(tmp_path, build_tiny(), files))


@pytest.mark.parametrize(
    ("name", "content", "stated"),
    [
        ("merges.txt", "a zz\n", ["invalid-tokenizer", "lacks 'zz'"]),
        ("merges.txt", "a b c\n", ["invalid-tokenizer", "merge 0"]),
        ("merges.txt", "\xff", ["not-utf8", "byte 0"]),
        ("vocab.json", '{"a": 0, "b": 0}', ["invalid-tokenizer", "'a'", "'b'"]),
        ("vocab.json", "[]", ["not-a-json-object", "vocab.json"]),
        ("added_tokens.json", '{"tachy": 4}', ["invalid-tokenizer", "'tachy'"]),
        ("added_tokens.json", '{"te": 400}', ["invalid-tokenizer", "'te'", "400"]),
        (
            "tokenizer_config.json",
            '{"added_tokens_decoder": {"9": {"content": "te"}}}',
            ["invalid-tokenizer", "'te'", "9"],
        ),
    ],
)
def test_broken_files_are_refused(
    name: str, content: str, stated: list[str], tmp_path: Path
) -> None:
    folder = write_folder(tmp_path, build_tiny(), ROBERTA)
    if name == "vocab.json":
        (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    (folder / name).write_bytes(content.encode("latin-1"))
    with raises_input_error(*stated):
        read_tokenizer(folder)


def test_a_vocabulary_without_merges_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, build_tiny(TINY_MERGES), ROBERTA)
    (folder / "merges.txt").unlink()
    with raises_input_error("only-tokenizer-json"):
        read_tokenizer(folder)
