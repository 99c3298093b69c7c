"""Plans of each kind on a vocabulary of 31 tokens, worked by hand: what mutation tests found unchecked."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.material.built_tokenizers import build_bytes, build_unigram
from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import list_numbers
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.corpus import open_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import FAMILIES, family_of, vocabulary_of
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary, build_tokenizer
from vocadapt.vocabulary.plan import planning
from vocadapt.vocabulary.plan.augmentation import (
    AUGMENTATIONS,
    IN_VOCABULARY,
    AugmentationMaterials,
    list_augmentations,
    propose,
    register_heuristic,
)
from vocadapt.vocabulary.plan.forms import WordForms, group_word_forms
from vocadapt.vocabulary.plan.plan import (
    KINDS,
    AddedWord,
    PlanNumbers,
    PlanSettings,
    VocabularyPlan,
)
from vocadapt.vocabulary.plan.planning import (
    OVER_LIMIT,
    TOO_RARE,
    PlanSources,
    find_plan_inputs,
    plan_vocabulary,
    split_addable_words,
)
from vocadapt.vocabulary.plan.reduction import (
    NEEDED,
    REDUCTIONS,
    SHORT,
    Reduction,
    ReductionSettings,
    _build_prior_text,
    compute_min_keep_fraction,
    count_removed,
    group_protected_tokens,
    list_removable_ids,
    rank_by_cost,
    select_removed_tokens,
)
from vocadapt.vocabulary.plan.tokenizer import (
    Departures,
    count_departures,
    measure_departures,
    measure_pretoken_departures,
)
from vocadapt.vocabulary.plan.trim_lines import (
    AddedTokenLines,
    ChangedLines,
    compile_added_tokens,
    read_added_token_lines,
)
from vocadapt.vocabulary.plan.trimming import SINGLE
from vocadapt.vocabulary.vocabulary import FIXED, SPACED

LETTERS = "abcdehirst"
WORDS = ("the", "##ing", "heart", "hearts", "##tard", "trait", "traits", "##shed")
TOKENS = ("[PAD]", "[UNK]", "[unused0]", *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS)
SPECIALS = frozenset({"[PAD]", "[UNK]"})
OWN = WordPieceVocabulary(TOKENS, SPECIALS)  # 31 tokens, of which 7 may be removed
WITH_TED = WordPieceVocabulary((*TOKENS, "##ted"), SPECIALS)
TARGET = WordPieceVocabulary((*TOKENS[:23], "stair", "##dish", "heart", "chair"), SPECIALS)
COUNTS = {"heart": 50, "hearts": 1, "tard": 2, "trait": 4, "traits": 9, "chairs": 3, "dishes": 8}
BERT = Splitter.bert()


def make_plan(kind: str, sources: PlanSources | None = None, **options: Any) -> VocabularyPlan:
    if "fill_reserved" in KINDS[kind].settings:
        options["fill_reserved"] = False
    return plan_vocabulary(OWN, BERT, sources or PlanSources(), PlanSettings(kind, **options))


def make_vectors(*words: str, counts: tuple[int, ...] | None = None) -> PlanSources:
    matrix = np.ones((len(words), 2), np.float32)
    space = EmbeddingSpace(words, matrix, None if counts is None else np.array(counts))
    return PlanSources(domain=space)


# Plans as values


def test_a_plan_in_numbers_and_as_it_is_stored() -> None:
    added = (
        AddedWord("dish", ("d", "##i", "##s", "##h"), 8),
        AddedWord("Dish", ("[UNK]",), 1, form_of="dish"),
    )
    plan = VocabularyPlan(
        OWN,
        added,
        replaced=("heart",),
        left_out={"too long": ("x", "y")},
        reserved_tokens=("[unused0]",),
        unreachable=("##q",),
        note="Fewer.",
    )
    assert plan.tokens == (*TOKENS[:2], "dish", *TOKENS[3:], "Dish")
    assert plan.added_tokens == ("dish", "Dish")
    assert plan.forms == {"Dish": "dish"}
    assert plan.removed_tokens == ("[unused0]",)
    assert plan.kept == tuple(token for token in TOKENS if token not in ("[unused0]", "heart"))
    assert plan.new_embeddings == ("heart", "dish")
    new, old = plan.moves
    assert new.tolist() == old.tolist() == [0, 1, *range(3, 31)]
    assert new.dtype == old.dtype == np.int64
    numbers: dict[str, Any] = {
        "kind": "append",
        "tokens_before": 31,
        "added": 2,
        "forms": 1,
        "reserved_filled": 1,
        "replaced": 1,
        "dropped": 1,
        "tokens_after": 32,
        "left_out": {"too long": 2},
        "note": "Fewer.",
    }
    assert plan.summary() == PlanNumbers(**numbers)
    stored = plan.to_dict()
    del numbers["forms"]  # stored by name
    assert {name: stored[name] for name in numbers} == numbers
    assert stored["settings"]["kind"] == "append"  # type: ignore[index]
    assert stored["added_tokens"] == [
        ["dish", ["d", "##i", "##s", "##h"], 8],
        ["Dish", ["[UNK]"], 1],
    ]
    assert stored["forms"] == {"Dish": "dish"}
    assert stored["replaced_tokens"] == ["heart"]
    assert stored["dropped_tokens"] == ["[unused0]"]
    assert stored["silent_tokens"] == ["##q"]
    assert stored["continuation"] == "##"


def test_a_plan_without_forms_notes_or_a_trim_names_none() -> None:
    plan = VocabularyPlan(OWN, ())
    numbers = plan.summary()
    assert (numbers.forms, numbers.note, numbers.trim, numbers.checked_lines) == (None,) * 4
    assert "forms" not in plan.to_dict()
    assert plan.tokens == TOKENS and plan.kept == TOKENS and plan.removed_tokens == ()


def test_a_plan_shows_its_first_tokens() -> None:
    words = [f"dish{letter}" for letter in "abcdehirst"]
    plan = VocabularyPlan(
        OWN,
        tuple(AddedWord(word, ("d", "##i"), 7) for word in words),
        left_out={"too long": ("x", "y"), "too rare": ("z",)},
        settings=PlanSettings("reduce"),
        order=(*TOKENS[:20], *words),
        note="Fewer.",
    )
    summary = plan.summarize()
    assert dict(summary.facts) == {
        "kind": "reduce",
        "tokens before": 31,
        "added": 10,
        "removed": 11,
        "tokens after": 30,
    }
    assert (summary.title, summary.note) == ("", "Fewer.")
    added, removed, left_out = summary.tables
    assert (added.of, removed.of, left_out.of) == (10, 11, 2)
    assert list(added.rows) == [(word, "d ##i", 7) for word in words[:8]]
    assert list(removed.rows) == [(token,) for token in TOKENS[20:28]]
    assert list(left_out.rows) == [("too long", 2), ("too rare", 1)]


def test_moved_tokens_have_new_and_old_ids() -> None:
    plan = VocabularyPlan(
        OWN,
        (AddedWord("dish", ()),),
        order=("[UNK]", "dish", "heart", "[PAD]"),
        replaced=("heart",),
    )
    new, old = plan.moves
    assert (new.tolist(), old.tolist()) == ([0, 2, 3], [1, 25, 0])
    assert plan.kept == ("[UNK]", "[PAD]")
    assert len(plan.removed_tokens) == 28 and plan.removed_tokens[:2] == ("[unused0]", "a")
    assert plan.after.tokens == plan.tokens


@pytest.mark.parametrize(
    ("options", "code"), [({"cover": 0.5, "keep": 3}, "two-sizes"), ({}, "no-size")]
)
def test_a_trim_has_one_size(options: dict[str, float], code: str) -> None:
    with raises_input_error(code) as refused:
        PlanSettings("trim", **options)  # type: ignore[arg-type]
    assert refused.value.setting == "cover" and refused.value.remedy


# Kinds of plans


def test_the_same_vocabulary() -> None:
    plan = make_plan("same", renew=True)
    assert plan.added == () and plan.order is None
    assert plan.replaced == TOKENS and plan.settings.kind == "same"
    assert plan.whole == frozenset()


def test_a_reduction_by_hand() -> None:
    plan = make_plan("reduce", removed=2 / 31)
    assert plan.removed_tokens == ("traits", "##shed")
    assert plan.tokens == TOKENS[:-2] and plan.added == () and plan.whole == frozenset()


def test_a_transfer_by_hand() -> None:
    plan = make_plan("transfer", PlanSources(target=TARGET, counts={"stair": 4}))
    assert plan.tokens == plan.order == TARGET.tokens
    assert plan.added == (
        AddedWord("stair", ("s", "##t", "##a", "##i", "##r"), 4),
        AddedWord("##dish", ("##d", "##i", "##s", "##h"), 0),
        AddedWord("chair", ("c", "##h", "##a", "##i", "##r"), 0),
    )
    assert plan.removed_tokens == tuple(token for token in WORDS if token != "heart")
    assert plan.target is TARGET and plan.whole == frozenset() and plan.unreachable == ()
    assert make_plan("transfer", PlanSources(target=TARGET)).added[0].count is None
    with raises_input_error("no-target"):
        make_plan("transfer")


def test_a_target_without_special_tokens_is_refused_by_id() -> None:
    bare = WordPieceVocabulary(tuple(TOKENS[3:]), frozenset())
    with raises_input_error("missing-special-tokens", "[PAD], [UNK]"):
        make_plan("transfer", PlanSources(target=bare))


def test_a_combination_by_hand() -> None:
    """Three tokens go; the words that are most frequent come as wordpieces: dishes, chairs, tard."""
    plan = make_plan(
        "combined", PlanSources(counts=COUNTS), removed=3 / 31, remove_by="last", add_by="words"
    )
    kept = TOKENS[:-3]
    assert plan.tokens[:28] == kept and len(plan.tokens) == 31
    # traits 9, dishes 8 and trait 4 occur most often; both of the removed ones come back.
    assert plan.tokens[28:] == ("traits", "dishes", "trait")
    assert plan.added == (AddedWord("dishes", OWN.tokenize("dishes"), 8),)
    assert plan.removed_tokens == ("##shed",)
    assert plan.left_out == {IN_VOCABULARY: ("heart",)}
    assert plan.note == "" and plan.forms == {}


def test_a_combination_with_a_target() -> None:
    plan = make_plan("combined", PlanSources(target=TARGET), removed=2 / 31)
    assert plan.tokens == (*TOKENS[:-2], "stair", "##dish")
    assert [word.count for word in plan.added] == [None, None]
    short = make_plan("combined", PlanSources(target=TARGET), removed=7 / 31)
    assert list_numbers(short.note)[:2] == ["4", "7"]
    assert short.tokens[24:] == ("stair", "##dish", "heart", "chair")  # heart comes back


def test_a_combination_that_removes_everything_is_a_transfer() -> None:
    sources = PlanSources(target=TARGET)
    plan = make_plan("combined", sources, removed=1)
    assert plan.tokens == TARGET.tokens
    assert list_numbers(plan.note) == ["27", "31"]
    larger = WordPieceVocabulary((*TARGET.tokens, "aaaa", "bbbb", "cccc", "dddd", "eeee"), SPECIALS)
    cut = make_plan("combined", PlanSources(target=larger), removed=1)
    assert cut.tokens == larger.tokens[:31]
    assert list_numbers(cut.note) == ["31", "32"]
    same = WordPieceVocabulary(larger.tokens[:31], SPECIALS)
    assert make_plan("combined", PlanSources(target=same), removed=1).note == ""
    for given, refill in ((PlanSources(), "target"), (PlanSources(counts=COUNTS), "words")):
        with raises_input_error("nothing-left"):
            make_plan("combined", given, removed=1, add_by=refill)


def test_an_extension_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = PlanSources(counts=COUNTS)
    plan = make_plan("extend", sources, add_by="words", max_added=2)
    assert plan.added == (
        AddedWord("dishes", ("d", "##i", "##s", "##h", "##e", "##s"), 8),
        AddedWord("chairs", ("c", "##h", "##a", "##i", "##r", "##s"), 3),
    )
    assert plan.left_out == {IN_VOCABULARY: ("heart", "traits", "trait")}
    assert (plan.note, plan.order, plan.whole) == ("", None, frozenset())
    many = make_plan("extend", sources, add_by="words", max_added=9)
    assert many.added_tokens == ("dishes", "chairs", "tard")
    assert list_numbers(many.note) == ["3", "9", "4"] and IN_VOCABULARY in many.note
    assert make_plan("extend", sources, add_by="words").note == ""
    monkeypatch.setattr(planning, "MAX_EXTENSION", 3)
    assert list_numbers(make_plan("extend", sources, add_by="words").note) == ["3"]
    with raises_input_error("no-new-token", "words") as refused:
        make_plan("extend", PlanSources(counts={"heart": 1}), add_by="words", max_added=2)
    assert list_numbers(refused.value.remedy) == ["0", "2", "1"]


def test_reserved_tokens_are_filled_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordPieceVocabulary, "reserved_tokens", ("[unused0]",))
    sources = PlanSources(counts=COUNTS)
    settings = PlanSettings("extend", add_by="words", max_added=2)
    plan = plan_vocabulary(OWN, BERT, sources, settings)
    assert plan.reserved_tokens == ("[unused0]",)
    assert plan.tokens == (*TOKENS[:2], "dishes", *TOKENS[3:], "chairs")
    renewed = plan_vocabulary(OWN, BERT, sources, replace(settings, renew=True))
    assert renewed.replaced == (*TOKENS[:2], *TOKENS[3:])
    reduced = plan_vocabulary(OWN, BERT, sources, PlanSettings("reduce", removed=1 / 31))
    assert reduced.reserved_tokens == ()


def test_words_of_vectors_by_hand() -> None:
    sources = make_vectors("heart", "dish", "stair", "chair", "trash", counts=(9, 8, 7, 2, 6))
    plan = make_plan("append", sources)
    assert plan.added_tokens == ("dish", "stair", "chair", "trash")
    assert [word.count for word in plan.added] == [8, 7, 2, 6]
    assert plan.added[0].pieces == ("d", "##i", "##s", "##h")
    assert plan.whole is None and plan.left_out == {} and plan.replaced == ()
    capped = make_plan("append", sources, max_added=2, min_count=6)
    assert capped.added_tokens == ("dish", "stair")
    assert capped.left_out == {TOO_RARE: ("chair",), OVER_LIMIT: ("trash",)}
    assert make_plan("replace", sources).replaced == ("heart",)
    insertion = make_plan("append", replace(sources, mode="insertion"))
    assert insertion.whole == frozenset() and insertion.added_tokens == plan.added_tokens


def test_vectors_that_add_nothing_are_refused() -> None:
    with raises_input_error("no-new-word", "2 words", "1 are new") as refused:
        make_plan("append", make_vectors("heart", "x-ray"))
    assert refused.value.remedy
    with raises_input_error("no-vectors", "append") as refused:
        make_plan("append")
    assert refused.value.remedy
    with raises_input_error("no-counts", "1,000") as refused:
        make_plan("append", make_vectors("dish", "stair"), min_count=1_000)
    assert refused.value.setting == "min_count" and refused.value.remedy
    with raises_input_error("too-rare", "2 words", "1,000") as refused:
        make_plan("append", make_vectors("dish", "stair", counts=(3, 999)), min_count=1_000)
    assert refused.value.setting == "min_count" and refused.value.remedy


def test_a_trim_by_hand() -> None:
    """Only heart and its characters stay, with the special tokens."""
    plan = make_plan("trim", PlanSources(counts={"heart": 5}), cover=1.0)
    letters = {letter for token in "heart" for letter in (token, f"##{token}")}
    kept = {*SPECIALS, "heart", *letters}
    assert plan.tokens == tuple(token for token in TOKENS if token in kept)
    assert plan.trim is not None
    assert plan.summary().trim is plan.trim
    spelled = make_plan("trim", PlanSources(counts={"heart": 5}), cover=1.0, characters="all")
    # Nothing else spells the n and g of ##ing, or the brackets of [unused0].
    assert set(TOKENS) - set(spelled.tokens) == set(WORDS) - {"heart", "##ing"}
    of_lines = make_plan("trim", PlanSources(token_counts={"heart": 5}), cover=1.0)
    assert of_lines.tokens == plan.tokens
    with raises_input_error("no-text"):
        make_plan("trim", cover=1.0)


@pytest.mark.parametrize(
    ("kind", "options", "inputs"),
    [
        ("append", {}, set()),
        ("reduce", {"remove_by": "last"}, set()),
        ("reduce", {"remove_by": "freq"}, {"counts"}),
        ("reduce", {"remove_by": "freq", "removed": 1.0}, set()),
        ("combined", {"remove_by": "cost", "add_by": "target"}, {"counts", "target"}),
        ("combined", {"remove_by": "last", "add_by": "target"}, {"target"}),
        ("extend", {"add_by": "words"}, {"counts"}),
        ("extend", {"add_by": "joined"}, {"counts"}),  # the network is the model's own
        ("extend", {"add_by": "target-freq"}, {"counts", "target"}),
        ("transfer", {}, set()),
    ],
)
def test_inputs_of_a_plan(kind: str, options: dict[str, Any], inputs: set[str]) -> None:
    assert find_plan_inputs(PlanSettings(kind, **options)) == inputs


@pytest.mark.parametrize(
    ("mode", "kind", "exact"),
    [
        ("", "append", True),
        ("", "replace", True),
        ("", "extend", False),
        ("exact-word", "extend", True),
        ("insertion", "append", False),
    ],
)
def test_which_plans_add_exact_words(mode: str, kind: str, exact: bool) -> None:
    assert PlanSources(mode=mode).exact(PlanSettings(kind)) is exact


# Reductions


def test_protected_tokens_by_reason() -> None:
    groups = group_protected_tokens(OWN)
    assert groups[FIXED] == ("[PAD]", "[UNK]")
    assert groups[SHORT] == tuple(TOKENS[3:25])  # letters, the, ##ing
    assert groups[NEEDED] == ()
    assert list_removable_ids(OWN).tolist() == [2, 25, 26, 27, 28, 29, 30]
    assert list_removable_ids(OWN).dtype == np.int64
    assert compute_min_keep_fraction(OWN) == 24 / 31


def test_marks_may_count_as_characters() -> None:
    """##ted has three characters, or five; nothing else spells the n and g of ##ing."""
    groups = group_protected_tokens(WITH_TED, count_marks=True)
    assert groups[SHORT] == (*TOKENS[3:13], *TOKENS[13:23], "the")
    assert groups[NEEDED] == ("##ing",)
    assert list_removable_ids(WITH_TED).tolist() == [2, *range(25, 31)]
    assert list_removable_ids(WITH_TED, True).tolist() == [2, *range(25, 32)]
    assert compute_min_keep_fraction(WITH_TED) == 25 / 32
    assert compute_min_keep_fraction(WITH_TED, True) == 24 / 32


