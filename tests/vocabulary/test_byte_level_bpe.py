"""Byte-level BPE: exact words, insertion, removal and replacement, by hand on a tiny vocabulary and
on the merges of GPT-2.
"""

import json
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer

from tests.material.byte_level import (
    LLAMA_3,
    QWEN_2,
    TINY_MERGES,
    build_gpt2,
    build_tiny,
    count_abstracts,
    read_abstracts,
    read_gpt2_files,
    split_as,
)
from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import list_numbers
from vocadapt.vocabulary.families import (
    FAMILIES,
    Vocabulary,
    family_of,
    read_tokenizer,
    vocabulary_of,
)
from vocadapt.vocabulary.families.byte_level_bpe import BYTE_ALPHABET, ByteLevelFamily, spell_bytes
from vocadapt.vocabulary.families.merges import MergeList
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.reduction import REDUCTIONS
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer, measure_pretoken_departures
from vocadapt.vocabulary.vocabulary import SPECIAL

TRAINER = "byte-level-bpe"
FAMILY = FAMILIES[TRAINER]
FEW = 5_000  # of GPT-2's merges, and of the pre-tokens, in tests that would take long with all
BY_WORDS = {"kind": "extend", "add_by": "words"}


def count_few(shared: Path) -> dict[str, int]:
    return dict(islice(count_abstracts(shared).items(), 2 * FEW))


def plan_for(
    tokenizer: Tokenizer, counts: Mapping[str, int], mode: str = "", **settings: object
) -> VocabularyPlan:
    family = family_of(tokenizer)
    return plan_vocabulary(
        family.read_vocabulary(tokenizer),
        family.make_splitter(tokenizer),
        PlanSources(counts=counts, mode=mode),
        PlanSettings(**settings),  # type: ignore[arg-type]
    )


def count_lines(tokenizer: Tokenizer, *lines: str) -> Counter[str]:
    split = family_of(tokenizer).make_splitter(tokenizer).pretokens
    return Counter(pretoken for line in lines for pretoken in split(line))


def tokens_of(tokenizer: Tokenizer, line: str) -> list[str]:
    return list(tokenizer.encode(line, add_special_tokens=False).tokens)


def find_unreachable(tokenizer: Tokenizer) -> tuple[str, ...]:
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    return vocabulary_of(tokenizer).find_unreachable(splitter)


def list_changed(
    before: Vocabulary, after: Vocabulary, counts: Mapping[str, int], new: frozenset[str]
) -> list[str]:
    """Return the pre-tokens that are no new token and are tokenized differently."""
    return [
        pretoken
        for pretoken in counts
        if pretoken not in new and before.tokenize(pretoken) != after.tokenize(pretoken)
    ]


# By hand


def test_tokens_and_spelling_by_hand() -> None:
    vocabulary = vocabulary_of(build_tiny())
    assert vocabulary.tokenize("Ġhypertension") == ("Ġhyper", "tension")
    assert vocabulary.tokenize("hypertension") == ("h", "yp", "er", "tension")
    assert vocabulary.tokenize(spell_bytes("ï")) == ("Ã", "¯")
    assert vocabulary.body("ĠnaÃ¯ve") == "naïve" and vocabulary.body("Ã") == "\\xc3"
    assert vocabulary.spell("naïve") == "ĠnaÃ¯ve"
    assert vocabulary.spell("tension", continues=True) == "tension"
    assert [vocabulary.position(token) for token in ("Ġhyper", "tension", "<mask>", "<s>")] == [
        "word start",
        "continuation",
        "special",
        "special",
    ]
    assert vocabulary.has_word("hyper") and not vocabulary.has_word("tension")
    assert vocabulary.tokenize_token("tension", without=True) == ("ten", "sion")
    assert len(set(vocabulary.names)) == len(vocabulary)


