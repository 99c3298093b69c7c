"""Unigram: exact words, insertion, removal and replacement, by hand on a tiny vocabulary and on a
real SentencePiece model.
"""

import json
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from tests.material.input_errors import raises_input_error
from tests.material.unigram import (
    BYTES,
    PIECES,
    build_tiny,
    count_pretokens,
    read_abstracts,
    read_real,
    replace_parts,
)
from vocadapt.vocabulary.families import FAMILIES, family_of, read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.unigram_scores import PieceScores, score_new_pieces
from vocadapt.vocabulary.families.unigram_vocabulary import (
    HAS_ADDED_TOKEN,
    NO_LETTERS,
    UnigramVocabulary,
)
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import NOT_WHOLE, PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.reduction import (
    REDUCTIONS,
    ReductionSettings,
    group_protected_tokens,
    select_removed_tokens,
)
from vocadapt.vocabulary.plan.tokenizer import (
    adapt_tokenizer,
    measure_pretoken_departures,
)
from vocadapt.vocabulary.vocabulary import NEVER_ONE_WORD, SPECIAL

FAMILY = FAMILIES["unigram"]
BY_WORDS = {"kind": "extend", "add_by": "words"}


def plan_for(
    tokenizer: Tokenizer, counts: Mapping[str, int], mode: str = "exact-word", **settings: Any
) -> VocabularyPlan:
    return plan_vocabulary(
        vocabulary_of(tokenizer),
        FAMILY.make_splitter(tokenizer),
        PlanSources(counts=counts, mode=mode),
        PlanSettings(**settings),
    )


def tokens_of(tokenizer: Tokenizer, line: str) -> list[str]:
    return list(tokenizer.encode(line, add_special_tokens=False).tokens)


def read_vocabulary(tokenizer: Tokenizer) -> UnigramVocabulary:
    vocabulary = vocabulary_of(tokenizer)
    assert isinstance(vocabulary, UnigramVocabulary)
    return vocabulary


# Spelling and tokenization, by hand


def test_tokens_and_spelling_by_hand() -> None:
    vocabulary = vocabulary_of(build_tiny())
    assert vocabulary.tokenize("▁abc") == ("▁ab", "c")
    assert vocabulary.tokenize("abc") == ("ab", "c")
    assert vocabulary.tokenize("▁a☃☃b") == ("▁", "a", "<unk>", "b")
    assert vocabulary.tokenize("☃☃") == ("<unk>",)
    assert (vocabulary.body("▁ab"), vocabulary.body("ab")) == ("ab", "ab")
    assert (vocabulary.spell("ab"), vocabulary.spell("ab", continues=True)) == ("▁ab", "ab")
    positions = [vocabulary.position(token) for token in ("▁ab", "ab", "<mask>", "<unk>", "▁")]
    assert positions == ["word start", "continuation", "special", "special", "word start"]
    assert vocabulary.has_word("ab") and not vocabulary.has_word("a")
    names = dict(zip(vocabulary.tokens, vocabulary.names, strict=True))
    assert (names["▁ab"], names["ab"], names["▁"]) == ("ab", "-ab", "▁")
    assert len(set(vocabulary.names)) == len(vocabulary)
    assert vocabulary.unknown == "<unk>" and vocabulary.role_ids["unk"] == 3


def test_the_pieces_of_a_token_without_itself() -> None:
    vocabulary = vocabulary_of(build_tiny())
    assert vocabulary.tokenize_token("▁ab") == ("▁ab",)
    assert vocabulary.tokenize_token("▁ab", without=True) == ("▁", "ab")
    assert vocabulary.tokenize_token("<mask>", without=True) == ("<mask>",)
    assert vocabulary.tokenize_token("c", without=True) == ("<unk>",)
    assert vocabulary.tokenize_token("▁c☃☃", without=True) == ("▁c", "<unk>")
    spelled = vocabulary_of(build_tiny({**PIECES, **BYTES}, byte_fallback=True))
    assert spelled.tokenize("▁é") == ("▁", "<0xC3>", "<0xA9>")
    assert spelled.tokenize_token("▁é", without=True) == ("▁", "<0xC3>", "<0xA9>")