def test_a_reduction_that_is_too_large_names_the_smallest() -> None:
    assert count_removed(OWN, ReductionSettings(keep=24 / 31)) == 7
    assert count_removed(OWN, ReductionSettings(keep=0.7742)) == 7
    with raises_input_error("too-few-tokens") as refused:
        count_removed(OWN, ReductionSettings(keep=0.5))
    assert list_numbers(refused.value.problem) == ["0.5", "31", "16", "24", "2", "22", "4"]
    assert list_numbers(refused.value.remedy) == ["0.7742"] and "mark" in refused.value.remedy
    with raises_input_error("too-few-tokens", f"1 {NEEDED}") as refused:
        count_removed(WITH_TED, ReductionSettings(keep=0.5, count_marks=True))
    assert list_numbers(refused.value.problem)[-4:] == ["2", "21", "4", "1"]
    assert list_numbers(refused.value.remedy) == ["0.75"] and "mark" not in refused.value.remedy
    assert count_removed(WITH_TED, ReductionSettings(keep=0.75, count_marks=True)) == 8


def test_of_many_equal_tokens_those_with_the_highest_ids_go_first() -> None:
    words = tuple(f"{a}{b}{c}e" for a in "abcd" for b in "abcd" for c in "abcd")
    vocabulary = WordPieceVocabulary((*TOKENS[:23], *words), SPECIALS)
    expected = {"freq": set(words[-30:]), "longest": {"[unused0]", *words[-29:]}}
    for heuristic, tokens in expected.items():
        settings = ReductionSettings(heuristic, keep=1 - 30 / len(vocabulary))
        assert set(select_removed_tokens(vocabulary, settings, {"heart": 1})) == tokens


