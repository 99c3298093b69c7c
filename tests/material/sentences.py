"""Sentences to train word vectors on."""

from collections import Counter

import numpy as np

from vocadapt.text.words import WordCounts


def words_file(folder, sentences, name="sentences.txt"):
    """A words file and its counts, as `write_sentences` leaves them."""
    path = folder / name
    path.write_text("".join(f"{' '.join(sentence)}\n" for sentence in sentences), encoding="utf-8")
    tally = Counter(word for sentence in sentences for word in sentence)
    ordered = sorted(sorted(tally.items()), key=lambda item: -item[1])
    return path, WordCounts(dict(ordered), len(sentences), path.stat().st_size)


def two_topics(sentences=4000, seed=0):
    """Sentences about one of two topics: words of a topic occur together, words of the other
    never.
    """
    rng = np.random.default_rng(seed)
    topics = [[f"{topic}{n}" for n in range(10)] + ["the"] for topic in ("heart", "tax")]
    return [[topics[n % 2][k] for k in rng.integers(0, 11, 8)] for n in range(sentences)]


def chain(sentences, seed=3):
    """Walks along a ring of 100 words: each word occurs next to its neighbors on the ring."""
    rng = np.random.default_rng(seed)
    walks = (
        rng.integers(0, 100, sentences)[:, None]
        + np.cumsum(rng.integers(-2, 3, (sentences, 10)), axis=1)
    ) % 100
    return [[f"w{n}" for n in walk] for walk in walks.tolist()]


def near_hits(space):
    """The share of words whose nearest word is at most three steps away on the ring (6 of 99 by
    chance).
    """
    scores = space.unit @ space.unit.T
    np.fill_diagonal(scores, -2)
    places = np.array([int(word[1:]) for word in space.words])
    steps = np.abs(places - places[scores.argmax(axis=1)])
    return float((np.minimum(steps, 100 - steps) <= 3).mean())
