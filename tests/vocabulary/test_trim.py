"""Trims of a vocabulary to a text, in three families: which tokens stay, which pre-tokens and lines
change (each compared with the tokenizers library), and what is refused."""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from tests.material import sentencepiece_bpe as sentencepiece
from tests.material.built_tokenizers import build_bytes, build_unigram
from tests.material.input_errors import raises_input_error
from tests.material.nightly import mark_slow
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.text.corpus import Corpus, open_corpus
from vocadapt.text.pretoken_lines import PretokenFinder
from vocadapt.text.words import count_words
from vocadapt.vocabulary.families import Vocabulary, family_of, read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.wordpiece import build_tokenizer
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.token_map import build_token_map, write_token_map
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer
from vocadapt.vocabulary.plan.trim_figures import find_changed_words
from vocadapt.vocabulary.plan.trim_lines import count_changed_lines, read_added_token_lines
from vocadapt.vocabulary.plan.trimming import PARTS, SINGLE
from vocadapt.vocabulary.vocabulary import FIXED, Tokenization

COUNTS = {"hypertension": 10, "heart": 5, "cafe": 1}


def trim(
    tokenizer: Tokenizer,
    counts: Mapping[str, int],
    tokens: Mapping[str, int] | None = None,
    **options,
) -> VocabularyPlan:
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    sources = PlanSources(counts=counts, mode="replacement", token_counts=tokens or {})
    settings = PlanSettings("trim", **options)
    return plan_vocabulary(vocabulary_of(tokenizer), splitter, sources, settings)


def trim_to(tokenizer: Tokenizer, corpus: Corpus, **options) -> VocabularyPlan:
    """Trim to the lines of a corpus, as the pipeline does."""
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    added = read_added_token_lines(corpus, tokenizer, splitter)
    counts = added.subtract_from(count_words(corpus, splitter).counts)
    return trim(tokenizer, counts, added.tokens, **options)


def read_names(tokenizer: Tokenizer, lines: list[str]) -> list[list[str]]:
    """Return the tokens of each line by the library; unknown ones by their name, not their text."""
    names = vocabulary_of(tokenizer).tokens
    return [[names[i] for i in one.ids] for one in tokenizer.encode_batch(lines)]


BUILDERS: dict[str, Callable[[], Tokenizer]] = {
    "wordpiece": lambda: build_tokenizer(tuple(TINY_TOKENS), True),
    "bytes": build_bytes,
    "unigram": build_unigram,
    "sentencepiece": sentencepiece.build,
}
SMALL = {
    "wordpiece": COUNTS,
    "bytes": {"Ġthe": 5, "Ġcat": 3, "the": 2, "Ġcats": 1},
    "unigram": {"▁hello": 4, "▁cab": 2, "▁hellohello": 1, "▁bach": 1},
    "sentencepiece": {"▁hypertension": 3, "▁hypers": 1, "▁tension": 1, "▁é": 1},
}


# Which tokens stay


def test_all_tokens_of_the_text_stay_with_its_characters_at_both_places() -> None:
    plan = trim(BUILDERS["wordpiece"](), COUNTS, cover=1.0)
    letters = set("".join(COUNTS))
    expected = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hyper", "##tension", "heart", "cafe"}
    expected |= letters | {f"##{letter}" for letter in letters}
    assert set(plan.tokens) == expected
    assert plan.tokens == tuple(token for token in TINY_TOKENS if token in expected)
    figures = plan.trim
    assert figures is not None and not plan.changed_pretokens
    assert (figures.tokens, figures.kept_tokens, figures.coverage) == (26, 26, 1.0)
    assert figures.stay == {FIXED: 5, SINGLE: 26}


@pytest.mark.parametrize(
    ("cover", "words", "changed"),
    [
        (20 / 26, {"hyper", "##tension"}, {"heart", "cafe"}),
        (20 / 26 + 1e-9, {"hyper", "##tension", "heart"}, {"cafe"}),
        (0.97, {"hyper", "##tension", "heart", "cafe"}, set()),
        (1e-9, {"##tension"}, {"hypertension", "heart", "cafe"}),  # of two, the lower id
    ],
)
def test_the_smallest_set_that_covers_the_text(cover, words, changed) -> None:
    plan = trim(BUILDERS["wordpiece"](), COUNTS, cover=cover)
    assert {t for t in plan.tokens if len(t) > 3 and t[0] != "["} == words
    assert plan.trim is not None and plan.changed_pretokens == changed
    assert plan.trim.changed_pretokens == sum(COUNTS[word] for word in changed)


def test_a_token_of_merges_brings_its_parts() -> None:
    plan = trim(build_bytes(), {"Ġthe": 1}, cover=1.0)
    assert {token for token in plan.tokens if len(token) > 1} == {"he", "the", "Ġthe", "<end>"}
    assert plan.trim is not None
    assert plan.trim.stay[PARTS] == 2
    assert plan.trim.stay[SINGLE] == 256


