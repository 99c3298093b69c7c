"""Reading vocabularies and tokenizing words."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.vocabulary.families import read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.files.vocab_file import is_lowercase, read_tokens
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary


def test_tokenization_is_greedy_longest_match() -> None:
    vocabulary = WordPieceVocabulary(
        ("[UNK]", "hyper", "hyp", "##tension", "##er", "ten"), frozenset({"[UNK]"})
    )
    assert vocabulary.tokenize("hypertension") == ("hyper", "##tension")
    assert vocabulary.tokenize("hyper") == ("hyper",)
    assert vocabulary.tokenize("tension") == ("[UNK]",)  # "ten" begins it, "##sion" is not there
    assert vocabulary.tokenize("h" * 101) == ("[UNK]",)


def test_whole_words_do_not_match_as_beginnings() -> None:
    vocabulary = WordPieceVocabulary(
        ("[UNK]", "pla", "##ce", "##bo", "##s", "placebo"),
        frozenset({"[UNK]"}),
        whole=frozenset({"placebo"}),
    )
    assert vocabulary.tokenize("placebo") == ("placebo",)
    assert vocabulary.tokenize("placebos") == ("pla", "##ce", "##bo", "##s")


def test_the_papers_examples_in_the_cased_vocabulary(shared: Path) -> None:
    """Poerner et al. 2020 print these two cuts of bert-base-cased."""
    vocabulary = vocabulary_of(read_tokenizer(shared / "data/vocab/bert-base-cased.txt"))
    assert vocabulary.tokenize("tachycardia") == ("ta", "##chy", "##card", "##ia")
    assert vocabulary.tokenize("euthymia") == ("e", "##uth", "##ym", "##ia")


def test_casing_is_inferred_from_the_vocabulary(shared: Path) -> None:
    assert not is_lowercase(read_tokens(shared / "data/vocab/bert-base-cased.txt"))
    assert is_lowercase(read_tokens(shared / "data/vocab/bert-base-uncased.txt"))
    cased = read_tokenizer(shared / "data/vocab/bert-base-cased.txt")
    assert cased.encode("Paris", add_special_tokens=False).tokens == ["Paris"]


def test_casing_can_be_overruled_for_a_bare_vocabulary_only(shared: Path, tiny_bert: Path) -> None:
    uncased = read_tokenizer(shared / "data/vocab/bert-base-cased.txt", lowercase=True)
    assert uncased.encode("Heart", add_special_tokens=False).tokens == ["heart"]
    with raises_input_error("stated-casing"):
        read_tokenizer(tiny_bert, lowercase=False)


def test_folder_and_vocab_txt_give_the_same_tokenizations(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(TINY_TOKENS) + "\n", encoding="utf-8")
    text = "Tachycardia, hypertension and Café: 5-fluorouracil?"
    folder, bare = read_tokenizer(tiny_bert), read_tokenizer(tmp_path / "vocab.txt")
    assert folder.encode(text).ids == bare.encode(text).ids
    assert (
        vocabulary_of(folder).special
        == vocabulary_of(bare).special
        == {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    )
    assert "[unused0]" not in vocabulary_of(folder).special


def test_vocab_txt_folder_believes_its_stored_casing(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join([*TINY_TOKENS, "Heart"]) + "\n", encoding="utf-8")
    assert read_tokenizer(tmp_path).encode("Heart", add_special_tokens=False).tokens == ["Heart"]
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"do_lower_case": True}), encoding="utf-8"
    )
    assert read_tokenizer(tmp_path).encode("Heart", add_special_tokens=False).tokens == ["heart"]


def test_vocab_txt_folder_believes_its_stored_accents(tmp_path: Path) -> None:
    """Uncased German models keep their umlauts: do_lower_case true, strip_accents false."""
    (tmp_path / "vocab.txt").write_text("[UNK]\närzte\narzte\n", encoding="utf-8")
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"do_lower_case": True, "strip_accents": False}), encoding="utf-8")
    assert read_tokenizer(tmp_path).encode("Ärzte", add_special_tokens=False).tokens == ["ärzte"]
    config.write_text("{broken", encoding="utf-8")
    with raises_input_error("invalid-json"):
        read_tokenizer(tmp_path)


def test_stored_truncation_is_off(make_bert: Callable[..., Path]) -> None:
    folder = make_bert()
    edit_json(
        folder / "tokenizer.json",
        truncation={"max_length": 4, "stride": 0, "strategy": "LongestFirst", "direction": "Right"},
    )
    text = "a b c d e f g"
    assert len(read_tokenizer(folder).encode(text).ids) == 9


def test_an_id_without_a_token_gets_a_name_of_its_own(tiny_bert: Path, tmp_path: Path) -> None:
    stored = json.loads((tiny_bert / "tokenizer.json").read_text(encoding="utf-8"))
    stored["model"]["vocab"] = {
        "[PAD]": 0,
        "[UNK]": 1,
        "blood": 3,
        "[CLS]": 4,
        "[SEP]": 5,
        "[MASK]": 6,
    }
    stored |= {"added_tokens": [], "post_processor": None}
    (tmp_path / "tokenizer.json").write_text(json.dumps(stored), encoding="utf-8")
    *tokens, named, last = vocabulary_of(read_tokenizer(tmp_path)).tokens[:4]
    assert (tokens, last) == (["[PAD]", "[UNK]"], "blood") and "2" in named


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({}, "no-tokenizer-file"),
        ({"vocab.json": "{}", "merges.txt": ""}, "unknown-model-type"),
        ({"vocab.txt": ""}, "no-tokens"),
        ({"vocab.txt": "just some\ntext\n"}, "faulty-vocabulary"),
        ({"tokenizer.json": "{not json"}, "invalid-json"),
    ],
)
def test_folders_without_a_wordpiece_vocabulary(
    tmp_path: Path, files: dict[str, str], code: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    with raises_input_error(code):
        read_tokenizer(tmp_path)


def test_missing_and_binary_vocab_files(tmp_path: Path) -> None:
    with raises_input_error("missing-file"):
        read_tokenizer(tmp_path / "absent.txt")
    (tmp_path / "vocab.txt").write_bytes(b"[UNK]\n\xff\xfe\n")
    with raises_input_error("not-utf8", "byte 6"):
        read_tokenizer(tmp_path / "vocab.txt")


def test_a_continuation_is_tokenized_as_a_continuation() -> None:
    tokens = ("[UNK]", "o", "om", "oma", "##o", "##om", "##a", "##oma", "melan", "placebo")
    vocabulary = WordPieceVocabulary(tokens, frozenset({"[UNK]"}), whole=frozenset({"placebo"}))
    assert vocabulary.tokenize_token("##oma") == ("##oma",)
    assert vocabulary.tokenize_token("##oma", without=True) == ("##om", "##a")
    assert vocabulary.tokenize_token("##omao") == ("##oma", "##o")
    assert vocabulary.tokenize_token("oma") == ("oma",)
    assert vocabulary.tokenize_token("oma", without=True) == ("om", "##a")
    assert vocabulary.tokenize_token("melanoma", without=True) == ("melan", "##oma")
    assert (
        vocabulary.tokenize_token("##melan") == vocabulary.tokenize_token("#") == ("[UNK]",)
    )  # "melan" only begins a word
    assert vocabulary.tokenize_token("placebo") == ("placebo",)
    assert vocabulary.tokenize_token("placebo", without=True) == ("[UNK]",)
    assert vocabulary.tokenize_token("o" * 101) == vocabulary.tokenize("o" * 101) == ("[UNK]",)


def test_a_word_is_tokenized_as_by_the_tokenizer(shared: Path) -> None:
    vocabulary = vocabulary_of(read_tokenizer(shared / "data/vocab/bert-base-uncased.txt"))
    target = read_tokens(shared / "data/vocab/pubmedbert-abstract-fulltext.txt")
    words = [token for token in target[:8000] if not token.startswith(("##", "["))]
    assert len(words) > 5000
    assert [vocabulary.tokenize_token(word) for word in words] == [
        vocabulary.tokenize(word) for word in words
    ]
