"""BPE of SentencePiece with byte fallback: by hand, and trained on the shared text; exact words only
where splitting a text changes no token.
"""

import json
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tests.material.byte_level import read_abstracts
from tests.material.input_errors import raises_input_error
from tests.material.sentencepiece_bpe import (
    CHARACTERS,
    FAMILY,
    LAYOUTS,
    LINES,
    NAME,
    SIZE,
    SPECIAL,
    WHOLE_TEXT,
    M,
    build,
    tokens_of,
    train,
)
from vocadapt.text.counting import PartCounter, build_word_counter
from vocadapt.vocabulary.families import family_of, read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.files.tokenizer_checks import BYTE_TOKENS
from vocadapt.vocabulary.families.sentencepiece_bpe import (
    AT_MARKS,
    LETTERS_APART,
    SentencePieceBpeVocabulary,
    choose_split,
)
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.reduction import REDUCTIONS
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer, measure_pretoken_departures


def find_unreachable(tokenizer: Tokenizer) -> tuple[str, ...]:
    return vocabulary_of(tokenizer).find_unreachable(FAMILY.make_splitter(tokenizer))


def read_split(tokenizer: Tokenizer) -> dict[str, Any]:
    steps = json.loads(FAMILY.make_splitter(tokenizer).pre_tokenizer)["pretokenizers"]
    last: dict[str, Any] = steps[-1]
    return last


# By hand


