"""The registry of tokenizer families, and the interface of a vocabulary to the rest of the
program."""

import pytest
from tokenizers import Tokenizer, models

from tests.material.input_errors import raises_input_error
from vocadapt.vocabulary.families import (
    FAMILIES,
    family_of,
    find_trainer,
    list_trainers,
    register_family,
)
from vocadapt.vocabulary.families.wordpiece import (
    WordPieceFamily,
    WordPieceVocabulary,
    build_tokenizer,
    find_word_kinds,
)
from vocadapt.vocabulary.vocabulary import Notation

TOKENS = ("[PAD]", "[UNK]", "[unused0]", "heart", "##s", "##", "a", "tachycardia")
VOCABULARY = WordPieceVocabulary(
    TOKENS, frozenset({"[PAD]", "[UNK]"}), whole=frozenset({"tachycardia"})
)


def test_a_tokenizer_has_the_family_that_recognizes_it() -> None:
    assert family_of(build_tokenizer(("[UNK]", "a"))) is FAMILIES["wordpiece"]
    with raises_input_error("unsupported-tokenizer", "WordLevel"):
        family_of(Tokenizer(models.WordLevel({"<unk>": 0}, "<unk>")))


@pytest.mark.parametrize(
    ("name", "code"), [("wordpiece", "taken-name"), ("Word piece", "invalid-name")]
)
def test_a_name_that_is_taken_or_invalid_is_refused(name: str, code: str) -> None:
    class Other(WordPieceFamily):
        pass

    Other.name = name
    with raises_input_error(code, repr(name)):
        register_family(Other())
    assert type(FAMILIES["wordpiece"]) is WordPieceFamily


def test_a_trainer_belongs_to_a_family() -> None:
    assert find_trainer("bpe-merges") is find_trainer("wordpiece-score") is FAMILIES["wordpiece"]
    for name in list_trainers():
        assert name in find_trainer(name).trainers
    with raises_input_error("unknown-trainer", "'none'"):
        find_trainer("none")


def test_the_names_of_wordpieces_are_their_spellings() -> None:
    assert VOCABULARY.names == VOCABULARY.tokens
    for token in TOKENS:
        if VOCABULARY.position(token) in ("word start", "continuation"):
            spelled = VOCABULARY.spell(VOCABULARY.body(token), VOCABULARY.continues(token))
            assert spelled == token
    assert [VOCABULARY.mark_of(token) for token in ("heart", "##s", "##")] == ["", "##", ""]
    assert VOCABULARY.has_word("heart") and not VOCABULARY.has_word("s")


def test_special_tokens_by_role_and_those_that_are_missing() -> None:
    assert VOCABULARY.role_ids == {"pad": 0, "unk": 1}
    assert VOCABULARY.list_missing("pad", "cls", "mask") == ["[CLS]", "[MASK]"]


def test_the_kinds_of_tokens_are_plain_values() -> None:
    kinds = VOCABULARY.find_kinds(TOKENS, TOKENS)
    assert kinds.special == {"[PAD]", "[UNK]"} and kinds.placeholders == {"[unused0]"}
    assert kinds.continuations == {"##s"} and kinds.body("##s") == "s" and kinds.body("##") == "##"
    words = find_word_kinds(["heart", "##s", "[unused7]", "[PAD]"])
    assert (words.continuations, words.placeholders) == ({"##s"}, {"[unused7]"})
    assert words.special == frozenset()  # only a model tells which tokens are special


def test_a_notation_says_what_it_marks() -> None:
    assert VOCABULARY.notation == Notation(continuation="##")
    assert "'##'" in str(VOCABULARY.notation) and "'▁'" in str(Notation(word_start="▁"))