def test_an_exact_word_is_one_token_and_nothing_else_changes() -> None:
    tokenizer = build_tiny()
    adapted = FAMILY.add_exact_words(tokenizer, ["Ġhypertension", "Hypertension"])
    assert tokens_of(adapted, "a hypertension") == ["a", "Ġhypertension"]
    assert tokens_of(adapted, "Hypertension") == ["Hypertension"]
    for line in ("hypertension", " hypertensions", " Hypertension", "antihypertension", " hyper"):
        assert tokens_of(adapted, line) == tokens_of(tokenizer, line)
    vocabulary = vocabulary_of(adapted)
    assert vocabulary.ids["Ġhypertension"] == len(vocabulary_of(tokenizer))  # after <mask>
    assert vocabulary.position("Ġhypertension") == "whole word"
    assert vocabulary.tokenize("Ġhypertension") == ("Ġhypertension",)
    assert vocabulary.tokenize_token("Ġhypertension", without=True) == ("Ġhyper", "tension")
    assert adapted.decode(adapted.encode("a hypertension").ids) == "a hypertension"


def test_inserted_tokens_also_match_in_longer_words() -> None:
    tokenizer = build_tiny()
    before = vocabulary_of(tokenizer)
    assert before.expand_insertions(["Ġhypotension"]) == ("Ġhypo", "Ġhypotension")
    adapted = FAMILY.insert_tokens(tokenizer, ["Ġhypo", "Ġhypotension"])
    assert tokens_of(adapted, " hypotension") == ["Ġhypotension"]
    assert tokens_of(adapted, " hypotensions") == ["Ġhypotension", "s"]
    assert tokens_of(adapted, " hypertension") == ["Ġhyper", "tension"]
    assert find_unreachable(adapted) == ()


def test_a_repeated_pair_in_an_inserted_token_is_merged_everywhere() -> None:
    merges = MergeList(())
    assert merges.append_for("tata") == ["ta", "tata"]  # t a t a → ta ta: not tat
    assert merges.apply("tata") == ["tata"]
    assert merges.append_for("ta") == []
    adapted = FAMILY.insert_tokens(build_tiny(), ["ta", "tata"])
    assert tokens_of(adapted, "tata") == ["tata"] and find_unreachable(adapted) == ()


def test_removal_takes_no_part_of_a_kept_token() -> None:
    tokenizer = build_tiny()
    vocabulary = vocabulary_of(tokenizer)
    order = vocabulary.order_removals(["ten", "Ġhyper", "tension", "sion", "a", "Ġhyp"])
    assert order == ["Ġhyper", "tension", "ten", "sion", "Ġhyp"]  # "a" is a byte
    kept = vocabulary.without(["tension", "ten"])
    reduced = FAMILY.replace_vocabulary(tokenizer, kept)
    assert tokens_of(reduced, " hypertension") == ["Ġhyper", "te", "n", "sion"]
    assert vocabulary_of(reduced).tokens == kept.tokens
    assert find_unreachable(reduced) == ()


def test_a_token_that_was_removed_and_is_added_again_gets_new_merges() -> None:
    tokenizer = build_tiny()
    vocabulary = vocabulary_of(tokenizer)
    kept = vocabulary.without(["tension", "ten", "te"])
    added = kept.expand_insertions(["tension"])
    assert added == ("te", "ten", "tension")
    changed = vocabulary.with_tokens((*kept.tokens, *added), frozenset())
    assert changed.merges[-3:] == (("t", "e"), ("te", "n"), ("ten", "sion"))
    # In any order; without its part, a token cannot be made.
    for order in (("tension", "ten", "te"), ("ten", "te", "tension"), ("ten", "tension")):
        other = vocabulary.with_tokens((*kept.tokens, *order), frozenset())
        assert other.is_merged("tension") == ("te" in order)
    replaced = FAMILY.replace_vocabulary(tokenizer, changed)
    assert tokens_of(replaced, "tension") == ["tension"] and find_unreachable(replaced) == ()
    moved = vocabulary.with_tokens(("<mask>", *vocabulary.tokens[:-1]))
    assert moved.merges == vocabulary.merges


