"""The time of a trim of a 250 000-token Unigram vocabulary to a text of 100 MB, after counting.

    python benchmarks/trim.py [--text NAME] [--tokens N] [--cover X] [--bytes N]

Needs ../shared/data. The vocabulary is synthetic: the pieces of a real SentencePiece model, and then
the most frequent pre-tokens of the text and their beginnings and ends, with scores that fall with
their rank, and after them pieces of characters that the text does not have, as the pieces of other
scripts in a multilingual model.

Baseline, in the same process: the same text tokenized once by the tokenizers library with the same
vocabulary (`encode_batch_fast`, on as many threads as it chooses), which is what counting the tokens
without pre-token counts would need. It is timed on the first characters of the text (--slice) and
scaled.
"""

import argparse
import gzip
import math
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vocadapt.text.corpus import open_corpus  # noqa: E402
from vocadapt.text.words import count_words  # noqa: E402
from vocadapt.vocabulary.families import family_of, vocabulary_of  # noqa: E402
from vocadapt.vocabulary.families.files.tokenizer_json import from_json, to_json  # noqa: E402
from vocadapt.vocabulary.plan.plan import PlanSettings  # noqa: E402
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary  # noqa: E402
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer  # noqa: E402
from vocadapt.vocabulary.plan.trim_lines import (  # noqa: E402
    count_changed_lines,
    read_added_token_lines,
)

DATA = ROOT.parent / "shared" / "data"
TARGET = 60.0  # seconds
FOREIGN = 0x4E00  # first character of the pieces that the text does not have
LONGEST = 16  # characters of a piece


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", default="biomedical-fulltext")
    parser.add_argument("--tokens", type=int, default=250_000)
    parser.add_argument("--cover", type=float, default=0.9999)
    parser.add_argument("--bytes", type=int, default=102_000_000)
    parser.add_argument("--slice", type=int, default=4_000_000)
    options = parser.parse_args()
    with gzip.open(DATA / f"text/{options.text}.txt.gz", "rt", encoding="utf-8") as file:
        text = file.read(options.bytes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_text(text, encoding="utf-8")
        run(path, text, options)


def run(path: Path, text: str, options: argparse.Namespace) -> None:
    """Count, build the vocabulary, trim it, and print the time of each stage."""
    corpus = open_corpus([path])
    tokenizer = Tokenizer.from_file(str(DATA / "tokenizers/spm-unigram/tokenizer.json"))
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    start = time.perf_counter()
    counts = count_words(corpus, splitter).counts
    print(f"counting: {time.perf_counter() - start:.1f} s, {len(counts):,} distinct pre-tokens")
    tokenizer = widen(tokenizer, counts, options.tokens)
    vocabulary = vocabulary_of(tokenizer)
    print(f"{len(vocabulary):,} tokens, {path.stat().st_size / 1e6:.0f} MB of text")

    # 1. The trim, stage by stage.
    clock = Clock()
    added = read_added_token_lines(corpus, tokenizer, splitter)
    clock.stop("lines with added tokens")
    rest = added.subtract_from(counts)
    sources = PlanSources(counts=rest, mode="replacement", token_counts=added.tokens)
    plan = plan_vocabulary(vocabulary, splitter, sources, PlanSettings("trim", cover=options.cover))
    clock.stop("plan")
    after = adapt_tokenizer(tokenizer, plan, "replacement")
    clock.stop("new tokenizer")
    lines = count_changed_lines(corpus, plan, tokenizer, after)
    clock.stop("lines that change")
    assert plan.trim is not None
    print(
        f"{len(plan.tokens):,} tokens kept, {plan.trim.coverage:.4%} of the text;"
        f" {lines.changed:,} of {lines.lines:,} lines change"
    )

    # 2. The baseline.
    part = text[: options.slice].splitlines()
    baseline = Clock()
    tokenizer.encode_batch_fast(part, add_special_tokens=False)
    baseline.stop("one tokenization of the slice")
    factor = len(text) / max(sum(map(len, part)), 1)
    print(
        f"trim: {clock.wall:.1f} s (target {TARGET:.0f} s), {clock.processor:.1f} s of processor time"
    )
    print(
        f"baseline, one tokenization of the text: {baseline.wall * factor:.1f} s,"
        f" {baseline.processor * factor:.1f} s of processor time"
    )
    print(f"ratio of processor time: {baseline.processor * factor / clock.processor:.2f}")


class Clock:
    """Measures and prints the time of stages that follow each other."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0
        self.last = time.perf_counter(), time.process_time()

    def stop(self, stage: str) -> None:
        """End a stage, and begin the next one."""
        now = time.perf_counter(), time.process_time()
        wall, processor = now[0] - self.last[0], now[1] - self.last[1]
        print(f"  {stage}: {wall:.1f} s, {processor:.1f} s of processor time")
        self.wall += wall
        self.processor += processor
        self.last = time.perf_counter(), time.process_time()


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
    main()