def test_the_prior_text_has_each_token_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights fall with the rank: 1, 1/2, 1/3 of 11 words are 6, 3 and 2."""
    monkeypatch.setattr("vocadapt.vocabulary.plan.reduction.ZIPF", 1.0)
    ids = np.array([2, 25, 26, 28])  # [unused0] is left out
    table = _build_prior_text(OWN, ids, 11.0)
    assert table.counts.tolist() == pytest.approx([6.0, 3.0, 2.0])
    pieces = table.tokenize()
    assert pieces.pieces.tolist() == [1, 1, 1]
    assert np.flatnonzero(table.count_occurrences(pieces)).tolist() == [25, 26, 28]


def test_the_cost_of_tokens_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a prior text and damping: hearts once, heart ##s; traits 9 times, trait ##s; heart 50
    times in five pieces. Once traits is gone, trait is in 13 words.
    """
    table = OWN.build_word_table(COUNTS)
    ids = list_removable_ids(OWN)
    monkeypatch.setattr("vocadapt.vocabulary.plan.reduction.ROUND_MIN", 1)
    ranked = [TOKENS[i] for i in rank_by_cost(OWN, ids, table, power=1.0, belief=0.0)]
    assert ranked == ["##shed", "##tard", "[unused0]", "hearts", "traits", "trait", "heart"]
    monkeypatch.setattr("vocadapt.vocabulary.plan.reduction.ROUND_MIN", 7)
    at_once = [TOKENS[i] for i in rank_by_cost(OWN, ids, table, power=1.0, belief=0.0)]
    assert at_once[3:] == ["hearts", "traits", "trait", "heart"]