def test_special_tokens_keep_their_ids_and_the_template() -> None:
    tokenizer = build_tiny()
    n_tokens = len(vocabulary_of(tokenizer))
    adapted = FAMILY.add_exact_words(tokenizer, ["Ġhypotension"])
    reloaded = Tokenizer.from_str(adapted.to_str())
    for line in ("a <mask> hypotension", "", "hyper"):
        encoding = reloaded.encode(line)
        assert (encoding.ids[0], encoding.ids[-1]) == (0, 2)
        assert encoding.ids == adapted.encode(line).ids
    assert reloaded.token_to_id("<mask>") == n_tokens - 1
    assert reloaded.token_to_id("Ġhypotension") == n_tokens
    ids = reloaded.encode("a <mask>hyper", add_special_tokens=False).ids
    tokens = ("a", "<mask>", "h", "yp", "er")
    assert ids == [reloaded.token_to_id(token) for token in tokens]  # lstrip takes the space
    # Removal renumbers them.
    reduced = FAMILY.replace_vocabulary(tokenizer, vocabulary_of(tokenizer).without(["tension"]))
    assert reduced.token_to_id("<mask>") == n_tokens - 2
    assert tokens_of(Tokenizer.from_str(reduced.to_str()), "a<mask>") == ["a", "<mask>"]


def test_an_added_token_that_is_no_entry_keeps_its_id() -> None:
    tokenizer = build_tiny()
    tokenizer.add_tokens(["tachy"])
    n_tokens = len(vocabulary_of(tokenizer))
    adapted = Tokenizer.from_str(FAMILY.add_exact_words(tokenizer, ["Ġheart"]).to_str())
    assert adapted.token_to_id("tachy") == n_tokens - 1
    assert adapted.token_to_id("Ġheart") == n_tokens
    assert tokens_of(adapted, "tachy heart") == ["tachy", "Ġheart"]


def test_an_entry_that_is_also_an_added_token_keeps_its_merges() -> None:
    tokenizer = build_tiny()
    tokenizer.add_tokens([AddedToken("ten", single_word=True)])
    vocabulary = vocabulary_of(tokenizer)
    assert vocabulary.tokenize("Ġhypertension") == ("Ġhyper", "tension")
    adapted = FAMILY.add_exact_words(tokenizer, ["Ġheart"])
    assert tokens_of(adapted, " hypertension") == ["Ġhyper", "tension"]


def test_a_transfer_takes_the_merges_of_the_target() -> None:
    tokenizer = build_tiny()
    target = build_tiny([("Ġ", "h"), ("Ġh", "e"), ("a", "r"), ("ar", "t"), ("Ġhe", "art")])
    plan = plan_vocabulary(
        vocabulary_of(tokenizer),
        FAMILY.make_splitter(tokenizer),
        PlanSources(target=vocabulary_of(target)),
        PlanSettings(kind="transfer"),
    )
    adapted = adapt_tokenizer(tokenizer, plan, "replacement")
    for line in ("a heart", " hypertension", "hé <mask>"):
        assert adapted.encode(line).ids == target.encode(line).ids
    assert set(plan.kept) >= {*BYTE_ALPHABET, "Ġh"}
    assert plan.added_tokens == ("Ġhe", "ar", "art", "Ġheart")


def test_a_trained_vocabulary_by_hand() -> None:
    counts = {"Ġhug": 10, "Ġpug": 5, "Ġpun": 12, "Ġbun": 4, "Ġhugs": 5}
    size = 5 + 256 + 4
    tokens = FAMILY.train(counts, size, TRAINER)
    assert tokens[-4:] == ("ug", "Ġp", "un", "hug")  # 20, 17, 16, 15
    tokenizer = FAMILY.build(tokens, lowercase=False)
    assert tokens_of(tokenizer, " hugs pun") == ["Ġ", "hug", "s", "Ġp", "un"]
    assert tokenizer.encode("").tokens == ["<s>", "</s>"] and find_unreachable(tokenizer) == ()
    with raises_input_error("too-few-tokens", "261"):
        FAMILY.train(counts, 100, TRAINER)


# Vocabularies with ignore_merges


def test_ignore_merges_may_be_on_already() -> None:
    """As in Llama 3; here merges make te + nsion first, so only the lookup gives tension."""
    merges = [*TINY_MERGES[:-1], ("n", "sion"), ("ten", "sion")]
    looked_up = build_tiny(merges, ignore_merges=True, entries=["xyz"])
    vocabulary = vocabulary_of(looked_up)
    for pretoken in ("tension", "xyz", "Ġhypertension", "Ġxyz"):
        line = pretoken.replace("Ġ", " ")
        assert vocabulary.tokenize(pretoken) == tuple(tokens_of(looked_up, line))
    assert vocabulary.tokenize("xyz") == ("xyz",)
    assert vocabulary.whole == {"xyz"} and find_unreachable(looked_up) == ()
    adapted = FAMILY.add_exact_words(looked_up, ["Ġxyz"])
    assert tokens_of(adapted, "xyz xyz") == ["xyz", "Ġxyz"]
    reduced = FAMILY.replace_vocabulary(adapted, vocabulary_of(adapted).without(["Ġxyz", "xyz"]))
    assert json.loads(reduced.to_str())["model"]["ignore_merges"]
    assert tokens_of(reduced, "tension") == ["tension"]