@pytest.mark.parametrize("family", BUILDERS)
def test_exactly_the_number_of_tokens_is_kept(family: str) -> None:
    tokenizer = BUILDERS[family]()
    vocabulary = vocabulary_of(tokenizer)
    with raises_input_error("too-few-tokens") as refused:
        trim(tokenizer, SMALL[family], keep=1)
    lowest = int(refused.value.remedy.split()[1].replace(",", ""))
    before: frozenset[str] = frozenset()
    for size in range(lowest, len(vocabulary) + 1):
        plan = trim(tokenizer, SMALL[family], keep=size)
        kept = frozenset(plan.tokens)
        assert len(plan.tokens) == len(kept) == size
        assert vocabulary.find_parts(kept) <= kept
        assert vocabulary.special <= kept
        before = kept
    assert before == frozenset(vocabulary.tokens)
    with raises_input_error("too-many-tokens", str(len(vocabulary))):
        trim(tokenizer, SMALL[family], keep=len(vocabulary) + 1)


def test_all_characters_stay_on_request() -> None:
    text = {"heart": 1}
    few = set(trim(BUILDERS["wordpiece"](), text, cover=1.0).tokens)
    plan = trim(BUILDERS["wordpiece"](), text, cover=1.0, characters="all")
    assert "z" not in few and "##z" not in few
    assert {t for t in TINY_TOKENS if len(t.removeprefix("##")) == 1} <= set(plan.tokens)


def test_a_script_that_the_text_lacks_becomes_unknown() -> None:
    tokenizer = build_tokenizer((*TINY_TOKENS, "与", "##与"), True)
    new = adapt_tokenizer(tokenizer, trim(tokenizer, {"heart": 1}, cover=1.0), "replacement")
    assert tokenizer.encode("heart 与", add_special_tokens=False).tokens == ["heart", "与"]
    assert new.encode("heart 与", add_special_tokens=False).tokens == ["heart", "[UNK]"]


def test_in_bytes_every_other_text_can_still_be_spelled() -> None:
    tokenizer = build_bytes()
    new = adapt_tokenizer(tokenizer, trim(tokenizer, {"Ġthe": 1}, cover=1.0), "replacement")
    text = "Zürich 与 🜁"
    assert new.decode(new.encode(text).ids) == text


def test_pieces_of_exact_words_stay() -> None:
    """Beside a symbol, an exact word is tokenized by its pieces, which no pre-token shows."""
    tokenizer = family_of(BUILDERS["wordpiece"]()).add_exact_words(
        BUILDERS["wordpiece"](), ["tachycard"]
    )
    plan = trim(tokenizer, {"tachycard": 3}, cover=1.0)
    assert {"tachycard", "tachy", "##card"} <= set(plan.tokens)
    new = adapt_tokenizer(tokenizer, plan, "replacement")
    for line in ("tachycard", "tachycard_tachycard", "_tachycard"):
        old = [t for t in tokenizer.encode(line).tokens if t != "_"]
        assert [t for t in new.encode(line).tokens if t != "[UNK]"] == old


def test_an_exact_word_that_the_text_lacks_is_removed() -> None:
    tokenizer = family_of(BUILDERS["wordpiece"]()).add_exact_words(
        BUILDERS["wordpiece"](), ["tachycard", "myocard"]
    )
    plan = trim(tokenizer, {"tachycard": 3}, cover=1.0)
    assert plan.after.whole == {"tachycard"} and "myocard" not in plan.tokens


def test_an_empty_token_is_removed() -> None:
    """SciBERT's published vocabulary has one, which no text contains."""
    tokenizer = build_tokenizer((*TINY_TOKENS, ""), True)
    plan = trim(tokenizer, COUNTS, cover=1.0)
    assert "" in vocabulary_of(tokenizer) and "" not in plan.tokens
    new = adapt_tokenizer(tokenizer, plan, "replacement")
    assert new.encode("hypertension").tokens == ["[CLS]", "hyper", "##tension", "[SEP]"]


def test_unknown_characters_are_split_as_before_without_the_rarest_token() -> None:
    """An unknown character scores 10 less than the lowest token, which stays for that reason."""
    tokenizer = build_unigram()
    plan = trim(tokenizer, {"▁he☃llo": 2, "▁cab": 1}, cover=1.0)
    assert "rare" in plan.tokens
    assert plan.trim is not None and plan.trim.unknown_before == plan.trim.unknown_after == 2
    new = adapt_tokenizer(tokenizer, plan, "replacement")
    lines = ["he☃llo cab", "☃☃"]
    assert read_names(new, lines) == read_names(tokenizer, lines)


# Lines with added tokens