# Augmentations


def test_heuristics_that_fit_a_model() -> None:
    every = list_augmentations("wordpiece", {"target", "counts", "network"})
    own = list(FAMILIES["wordpiece"].trainers)
    assert list(every)[: len(own)] == own
    assert {"target", "words", "savings", "joined", "target-last"} < set(every)
    assert all(one.family in ("", "wordpiece") for one in every.values())
    assert set(list_augmentations("wordpiece", {"counts"})) == {*own, "words", "savings"}
    assert set(list_augmentations("unigram", {"target"})) == {
        "target",
        *(f"target-{name}" for name, one in REDUCTIONS.items() if not one.needs_counts),
    }


def test_a_registered_heuristic_removes_and_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in (REDUCTIONS, AUGMENTATIONS):
        for name in ("first-ids", "target-first-ids"):
            monkeypatch.delitem(registry, name, raising=False)  # type: ignore[arg-type]
    by_id = Reduction("removes the lowest ids", "a test", lambda vocabulary, ids, table, _: ids)
    register_heuristic("first-ids", by_id)
    try:
        assert make_plan("reduce", removed=2 / 31, remove_by="first-ids").removed_tokens == (
            "[unused0]",
            "heart",
        )
        materials = AugmentationMaterials(OWN, BERT, target=TARGET)
        assert propose(materials, "target-first-ids", 3).tokens == ("chair", "##dish", "stair")
        with raises_input_error("taken-name", "'first-ids'"):
            register_heuristic("first-ids", by_id)
    finally:
        del REDUCTIONS["first-ids"], AUGMENTATIONS["target-first-ids"]
    register_name = "taken"
    monkeypatch.setitem(AUGMENTATIONS, f"target-{register_name}", AUGMENTATIONS["words"])
    with raises_input_error("taken-name", f"'target-{register_name}'"):
        register_heuristic(register_name, by_id)
    del REDUCTIONS[register_name]