def test_a_token_that_its_merges_do_not_make_is_named() -> None:
    tokenizer = build_tiny(entries=["xyz"])
    assert find_unreachable(tokenizer) == ("xyz",)
    with raises_input_error("unmerged-tokens", "'xyz'", "insertion"):
        FAMILY.add_exact_words(tokenizer, ["Ġheart"])
    inserted = FAMILY.insert_tokens(tokenizer, ["he", "Ġhe"])  # the way out
    assert tokens_of(inserted, "xyz he") == ["x", "y", "z", "Ġhe"]


def test_a_token_that_is_never_a_pretoken_may_have_no_merges() -> None:
    """With ignore_merges it is not looked up either, so exact words can be added."""
    tokenizer = build_tiny(entries=["Ġa)b"])
    adapted = FAMILY.add_exact_words(tokenizer, ["Ġheart"])
    assert tokens_of(adapted, " a)b heart") == ["Ġ", "a", ")", "b", "Ġheart"]


# Bad input


@pytest.mark.parametrize(
    ("change", "values"),
    [
        ({"merges": [["a", "zz"]]}, ["merge 0", "lacks 'zz'"]),
        ({"merges": [["a", "b"]]}, ["merge 0", "lacks 'ab'"]),
        ({"merges": ["a b c"]}, ["merge 0", "'a b c'"]),
        ({"merges": None}, ['"merges"', "None"]),
        ({"dropout": 0.1}, ['"dropout"', "0.1"]),
        ({"end_of_word_suffix": "</w>"}, ['"end_of_word_suffix"', "'</w>'"]),
        ({"ignore_merges": "yes"}, ['"ignore_merges"', "'yes'"]),
        ({"vocab": {"a": 0, "b": 0}, "merges": []}, ["'a'", "'b'"]),
    ],
)
def test_a_model_that_contradicts_itself_is_refused(
    change: dict[str, object], values: list[str], tmp_path: Path
) -> None:
    content = json.loads(build_tiny().to_str())
    content["model"] |= change
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    with raises_input_error("invalid-tokenizer", "tokenizer.json", *values):
        read_tokenizer(tmp_path)


def test_a_post_processor_or_an_added_token_with_another_id_is_refused(tmp_path: Path) -> None:
    content = json.loads(build_tiny().to_str())
    for change, problem in (
        ({"post_processor": content["post_processor"] | {"cls": ["<s>", 7]}}, "the id 0"),
        ({"added_tokens": [content["added_tokens"][0] | {"id": 9}]}, "two ids, 0 and 9"),
    ):
        (tmp_path / "tokenizer.json").write_text(json.dumps(content | change), encoding="utf-8")
        with raises_input_error("invalid-tokenizer", problem):
            read_tokenizer(tmp_path)


@pytest.mark.parametrize("method", ["add_exact_words", "insert_tokens"])
def test_new_tokens_that_are_there_already_are_refused(method: str) -> None:
    add = getattr(FAMILY, method)
    with raises_input_error("known-tokens", "1 of 2"):
        add(build_tiny(), ["<mask>", "ab"])
    with raises_input_error("repeated-tokens", "'ab'"):
        add(build_tiny(), ["ab", "ab"])


def test_insertion_without_the_parts_is_refused() -> None:
    with raises_input_error("missing-parts", "'Ġhypo'"):
        FAMILY.insert_tokens(build_tiny(), ["Ġhypotension"])


