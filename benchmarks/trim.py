"""Processor seconds of trimming a vocabulary of 250,000 tokens to a text, after counting its words,
against one tokenization of the text.

The vocabulary is synthetic: the pieces of a real SentencePiece model, and then
the most frequent pre-tokens of the text and their beginnings and ends, with scores that fall with
their rank, and after them pieces of characters that the text does not have, as the pieces of other
scripts in a multilingual model.

Baseline, in the same process: the same text tokenized once by the tokenizers library with the same
vocabulary (`encode_batch_fast`, on as many threads as it chooses), which is what counting the tokens
without pre-token counts would need. It is timed on the first characters of the text and scaled.
"""

import gzip
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer

from benchmarks._figures import SHARED, Figure, run
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import count_words
from vocadapt.vocabulary.families import family_of, vocabulary_of
from vocadapt.vocabulary.families.files.tokenizer_json import from_json, to_json
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer
from vocadapt.vocabulary.plan.trim_lines import (
    count_changed_lines,
    read_added_token_lines,
)

TEXT, FULL_TEXT, BYTES, SLICE = (
    "biomedical-abstracts",
    "biomedical-fulltext",
    102_000_000,
    4_000_000,
)
TOKENS, COVER = 250_000, 0.9999
FOREIGN = 0x4E00  # first character of the pieces that the text does not have
LONGEST = 16  # characters of a piece


def measure(full: bool) -> Iterator[Figure]:
    """Trim to a text of 8.6 MB, with --full to one of 102 MB."""
    with gzip.open(
        SHARED / f"text/{FULL_TEXT if full else TEXT}.txt.gz", "rt", encoding="utf-8"
    ) as file:
        text = file.read(BYTES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_text(text, encoding="utf-8")
        yield trim(path, text)


def trim(path: Path, text: str) -> Figure:
    """Count, build the vocabulary and trim it; then tokenize a slice of the text."""
    corpus = open_corpus([path])
    tokenizer = Tokenizer.from_file(str(SHARED / "tokenizers/spm-unigram/tokenizer.json"))
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    counts = count_words(corpus, splitter).counts
    tokenizer = widen(tokenizer, counts, TOKENS)
    vocabulary = vocabulary_of(tokenizer)

    # 1. The trim: lines with added tokens, the plan, the new tokenizer, the lines that change.
    start = time.process_time()
    added = read_added_token_lines(corpus, tokenizer, splitter)
    rest = added.subtract_from(counts)
    sources = PlanSources(counts=rest, mode="replacement", token_counts=added.tokens)
    plan = plan_vocabulary(vocabulary, splitter, sources, PlanSettings("trim", cover=COVER))
    after = adapt_tokenizer(tokenizer, plan, "replacement")
    lines = count_changed_lines(corpus, plan, tokenizer, after)
    trimming = time.process_time() - start
    assert plan.trim is not None

    # 2. The baseline.
    part = text[:SLICE].splitlines()
    start = time.process_time()
    tokenizer.encode_batch_fast(part, add_special_tokens=False)
    once = (time.process_time() - start) * len(text) / max(sum(map(len, part)), 1)
    note = f"{len(plan.tokens):,} of {len(vocabulary):,} tokens kept, {plan.trim.coverage:.4%} of the text"
    return Figure(
        f"trim to {path.stat().st_size / 1e6:.0f} MB",
        (trimming,),
        "CPU s",
        (once,),
        "one tokenization",
        note=f"{note}; {lines.changed:,} of {lines.lines:,} lines change",
    )


def widen(tokenizer: Tokenizer, counts: dict[str, int], size: int) -> Tokenizer:
    """Return a copy with up to `size` tokens: see the docstring of the module."""
    content = to_json(tokenizer)
    pieces = dict(map(tuple, content["model"]["vocab"]))
    # 1. Frequent pre-tokens, their beginnings and their ends.
    found: Counter[str] = Counter()
    for pretoken, count in counts.items():
        for length in range(2, min(len(pretoken), LONGEST) + 1):
            found[pretoken[:length]] += count
            found[pretoken[-length:]] += count
    own = (piece for piece, _ in found.most_common() if piece not in pieces)
    # 2. Pieces of another script.
    n_own = (size - len(pieces)) // 2
    foreign = (chr(FOREIGN + n // 100) + chr(FOREIGN + n % 100) for n in range(4 * size))
    for new, wanted in ((own, len(pieces) + n_own), (foreign, size)):
        for piece in new:
            if len(pieces) >= wanted:
                break
            pieces.setdefault(piece, -math.log(len(pieces)) - 6)
    content["model"]["vocab"] = list(map(list, pieces.items()))
    return from_json(content)


if __name__ == "__main__":
    sys.exit(run(measure))