def test_words_of_a_text_with_their_forms() -> None:
    found = group_word_forms(OWN, BERT, {"heart": 2, "dish": 5, "chair": 5, "12%": 9, "": 1})
    assert [(one.word, one.count) for one in found if one.word in ("chair", "dish", "heart")] == [
        ("chair", 5),
        ("dish", 5),
        ("heart", 2),
    ]
    forms = WordForms("fever", (("Ġfever", 90), ("Fever", 8), ("ĠFEVER", 2)))
    assert (forms.main, forms.count) == ("Ġfever", 100)


# Tokenizers after a plan


def test_departures_in_numbers() -> None:
    some = Departures(9, 8, missed=1, other=2, within=3)
    assert (some.total, some.share) == (6, 0.75)
    assert some.to_dict() == {"added_occurrences": 8, "departures": 6, "within_words": 3}
    none = Departures(9, 0, 0, 0)
    assert (none.share, none.to_dict()) == (0.0, {"added_occurrences": 0, "departures": 0})


def test_departures_of_pieces_by_hand() -> None:
    """dish is one token alone, but not beside the symbol; the text has it 12 times."""
    old = build_tokenizer(TOKENS)
    new = FAMILIES["wordpiece"].add_exact_words(old, ["dish"])
    pieces = {"dish": 5, "dish_a": 3, "heart": 7, "dish-dish": 2, "dish®": 1, "adish": 4}
    found = measure_departures(vocabulary_of(old), new, BERT, pieces)
    # dish _ a is three words, dish®, to the splitter, one that no plan added.
    assert (found.words, found.added_words) == (5 + 3 * 3 + 7 + 2 * 3 + 1 + 4, 5 + 3 + 2 * 2)
    assert (found.missed, found.other, found.within) == (3, 1, 0)
    as_before = ("d", "##i", "##s", "##h")
    assert found.examples == (
        ("dish_a", ("dish", "[UNK]", "a"), (*as_before, "[UNK]", "a")),
        ("dish®", ("[UNK]",), ("dish", "[UNK]")),
    )
    one = measure_departures(vocabulary_of(old), new, BERT, pieces, examples=1)
    assert one == replace(found, examples=found.examples[:1])
    twice = measure_departures(
        vocabulary_of(old), new, BERT, {"dish_a": 3, "a_dish": 4, "®dish": 2}
    )
    assert (twice.missed, twice.other) == (3 + 4, 2)