def test_tokens_and_spelling_by_hand() -> None:
    vocabulary = vocabulary_of(build())
    assert vocabulary.tokenize(f"{M}hypertension") == (f"{M}hyper", "tension")
    assert vocabulary.tokenize("\u00ef") == ("<0xC3>", "<0xAF>")
    assert (vocabulary.spell("heart"), vocabulary.body(f"{M}heart")) == (f"{M}heart", "heart")
    assert vocabulary.position(f"{M}hyper") == "word start"
    assert vocabulary.position("<0xC3>") == "continuation"
    assert vocabulary.body("<0xC3>") == "<0xC3>"
    assert vocabulary.find_form(f"{M}{M}heart", ("heart",)) is None  # two spaces before it
    assert vocabulary.find_form(f"{M}heart", ("heart",)) == f"{M}heart"
    assert vocabulary.unknown == "<unk>" and find_unreachable(build()) == ()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_text_has_the_same_tokens_if_it_is_split(layout: str) -> None:
    tokenizer = build(layout)
    assert family_of(tokenizer) is FAMILY and read_split(tokenizer) == LETTERS_APART
    vocabulary, splitter = vocabulary_of(tokenizer), FAMILY.make_splitter(tokenizer)
    for line in LINES:
        parts = splitter.pretokens(line)
        assert [one for part in parts for one in vocabulary.tokenize(part)] == tokens_of(
            tokenizer, line
        )
    assert splitter.words(LINES[0]) == [
        *("hypertension", ",", "(", "hypertension", ")", "hyper", "-", "tension")
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_exact_word_is_one_token_and_nothing_else_changes(layout: str) -> None:
    tokenizer = build(layout)
    before, words = vocabulary_of(tokenizer), [f"{M}hypotension", f"{M}na\u00efve"]
    adapted = Tokenizer.from_str(FAMILY.add_exact_words(tokenizer, words).to_str())
    after = vocabulary_of(adapted)
    assert after.tokens == (*before.tokens, *words)
    assert FAMILY.make_splitter(adapted) == FAMILY.make_splitter(tokenizer)
    text = "a hypotension, na\u00efve"
    assert tokens_of(adapted, text)[-3:] == [words[0], ",", words[1]]
    for line in LINES[2:]:
        assert tokens_of(adapted, line) == tokens_of(tokenizer, line)
    for line in ("xhypotension", "hypotensions", "Hypotension"):
        assert tokens_of(adapted, f"a {line}") == tokens_of(tokenizer, f"a {line}")
    text = "a hypotension, na\u00efve (hypotension)"
    assert adapted.decode(adapted.encode(text).ids) == text
    # Adding again keeps the first words.
    again = FAMILY.add_exact_words(adapted, [f"{M}heart"])
    text = "a heart hypotension"
    assert tokens_of(again, text)[-2:] == [f"{M}heart", words[0]]


def test_merges_across_a_comma_leave_it_with_the_word() -> None:
    tokenizer = build(merges=WHOLE_TEXT[:1])
    assert read_split(tokenizer) == AT_MARKS
    splitter = FAMILY.make_splitter(tokenizer)
    assert splitter.pretokens("a, (b)") == [f"{M}a,", f"{M}(b)"]
    assert splitter.pretokens("a  b") == [f"{M}a", f"{M}{M}b"]
    adapted = FAMILY.add_exact_words(tokenizer, [f"{M}hypotension"])
    assert tokens_of(adapted, "x hypotension") == [M, "x", f"{M}hypotension"]
    for line in [*LINES[2:], "x hypotension,"]:
        assert tokens_of(adapted, line) == tokens_of(tokenizer, line)
    counts = {f"{M}hypotension": 3, f"{M}hypotension,": 2, f"{M}x": 1}
    found = measure_pretoken_departures(vocabulary_of(tokenizer), adapted, splitter, counts)
    assert (found.added_words, found.missed, found.other) == (5, 2, 0)


def test_merges_across_a_space_are_refused_with_the_way_out() -> None:
    tokenizer = build(merges=WHOLE_TEXT)
    assert tokens_of(tokenizer, "ss a") == [M, "s", f"s{M}", "a"]
    for add in (FAMILY.check_exact_words, lambda one: FAMILY.add_exact_words(one, [f"{M}heart"])):
        with raises_input_error("merges-across-spaces", "1", f"s + {M}", "insertion"):
            add(tokenizer)
    inserted = FAMILY.insert_tokens(tokenizer, [f"{M}ha"])
    assert tokens_of(inserted, "hah") == [f"{M}ha", "h"]
    # A tokenizer that splits at spaces itself never applies such a merge.
    split = FAMILY.add_exact_words(build("split", WHOLE_TEXT), [f"{M}heart"])
    assert tokens_of(split, "ss heart") == [M, "s", "s", f"{M}heart"]


def test_unknown_characters_that_become_one_token_are_not_split() -> None:
    options: dict[str, Any] = {"byte_fallback": False}
    assert read_split(build(**options)) == AT_MARKS
    assert read_split(build(**options, fuse_unk=False)) == LETTERS_APART
    assert tokens_of(build(**options), "\u00ef\u2026 a") == [M, "<unk>", M, "a"]


def test_a_merge_of_bytes_is_no_merge_of_letters() -> None:
    split, crossing = choose_split(vocabulary_of(build(merges=[("<0xC3>", "<0xAF>")])))
    assert split == AT_MARKS and crossing == []


def test_inserted_tokens_bring_their_parts_and_characters() -> None:
    tokenizer = build()
    vocabulary = vocabulary_of(tokenizer)
    expanded = vocabulary.expand_insertions([f"{M}na\u00efve"])
    assert expanded[0] == "\u00ef" and expanded[-1] == f"{M}na\u00efve"
    adapted = FAMILY.insert_tokens(tokenizer, expanded)
    assert tokens_of(adapted, "na\u00efve na\u00efvety") == [
        *(f"{M}na\u00efve", f"{M}na\u00efve", "t", "y")
    ]
    assert find_unreachable(adapted) == ()
    assert tokens_of(adapted, "hypertension") == [f"{M}hyper", "tension"]


def test_bytes_marks_and_characters_are_never_removed() -> None:
    vocabulary = vocabulary_of(build())
    order = vocabulary.order_removals(vocabulary.tokens)
    assert not {*BYTE_TOKENS, *CHARACTERS}.intersection(order)
    assert order.index("tension") < order.index("sion") < order.index("ion")
    reduced = FAMILY.replace_vocabulary(build(), vocabulary.without(["tension"]))
    assert tokens_of(reduced, "hypertension \u00ef") == [
        *(f"{M}hyper", "ten", "sion", M, "<0xC3>", "<0xAF>")
    ]


def test_a_target_of_another_family_is_refused() -> None:
    unigram = Tokenizer(models.Unigram([("<unk>", 0.0), (M, -1.0), ("a", -2.0)], 0))
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.add_special_tokens(SPECIAL)
    with raises_input_error("other-family", "unigram"):
        plan_for(build(), {}, target=vocabulary_of(unigram), kind="transfer").after  # noqa: B018


# Bad input


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"vocab": {"a": 0}, "merges": []}, "<0x00>"),
        ({"merges": [["a", "zz"]]}, "lacks 'zz'"),
        ({"continuing_subword_prefix": "@@"}, "'@@'"),
    ],
)
def test_a_model_that_contradicts_itself_is_refused(
    change: dict[str, object], value: str, tmp_path: Path
) -> None:
    content = json.loads(build().to_str())
    content["model"] |= change
    content["added_tokens"] = []
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    with raises_input_error("invalid-tokenizer", value):
        read_tokenizer(tmp_path)


def test_a_tokenizer_that_writes_no_marks_is_refused() -> None:
    tokenizer = build()
    tokenizer.normalizer = None  # type: ignore[assignment]
    with raises_input_error("no-word-starts"):
        FAMILY.make_splitter(tokenizer)


# On the shared text