@pytest.mark.parametrize("seed", range(3))
def test_segmentations_are_those_of_the_library(seed: int) -> None:
    random = np.random.default_rng(seed)
    pieces = {one: -float(random.integers(1, 9)) for one in "ab▁"}
    while len(pieces) < 25:
        pieces["".join(random.choice([*"abcd"], random.integers(2, 5)))] = -float(
            random.integers(4, 20)
        )
    vocabulary = read_vocabulary(build_tiny(pieces))
    scores = PieceScores(vocabulary.scores)
    for _ in range(300):
        text = "▁" + "".join(random.choice([*"abcd"], random.integers(1, 15)))
        found = scores.segment(text)
        assert vocabulary.tokenize_token(text, without=True) == vocabulary.tokenize(text)
        assert "".join(found.pieces) == text
        lowest = min(vocabulary.scores.values()) - 10
        total = sum(vocabulary.scores.get(piece, lowest) for piece in found.pieces)
        assert found.score == pytest.approx(total)


def test_words_of_pretokens_and_their_forms() -> None:
    tokenizer = build_tiny()
    vocabulary, splitter = vocabulary_of(tokenizer), FAMILY.make_splitter(tokenizer)
    assert splitter.pretokens("(cab), a-b") == ["▁(cab),", "▁a-b"]
    assert splitter.words("(cab), a-b") == ["(", "cab", ")", ",", "a", "-", "b"]
    forms = {
        pretoken: vocabulary.find_form(pretoken, splitter.words_of(pretoken))
        for pretoken in ("▁cab", "▁Cab,", "▁(cab),", "▁a-b", "▁,", "▁", "cab")
    }
    assert forms == {
        "▁cab": "▁cab",
        "▁Cab,": "▁Cab",
        "▁(cab),": None,
        "▁a-b": "▁a",
        "▁,": None,
        "▁": None,
        "cab": None,
    }
    assert vocabulary.fold_word("Cab") == vocabulary.fold_word("CAB") == "cab"


# Pre-tokenizers

METASPACE = {"type": "Metaspace", "replacement": "▁"}
WHITESPACE = {"type": "WhitespaceSplit"}
ALWAYS, FIRST, NEVER = (
    {**METASPACE, "prepend_scheme": scheme, "split": True}
    for scheme in ("always", "first", "never")
)


def in_sequence(*parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(parts)}


@pytest.mark.parametrize(
    ("pre_tokenizer", "pretokens"),
    [
        (ALWAYS, ["▁ab", "▁(cab),"]),
        (in_sequence(WHITESPACE, ALWAYS), ["▁ab", "▁(cab),"]),
        (in_sequence(WHITESPACE, {**METASPACE, "str_rep": "▁", "add_prefix_space": True}), None),
        ({**METASPACE, "add_prefix_space": True}, ["▁ab", "▁(cab),"]),
        (FIRST, ["▁ab", "▁(cab),"]),
        (NEVER, ["ab", "▁(cab),"]),
        ({**ALWAYS, "split": False}, ["▁ab", "▁(cab),"]),
    ],
)
def test_pre_tokenizers_as_real_models_have_them(
    pre_tokenizer: Mapping[str, Any], pretokens: list[str] | None
) -> None:
    tokenizer = replace_parts(build_tiny(), pre_tokenizer=pre_tokenizer)
    splitter, vocabulary = FAMILY.make_splitter(tokenizer), vocabulary_of(tokenizer)
    assert splitter.pretokens("ab (cab),") == (pretokens or ["▁ab", "▁(cab),"])
    assert splitter.words("ab (cab),") == ["ab", "(", "cab", ")", ","]
    for line in ("ab (cab), abc", "abcab  c ☃a", " ab", "c"):
        tokens = [token for one in splitter.pretokens(line) for token in vocabulary.tokenize(one)]
        ids = tokenizer.encode(line, add_special_tokens=False).ids
        assert [vocabulary.tokens[i] for i in ids] == tokens


def test_marks_that_the_normalizer_writes() -> None:
    tokenizer = build_tiny()
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer = replace_parts(tokenizer, pre_tokenizer=None)
    splitter = FAMILY.make_splitter(tokenizer)
    assert splitter.pretokens("cab, c") == ["▁cab,", "▁c"]
    assert splitter.words("cab, c") == ["cab", ",", "c"]