def test_a_line_with_an_added_token_is_tokenized_as_a_whole(tmp_path: Path) -> None:
    """Two spaces are an added token of ModernBERT: after them, a word has no space before it."""
    tokenizer = build_bytes("  ", "   ")
    path = tmp_path / "text.txt"
    path.write_text("a  cat\n\nthe the\nthe <end>cat   the\n", encoding="utf-8")
    corpus = open_corpus([path])
    plan = trim_to(tokenizer, corpus, cover=1.0)
    # "a  cat" is a, two spaces, c at → cat; the pre-token Ġcat of the splitter does not occur.
    assert {"cat", "the", "Ġthe", "  ", "   "} <= set(plan.tokens) and "Ġcat" not in plan.tokens
    new = adapt_tokenizer(tokenizer, plan, "replacement")
    lines = list(corpus)
    assert read_names(new, lines) == read_names(tokenizer, lines)
    found = count_changed_lines(corpus, plan, tokenizer, new)
    assert (found.lines, found.changed) == (3, 0)  # blank lines do not count
    less = trim_to(tokenizer, corpus, cover=0.5)
    new = adapt_tokenizer(tokenizer, less, "replacement")
    changed = [
        a != b for a, b in zip(read_names(new, lines), read_names(tokenizer, lines), strict=True)
    ]
    assert count_changed_lines(corpus, less, tokenizer, new).changed == sum(changed) > 0


@pytest.mark.parametrize("merges", [(), sentencepiece.WHOLE_TEXT])
@pytest.mark.parametrize("cover", [1.0, 0.7])
def test_a_model_that_merges_a_whole_text(merges: list, cover: float, tmp_path: Path) -> None:
    """With merges across spaces, pre-tokens do not show the tokens: each line is tokenized whole."""
    tokenizer = sentencepiece.build(merges=merges)
    assert family_of(tokenizer).splits_exactly(tokenizer) == (not merges)
    path = tmp_path / "text.txt"
    path.write_text("\n".join(sentencepiece.LINES), encoding="utf-8")
    corpus = open_corpus([path])
    plan = trim_to(tokenizer, corpus, cover=cover)
    new = adapt_tokenizer(tokenizer, plan, "replacement")
    old_lines, new_lines = (read_names(one, list(corpus)) for one in (tokenizer, new))
    kept = frozenset(plan.tokens)
    for before, after in zip(old_lines, new_lines, strict=True):
        assert before == after or not kept.issuperset(before)
    changed = sum(one != other for one, other in zip(old_lines, new_lines, strict=True))
    assert count_changed_lines(corpus, plan, tokenizer, new).changed == changed
    assert (changed == 0) == (cover == 1.0)


def test_lines_with_pretokens() -> None:
    tokenizer = build_bytes()
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    lines = ["the cat", "cat the", "concat", ""]
    assert PretokenFinder(splitter, ["Ġcat"]).find(lines) == [True, False, False, False]
    assert PretokenFinder(splitter, []).find(lines) == [False] * 4
    assert PretokenFinder(splitter, ["a", "Ġb"]).find(["x a", "a", "a b", "x b", " b"]) == [
        False,  # after a space it is Ġa, whatever a part is split after
        True,
        True,
        True,
        True,
    ]
    words = family_of(BUILDERS["wordpiece"]()).make_splitter(BUILDERS["wordpiece"]())
    assert PretokenFinder(words, ["cat"]).find(["A CAT!", "concat"]) == [True, False]


def test_changed_words_do_not_depend_on_the_order_of_tokens() -> None:
    def build(*tokens: tuple[int, int, int], pieces: list[int]) -> Tokenization:
        words, places, ids = map(np.array, zip(*tokens, strict=True))
        return Tokenization(np.array(pieces), np.zeros(2, dtype=bool), places, ids, words)

    one = build((0, 0, 7), (0, 3, 8), (1, 9, 5), pieces=[2, 1])
    same = build((1, 9, 5), (0, 3, 8), (0, 0, 7), pieces=[2, 1])
    other = build((1, 9, 5), (0, 3, 7), (0, 0, 8), pieces=[2, 1])
    assert find_changed_words(one, same).tolist() == [False, False]
    assert find_changed_words(one, other).tolist() == [True, False]


# Real vocabularies and text


def open_bert(shared: Path) -> Tokenizer:
    return read_tokenizer(shared / "data/vocab/bert-base-uncased.txt")


