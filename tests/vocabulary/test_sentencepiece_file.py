"""Tokenizers of folders with only a .model file of SentencePiece, compared with the converters of
transformers and with a tokenizer.json.
"""

import gzip
import json
import shutil
import struct
from collections.abc import Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.material.input_errors import raises_input_error
from tests.material.sentencepiece_file import (
    BERT,
    CONTROL,
    DEBERTA,
    LINES,
    PIECES,
    START,
    UNKNOWN,
    write_file,
    write_folder,
)
from vocadapt.vocabulary.families import family_of, read_roles, read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.files.sentencepiece_file import read_sentencepiece_file
from vocadapt.vocabulary.families.files.tokenizer_checks import UnfitError

BERT += [(token, 0.0, CONTROL) for token in ("[CLS]", "[SEP]")]
DEBERTA += [("[UNK]", 0.0, UNKNOWN)]
T5 = [("<pad>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("<unk>", 0.0, UNKNOWN)]


def convert(path: Path, converter: str, ids: Mapping[str, int], **settings: Any) -> Tokenizer:
    """Convert a .model file as transformers does."""
    # transformers has a function of the same name once it has converted a tokenizer
    convert_slow_tokenizer = import_module("transformers.convert_slow_tokenizer")
    slow = SimpleNamespace(vocab_file=str(path), convert_tokens_to_ids=ids.__getitem__, **settings)
    converted = getattr(convert_slow_tokenizer, converter)(slow).converted()
    assert isinstance(converted, Tokenizer)
    return converted


@pytest.mark.parametrize(
    ("kind", "converter", "start", "settings"),
    [
        ("xlm-roberta", "XLMRobertaConverter", START, {}),
        ("t5", "T5Converter", T5, {"_extra_ids": 100}),
        ("deberta-v2", "DebertaV2Converter", DEBERTA, {"do_lower_case": False}),
        ("deberta-v2", "DebertaV2Converter", DEBERTA, {"do_lower_case": True}),
        ("deberta-v2", "DebertaV2Converter", DEBERTA, {"split_by_punct": True}),
        (
            "albert",
            "AlbertConverter",
            [*BERT, ("[MASK]", 0.0, CONTROL)],
            {"do_lower_case": True, "keep_accents": False},
        ),
    ],
)
def test_tokenizers_are_those_of_the_converters_of_transformers(
    kind: str,
    converter: str,
    start: list[tuple[str, float, int]],
    settings: dict[str, Any],
    tmp_path: Path,
) -> None:
    folder = write_folder(tmp_path / kind, kind, [*start, *PIECES])
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    tokenizer = read_tokenizer(folder)
    defaults = {"do_lower_case": False, "split_by_punct": False}
    ids = tokenizer.get_vocab(with_added_tokens=True)
    other = convert(folder / "spiece.model", converter, ids, **defaults | settings)
    for line in LINES:
        assert tokenizer.encode(line).tokens == other.encode(line).tokens
        assert tokenizer.encode(line).ids == other.encode(line).ids
        assert tokenizer.encode(line, line).ids == other.encode(line, line).ids
    known = other.get_vocab(with_added_tokens=True)
    extra = {"[MASK]": len(known)} if kind == "deberta-v2" else {}
    assert ids == known | extra


def test_special_tokens_and_roles(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, "xlm-roberta", [*START, *PIECES])
    tokenizer = read_tokenizer(folder)
    vocabulary = vocabulary_of(tokenizer)
    assert vocabulary.tokens[:5] == ("<s>", "<pad>", "</s>", "<unk>", "▁")
    assert vocabulary.tokens[-1] == "<mask>"
    assert vocabulary.special == {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}
    assert vocabulary.whole == {"<sym>"}
    assert read_roles(folder, tokenizer)["mask"] == "<mask>"
    assert tokenizer.encode("a <mask>").ids[-2] == vocabulary.ids["<mask>"]
    assert tokenizer.encode("a <mask>").tokens[-2] == " <mask>"  # with the space before it
    assert family_of(tokenizer).make_splitter(tokenizer).pretokens("ab, b") == ["▁ab,", "▁b"]


def test_a_kind_of_model_that_is_not_known_is_refused_with_the_way_out(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, "camembert", [*START, *PIECES])
    with raises_input_error(
        "unknown-model-type", "'camembert'", f"from_pretrained('{folder}')", "sentencepiece"
    ):
        read_tokenizer(folder)


def test_a_file_of_another_model_is_left_to_other_families(tmp_path: Path) -> None:
    write_file(tmp_path / "tokenizer.model", [*START, *PIECES], kind=2)
    with raises_input_error("only-tokenizer-json", "sentencepiece"):
        read_tokenizer(tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x0a",
        b"\x0a\xff",
        b"text, no message",
        b"\x0a\x05\x0a\x01a",
        b"\x0a\x04\x0a\x02\xff\xff",  # no UTF-8
        b"\x0a\x02\x0a\x00\x13",  # a group
        b"\x0a" + b"\xff" * 40,
        b"\xff" * 3_000_000,  # an integer without an end
        b"\x0a\x03\x0a\x01a\x12\x03\xc2\x02\x00",  # the unknown piece is a text
        b"\x0a\x03\x0a\x01a\x1a\x02\x10\x01",  # the character map is a number
        b"\x08\x01",
    ],
)
def test_a_broken_file_is_refused(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(UnfitError):
        read_sentencepiece_file(data)
    (tmp_path / "spiece.model").write_bytes(data)
    with raises_input_error("invalid-tokenizer", "spiece.model"):
        read_tokenizer(tmp_path)


def test_a_real_file_gives_the_tokens_of_its_tokenizer_json(shared: Path, tmp_path: Path) -> None:
    source = shared / "data/tokenizers/spm-unigram"
    shutil.copy(source / "sentencepiece.bpe.model", tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "xlm-roberta"}', encoding="utf-8")
    built, expected = read_tokenizer(tmp_path), Tokenizer.from_file(str(source / "tokenizer.json"))
    assert vocabulary_of(built).tokens == vocabulary_of(expected).tokens
    with gzip.open(shared / "data/text/general-wikipedia.txt.gz", "rt", encoding="utf-8") as file:
        for line in islice(file, 500):
            assert built.encode(line).ids == expected.encode(line).ids


@pytest.mark.parametrize(
    ("kind", "pieces", "character_map", "settings", "values"),
    [
        ("xlm-roberta", PIECES, b"abc", {}, ["Precompiled"]),
        ("xlm-roberta", PIECES, b"\xff" * 64, {}, ["Precompiled"]),
        ("xlm-roberta", PIECES, bytes(4), {}, ["Precompiled"]),
        ("xlm-roberta", [*PIECES, ("a" * 10_001, 0.0, 1)], b"", {}, ["10,001"]),
        ("xlm-roberta", [*PIECES, ("c", float("nan"), 1)], b"", {}, ["'c'", "nan"]),
        ("xlm-roberta", [*PIECES, ("a", -1.0, 1)], b"", {}, ["'a'", "5 and 13"]),
        ("deberta-v2", PIECES, b"", {}, ["'[UNK]'"]),
        ("t5", PIECES, b"", {"extra_ids": 10**9}, ['"extra_ids"', "1000000000"]),
        ("t5", PIECES, b"", {"extra_ids": "x"}, ['"extra_ids"', "'x'"]),
        ("t5", PIECES, b"", {"extra_ids": None}, ['"extra_ids"', "None"]),
        ("t5", PIECES, b"", {"extra_ids": [1]}, ['"extra_ids"', "list"]),
        ("albert", PIECES, b"", {"keep_accents": "x"}, ['"keep_accents"', "'x'"]),
    ],
)
def test_a_hostile_file_is_refused_as_a_tokenizer_json_is(
    kind: str,
    pieces: list[tuple[str, float, int]],
    character_map: bytes,
    settings: dict[str, Any],
    values: list[str],
    tmp_path: Path,
) -> None:
    write_file(tmp_path / "spiece.model", [*START, *pieces], character_map=character_map)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    code = "invalid-tokenizer-part" if character_map else "invalid-tokenizer"
    with raises_input_error(code, *values) as caught:
        read_tokenizer(tmp_path)
    assert caught.value.remedy


def test_a_character_map_that_fails_at_greek_letters_is_refused(tmp_path: Path) -> None:
    """The trie's unit of their first byte points beyond the trie."""
    units = [0] * 256
    units[0xCE] = 0xCE | 1000 << 10
    character_map = struct.pack("<I256I", 4 * 256, *units)
    write_file(tmp_path / "spiece.model", [*START, *PIECES], character_map=character_map)
    (tmp_path / "config.json").write_text('{"model_type": "xlm-roberta"}', encoding="utf-8")
    with raises_input_error("invalid-tokenizer-part", "Precompiled"):
        read_tokenizer(tmp_path)