def test_words_that_no_pretoken_can_be_are_left_out() -> None:
    """Spaces, line breaks, combining marks that the pattern splits off; others can be added."""
    tokenizer = build_tiny()
    vocabulary, splitter = vocabulary_of(tokenizer), FAMILY.make_splitter(tokenizer)
    for word in ("two words", "line\nbreak", "e\u0301tude", "don't", "a-b", "日\u3000本"):
        reason = vocabulary.explain_unreachable(vocabulary.spell(word), splitter, exact=True)
        assert reason is not None, word
    assert vocabulary.explain_unreachable("<mask>", splitter) == SPECIAL
    assert vocabulary.explain_unreachable("日", splitter) is not None  # not spelled in bytes
    assert vocabulary.explain_unreachable("Ã", splitter) is None  # inserted bytes may be
    addable = ["😀", "שלום", "مرحبا", "naïve", "日本", "<", "µg"]
    tokens = [vocabulary.spell(word) for word in addable]
    assert all(vocabulary.explain_unreachable(token, splitter, True) is None for token in tokens)
    adapted = FAMILY.add_exact_words(tokenizer, tokens)
    for word, token in zip(addable, tokens, strict=True):
        assert tokens_of(adapted, f"a {word} b") == ["a", token, "Ġ", "b"], word
        assert adapted.decode(adapted.encode(f"a {word} b").ids) == f"a {word} b"


def test_words_that_differ_in_form_alone_are_one_word() -> None:
    tokenizer = build_tiny()
    counts = count_lines(tokenizer, "aids, AIDS and Aids", "AIDS AIDS", "Aids", "and and (and")
    plan = plan_for(tokenizer, counts, "exact-word", max_added=1, **BY_WORDS)
    assert plan.added_tokens[0] == "ĠAIDS"  # the most frequent form of the most frequent word
    assert set(plan.added_tokens) == {"ĠAIDS", "AIDS", "aids", "ĠAids", "Aids"}
    assert set(plan.forms.values()) == {"ĠAIDS"} and plan.new_embeddings == ("ĠAIDS",)


def test_a_name_of_a_special_token_in_a_text_is_no_word() -> None:
    tokenizer = build_tiny(entries=["Ġmask"])
    vocabulary, splitter = vocabulary_of(tokenizer), FAMILY.make_splitter(tokenizer)
    assert vocabulary.explain_unreachable("<s>", splitter, exact=True) == SPECIAL
    plan = plan_for(tokenizer, count_lines(tokenizer, "<mask> <s>"), max_added=9, **BY_WORDS)
    assert not vocabulary.special.intersection(plan.added_tokens)


# Pre-tokenizers of other models


@pytest.mark.parametrize(("pattern", "normal_form"), [(LLAMA_3, False), (QWEN_2, True)])
def test_symbols_glued_to_a_word_stay_and_are_counted(pattern: str, normal_form: bool) -> None:
    tokenizer = split_as(build_tiny(), pattern, normal_form)
    splitter = FAMILY.make_splitter(tokenizer)
    line = "heart (heart -heart Heart, heart"
    assert splitter.pretokens(line) == [
        "heart",
        "Ġ(",
        "heart",
        "Ġ-",
        "heart",
        "ĠHeart",
        ",",
        "Ġheart",
    ]
    glued = "non-heart/heart"
    assert splitter.pretokens(glued) == ["non", "-heart", "/heart"]
    assert splitter.words(glued) == ["non", "-", "heart", "/", "heart"]
    counts = count_lines(tokenizer, line, glued)
    plan = plan_for(tokenizer, counts, "exact-word", max_added=1, **BY_WORDS)
    assert set(plan.added_tokens) == {"heart", "ĠHeart", "Ġheart"}
    adapted = adapt_tokenizer(tokenizer, plan)
    assert tokens_of(adapted, glued) == tokens_of(tokenizer, glued)
    found = measure_pretoken_departures(plan.base, adapted, splitter, counts)
    assert (found.added_words, found.missed, found.other) == (7, 2, 0)
    assert [example[0] for example in found.examples] == ["-heart", "/heart"]
    numbers = ["123", "4"] if pattern == LLAMA_3 else ["1", "2", "3", "4"]
    assert splitter.pretokens("1234") == numbers


