"""Which tokens are added, in which order, and which are left out."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import list_numbers
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.plan import augmentation
from vocadapt.vocabulary.plan.augmentation import (
    AUGMENTATIONS,
    IN_VOCABULARY,
    LIKE_A_CONTINUATION,
    AugmentationMaterials,
    Proposal,
    propose,
)
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.reduction import REDUCTIONS
from vocadapt.vocabulary.vocabulary import NEVER_ONE_WORD, SPACED, SPECIAL, TOO_LONG

SPECIALS = frozenset({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
BASE = WordPieceVocabulary(tuple(TINY_TOKENS), SPECIALS)
TARGET = WordPieceVocabulary(
    (
        "[UNK]",
        "[CLS]",
        "<extra>",
        "[unused7]",
        "the",
        "melan",
        "##oma",
        "##ogen",
        "##-",
        "Drug",
        "与",
        "##与",
        "blood",
        "x" * 101,
        "##" + "x" * 100,
        "##" + "x" * 99,
    ),
    frozenset({"[UNK]", "[CLS]", "<extra>"}),
)
COUNTS = {
    "placebos": 3,
    "tachycardia": 5,
    "the": 90,
    "xxx": 3,
    "heart": 7,
    "hypertension": 20,
    "ab": 20,
    "与": 4,
    "[MASK]": 2,
}


def join_all(tokens: Sequence[str]) -> np.ndarray:
    """Stands for a network that joins the pieces of every token alike."""
    return np.ones(len(tokens), np.float32)


def from_target(size: int, **changes: object) -> Proposal:
    return propose(
        AugmentationMaterials(BASE, Splitter.bert(), target=TARGET, **changes), "target", size
    )


def from_counts(heuristic: str, size: int, **changes: object) -> Proposal:
    return propose(
        AugmentationMaterials(BASE, Splitter.bert(), counts=COUNTS, **changes), heuristic, size
    )


def test_target_tokens_are_added_in_order_except_kept_and_unreachable_ones() -> None:
    made = from_target(99)
    assert made.tokens == ("melan", "##ogen", "与", "##" + "x" * 99)
    assert made.left_out == {
        SPECIAL: ("[UNK]", "[CLS]", "<extra>"),
        NEVER_ONE_WORD: ("[unused7]", "##-", "Drug", "##与"),
        IN_VOCABULARY: ("the", "##oma", "blood"),
        TOO_LONG: ("x" * 101, "##" + "x" * 100),
    }


def test_no_more_tokens_than_requested_are_added_and_fewer_are_reported() -> None:
    one = from_target(1)
    assert (one.tokens, one.note) == (("melan",), "")
    assert from_target(0).tokens == ()
    many = from_target(99)
    assert list_numbers(many.note)[:3] == ["4", "99", "3"] and f"{SPECIAL}: 3;" in many.note


def test_a_removed_token_may_be_added_again_and_a_special_one_is_never_removed() -> None:
    made = from_target(99, kept=frozenset({"the"}))
    assert made.tokens == ("melan", "##oma", "##ogen", "与", "blood", "##" + "x" * 99)
    assert "[CLS]" in made.left_out[SPECIAL]


def test_a_target_with_another_mark_is_written_as_the_base_writes() -> None:
    target = WordPieceVocabulary(
        ("[UNK]", "melan", "@@ogen", "@@oma"), frozenset({"[UNK]"}), continuation="@@"
    )
    made = propose(AugmentationMaterials(BASE, Splitter.bert(), target=target), "target", 9)
    assert made.tokens == ("melan", "##ogen")
    assert made.left_out[IN_VOCABULARY] == ("##oma",)


def test_the_target_by_a_reduction_comes_as_that_would_keep_it_longest() -> None:
    """Letters stay in every reduction. By length: gamma, delta, alphabet, of equals the lower id.
    ##gamma is not in the text.
    """
    letters = (*"aghlmpbetd", *(f"##{letter}" for letter in "alphbetdgm"))
    target = WordPieceVocabulary(
        ("[UNK]", "alphabet", "gamma", "delta", "##gamma", *letters), SPECIALS
    )
    materials = AugmentationMaterials(
        BASE, Splitter.bert(), {"alphabet": 9, "delta": 5, "gamma": 7}, target
    )

    def by(reduction: str) -> tuple[str, ...]:
        return propose(materials, f"target-{reduction}", 99).tokens

    assert by("last") == ("alphabet", "gamma", "delta", "##gamma")
    assert by("longest") == ("gamma", "delta", "##gamma", "alphabet")
    assert by("freq") == ("alphabet", "gamma", "delta", "##gamma")
    assert sorted(by("random")) == sorted(by("last"))
    assert {name for name in AUGMENTATIONS if name.startswith("target-")} == {
        f"target-{name}" for name in REDUCTIONS
    }


def test_words_come_by_count_ties_by_word() -> None:
    made = from_counts("words", 5)
    assert made.tokens == ("ab", "hypertension", "tachycardia", "与", "placebos")
    assert made.left_out == {IN_VOCABULARY: ("the", "heart")}
    exact = from_counts("words", 4, exact=True)
    assert exact.tokens == ("ab", "hypertension", "tachycardia", "placebos")
    assert exact.left_out == {IN_VOCABULARY: ("the", "heart"), SPACED: ("与",)}


def test_savings_are_counts_times_pieces_less_one() -> None:
    """hyper ##tension: 20 × 1. ab = a ##b: 20 × 1. tachy ##card ##i ##a: 5 × 3. placebo ##s: 3. x
    ##x ##x: 3 × 2.

    与 is one [UNK] without its token: it saves none.
    """
    assert from_counts("savings", 9).tokens == (
        "ab",
        "hypertension",
        "tachycardia",
        "xxx",
        "placebos",
        "与",
    )


def test_savings_account_for_removed_tokens() -> None:
    """Without ##tension, hypertension is hyper and seven letters: 20 × 7 instead of 20."""
    kept = frozenset(TINY_TOKENS) - {"##tension"}
    assert from_counts("savings", 1, kept=kept).tokens == ("hypertension",)