def open_gpt2(shared: Path) -> Tokenizer:
    folder = shared / "data/tokenizers/gpt2-bpe"
    ids = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    lines = (folder / "vocab.bpe").read_text(encoding="utf-8").splitlines()[1:]
    tokenizer = Tokenizer(models.BPE(ids, [tuple(line.split()) for line in lines if line]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


def open_sentencepiece(shared: Path) -> Tokenizer:
    return Tokenizer.from_file(str(shared / "data/tokenizers/spm-unigram/tokenizer.json"))


@pytest.fixture(scope="module")
def real_text(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The first abstracts and Wikipedia paragraphs, and lines with special tokens and symbols."""
    lines: list[str] = []
    for name, n_lines in (("biomedical-abstracts", 100), ("general-wikipedia", 60)):
        with gzip.open(shared / f"data/text/{name}.txt.gz", "rt", encoding="utf-8") as file:
            lines += [line.rstrip("\n") for line in islice(file, n_lines)]
    lines += ["a <mask> of [MASK] and <|endoftext|>", "  snow ☃☃ 与 🜁 naïve  ", "the the"]
    path = tmp_path_factory.mktemp("real") / "text.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return open_corpus([path])


@pytest.mark.parametrize(
    "open_real", [*mark_slow([open_bert, open_gpt2, open_sentencepiece]), sentencepiece.train]
)
def test_every_pretoken_and_every_line_of_a_real_text(
    shared: Path, real_text: Corpus, open_real: Callable[[Path], Tokenizer]
) -> None:
    tokenizer = open_real(shared)
    before = vocabulary_of(tokenizer)
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    added = read_added_token_lines(real_text, tokenizer, splitter)
    counts = added.subtract_from(count_words(real_text, splitter).counts)
    lines = list(real_text)
    old_lines = read_names(tokenizer, lines)
    for options in ({"cover": 1.0}, {"cover": 0.99}):
        plan = trim_to(tokenizer, real_text, **options)
        new = adapt_tokenizer(tokenizer, plan, "replacement")
        figures, kept = plan.trim, frozenset(plan.tokens)
        assert figures is not None
        after = vocabulary_of(new)
        # 1. A pre-token of kept tokens never changes, and the figures name all others that do.
        changed = {p for p in counts if before.tokenize(p) != after.tokenize(p)}
        assert not any(kept.issuperset(before.tokenize(p)) for p in changed)
        assert plan.changed_pretokens == changed
        # 2. The same of lines, by the tokenizers library.
        new_lines = read_names(new, lines)
        differ = [one != other for one, other in zip(old_lines, new_lines, strict=True)]
        found = count_changed_lines(real_text, plan, tokenizer, new)
        assert (found.lines, found.changed) == (len(lines), sum(differ))
        for line, is_changed in zip(old_lines, differ, strict=True):
            assert not (is_changed and kept.issuperset(line))
        # 3. What was asked for.
        if options["cover"] == 1.0:
            assert not changed and not any(differ)
            assert {t for line in old_lines for t in line} <= kept
        else:
            assert figures.coverage >= options["cover"] and any(differ)


# Bad input


def test_a_text_in_which_nothing_is_known() -> None:
    with raises_input_error("no-known-word", "2"):
        trim(BUILDERS["wordpiece"](), {"与": 3, "☃": 1}, cover=1.0)


def test_a_trim_without_a_text() -> None:
    with raises_input_error("no-text"):
        trim(BUILDERS["wordpiece"](), {}, cover=1.0)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"cover": 1.1}, "out-of-range"),
        ({"cover": float("nan")}, "out-of-range"),
        ({"keep": -1}, "out-of-range"),
        ({"cover": 1.0, "characters": "none"}, "unknown-choice"),
    ],
)
def test_invalid_settings(options: dict[str, float], code: str) -> None:
    with raises_input_error(code):
        PlanSettings("trim", **options)


# Token maps


def test_a_token_map(tmp_path: Path) -> None:
    vocabulary: Vocabulary = replace(vocabulary_of(BUILDERS["wordpiece"]()), tokens=tuple("abcdef"))
    found = build_token_map(vocabulary, ["f", "a", "c"], 8)
    assert found["hot_token_id"].tolist() == [0, 2, 5]
    assert found["d2t"].tolist() == [0, 1, 3]
    assert found["t2d"].tolist() == [True, False, True, False, False, True, False, False]
    facts = {"coverage": 0.5, "text": "Fälle"}
    write_token_map(tmp_path / "m.safetensors", vocabulary, ["f", "a", "c"], 8, facts)
    with safe_open(tmp_path / "m.safetensors", "numpy") as opened:
        assert opened.metadata() == {"coverage": "0.5", "text": "Fälle"}
    stored = load_file(tmp_path / "m.safetensors")
    assert all(np.array_equal(stored[name], array) for name, array in found.items())
    assert stored["d2t"].dtype == np.int64 and stored["t2d"].dtype == np.bool_
    write_token_map(tmp_path / "m.json", vocabulary, ["f", "a", "c"], 8, facts)
    content = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert content == {**facts, "hot_token_id": [0, 2, 5], "d2t": [0, 1, 3]}
    with raises_input_error("unknown-file-kind", ".json", ".safetensors"):
        write_token_map(tmp_path / "m.txt", vocabulary, ["a"], 8, facts)
