"""Count how often exact-word tokenizers violate their rule on the shared texts, uncased and cased.

    python experiments/departures.py

Needs ../shared/data. The added words are those that occur at least five times in the text, are
missing in the vocabulary, and can be produced by the tokenizer.

Measured on 28 November 2026, uncased: 89 of 130,834 occurrences of added words in abstracts, 2,140 of
1,521,348 in articles; the other texts were not reached in 500 s.
"""

from collections import Counter
from pathlib import Path

from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import Splitter, count_words
from vocadapt.vocabulary.families import FAMILIES, vocabulary_of
from vocadapt.vocabulary.families.files.vocab_file import read_tokens
from vocadapt.vocabulary.families.wordpiece import build_tokenizer
from vocadapt.vocabulary.plan.tokenizer import measure_departures

WORDPIECE = FAMILIES["wordpiece"]

SHARED = Path(__file__).resolve().parents[2] / "shared/data"


def main() -> None:
    for text in sorted((SHARED / "text").glob("*.txt.gz")):
        corpus = open_corpus([text])
        pieces: Counter[str] = Counter()
        for passage in corpus.passages():
            pieces.update(passage.text.split())
        for casing in ("uncased", "cased"):
            old = build_tokenizer(read_tokens(SHARED / f"vocab/bert-base-{casing}.txt"))
            splitter, vocabulary = Splitter.bert(lowercase=casing == "uncased"), vocabulary_of(old)
            counts = count_words(corpus, splitter).counts
            added = [
                word
                for word, n in counts.items()
                if n >= 5 and word not in vocabulary and splitter.leaves_unchanged(word)
            ]
            found = measure_departures(
                vocabulary, WORDPIECE.add_exact_words(old, added), splitter, pieces
            )
            print(
                f"{text.name:32} {casing:8} {len(added):>7,} words added, {len(pieces):>9,}"
                f" distinct strings: {found.missed + found.other:,} departures in"
                f" {found.added_words:,} occurrences ({found.share:.5f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