@pytest.mark.parametrize(
    ("pre_tokenizer", "code"),
    [
        ({**ALWAYS, "split": False}, "tokens-across-spaces"),
        (WHITESPACE, "no-word-starts"),
        ({**ALWAYS, "replacement": "_"}, "no-word-starts"),
    ],
)
def test_a_tokenizer_without_starts_of_words_is_refused(
    pre_tokenizer: Mapping[str, Any], code: str
) -> None:
    tokenizer = replace_parts(build_tiny({**PIECES, "ab▁c": -7.0}), pre_tokenizer=pre_tokenizer)
    with raises_input_error(code):
        FAMILY.make_splitter(tokenizer)


# Exact words, by hand


def test_an_exact_word_gets_the_score_of_its_pieces_and_a_little_more() -> None:
    tokenizer = build_tiny()
    adapted = FAMILY.add_exact_words(tokenizer, ["▁abcs", "▁abc"])
    vocabulary = read_vocabulary(adapted)
    # ▁abc: ▁ab c = -6.5 - 4; ▁abcs: ▁abc s = -10.499 - 3, under the vocabulary with ▁abc.
    assert vocabulary.scores["▁abc"] == pytest.approx(-10.499)
    assert vocabulary.scores["▁abcs"] == pytest.approx(-13.498)
    size = len(vocabulary_of(tokenizer))
    assert (vocabulary.ids["▁abcs"], vocabulary.ids["▁abc"]) == (size, size + 1)
    assert tokens_of(adapted, "abc abcs") == ["▁abc", "▁abcs"]
    assert tokens_of(adapted, "abca") == ["▁abc", "a"]  # the named effect: a start of a word
    for line in ("cabc", "ab, c", "acb", "babc"):
        assert tokens_of(adapted, line) == tokens_of(tokenizer, line)
    assert adapted.decode(adapted.encode("abc abcs").ids) == "abc abcs"
    assert vocabulary.are_exact_words(["▁abc"]) and not vocabulary.are_exact_words(["abc"])


def test_a_word_with_an_unknown_character_is_whole() -> None:
    adapted = FAMILY.add_exact_words(build_tiny(), ["▁a☃"])
    vocabulary = read_vocabulary(adapted)
    assert vocabulary.scores["▁a☃"] == pytest.approx(-2 - 3 - (12 + 10) + 0.001)
    assert tokens_of(adapted, "a☃ ☃a") == ["▁a☃", "▁", "☃", "a"]


def test_scores_of_words_with_unknown_characters_do_not_fall_without_end() -> None:
    words = [f"▁{first}{second}" for first in "☃☂☀☎" for second in "☃☂☀☎"]
    vocabulary = read_vocabulary(build_tiny())
    assert vocabulary.find_split_words(words) == ()
    scores = score_new_pieces(vocabulary.scores, words)
    assert set(scores.values()) == {-2 - 2 * (12 + 10) + 0.001}


def test_ids_of_a_mask_beyond_the_list_are_kept() -> None:
    tokenizer = build_tiny(mask_in_list=False)
    before = read_vocabulary(tokenizer)
    assert before.tokens[-1] == "<mask>" and "<mask>" not in before.scores
    adapted = FAMILY.add_exact_words(tokenizer, ["▁abc"])
    after = vocabulary_of(adapted)
    assert after.tokens == (*before.tokens, "▁abc")
    assert adapted.encode("a <mask>").tokens == tokenizer.encode("a <mask>").tokens


def test_tokens_without_a_mark_are_no_exact_words() -> None:
    with raises_input_error("not-whole-words", "1 of 2", "'bc'"):
        FAMILY.add_exact_words(build_tiny(), ["▁abc", "bc"])


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("▁cough", None),
        ("▁naïve", None),
        ("▁日本", None),
        ("▁سعال", None),
        ("▁a\u0301", None),
        ("▁☃", None),
        ("▁a b", NEVER_ONE_WORD),
        ("▁a▁b", NEVER_ONE_WORD),
        ("cough", NEVER_ONE_WORD),
        ("▁--", NO_LETTERS),
        ("▁", NO_LETTERS),
        ("<mask>", SPECIAL),
        ("▁<s>", HAS_ADDED_TOKEN),
        ("▁a<mask>b", HAS_ADDED_TOKEN),
    ],
)
def test_words_that_cannot_be_added_as_exact_words(token: str, reason: str | None) -> None:
    tokenizer = build_tiny()
    splitter = FAMILY.make_splitter(tokenizer)
    vocabulary = vocabulary_of(tokenizer)
    assert vocabulary.explain_unreachable(token, splitter, exact=True) == reason
    if reason is None:
        adapted = FAMILY.add_exact_words(tokenizer, [token])
        assert tokens_of(adapted, token.removeprefix("▁")) == [token]


