"""A damaged vocab.txt is inspected as it is and its wrong lines are named; no command adapts
such a model."""

from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.vocabulary.families import read_tokenizer
from vocadapt.vocabulary.families.files.vocab_file import Fault, read_listing, read_tokens

FAULTY = [
    ("[PAD]\n[UNK]\n\nheart\n\n", 3, "is empty"),
    ("[PAD]\n[UNK]\nheart\n\n", 4, "is empty"),
    ("[PAD]\n[UNK]\nheart\nblood\nheart\n", 5, "repeats 'heart' of line 3"),
    ("[PAD]\n[UNK]\n[cls]\nheart\n", 3, "is '[cls]', not [CLS]"),
    ("[PAD]\n[UNK]\nheart\nhear", 4, "does not end in a line break"),
    ("[PAD]\n[unk]\nheart\n", 2, "is '[unk]', not [UNK]"),
    ("[PAD]\nheart\n", 0, "none of 2 lines is [UNK]"),
]


@pytest.mark.parametrize(("content", "line", "problem"), FAULTY)
def test_a_faulty_vocabulary_is_looked_at_and_no_model_is_made_of_it(
    tmp_path: Path, content: str, line: int, problem: str
) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text(content, encoding="utf-8")
    listing = read_listing(path)
    assert (line, True) in [
        (fault.line, fault.problem.startswith(problem)) for fault in listing.faults
    ]
    assert {"[PAD]", "heart"} <= set(listing.tokens)
    for opened in (path, tmp_path):  # the file itself, and a model folder with it
        with pytest.raises(InputError) as refused:
            read_tokenizer(opened)
        assert problem in str(refused.value)
        assert line == 0 or f"line {line} " in str(refused.value)


def test_tokens_of_a_listing_are_different_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("[UNK]\na\n\n\na\nb", encoding="utf-8")
    listing = read_listing(tmp_path / "v.txt")
    assert listing.lines == ("[UNK]", "a", "", "", "a", "b")
    assert listing.tokens == ("[UNK]", "a", "b")
    assert [fault.line for fault in listing.faults] == [3, 4, 5, 6]


def test_one_empty_line_before_other_tokens_is_a_token(tmp_path: Path) -> None:
    """As in SciBERT's published vocabulary: without it every later token would get another's
    embedding.
    """
    (tmp_path / "v.txt").write_text("[UNK]\na\n\nb\n", encoding="utf-8")
    listing = read_listing(tmp_path / "v.txt")
    assert listing.faults == () and listing.tokens == ("[UNK]", "a", "", "b")
    assert read_tokens(tmp_path / "v.txt") == ("[UNK]", "a", "", "b")


def test_many_faults_are_counted_not_listed(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("[UNK]\n" + "\n" * 9, encoding="utf-8")
    with raises_input_error("faulty-vocabulary", "line 2", "line 4", "6 more"):
        read_tokens(tmp_path / "v.txt")


def test_a_sound_vocabulary_has_no_fault(shared: Path) -> None:
    for path in (shared / "data/vocab").glob("*.txt"):
        assert read_listing(path).faults == ()
    assert str(Fault(0, "x")) == "x"


def test_no_token_at_all(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("\n\n", encoding="utf-8")
    with raises_input_error("no-tokens"):
        read_listing(tmp_path / "v.txt")


def test_a_tokenizer_json_without_its_unknown_token_is_refused(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models

    Tokenizer(models.WordPiece({"heart": 0}, unk_token="[UNK]")).save(
        str(tmp_path / "tokenizer.json")
    )
    with raises_input_error("invalid-tokenizer", "[UNK]"):
        read_tokenizer(tmp_path)
