"""The lens compares models of different tokenizer families by the words that people read."""

from tokenizers import Tokenizer, models, pre_tokenizers

from vocadapt.vocabulary.families import family_of
from vocadapt.vocabulary.families.byte_level_bpe import BYTE_ALPHABET
from vocadapt.vocabulary.families.wordpiece import build_tokenizer
from vocadapt.vocabulary.lens import (
    WordTokenizer,
    count_text,
    list_changes,
    list_worst_split_words,
)

TEXT = "The pain, naïve pain (pain) returns"


def build_byte_level() -> Tokenizer:
    """Ġpain and Ġnaïve are tokens; pain without a space is pa in."""
    merges = [("Ġ", "p"), ("a", "i"), ("ai", "n"), ("Ġp", "ain"), ("p", "a")]
    made = ["".join(merge) for merge in merges]
    tokens = dict.fromkeys([*BYTE_ALPHABET, *made])
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def open_tokenizer(name: str, tokenizer: Tokenizer) -> WordTokenizer:
    family = family_of(tokenizer)
    return WordTokenizer(name, family.read_vocabulary(tokenizer), family.make_splitter(tokenizer))


WORDPIECE = open_tokenizer(
    "wordpiece",
    build_tokenizer(("[UNK]", "the", "pain", "na", "##ive", "returns", ",", "(", ")"), True),
)
BYTE_LEVEL = open_tokenizer("byte-level", build_byte_level())


def test_each_model_counts_its_own_pre_tokens() -> None:
    words = count_text(TEXT, WORDPIECE.splitter)
    assert words["pain"] == 3
    own = count_text(TEXT, BYTE_LEVEL.splitter)
    assert own["Ġpain"] == 2 and own["pain"] == 1 and own["ĠnaÃ¯ve"] == 1
    assert WORDPIECE.measure(words).words == 9
    assert BYTE_LEVEL.measure(own).words == 9


def test_tokens_of_two_families_correspond_by_text_and_position() -> None:
    wordpiece, bytes_ = WORDPIECE.vocabulary, BYTE_LEVEL.vocabulary
    assert wordpiece.has_counterpart("Ġpain", bytes_)
    assert not wordpiece.has_counterpart("pain", bytes_)  # no ##pain
    assert bytes_.has_counterpart("pain", wordpiece) and "pain" not in bytes_
    assert wordpiece.has_counterpart("(", bytes_) and bytes_.has_counterpart("(", wordpiece)
    assert wordpiece.has_counterpart("##ive", wordpiece)
    assert not wordpiece.has_counterpart("ive", wordpiece)


def test_the_same_parts_of_a_word_are_no_difference() -> None:
    counts = count_text(TEXT, WORDPIECE.splitter)
    changes = {
        one.word: one for one in list_changes(counts, WORDPIECE.splitter, WORDPIECE, BYTE_LEVEL)
    }
    # Ġpain is pain after a space; naive is na ##ive, and bytes that no merge joins.
    assert "pain" not in changes
    assert changes["naive"].before == ("na", "##ive")
    assert changes["naive"].after == ("Ġ", "n", "ai", "v", "e")


def test_words_are_shown_without_marks() -> None:
    counts = count_text(TEXT, BYTE_LEVEL.splitter)
    worst = list_worst_split_words(counts, BYTE_LEVEL.splitter, BYTE_LEVEL, 9)
    assert "naïve" in [split.word for split in worst]
    assert not any("Ġ" in split.word or "Ã" in split.word for split in worst)
