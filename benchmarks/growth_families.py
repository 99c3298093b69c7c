"""The speed of growth studies of byte-level BPE and Unigram vocabularies, from counts.

    python benchmarks/growth_families.py [--family bpe|unigram] [--text NAME] [--slice CHARACTERS]

Needs ../shared/data.

A study measures the length of a text (biomedical-fulltext, 102 MB) under 21 vocabularies: the removal orders
last, freq and random, and 7 fractions to keep. For BPE, the orders are those of `leaf_pruning`. Its
time includes the table of the words, the removal orders and all 21 lengths; the counting of
pre-tokens is timed separately.

Baseline: for each of the 21 vocabularies, tokenize the same text with the tokenizers library, as
`Tokenizer.encode_batch_fast` without special tokens on as many threads as it chooses, one line each,
with the model's own normalizer and pre-tokenizer. It is timed for one vocabulary of each removal
order, on the first characters of the text (--slice), and scaled by length and number. Building the
tokenizer is not counted. The number of tokens is compared with that of the table.

The ratio of processor time does not depend on what else runs; on idle cores, the library's threads
divide the time of the baseline by their number, but not its processor time.
"""

import argparse
import gzip
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vocadapt.vocabulary.families.tables.leaf_pruning import order_leaf_removals  # noqa: E402
from vocadapt.vocabulary.families.tables.merge_table import build_merge_table  # noqa: E402
from vocadapt.vocabulary.families.tables.segmentation_table import build_segmentation_table  # noqa: E402
from vocadapt.vocabulary.vocabulary import Ints, Mask, WordTable  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
TEXT = "biomedical-fulltext"
KEEPS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
ORDERS = ("last", "freq", "random")
TIMED_KEEP = 0.6
TARGET = 50


@dataclass(frozen=True)
class Family:
    """What a study needs.

    count: pre-tokens of a text. build_table: from their counts.
    order_removals: sorts token ids into an order in which they can be removed.
    build_tokenizer: the tokenizer without some tokens, by the tokenizers library.
    """

    name: str
    size: int
    removable: Ints
    count: Callable[[str], Counter[str]]
    build_table: Callable[[Counter[str]], WordTable]
    order_removals: Callable[[Ints], Ints]
    build_tokenizer: Callable[[Mask], Tokenizer]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", choices=("bpe", "unigram"))
    parser.add_argument("--text", default=TEXT, help="a text of ../shared/data/text")
    parser.add_argument("--slice", type=int, default=10_000_000)
    options = parser.parse_args()
    with gzip.open(DATA / f"text/{options.text}.txt.gz", "rt", encoding="utf-8") as file:
        text = file.read()
    print(f"{options.text}: {len(text):,} characters; {os.cpu_count()} processor cores")
    families = {"bpe": load_bpe, "unigram": load_unigram}
    for name, load in families.items():
        if options.family in (None, name):
            compare(load(), text, min(options.slice, len(text)))


def compare(family: Family, text: str, slice_size: int) -> None:
    """Print the time of the study and of the baseline."""
    start = time.perf_counter()
    counts = family.count(text)
    counting = time.perf_counter() - start
    start, processor_start = time.perf_counter(), time.process_time()
    table = family.build_table(counts)
    masks = dict(list_vocabularies(family, table))
    lengths = {key: table.count_tokens(mask) for key, mask in masks.items()}
    studying = time.perf_counter() - start
    studying_processor = time.process_time() - processor_start
    total = table.count_tokens()
    print(f"\n{family.name}: {len(counts):,} distinct pre-tokens, {total:,} tokens")
    for order in ORDERS:
        growths = [f"{lengths[order, keep] / total - 1:8.1%}" for keep in KEEPS]
        print(f"  growth by {order:7}{''.join(growths)}")
    # The baseline, on the first characters of the text.
    lines = text[:slice_size].split("\n")
    part = family.build_table(family.count("\n".join(lines)))
    seconds, processor_seconds, is_equal = [], [], True
    for order in ORDERS:
        mask = masks[order, TIMED_KEEP]
        tokenizer = family.build_tokenizer(mask)
        start, processor_start = time.perf_counter(), time.process_time()
        encodings = tokenizer.encode_batch_fast(lines, add_special_tokens=False)
        seconds.append(time.perf_counter() - start)
        processor_seconds.append(time.process_time() - processor_start)
        n_tokens = sum(map(len, encodings))
        is_equal &= n_tokens == part.count_tokens(mask)
        print(f"  tokens of the slice by {order}: {part.count_tokens(mask):,} and {n_tokens:,}")
    scale = len(text) / slice_size * len(masks)
    baseline = float(np.mean(seconds)) * scale
    processor_ratio = float(np.mean(processor_seconds)) * scale / studying_processor
    print(
        f"  {len(masks)} vocabularies: study {studying:.1f} s, {len(masks)} re-tokenizations"
        f" {baseline:.0f} s (scaled from {', '.join(f'{one:.1f}' for one in seconds)} s);"
        f" counting {counting:.1f} s; totals {'equal' if is_equal else 'NOT EQUAL'}"
    )
    print(
        f"  ratio from counts {baseline / studying:.0f} (target {TARGET}), from raw text"
        f" {baseline / (counting + studying):.0f}; of processor time from counts {processor_ratio:.0f}"
    )