@pytest.mark.parametrize("prefix", [False, True])
def test_a_space_before_the_first_word(prefix: bool) -> None:
    tokenizer = build_tiny(prefix=prefix)
    splitter, first = FAMILY.make_splitter(tokenizer), "Ġheart" if prefix else "heart"
    assert splitter.pretokens("heart heart") == [first, "Ġheart"]
    assert splitter.words("heart heart") == ["heart", "heart"]
    assert splitter.can_output("Ġheart") and splitter.can_output("heart")
    assert all(map(splitter.can_output, ("!", "Ġ!", "'s", ")", "5", "Ã©")))
    assert not splitter.can_output("Ġhe art") and not splitter.can_output("a)")
    line = "heart (heart) heart"
    counts = count_lines(tokenizer, line)
    plan = plan_for(tokenizer, counts, "exact-word", max_added=1, **BY_WORDS)
    adapted = adapt_tokenizer(tokenizer, plan)
    assert tokens_of(adapted, line).count("heart") == (1 if prefix else 2)
    assert measure_pretoken_departures(plan.base, adapted, splitter, counts).missed == 0


# On the merges of GPT-2


@pytest.mark.slow
@pytest.mark.parametrize("prefix", [False, True])
def test_2000_words_are_whole_and_nothing_else_changes(shared: Path, prefix: bool) -> None:
    tokenizer, counts = build_gpt2(shared, prefix), count_abstracts(shared, prefix)
    plan = plan_for(tokenizer, counts, "exact-word", max_added=2000, **BY_WORDS)
    assert len(plan.new_embeddings) == 2000
    adapted = adapt_tokenizer(tokenizer, plan)
    new = frozenset(plan.added_tokens)
    after = vocabulary_of(adapted)
    assert after.tokens == plan.tokens and after.tokens[: len(plan.base)] == plan.base.tokens
    whole = [token for token in new if after.tokenize(token) == (token,)]
    assert len(whole) == len(new) >= 2000
    assert list_changed(plan.base, after, counts, new) == []
    # Whole lines are tokenized as their pre-tokens are.
    splitter = FAMILY.make_splitter(adapted)
    for line in read_abstracts(shared)[:200]:
        expected = [token for part in splitter.pretokens(line) for token in after.tokenize(part)]
        assert tokens_of(adapted, line) == expected


@pytest.mark.slow
def test_insertion_of_2000_words(shared: Path) -> None:
    tokenizer, counts = build_gpt2(shared, n_merges=FEW), count_few(shared)
    plan = plan_for(tokenizer, counts, "insertion", max_added=2000, **BY_WORDS)
    adapted = adapt_tokenizer(tokenizer, plan, "insertion")
    after = vocabulary_of(adapted)
    assert after.tokens == plan.after.tokens
    assert find_unreachable(adapted) == ()
    n_parts = len(plan.added) - 2000
    assert n_parts > 1000  # every part is in the plan, and is told
    assert f"{n_parts:,}" in list_numbers(plan.note)
    # Insertion is not exact: other pre-tokens have the new tokens as parts.
    new = frozenset(plan.added_tokens)
    changed = list_changed(plan.base, after, counts, new)
    assert 0 < len(changed) < 0.1 * len(counts)
    assert all(new.intersection(after.tokenize(pretoken)) for pretoken in changed)


@pytest.mark.parametrize("heuristic", REDUCTIONS)
def test_removal_of_a_quarter_leaves_every_token_reachable(shared: Path, heuristic: str) -> None:
    tokenizer, counts = build_gpt2(shared, n_merges=FEW), count_few(shared)
    plan = plan_for(tokenizer, counts, kind="reduce", remove_by=heuristic, removed=0.25)
    assert len(plan.tokens) == round(0.75 * len(plan.base))
    reduced = adapt_tokenizer(tokenizer, plan, "replacement")
    assert vocabulary_of(reduced).tokens == plan.tokens
    assert find_unreachable(reduced) == ()


def test_a_combined_plan_keeps_the_size(shared: Path) -> None:
    tokenizer, counts = build_gpt2(shared, n_merges=FEW), count_few(shared)
    settings = {"kind": "combined", "remove_by": "freq", "removed": 0.1, "add_by": TRAINER}
    plan = plan_for(tokenizer, counts, **settings)
    adapted = adapt_tokenizer(tokenizer, plan, "replacement")
    assert len(vocabulary_of(adapted)) == len(plan.base)
    assert find_unreachable(adapted) == ()
    assert adapted.encode("<|endoftext|>").ids == [adapted.token_to_id("<|endoftext|>")]