def test_a_newline_is_part_of_a_pretoken_only_if_the_pre_tokenizer_leaves_it() -> None:
    whole = build_tiny(pre_tokenizer=pre_tokenizers.Metaspace())
    split = build_tiny(
        pre_tokenizer=pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
        )
    )
    for tokenizer, reason in ((whole, None), (split, NEVER_ONE_WORD)):
        splitter = FAMILY.make_splitter(tokenizer)
        found = vocabulary_of(tokenizer).explain_unreachable("▁a\nb", splitter, exact=True)
        assert found == reason


def test_a_word_that_would_be_split_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = build_tiny()
    counts = Counter({"▁cab": 5, "▁Cab": 2, "▁abc": 3})
    whole = plan_for(tokenizer, counts, **BY_WORDS)
    assert whole.added_tokens == ("▁cab", "▁Cab", "▁abc") and whole.forms == {"▁Cab": "▁cab"}
    assert NOT_WHOLE not in whole.left_out
    monkeypatch.setattr(
        UnigramVocabulary,
        "find_split_words",
        lambda self, tokens: tuple(token for token in tokens if token == "▁cab"),
    )
    plan = plan_for(tokenizer, counts, **BY_WORDS)
    assert plan.added_tokens == ("▁abc",)
    assert plan.left_out[NOT_WHOLE] == ("cab", "Cab")


def test_a_word_that_is_not_whole_is_found() -> None:
    vocabulary = read_vocabulary(build_tiny())
    assert vocabulary.find_split_words(["▁abc", "▁cab", "▁abcs"]) == ()
    # Only a word that is there already, with a score that is too low, can be split.
    low = read_vocabulary(build_tiny({**PIECES, "▁cab": -30.0}))
    assert low.tokenize("▁cab") == ("▁c", "ab")
    assert low.find_split_words(["▁cab"]) == ("▁cab",)


def test_departures_from_the_exact_word_rule_by_hand() -> None:
    tokenizer = build_tiny()
    adapted = FAMILY.add_exact_words(tokenizer, ["▁abc"])
    counts = {
        "▁abc": 7,  # whole
        "▁abc,": 5,  # whole, beside a comma
        "▁abcs": 3,  # a start of another word
        "▁,abc": 2,  # missed: not at the start of the pre-token
        "▁ABC": 1,  # missed: a form that was not added
        "▁cab": 9,
    }
    splitter = FAMILY.make_splitter(tokenizer)
    found = measure_pretoken_departures(vocabulary_of(tokenizer), adapted, splitter, counts)
    assert (found.added_words, found.missed, found.within, found.other) == (15, 3, 3, 0)
    assert found.total == 6 and found.share == 6 / 15
    assert found.to_dict() == {"added_occurrences": 15, "departures": 6, "within_words": 3}
    assert found.examples[0] == ("▁abcs", ("▁ab", "c", "s"), ("▁abc", "s"))


# Insertion, removal and replacement, by hand


def test_an_inserted_token_also_matches_in_other_words() -> None:
    tokenizer = build_tiny()
    adapted = FAMILY.insert_tokens(tokenizer, ["abc", "bs"])
    assert read_vocabulary(adapted).scores["bs"] == pytest.approx(-6.499)
    assert tokens_of(adapted, "cabcs") == ["▁c", "abc", "s"]
    assert tokens_of(adapted, "cbs") == ["▁c", "bs"]
    assert tokens_of(adapted, "cab") == tokens_of(tokenizer, "cab")
    splitter = FAMILY.make_splitter(adapted)
    assert vocabulary_of(adapted).find_unreachable(splitter) == ()


def test_scores_of_survivors_are_kept_and_ids_follow_the_list() -> None:
    tokenizer = build_tiny()
    before = read_vocabulary(tokenizer)
    after = before.without({"▁ab", "<pad>"})
    changed = FAMILY.replace_vocabulary(tokenizer, after)
    content = json.loads(changed.to_str())
    assert content["model"]["unk_id"] == 2
    assert [token["id"] for token in content["added_tokens"]] == [0, 1, 2, len(after) - 1]
    assert changed.encode("☃").ids[1:3] == [after.ids["▁"], 2]
    again = read_vocabulary(changed)
    assert again.tokens == after.tokens and "▁ab" not in again
    assert all(again.scores[token] == before.scores[token] for token in again.tokens)
    assert changed.encode("abc").ids[0] == 0 and changed.encode("abc").ids[-1] == 1
    assert tokens_of(changed, "abc") == ["▁", "ab", "c"]