def list_vocabularies(family: Family, table: WordTable) -> Iterator[tuple[tuple[str, float], Mask]]:
    """Return a mask of removed tokens for each removal order and fraction to keep."""
    occurrences = table.count_occurrences(table.tokenize())[family.removable]
    rankings = {
        "last": family.removable[::-1],
        "freq": family.removable[np.argsort(occurrences, kind="stable")],
        "random": np.random.default_rng(1).permutation(family.removable),
    }
    for name in ORDERS:
        order = family.order_removals(rankings[name])
        for keep in KEEPS:
            removed = np.zeros(family.size, dtype=np.bool_)
            removed[order[: family.size - round(keep * family.size)]] = True
            yield (name, keep), removed


def load_bpe() -> Family:
    folder = DATA / "tokenizers/gpt2-bpe"
    ids: dict[str, int] = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    rows = (folder / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
    merges = [(row.split(" ")[0], row.split(" ")[1]) for row in rows if row]
    tokens = sorted(ids, key=ids.__getitem__)
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False)

    def count(text: str) -> Counter[str]:
        # A pre-token has no space after its first character, unless several spaces follow.
        chunks: Counter[str] = Counter()
        for line in text.split("\n"):
            if "  " in line or line.endswith(" "):
                chunks[line] += 1
                continue
            first, *others = line.split(" ")
            chunks.update([first, *(f" {chunk}" for chunk in others)])
        return count_in_chunks(chunks, splitter.pre_tokenize_str)

    def order_removals(ranking: Ints) -> Ints:
        ranked = [tokens[i] for i in ranking.tolist()]
        order = order_leaf_removals(merges, ranked, tokens)
        return np.array([ids[token] for token in order], dtype=np.int64)

    def build_tokenizer(removed: Mask) -> Tokenizer:
        kept = {token: i for token, i in ids.items() if not removed[i]}
        kept_merges = [pair for pair in merges if "".join(pair) in kept]
        tokenizer = Tokenizer(models.BPE(kept, kept_merges))
        tokenizer.pre_tokenizer = splitter
        return tokenizer

    removable = [i for token, i in ids.items() if len(token) > 1 and not token.startswith("<|end")]
    return Family(
        "byte-level BPE (GPT-2)",
        len(ids),
        np.sort(np.array(removable)),
        count,
        lambda counts: build_merge_table(ids, merges, counts),
        order_removals,
        build_tokenizer,
    )


def load_unigram() -> Family:
    path = DATA / "tokenizers/spm-unigram/tokenizer.json"
    base = Tokenizer.from_file(str(path))
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    pieces: list[tuple[str, float]] = [(text, score) for text, score in model["vocab"]]
    unknown: int = model["unk_id"]

    def pre_tokenize(chunk: str) -> Sequence[tuple[str, tuple[int, int]]]:
        found: Sequence[tuple[str, tuple[int, int]]] = base.pre_tokenizer.pre_tokenize_str(
            base.normalizer.normalize_str(chunk)
        )
        return found

    def build_tokenizer(removed: Mask) -> Tokenizer:
        kept = np.flatnonzero(~removed).tolist()
        tokenizer = Tokenizer(models.Unigram([pieces[i] for i in kept], unknown, False))
        tokenizer.normalizer, tokenizer.pre_tokenizer = base.normalizer, base.pre_tokenizer
        return tokenizer

    removable = [i for i, (piece, _) in enumerate(pieces) if len(piece) > 1 and i > unknown]
    return Family(
        "Unigram (SentencePiece)",
        len(pieces),
        np.array(removable),
        lambda text: count_in_chunks(Counter(text.split()), pre_tokenize),
        lambda counts: build_segmentation_table(pieces, counts, unknown=unknown),
        lambda ranking: ranking,
        build_tokenizer,
    )


def count_in_chunks(
    chunks: Counter[str], split: Callable[[str], Sequence[tuple[str, tuple[int, int]]]]
) -> Counter[str]:
    """Count the pre-tokens of chunks that occur several times."""
    counts: Counter[str] = Counter()
    for chunk, occurrences in chunks.items():
        for pretoken, _ in split(chunk):
            counts[pretoken] += occurrences
    return counts


if __name__ == "__main__":
    main()