def test_a_combined_plan_adds_words_as_exact_words(shared: Path) -> None:
    """Merges would need further tokens, which no text has: these are all in the text."""
    tokenizer, counts = build_gpt2(shared, n_merges=FEW), count_few(shared)
    plan = plan_for(
        tokenizer, counts, kind="combined", remove_by="freq", removed=0.1, add_by="words"
    )
    adapted = adapt_tokenizer(tokenizer, plan, "replacement")
    after = vocabulary_of(adapted)
    assert after.tokens == plan.tokens and len(after) == len(plan.base)
    assert all(after.tokenize(token) == (token,) for token in plan.added_tokens)
    assert set(plan.added_tokens) <= set(counts)
    assert plan.forms and len(plan.new_embeddings) + len(plan.forms) == len(plan.added)
    assert find_unreachable(adapted) == ()
    # A pre-token that is no new token changes only where it had a removed token.
    new, removed = frozenset(after.tokens) - set(plan.base.tokens), set(plan.removed_tokens)
    changed = list_changed(plan.base, after, counts, new | after.whole)
    assert all(removed.intersection(plan.base.tokenize(pretoken)) for pretoken in changed)


def test_a_combined_plan_inserts_words_where_exact_words_would_change_others() -> None:
    """Ġcough is an entry without merges, which ignore_merges would make one token."""
    tokenizer = build_tiny(entries=["Ġcough"])
    counts = {"Ġcough": 9, "Ġfever": 8, "Fever": 2}
    plan = plan_for(
        tokenizer, counts, kind="combined", remove_by="last", removed=0.01, add_by="words"
    )
    after = vocabulary_of(adapt_tokenizer(tokenizer, plan, "replacement"))
    assert len(plan.removed_tokens) == 3 and len(after) == len(plan.base)
    assert not after.ignore_merges and plan.forms == {}


def test_a_combined_plan_takes_a_removed_word_back() -> None:
    """Ġhypo and tension, the last two tokens, are removed; Ġhypo is the first word of the text."""
    tokenizer = build_tiny([*TINY_MERGES, ("Ġhyp", "o")])
    counts = {"Ġhypo": 9, "Ġfever": 3, "Fever": 1}
    removed = 2 / len(vocabulary_of(tokenizer))
    plan = plan_for(
        tokenizer, counts, kind="combined", remove_by="last", removed=removed, add_by="words"
    )
    assert (plan.removed_tokens, plan.added_tokens) == (("tension",), ("Ġfever",))
    after = vocabulary_of(adapt_tokenizer(tokenizer, plan, "replacement"))
    assert after.tokens == plan.tokens and after.tokenize("Ġhypo") == ("Ġhypo",)
    base = vocabulary_of(tokenizer)
    assert after.tokenize("Ġhypothesis") == base.tokenize("Ġhypothesis")


def test_continued_training_is_reproducible_and_its_tokens_are_made(shared: Path) -> None:
    tokenizer, counts = build_gpt2(shared, n_merges=FEW), count_few(shared)
    settings = {"kind": "extend", "add_by": TRAINER, "max_added": 500}
    plan = plan_for(tokenizer, counts, "insertion", **settings)
    shuffled = dict(sorted(counts.items()))
    assert plan_for(tokenizer, shuffled, "insertion", **settings).added_tokens == plan.added_tokens
    assert len(plan.added) == 500 and plan.note == ""  # each is made from two that are there
    adapted = adapt_tokenizer(tokenizer, plan, "insertion")
    assert find_unreachable(adapted) == ()
    after = vocabulary_of(adapted)
    emitted = {token for pretoken in counts for token in after.tokenize(pretoken)}
    parts = after.find_parts(plan.added_tokens)
    assert set(plan.added_tokens) <= emitted | parts


def test_the_published_entries_are_all_made_by_their_merges(shared: Path) -> None:
    entries, merges = read_gpt2_files(shared)
    assert (len(entries), len(merges)) == (50257, 50000)
    assert find_unreachable(build_gpt2(shared)) == ()
    assert isinstance(family_of(build_gpt2(shared)), ByteLevelFamily)
