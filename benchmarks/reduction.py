"""Reduction: how fast the study of growth is, and whether our heuristic gives less growth than the published ones.

    python benchmarks/reduction.py [--speed] [--growth]          (both without options; seeds 1 2 3 for random)

Needs ../shared/data. --speed: the study of 4 heuristics × 3 shares on biomedical-fulltext under BERT's vocabulary, against twelve
re-tokenizations with the fast tokenizer; one of these is timed on the first 20 million characters and scaled by length, and its
total there is compared. --growth: the order of leaving is chosen on the first half of biomedical-fulltext, growth measured on
the other half and on three other domains (second halves); a * marks where `cost` is not the best of all. PubMedBERT keeps a
quarter only if ## counts in lengths (8 512 of its tokens must stay otherwise): its last column is measured with --count-marks.
"""

import argparse
import gzip
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vocadapt.text.corpus import open_corpus  # noqa: E402
from vocadapt.text.splitter import Splitter  # noqa: E402
from vocadapt.text.words import count_words  # noqa: E402
from vocadapt.vocabulary.growth import KEEPS, SEEDS, Reducer, study  # noqa: E402
from vocadapt.vocabulary.lens import count_text  # noqa: E402
from vocadapt.vocabulary.recut import mask_of  # noqa: E402
from vocadapt.vocabulary.reduction import PUBLISHED, REDUCTIONS, ReductionSettings, dropped  # noqa: E402
from vocadapt.vocabulary.wordpiece import read_tokenizer, tokenizer_of_tokens, vocabulary_of  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
CHOSEN = "biomedical-fulltext"
OTHERS = ("legal-contracts", "general-wikipedia", "general-reviews")
SLICE = 20_000_000  # characters of the one re-tokenization that is timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--growth", action="store_true")
    options = parser.parse_args()
    if options.speed or not options.growth:
        speed()
    if options.growth or not options.speed:
        for name in ("bert-base-uncased", "pubmedbert-abstract-fulltext"):
            growth(name)


def text_of(name: str) -> str:
    return gzip.open(DATA / f"text/{name}.txt.gz", "rt", encoding="utf-8").read()


def halves(name: str) -> tuple[dict[str, int], dict[str, int]]:
    lines = text_of(name).split("\n")
    middle = len(lines) // 2
    return tuple(count_text("\n".join(part), Splitter.bert()) for part in (lines[:middle], lines[middle:]))  # type: ignore[return-value]


def speed() -> None:
    vocabulary = vocabulary_of(read_tokenizer(DATA / "vocab/bert-base-uncased.txt"))
    start = time.perf_counter()
    counts = count_words(open_corpus([DATA / f"text/{CHOSEN}.txt.gz"]), Splitter.bert()).counts
    counting = time.perf_counter() - start
    start = time.perf_counter()
    study(Reducer(vocabulary, counts), PUBLISHED, KEEPS, SEEDS[:1])
    studying = time.perf_counter() - start
    text = text_of(CHOSEN)
    gone = set(dropped(vocabulary, ReductionSettings("last", 0.5)))
    tokenizer = tokenizer_of_tokens(tuple(token for token in vocabulary.tokens if token not in gone), lowercase=True)
    tokenizer.encode_special_tokens = True  # a [PAD] that the text spells out is text here, as it is for the counts
    lines = text[:SLICE].split("\n")
    start = time.perf_counter()
    total = sum(map(len, tokenizer.encode_batch_fast(lines, add_special_tokens=False)))
    once = (time.perf_counter() - start) * len(text) / SLICE
    ours = Reducer(vocabulary, count_text("\n".join(lines), Splitter.bert())).table.total(mask_of(vocabulary, gone))
    twelve = 12 * once
    print(f"counting {counting:.1f} s, study {studying:.2f} s; twelve re-tokenizations {twelve:.0f} s (scaled)")
    raw = twelve / (counting + studying)
    print(f"ratio with counts kept {twelve / studying:.0f} (wanted 100), from raw text {raw:.0f} (wanted 30)")
    print(f"totals on that slice: {ours:,} and {total:,}, {'equal' if ours == total else 'NOT EQUAL'}")


def growth(name: str) -> None:
    vocabulary = vocabulary_of(read_tokenizer(DATA / f"vocab/{name}.txt"))
    first, second = halves(CHOSEN)
    judged = {f"{CHOSEN}, 2nd half": second} | {other: halves(other)[1] for other in OTHERS}
    chooser, judges = Reducer(vocabulary, first), {text: Reducer(vocabulary, counts) for text, counts in judged.items()}
    print(f"\n{name}: chosen on the first half of {CHOSEN}; growth in percent at {', '.join(f'{keep:.0%}' for keep in KEEPS)}")
    table: dict[tuple[str, str], list[float]] = {}
    for heuristic in REDUCTIONS:
        for keep in KEEPS:
            marks = name.startswith("pubmed") and keep == 0.25
            seeds = SEEDS if heuristic == "random" else SEEDS[:1]
            gone = [chooser.gone(ReductionSettings(heuristic, keep, seed, marks)) for seed in seeds]
            for text, judge in judges.items():
                mean = sum(judge.table.total(mask) for mask in gone) / len(gone)
                table.setdefault((heuristic, text), []).append(100 * (mean / judge.tokens - 1))
    for text in judges:
        print(f"  {text}")
        for heuristic in REDUCTIONS:
            cells = table[heuristic, text]
            best = [min(table[rival, text][k] for rival in PUBLISHED) for k in range(len(KEEPS))]
            marks = ["*" if heuristic == "cost" and cell >= rival else " " for cell, rival in zip(cells, best, strict=True)]
            print(f"    {heuristic:8s}" + "".join(f"{cell:9.3f}{mark}" for cell, mark in zip(cells, marks, strict=True)))


if __name__ == "__main__":
    main()
