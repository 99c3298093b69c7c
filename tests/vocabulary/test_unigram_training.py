"""The trainer of Unigram models, compared with plain counting and with all segmentations."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import exp
from pathlib import Path

import numpy as np
import pytest
from tokenizers import models

from tests.material.input_errors import raises_input_error
from vocadapt.vocabulary.families import FAMILIES, read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families import unigram_training as training
from vocadapt.vocabulary.families.unigram_training import find_seeds, train_unigram
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer

FAMILY = FAMILIES["unigram"]
WORDS = {"▁hug": 10, "▁pug": 5, "▁pun": 12, "▁bun": 4, "▁hugs": 5}
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


def draw_words(seed: int, n: int = 60) -> dict[str, int]:
    random = np.random.default_rng(seed)
    return {
        "▁" + "".join(random.choice([*"abc"], random.integers(1, 9))): int(random.integers(1, 20))
        for _ in range(n)
    }


def list_segmentations(text: str, pieces: dict[str, float]) -> Iterator[tuple[str, ...]]:
    if not text:
        yield ()
    for end in range(1, len(text) + 1):
        if text[:end] in pieces:
            for rest in list_segmentations(text[end:], pieces):
                yield (text[:end], *rest)


def test_seeds_by_hand() -> None:
    words = sorted(WORDS)
    frequency = np.array([WORDS[word] for word in words], dtype=np.float64)
    # ug 20 · 2, ▁hug 15 · 4, un 16 · 2, ▁pu 17 · 3, ▁pun 12 · 4, … ; hu is always in ▁hug.
    assert find_seeds(words, frequency, 4) == ["▁hug", "▁pu", "▁pun", "ug"]
    assert "hu" not in find_seeds(words, frequency, 100)


@pytest.mark.parametrize("seed", range(3))
def test_seeds_are_the_repeated_substrings(seed: int) -> None:
    words = draw_words(seed)
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for start in range(len(word)):
            for end in range(start + 2, len(word) + 1):
                counts[word[start:end]] += count
    within = {
        part
        for text, count in counts.items()
        for part in (text[1:], text[:-1])
        if counts[part] == count
    }
    expected = {text for text, count in counts.items() if count >= 2} - within
    ordered = sorted(words)
    found = find_seeds(ordered, np.array([words[word] for word in ordered], dtype=float), 10**6)
    assert set(found) == expected and len(found) == len(expected)
    ranks = [counts[text] * len(text) for text in found]
    assert ranks == sorted(ranks, reverse=True)


def test_expected_counts_are_those_over_all_segmentations() -> None:
    words = draw_words(0, 20)
    ordered = sorted(words)
    frequency = np.array([words[word] for word in ordered], dtype=float)
    texts = ["▁", "a", "b", "c", *find_seeds(ordered, frequency, 12)]
    scores = np.log(np.arange(1.0, len(texts) + 1) / 100)
    scores[6] = -np.inf  # removed
    pieces = {text: score for text, score in zip(texts, scores, strict=True) if score > -np.inf}
    expected: defaultdict[str, float] = defaultdict(float)
    for word, count in words.items():
        ways = list(list_segmentations(word, pieces))
        weights = [exp(sum(pieces[piece] for piece in way)) for way in ways]
        for way, weight in zip(ways, weights, strict=True):
            for piece in way:
                expected[piece] += count * weight / sum(weights)
    found = training._build_lattice(ordered, frequency, texts).count_expected(scores)
    assert found == pytest.approx([expected[text] for text in texts])


def test_a_trained_model_by_hand() -> None:
    scores = train_unigram(WORDS, 10)
    assert set("▁hugpnbs") <= set(scores) and len(scores) == 10
    assert {"▁pun", "▁hug"} <= set(scores)
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert sum(map(exp, scores.values())) < 1.0


@pytest.mark.parametrize("size", [20, 60])
def test_training_does_not_depend_on_the_order_of_the_counts(size: int) -> None:
    words = draw_words(4, 200)
    scores = train_unigram(words, size)
    backwards = dict(reversed(words.items()))
    assert list(train_unigram(backwards, size).items()) == list(scores.items())
    assert len(scores) <= size


def test_more_pieces_make_a_text_shorter() -> None:
    words = draw_words(5, 300)
    sizes = []
    for size in (10, 40, 120):
        model = models.Unigram([("<unk>", 0.0), *train_unigram(words, size).items()], 0, False)
        sizes.append(sum(len(model.tokenize(word)) * count for word, count in words.items()))
    assert sizes[0] > sizes[1] > sizes[2] and sizes[2] < 0.6 * sizes[0]


def test_characters_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    with raises_input_error("too-few-tokens", "3 tokens", "5 tokens"):
        train_unigram(WORDS, 3)
    monkeypatch.setattr(training, "ALPHABET", 6)
    scores = train_unigram(WORDS, 12)
    assert "s" not in scores and "b" not in scores  # the rarest
    assert not any("s" in piece or "b" in piece for piece in scores)
    assert train_unigram({}, 10) == {}


def test_a_tokenizer_from_scratch(tmp_path: Path) -> None:
    lines = FAMILY.train(WORDS, 18, "unigram")
    assert lines[:4] == tuple(f"{token}\t0.0" for token in SPECIAL) and len(lines) <= 18
    tokenizer = FAMILY.build(lines, lowercase=True)
    vocabulary = vocabulary_of(tokenizer)
    assert vocabulary.tokens[:4] == SPECIAL and vocabulary.tokens[-1] == "<mask>"
    assert tokenizer.encode("Hug PUN", "bun").tokens == [
        *("<s>", "▁hug", "▁pun", "</s>", "</s>"),
        *(*vocabulary.tokenize("▁bun"), "</s>"),
    ]
    assert FAMILY.make_training_splitter(lowercase=True) == FAMILY.make_splitter(tokenizer)
    assert vocabulary.tokenize("▁☃") == ("▁", "<unk>")
    assert tokenizer.decode(tokenizer.encode("hug pun").ids) == "hug pun"
    # As transformers saves and loads it.
    FAMILY.save(lines, True, 128, tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["tokenizer_class"] == "TokenizersBackend"
    assert vocabulary_of(read_tokenizer(tmp_path)).tokens == vocabulary.tokens
    from transformers import AutoTokenizer

    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded("Hug PUN")["input_ids"] == tokenizer.encode("Hug PUN").ids
    assert (loaded.mask_token, loaded.pad_token_id) == ("<mask>", 1)


def test_trained_pieces_are_added_to_another_vocabulary() -> None:
    base = FAMILY.build(FAMILY.train({"▁hub": 5, "▁sip": 5, "▁gun": 2}, 20, "unigram"), False)
    before = vocabulary_of(base)
    settings = PlanSettings("extend", add_by="unigram", max_added=3)
    counts = {word: count * 10 for word, count in WORDS.items()}
    plan = plan_vocabulary(before, FAMILY.make_splitter(base), PlanSources(counts=counts), settings)
    assert 0 < len(plan.added_tokens) <= 3
    after = vocabulary_of(adapt_tokenizer(base, plan, "insertion"))
    assert all(after.tokenize(token) == (token,) for token in plan.added_tokens)
    assert sum(len(after.tokenize(word)) for word in counts) < sum(
        len(before.tokenize(word)) for word in counts
    )
    with raises_input_error("unknown-trainer", "'bpe-merges'"):
        list(FAMILY.generate_tokens(before, counts, "bpe-merges"))
