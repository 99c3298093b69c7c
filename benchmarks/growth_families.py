"""The speed of growth studies of WordPiece, byte-level BPE and Unigram vocabularies, from counts.

A study measures the length of a text under 21 vocabularies: the removal orders last, freq and random,
and 7 fractions to keep. For BPE, the orders are those of `leaf_pruning`. Its time includes the table
of the words, the removal orders and all 21 lengths; the pre-tokens are counted before.

Baseline: for each of the 21 vocabularies, tokenize the same text with the tokenizers library, as
`Tokenizer.encode_batch_fast` without special tokens on as many threads as it chooses, one line each,
with the model's own normalizer and pre-tokenizer. It is timed for one vocabulary of each removal
order, on the first characters of the text, and scaled by length and number. Building the tokenizer is
not counted. The number of tokens is compared with that of the table.

Processor time does not depend on what else runs; on idle cores, the library's threads divide the time
of the baseline by their number, but not its processor time.
"""

import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

from benchmarks._figures import SHARED, Figure, run
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import read_tokenizer, vocabulary_of, wordpiece
from vocadapt.vocabulary.families.tables.leaf_pruning import order_leaf_removals
from vocadapt.vocabulary.families.tables.merge_table import build_merge_table
from vocadapt.vocabulary.families.tables.segmentation_table import build_segmentation_table
from vocadapt.vocabulary.growth.growth import Reducer
from vocadapt.vocabulary.lens import count_text
from vocadapt.vocabulary.plan.reduction import list_removable_ids
from vocadapt.vocabulary.vocabulary import Ints, Mask, WordTable

TEXT, FULL_TEXT, SLICE = "biomedical-abstracts", "biomedical-fulltext", 10_000_000
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


def measure(full: bool) -> Iterator[Figure]:
    """Study a text of 8.6 MB, with --full one of 102 MB."""
    name = FULL_TEXT if full else TEXT
    with gzip.open(SHARED / f"text/{name}.txt.gz", "rt", encoding="utf-8") as file:
        text = file.read()
    for load in (load_wordpiece, load_bpe, load_unigram):
        yield compare(load(), text)


def compare(family: Family, text: str) -> Figure:
    """Time the study, and tokenizations of a slice of the text."""
    counts = family.count(text)
    start = time.process_time()
    table = family.build_table(counts)
    masks = dict(list_vocabularies(family, table))
    for mask in masks.values():
        table.count_tokens(mask)
    studying = time.process_time() - start
    # The baseline, on the first characters of the text.
    lines = text[:SLICE].split("\n")
    part = family.build_table(family.count("\n".join(lines)))
    seconds, is_equal = [], True
    for order in ORDERS:
        mask = masks[order, TIMED_KEEP]
        tokenizer = family.build_tokenizer(mask)
        start = time.process_time()
        encodings = tokenizer.encode_batch_fast(lines, add_special_tokens=False)
        seconds.append(time.process_time() - start)
        is_equal &= sum(map(len, encodings)) == part.count_tokens(mask)
    scale = len(text) / len("\n".join(lines)) * len(masks)
    return Figure(
        f"{family.name}, {len(masks)} vocabularies",
        (studying,),
        "CPU s",
        tuple(one * scale for one in seconds),
        "tokenizations",
        speed=True,
        target=TARGET,
        at_least=True,
        note=f"numbers of tokens {'equal' if is_equal else 'NOT EQUAL'}",
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


def load_wordpiece() -> Family:
    vocabulary = vocabulary_of(read_tokenizer(SHARED / "vocab/bert-base-uncased.txt"))

    def build_tokenizer(removed: Mask) -> Tokenizer:
        kept = tuple(vocabulary.tokens[i] for i in np.flatnonzero(~removed))
        tokenizer = wordpiece.build_tokenizer(kept, lowercase=True)
        tokenizer.encode_special_tokens = True  # a literal [PAD] is tokenized as text
        return tokenizer

    return Family(
        "WordPiece (BERT)",
        len(vocabulary),
        np.array(list_removable_ids(vocabulary, False)),
        lambda text: Counter(count_text(text, Splitter.bert())),
        lambda counts: Reducer(vocabulary, counts).table,
        lambda ranking: ranking,
        build_tokenizer,
    )


def load_bpe() -> Family:
    folder = SHARED / "tokenizers/gpt2-bpe"
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
    path = SHARED / "tokenizers/spm-unigram/tokenizer.json"
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
    sys.exit(run(measure))