def test_what_is_never_removed() -> None:
    pieces = {**PIECES, **BYTES, "▁abcabc": -9.0, "☃abcd": -12.0}
    vocabulary = vocabulary_of(build_tiny(pieces, byte_fallback=True))
    groups = group_protected_tokens(vocabulary)
    protected = {token for tokens in groups.values() for token in tokens}
    assert {"<unk>", "<mask>", "▁", "a", *BYTES} <= protected
    assert not {"▁abcabc", "☃abcd"} & protected  # bytes spell the snowman
    alone = vocabulary_of(build_tiny({**PIECES, "☃abcd": -12.0}))
    assert alone.is_irreplaceable("☃abcd") and not alone.is_irreplaceable("▁ab")


@pytest.mark.parametrize("heuristic", REDUCTIONS)
def test_reductions_leave_words_spelled_as_the_library_spells_them(heuristic: str) -> None:
    pieces = {**PIECES, "▁abca": -7.0, "cabc": -8.0, "▁cabs": -9.0, "abcabc": -9.5, "▁absa": -8.0}
    tokenizer = build_tiny(pieces)
    vocabulary = vocabulary_of(tokenizer)
    counts = {"▁abca": 5, "▁cabs": 3, "▁cabcabc": 2, "▁absabs": 1}
    keep = (len(vocabulary) - 3) / len(vocabulary)
    removed = select_removed_tokens(vocabulary, ReductionSettings(heuristic, keep), counts)
    assert len(removed) == 3
    changed = FAMILY.replace_vocabulary(tokenizer, vocabulary.without(frozenset(removed)))
    after = vocabulary.without(frozenset(removed))
    table = vocabulary.build_word_table(counts)
    mask = np.isin(vocabulary.tokens, removed)
    expected = [len(tokens_of(changed, pretoken[1:])) for pretoken in counts]
    assert table.tokenize(mask).pieces.tolist() == expected
    assert [len(after.tokenize(pretoken)) for pretoken in counts] == expected


def test_a_token_that_others_spell_better_cannot_be_produced() -> None:
    tokenizer = build_tiny({**PIECES, "▁cc": -30.0, "a▁b": -1.0, "\u0301s": -9.0, "\u0301": -6.0})
    splitter = FAMILY.make_splitter(tokenizer)
    assert vocabulary_of(tokenizer).find_unreachable(splitter) == ("▁cc", "a▁b")
    tokenizer.normalizer = normalizers.StripAccents()
    splitter = FAMILY.make_splitter(tokenizer)
    unreachable = vocabulary_of(tokenizer).find_unreachable(splitter)
    assert unreachable == ("▁cc", "a▁b", "\u0301s", "\u0301")


def test_a_transfer_takes_the_scores_of_the_target() -> None:
    base = build_tiny()
    pieces = {"▁": -1.0, "a": -2.0, "c": -2.5, "▁ca": -3.0, "▁abc": -4.0}
    target = read_vocabulary(build_tiny(pieces))
    plan = plan_vocabulary(
        vocabulary_of(base),
        FAMILY.make_splitter(base),
        PlanSources(target=target),
        PlanSettings("transfer"),
    )
    changed = adapt_tokenizer(base, plan, "replacement")
    after = read_vocabulary(changed)
    assert after.tokens == target.tokens and after.scores == target.scores
    assert tokens_of(changed, "abc caa") == ["▁abc", "▁ca", "a"]
    assert changed.encode("c").ids[0] == target.ids["<s>"]


def test_a_target_without_scores_is_refused() -> None:
    base = vocabulary_of(build_tiny())
    target = FAMILIES["byte-level-bpe"].read_vocabulary(Tokenizer(models.BPE()))
    with raises_input_error("no-scores", "byte-level-bpe"):
        base.take_over(target, ("▁", "a"))