def test_departures_of_a_corpus(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("dish heart dish\nheart dish®\n", encoding="utf-8")
    old = build_tokenizer(TOKENS)
    new = FAMILIES["wordpiece"].add_exact_words(old, ["dish"])
    reported: list[float | None] = []
    found = count_departures(
        open_corpus([path]),
        vocabulary_of(old),
        new,
        BERT,
        lambda fraction, message="": reported.append(fraction),
    )
    pieces = Counter(["dish", "heart", "dish", "heart", "dish®"])
    assert found == measure_departures(vocabulary_of(old), new, BERT, pieces)
    assert found.added_words >= 2 and reported[-1] == 1.0


# Trims and token maps


def test_changed_lines_as_json_values() -> None:
    assert ChangedLines(8, 2).to_dict() == {
        "lines": 8,
        "changed_lines": 2,
        "changed_lines_fraction": 0.25,
    }
    assert ChangedLines(0, 0).to_dict()["changed_lines_fraction"] == 0.0


def test_counts_of_the_other_lines() -> None:
    counts = {"b": 3, "a": 2, "c": 1}
    assert AddedTokenLines().subtract_from(counts) == counts
    rest = AddedTokenLines({"a": 2, "b": 1, "z": 4}).subtract_from(counts)
    assert list(rest.items()) == [("b", 2), ("c", 1)]


def test_pretokens_that_depart_by_hand() -> None:
    """A byte-level tokenizer with the new token Ġcat: Ġcats contains it; -cat has it elsewhere."""
    new = build_bytes()
    vocabulary = vocabulary_of(new)
    before = vocabulary.without(frozenset({"Ġcat"}))
    splitter = family_of(new).make_splitter(new)
    counts = {"Ġcat": 7, "Ġcats": 2, "Ġthe": 5, "cat": 3}
    found = measure_pretoken_departures(before, new, splitter, counts, examples=5)
    assert found.words == 17
    assert (found.added_words, found.missed, found.within, found.other) == (10, 0, 2, 0)
    assert [example[0] for example in found.examples] == ["Ġcats"]
    assert found.examples[0][2] == vocabulary.tokenize("Ġcats")
    assert measure_pretoken_departures(before, new, splitter, counts, examples=0).examples == ()


def test_departures_of_a_corpus_of_pretokens(tmp_path: Path) -> None:
    """▁cab-cab is cab, - and cab, of which the last is not a token."""
    new = build_unigram()
    vocabulary = vocabulary_of(new)
    before, splitter = vocabulary.without(frozenset({"▁cab"})), family_of(new).make_splitter(new)
    counts = {"▁cab": 4, "▁cab-cab": 3, "▁he": 2}
    found = measure_pretoken_departures(before, new, splitter, counts)
    assert (found.words, found.added_words) == (4 + 3 * 3 + 2, 4 + 2 * 3)
    assert (found.missed, found.within, found.other) == (3, 0, 0)
    path = tmp_path / "text.txt"
    path.write_text("cab cab-cab cab\ncab he\n", encoding="utf-8")
    reported: list[float | None] = []
    of_corpus = count_departures(
        open_corpus([path]),
        before,
        new,
        splitter,
        lambda fraction, message="": reported.append(fraction),
    )
    assert (of_corpus.words, of_corpus.added_words, of_corpus.missed) == (7, 5, 1)
    assert reported


def test_characters_may_cover_a_text_alone() -> None:
    plan = make_plan("trim", PlanSources(counts={"heart": 1, "a": 9}), cover=0.9)
    assert "heart" not in plan.tokens and {"a", "##a", "h"} < set(plan.tokens)
    assert plan.trim is not None and plan.trim.kept_tokens == 9
    with raises_input_error("too-few-tokens", "3 tokens", f"2 {FIXED}", f"10 {SINGLE}") as refused:
        make_plan("trim", PlanSources(counts={"heart": 1}), keep=3)
    assert list_numbers(refused.value.remedy) == ["12"] and refused.value.setting == "keep"
    with raises_input_error("too-many-tokens", "32", "31") as refused:
        make_plan("trim", PlanSources(counts={"heart": 1}), keep=32)
    assert refused.value.setting == "keep"


def test_lines_with_added_tokens_have_no_special_tokens_around_them(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("heart [MASK]\n[mask] heart\n\n", encoding="utf-8")
    built = build_tokenizer(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *TOKENS[3:]))
    found = read_added_token_lines(open_corpus([path]), built, BERT)
    # Both lines may have the added token; in the second it is three unknown pre-tokens.
    assert found.tokens == {"heart": 2, "[MASK]": 1, "[UNK]": 3}


def test_the_case_of_added_tokens_counts_where_the_tokenizer_keeps_it() -> None:
    cased = compile_added_tokens(build_bytes("Mask"))
    assert cased.search("a Mask") and not cased.search("a mask")
    uncased = compile_added_tokens(build_tokenizer(("[PAD]", "[UNK]", "[MASK]", "a"), True))
    assert uncased.search("a [mask]")


def test_a_text_of_unknown_tokens_is_refused() -> None:
    with raises_input_error("no-known-word", "0"):
        make_plan("trim", PlanSources(token_counts={"[UNK]": 3}), cover=1.0)


def test_words_are_exact_by_default() -> None:
    reachable, refused = split_addable_words(OWN, BERT, ["dish", "与", "heart"])
    assert reachable == ("dish",)
    assert refused[SPACED] == ("与",)


def test_exact_words_of_a_target_stay_exact() -> None:
    target = replace(TARGET, whole=frozenset({"stair", "elsewhere"}))
    assert make_plan("transfer", PlanSources(target=target)).whole == {"stair"}