def test_the_order_of_the_counts_does_not_matter() -> None:
    turned = dict(reversed(COUNTS.items()))
    for name in ("words", "savings"):
        made = propose(AugmentationMaterials(BASE, Splitter.bert(), counts=turned), name, 9)
        assert made.tokens == from_counts(name, 9).tokens


def test_a_word_that_looks_like_a_continuation_does_not_become_one() -> None:
    """A splitter at blanks leaves ##omas whole: as a token it would fire inside melanomas, where no
    such word stands.
    """
    blanks = Splitter("null", '{"type": "WhitespaceSplit"}')
    made = propose(
        AugmentationMaterials(BASE, blanks, counts={"##omas": 5, "[SEP]": 4, "a-b": 2}), "words", 9
    )
    assert made.tokens == ("a-b",)
    assert made.left_out == {LIKE_A_CONTINUATION: ("##omas",), SPECIAL: ("[SEP]",)}


def test_a_continuation_is_reachable_if_a_word_may_contain_it() -> None:
    steps = '{"type": "BertPreTokenizer"}, {"type": "Digits", "individual_digits": false}'
    digits = Splitter("null", f'{{"type": "Sequence", "pretokenizers": [{steps}]}}')
    assert BASE.explain_unreachable("##19", digits) is None
    assert BASE.explain_unreachable("##oma", digits) is None
    assert BASE.explain_unreachable("##o1", digits) == NEVER_ONE_WORD
    assert BASE.explain_unreachable("##", digits) == NEVER_ONE_WORD


@pytest.mark.parametrize(
    "name", [name for name, one in AUGMENTATIONS.items() if one.family in ("", "wordpiece")]
)
def test_every_augmentation_gives_new_tokens_that_can_be_produced_and_never_one_twice(
    name: str,
) -> None:
    materials = AugmentationMaterials(
        BASE, Splitter.bert(), counts=COUNTS, target=TARGET, network=join_all
    )
    made = propose(materials, name, 99)
    assert made.tokens and len(set(made.tokens)) == len(made.tokens)
    assert not set(made.tokens) & set(BASE.tokens)
    assert not any(BASE.explain_unreachable(token, Splitter.bert()) for token in made.tokens)
    assert propose(materials, name, 1).tokens == made.tokens[:1]
    assert AUGMENTATIONS[name].about and AUGMENTATIONS[name].source