def test_a_combined_plan_scores_new_tokens_under_what_is_left() -> None:
    tokenizer = build_tiny({**PIECES, "▁abcabc": -9.0, "abcc": -9.0, "cabab": -9.0})
    before = read_vocabulary(tokenizer)
    counts = {"▁absabs": 9, "▁cabcab": 5, "▁cacaca": 2}
    settings = {
        "kind": "combined",
        "remove_by": "freq",
        "removed": 3 / len(before),
        "add_by": "words",
    }
    plan = plan_for(tokenizer, counts, mode="replacement", **settings)
    changed = adapt_tokenizer(tokenizer, plan, "replacement")
    after = read_vocabulary(changed)
    assert len(after) == len(before) and plan.removed_tokens == ("▁abcabc", "abcc", "cabab")
    left = {token: before.scores[token] for token in after.tokens if token in before}
    for token in plan.added_tokens:
        assert after.scores[token] == pytest.approx(PieceScores(left).segment(token).score + 0.001)
        assert tokens_of(changed, token[1:]) == [token]
    assert {changed.token_to_id(token) for token in after.tokens} == set(range(len(after)))


# Bad input


def without(**changes: Any) -> dict[str, Any]:
    content = json.loads(build_tiny().to_str())
    content["model"] |= changes
    return content


PAIRS = [["<unk>", 0.0], ["▁", -1.0], ["a", -2.0]]


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        ({"vocab": {"a": 1}}, ['"vocab"', "dict"]),
        ({"vocab": []}, ['"vocab"', "list"]),
        ({"vocab": [*PAIRS, "b"]}, ["entry 3", "'b'"]),
        ({"vocab": [*PAIRS, [1, -2.0]]}, ["entry 3", "list"]),
        ({"vocab": [*PAIRS, ["b", "-2"]]}, ["score of 'b'", "'-2'"]),
        ({"vocab": [*PAIRS, ["b", True]]}, ["score of 'b'", "True"]),
        ({"vocab": [*PAIRS, ["a", -3.0]]}, ["'a'", "2 and 3"]),
        ({"vocab": [*PAIRS, ["b" * 10_001, -3.0]]}, ["10,001", "10,000"]),
        ({"unk_id": 500}, ['"unk_id"', "500", "14"]),
        ({"unk_id": -1}, ['"unk_id"', "-1", "14"]),
        ({"unk_id": "3"}, ['"unk_id"', "'3'", "14"]),
        ({"byte_fallback": "no"}, ['"byte_fallback"', "'no'"]),
        ({"byte_fallback": True}, ["<0x00>"]),
        ({"unk_id": None}, ['"unk_id"']),
    ],
)
def test_a_bad_model_is_refused(changes: dict[str, Any], values: list[str], tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(without(**changes)), encoding="utf-8")
    with raises_input_error("invalid-tokenizer", *values):
        read_tokenizer(tmp_path)


def test_scores_that_are_no_numbers_of_json_are_refused(tmp_path: Path) -> None:
    text = json.dumps(without()).replace("-6.5", "1e999")
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    with raises_input_error("invalid-tokenizer", "'▁ab'", "inf"):
        read_tokenizer(tmp_path)


def test_equal_scores_open_and_no_token_can_be_added() -> None:
    tokenizer = build_tiny(dict.fromkeys(PIECES, 0.0))
    counts = {"▁cab": 3, "▁abc": 2}
    assert len(vocabulary_of(tokenizer).tokenize("▁cab")) > 0
    for mode in ("exact-word", "insertion"):
        with raises_input_error("equal-scores", "9"):
            adapt_tokenizer(tokenizer, plan_for(tokenizer, counts, mode, **BY_WORDS), mode)
    with raises_input_error("equal-scores", "SentencePiece"):
        FAMILY.check_exact_words(tokenizer)
    FAMILY.replace_vocabulary(tokenizer, vocabulary_of(tokenizer).without({"▁ab"}))  # needs none


def test_a_real_file_without_scores(shared: Path) -> None:
    tokenizer = read_real(shared, "tokenizer-without-scores.json")
    assert family_of(tokenizer) is FAMILY
    assert "".join(tokens_of(tokenizer, "heart attack")) == "▁heart▁attack"
    with raises_input_error("equal-scores"):
        plan_for(tokenizer, {"▁tachycardia": 3}, **BY_WORDS)


def test_a_file_that_names_no_type_is_recognized() -> None:
    content = json.loads(build_tiny().to_str())
    del content["model"]["type"]
    assert FAMILY.recognizes(content)
    assert not FAMILY.recognizes({"model": {"vocab": {"a": 0}}})


# Scores