@lru_cache(maxsize=4)
def count(shared: Path, lowercase: bool = False) -> dict[str, int]:
    counter = build_word_counter(FAMILY.make_training_splitter(lowercase))
    assert isinstance(counter, PartCounter)
    counter.count("".join(f"{line}\n" for line in read_abstracts(shared)[:400]))
    return dict(sorted(counter.word_counts().items(), key=lambda item: (-item[1], item[0])))


def plan_for(
    tokenizer: Tokenizer,
    counts: Mapping[str, int],
    mode: str = "",
    target: SentencePieceBpeVocabulary | None = None,
    **settings: object,
) -> VocabularyPlan:
    return plan_vocabulary(
        vocabulary_of(tokenizer),
        FAMILY.make_splitter(tokenizer),
        PlanSources(counts=counts, mode=mode, target=target),
        PlanSettings(**settings),  # type: ignore[arg-type]
    )


def test_2000_words_are_whole_and_no_line_changes_otherwise(shared: Path) -> None:
    tokenizer, counts = train(shared), count(shared)
    settings = {"kind": "extend", "add_by": "words", "max_added": 2000}
    plan = plan_for(tokenizer, counts, "exact-word", **settings)
    adapted = adapt_tokenizer(tokenizer, plan)
    before, after, new = plan.base, vocabulary_of(adapted), set(plan.added_tokens)
    assert len(plan.new_embeddings) == 2000
    assert all(after.tokenize(token) == (token,) for token in new)
    others = [pretoken for pretoken in counts if pretoken not in new]
    assert [one for one in others if before.tokenize(one) != after.tokenize(one)] == []
    # On whole lines, which the old tokenizer never splits: the corpus check.
    splitter, changed = FAMILY.make_splitter(tokenizer), 0
    for line in read_abstracts(shared)[:400:2]:
        parts = splitter.pretokens(line)
        old = [token for part in parts for token in before.tokenize(part)]
        changed += tokens_of(tokenizer, line) != old
        expected = [token for part in parts for token in after.tokenize(part)]
        assert tokens_of(adapted, line) == expected
    assert changed == 0
    assert len(tokens_of(adapted, read_abstracts(shared)[0])) < len(
        tokens_of(tokenizer, read_abstracts(shared)[0])
    )


@pytest.mark.parametrize("heuristic", REDUCTIONS)
def test_removal_leaves_every_token_reachable(shared: Path, heuristic: str) -> None:
    tokenizer, counts = train(shared), count(shared)
    plan = plan_for(tokenizer, counts, kind="reduce", remove_by=heuristic, removed=0.25)
    reduced = adapt_tokenizer(tokenizer, plan, "replacement")
    assert vocabulary_of(reduced).tokens == plan.tokens and len(plan.tokens) == 0.75 * SIZE
    assert find_unreachable(reduced) == ()
    ids = [reduced.token_to_id(token) for token in ("<s>", "</s>")]
    encoding = reduced.encode("caf\u00e9 \u4e2d")
    assert [encoding.ids[0], encoding.ids[-1]] == ids and "<0xE4>" in encoding.tokens


@pytest.mark.parametrize("add_by", ["words", NAME])
def test_insertion_and_a_combined_plan(shared: Path, add_by: str) -> None:
    tokenizer, counts = train(shared), count(shared)
    plan = plan_for(tokenizer, counts, "insertion", kind="extend", add_by=add_by, max_added=300)
    inserted = adapt_tokenizer(tokenizer, plan, "insertion")
    assert vocabulary_of(inserted).tokens == plan.after.tokens
    assert find_unreachable(inserted) == () and len(plan.added) >= 300
    assert plan.added_tokens == plan.after.tokens[SIZE:]
    settings = {"kind": "combined", "remove_by": "freq", "removed": 0.1, "add_by": add_by}
    combined = plan_for(tokenizer, counts, **settings)
    adapted = adapt_tokenizer(tokenizer, combined, "replacement")
    assert len(vocabulary_of(adapted)) == SIZE and find_unreachable(adapted) == ()


def test_a_tokenizer_trained_on_whole_lines_is_refused(shared: Path) -> None:
    """Nothing splits a line before it is trained: many merges cross spaces."""
    tokenizer = build()
    trainer = trainers.BpeTrainer(vocab_size=1000, special_tokens=SPECIAL, show_progress=False)
    tokenizer.train_from_iterator(read_abstracts(shared)[:50], trainer)
    with raises_input_error("merges-across-spaces"):
        FAMILY.add_exact_words(tokenizer, [f"{M}tachycardia"])
    counts = Counter(FAMILY.make_splitter(tokenizer).pretokens(read_abstracts(shared)[0]))
    plan = plan_for(tokenizer, counts, "insertion", kind="extend", add_by="words", max_added=20)
    assert find_unreachable(adapt_tokenizer(tokenizer, plan, "insertion")) == ()