def test_words_are_ranked_by_what_they_save_and_how_well_their_pieces_are_joined() -> None:
    """hypertension saves 20 × (pieces − 1), tachycardia 5 × (pieces − 1); placebos is not spelled."""
    joining = {"hypertension": 0.01, "tachycardia": 0.9, "placebos": np.nan}
    asked: list[str] = []

    def join(tokens: Sequence[str]) -> np.ndarray:
        asked.extend(tokens)
        return np.array([joining.get(token, -0.5) for token in tokens])

    alike = from_counts("joined", 2, network=join_all).tokens
    assert alike == from_counts("savings", 2).tokens
    assert from_counts("joined", 1, network=join).tokens == ("tachycardia",)
    assert not set(asked) & set(BASE.tokens)
    with raises_input_error("missing-input", "joined"):
        from_counts("joined", 1)


def test_only_words_that_save_most_are_read_by_the_network(monkeypatch) -> None:
    monkeypatch.setattr(augmentation, "MOST_JOINED", 1)
    asked: list[str] = []

    def join(tokens: Sequence[str]) -> np.ndarray:
        asked.extend(tokens)
        return np.ones(len(tokens))

    made = from_counts("joined", 9, network=join)
    assert asked == [from_counts("savings", 1).tokens[0]]
    # The others follow; a word of one token saves nothing.
    assert made.tokens == tuple(t for t in from_counts("savings", 9).tokens if t != "与")


def test_a_trainer_of_another_family_is_refused() -> None:
    materials = AugmentationMaterials(BASE, Splitter.bert(), counts=COUNTS)
    others = [name for name, one in AUGMENTATIONS.items() if one.family not in ("", "wordpiece")]
    assert "byte-level-bpe" in others
    for name in others:
        with raises_input_error("other-family", name):
            propose(materials, name, 9)


@pytest.mark.parametrize(
    ("of", "target", "skipped"), [("bert", "pubmedbert", 413), ("pubmedbert", "bert", 995)]
)
def test_a_refill_skips_only_what_the_tokenizer_can_never_produce(
    of: str, target: str, skipped: int, shared: Path
) -> None:
    """Half of BERT is refilled from PubMedBERT, and the other way: CJK characters are produced, so
    they come in.
    """
    files = {"bert": "bert-base-uncased.txt", "pubmedbert": "pubmedbert-abstract-fulltext.txt"}
    base, other = (
        vocabulary_of(read_tokenizer(shared / "data/vocab" / files[name])) for name in (of, target)
    )
    splitter = Splitter.bert()
    plan = plan_vocabulary(
        base, splitter, PlanSources(target=other), PlanSettings("combined", removed=0.5)
    )
    left_out = plan.left_out[NEVER_ONE_WORD]
    assert len(left_out) == skipped == plan.summary().left_out[NEVER_ONE_WORD]
    everything = replace(base, tokens=tuple(dict.fromkeys((*base.tokens, *left_out))))
    assert len(everything.find_unreachable(splitter, left_out)) == skipped
    assert not plan.after.find_unreachable(splitter, plan.added_tokens)
    assert (
        sum(
            len(token) == 1 and not token.isascii() and not splitter.leaves_unchanged(token)
            for token in plan.added_tokens
        )
        > 100
    )


def test_mistakes_are_named() -> None:
    materials = AugmentationMaterials(BASE, Splitter.bert())
    with raises_input_error("unknown-choice", "'best'"):
        propose(materials, "best", 1)
    with raises_input_error("missing-input", "words"):
        propose(materials, "words", 1)
    with raises_input_error("missing-input", "target"):
        propose(materials, "target", 1)