def test_a_long_chain_of_words_is_whole_in_any_order() -> None:
    chain = ["▁" + "ab" * n for n in range(1, 60)]
    vocabulary = read_vocabulary(build_tiny())
    new = [token for token in reversed(chain) if token not in vocabulary]
    assert vocabulary.find_split_words(new) == ()
    scores = score_new_pieces(vocabulary.scores, new)
    assert list(scores) == new
    # Each is .001 better than the shorter word with two more letters.
    for longer, shorter in pairwise(new):
        known = scores[shorter] if shorter in scores else vocabulary.scores[shorter]
        assert scores[longer] == pytest.approx(known - 5 + 0.001)


# A real model


@pytest.fixture(scope="module")
def real(shared: Path) -> tuple[Tokenizer, Counter[str], VocabularyPlan]:
    """A real tokenizer, the pre-tokens of the shared abstracts, and a plan of 2,000 words."""
    tokenizer = read_real(shared)
    counts = count_pretokens(tokenizer, read_abstracts(shared))
    return tokenizer, counts, plan_for(tokenizer, counts, max_added=2_000, **BY_WORDS)


@pytest.mark.slow
def test_2000_words_are_whole_and_only_longer_words_with_them_change(
    real: tuple[Tokenizer, Counter[str], VocabularyPlan],
) -> None:
    tokenizer, counts, plan = real
    adapted = adapt_tokenizer(tokenizer, plan, "exact-word")
    before, after = vocabulary_of(tokenizer), vocabulary_of(adapted)
    new = frozenset(plan.added_tokens)
    assert after.tokens == plan.tokens
    assert len(plan.added) - len(plan.forms) == 2_000 and NOT_WHOLE not in plan.left_out
    whole = [token for token in new if tokens_of(adapted, token[1:]) == [token]]
    assert len(whole) == len(new)
    within: Counter[str] = Counter()
    for pretoken, count in counts.items():
        old, changed = before.tokenize(pretoken), after.tokenize(pretoken)
        assert len(changed) <= len(old)
        if not new.intersection(changed):
            assert changed == old
        elif pretoken not in new:
            within[pretoken] = count
    splitter = FAMILY.make_splitter(tokenizer)
    found = measure_pretoken_departures(before, adapted, splitter, counts)
    assert found.other == 0 and 0 < found.within < sum(within.values())
    assert found.missed > 0  # words in parentheses


@pytest.mark.slow
def test_forms_of_a_word_share_the_main_one(
    real: tuple[Tokenizer, Counter[str], VocabularyPlan],
) -> None:
    _, _, plan = real
    assert plan.forms["▁Randomized"] == "▁randomized"
    assert all(token.startswith("▁") for token in plan.added_tokens)
    assert len({token.casefold() for token in plan.added_tokens}) == 2_000


@pytest.mark.slow
def test_a_combination_at_a_fixed_size_on_a_real_model(
    real: tuple[Tokenizer, Counter[str], VocabularyPlan],
) -> None:
    tokenizer, counts, _ = real
    settings = {"kind": "combined", "remove_by": "freq", "removed": 0.05, "add_by": "words"}
    plan = plan_for(tokenizer, counts, mode="replacement", **settings)
    changed = adapt_tokenizer(tokenizer, plan, "replacement")
    before, after = vocabulary_of(tokenizer), vocabulary_of(changed)
    assert len(after) == len(before) == len(set(after.tokens))
    assert len(plan.added) == len(plan.removed_tokens) == round(0.05 * len(before))
    assert after.unknown == "<unk>" and changed.encode("\U0010fffd").ids[-2] == after.ids["<unk>"]
    old = json.loads(tokenizer.to_str())
    assert json.loads(changed.to_str())["normalizer"] == old["normalizer"]
    sizes = {
        name: sum(len(vocabulary.tokenize(one)) * count for one, count in counts.items())
        for name, vocabulary in (("before", before), ("after", after))
    }
    assert sizes["after"] < 0.9 * sizes["before"]


@pytest.mark.slow
def test_no_token_of_the_real_model_is_reported_that_a_text_has(
    real: tuple[Tokenizer, Counter[str], VocabularyPlan],
) -> None:
    tokenizer, counts, _ = real
    vocabulary = vocabulary_of(tokenizer)
    unreachable = set(vocabulary.find_unreachable(FAMILY.make_splitter(tokenizer)))
    produced = {token for pretoken in counts for token in vocabulary.tokenize(pretoken)}
    assert not unreachable & produced
    assert len(unreachable) < 0.05 * len(vocabulary)
