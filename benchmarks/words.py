"""Counting the words of a corpus: speed against the pure-Python BasicTokenizer in the same process,
correctness, memory.

    python benchmarks/words.py [--megabytes 100] [--gigabyte] [--planes] [--workers 2]

Text: ../shared/data/text/biomedical-fulltext.txt.gz, unpacked to a temporary file. Prints one line
of JSON per measurement: count_words (target: ratio 14) and write_sentences (target: 9 MB/s) against
the baseline on a slice, best of three alternating runs; whether the counts equal those of the
tokenizer's normalizer and pre-tokenizer on whole lines; the peak memory of a new process (target: 600
MB); byte-level BPE pre-tokens against counting line by line. --gigabyte adds the peak memory on 1 GB of
text with many distinct words; --planes checks every
Unicode code point as `ab<c>cd`, `a <c>` and `<c> a`. --workers: counting by so many processes, against
one, on the text and on three times as much (target: ratio 1.7 with two), plain and compressed; `path_ratio` is computed from
processor time, as if the processes never waited for a core or for each other: it depends less on other
load than the clock.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vocadapt.text.corpus import open_corpus  # noqa: E402
from vocadapt.text.counting import LineCounter, build_word_counter  # noqa: E402
from vocadapt.text.shards import add_counts, count_words_in_parallel  # noqa: E402
from vocadapt.text.words import Splitter, WordCounts, count_words, write_sentences  # noqa: E402
from vocadapt.vocabulary.families import FAMILIES  # noqa: E402

TEXT = ROOT.parent / "shared" / "data" / "text" / "biomedical-fulltext.txt.gz"
SLICE = 2_000_000  # bytes for the baseline and the whole-line check
PEAK = """
import resource, sys
from pathlib import Path
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import Splitter, count_words, write_sentences
corpus = open_corpus([sys.argv[1]])
if sys.argv[2] == "count":
    count_words(corpus, Splitter.bert())
else:
    write_sentences(corpus, Splitter.bert(), Path(sys.argv[3]))
# ru_maxrss of the process itself would include the memory of its parent before the start
own = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print((own + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * 1.024 / 1000)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--gigabyte", action="store_true")
    parser.add_argument("--planes", action="store_true")
    parser.add_argument("--workers", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = unpack(Path(folder) / "text.txt", options.megabytes * 10**6)
        if options.workers:
            measure_workers(text, options.workers)
            return
        speed(text, Path(folder) / "sentences")
        byte_level(text, options.planes)
        memory("", text, Path(folder) / "sentences")
        whole_lines("a slice", start_of(text, SLICE), Path(folder) / "slice.txt")
        if options.planes:
            whole_lines("every code point", every_code_point(), Path(folder) / "planes.txt")
        if options.gigabyte:
            memory(
                " at 1 GB", enlarge(text, Path(folder) / "gigabyte.txt"), Path(folder) / "sentences"
            )


def unpack(path: Path, size: int) -> Path:
    """Unpack the first `size` bytes of the corpus, up to the end of a line."""
    with gzip.open(TEXT) as packed, path.open("wb") as file:
        file.write(packed.read(size))
        file.write(packed.readline())
    return path


def start_of(path: Path, size: int) -> list[str]:
    with path.open("rb") as file:
        return file.read(size).decode("utf-8", "ignore").split("\n")


def every_code_point() -> list[str]:
    codes = (code for code in [*range(1, 0x110000), 0] if not 0xD800 <= code < 0xE000)
    characters = [chr(code) for code in codes if chr(code) not in "\r\n"]
    lines = [(f"ab{one}cd", f"a {one}", f"{one} a") for one in characters]
    return [line for three in lines for line in three]


def speed(text: Path, sentences: Path, repeats: int = 3) -> None:
    corpus, splitter, lines = open_corpus([text]), Splitter.bert(), start_of(text, SLICE)
    size = sum(len(line.encode()) + 1 for line in lines)
    works: dict[str, tuple[int, Callable[[], object]]] = {
        "BasicTokenizer": (size, lambda: basic_tokenizer(lines)),
        "count_words": (corpus.bytes, lambda: count_words(corpus, splitter)),
        "write_sentences": (corpus.bytes, lambda: write_sentences(corpus, splitter, sentences)),
    }
    basic_tokenizer(lines[:1])  # imports
    runs = [{name: rates(*work) for name, work in works.items()} for _ in range(repeats)]
    best = {name: [max(run[name][clock] for run in runs) for clock in range(2)] for name in works}
    basic, basic_cpu = best["BasicTokenizer"]
    for name, (wall, cpu) in best.items():
        show(name, mb_per_s=wall, ratio=wall / basic, cpu_ratio=cpu / basic_cpu)


def byte_level(text: Path, planes: bool) -> None:
    """Count byte-level BPE pre-tokens, compared with counting line by line."""
    splitter = FAMILIES["byte-level-bpe"].make_training_splitter(lowercase=False)
    lines = start_of(text, SLICE)
    if planes:
        lines += every_code_point()
    block = "".join(f"{line}\n" for line in lines)
    corpus, slow, fast = open_corpus([text]), LineCounter(splitter), build_word_counter(splitter)
    line_wall, line_cpu = rates(len(block.encode()), lambda: slow.count(block))
    wall, cpu = rates(corpus.bytes, lambda: count_words(corpus, splitter))
    fast.count(block)
    identical = +fast.word_counts() == +slow.word_counts()
    ratios = {"ratio": wall / line_wall, "cpu_ratio": cpu / line_cpu}
    show("count_words, byte-level BPE", mb_per_s=wall, **ratios, identical=identical)


def basic_tokenizer(lines: list[str]) -> Counter[str]:
    from transformers.models.bert.tokenization_bert_legacy import BasicTokenizer

    basic = BasicTokenizer()
    return Counter(word for line in lines for word in basic.tokenize(line))


def rates(size: int, work: Callable[[], object]) -> tuple[float, float]:
    """Return the MB per second of wall time and of CPU time (which depends less on other load)."""
    start, start_cpu = time.perf_counter(), time.process_time()
    work()
    return size / 1e6 / (time.perf_counter() - start), size / 1e6 / (
        time.process_time() - start_cpu
    )


def measure_workers(text: Path, workers: int, repeats: int = 2) -> None:
    """Compare counting by several processes with counting by one, on the clock and by processor
    time.
    """
    large, packed = text.with_name("large.txt"), text.with_name("text.txt.gz")
    with large.open("wb") as file:
        for line in varied(text):
            file.write(line.encode())
            if file.tell() >= 3 * text.stat().st_size:
                break
    packed.write_bytes(gzip.compress(text.read_bytes(), 6))
    for name, path in (("plain", text), ("compressed", packed), ("three times as much", large)):
        corpus, splitter = open_corpus([path]), Splitter.bert()
        ones, severals, equal = [], [], True
        for _ in range(repeats):
            one, counts = measure_count(partial(count_words, corpus, splitter))
            several, sharded = measure_count(
                partial(count_words_in_parallel, corpus, splitter, workers)
            )
            equal &= list(counts.counts.items()) == list(sharded.counts.items())
            ones.append(one)
            severals.append(several)
        (wall, own, _), (wall_2, own_2, others) = min(ones), min(severals)
        # What is not counted by several processes: the merge, measured alone.
        half = replace(counts, counts=dict(list(counts.counts.items())[::2]))
        (_, merging, _), _ = measure_count(partial(add_counts, [counts, half], corpus))
        path_time = (own_2 - merging + others) / workers + merging
        show(
            f"{workers} processes, {name}",
            megabytes=path.stat().st_size / 1e6,
            seconds=wall_2,
            seconds_of_one=wall,
            ratio=wall / wall_2,
            path_ratio=own / path_time,
            identical=equal,
        )


def measure_count(work: Callable[[], WordCounts]) -> tuple[tuple[float, float, float], WordCounts]:
    """Return the seconds on the clock, those of this processor and of other processes, and the
    counts.
    """
    start, before = time.perf_counter(), os.times()
    counts = work()
    after, wall = os.times(), time.perf_counter() - start
    own = after.user + after.system - before.user - before.system
    children = after.children_user + after.children_system
    others = children - before.children_user - before.children_system
    return (wall, own, others), counts


def whole_lines(name: str, lines: list[str], path: Path) -> None:
    """Compare counts with the tokenizer's own normalizer and pre-tokenizer on whole lines, uncased
    and cased.
    """
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    for lowercase in (True, False):
        normalize, split = (
            BertNormalizer(lowercase=lowercase).normalize_str,
            BertPreTokenizer().pre_tokenize_str,
        )
        expected = Counter(word for line in lines for word, _ in split(normalize(line)))
        counts = count_words(open_corpus([path]), Splitter.bert(lowercase)).counts
        label = f"identity on {name}, {'uncased' if lowercase else 'cased'}"
        show(
            label,
            lines=len(lines),
            words=sum(expected.values()),
            identical=dict(counts) == dict(expected),
        )


def memory(name: str, text: Path, sentences: Path) -> None:
    """Print the peak memory of a new process, including its children."""
    for work in ("count", "write"):
        command = [sys.executable, "-c", PEAK, str(text), work, str(sentences)]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        show(
            f"peak memory, {work}{name}",
            megabytes=text.stat().st_size / 1e6,
            peak_mb=float(result.stdout),
            target_mb=600,
        )


def enlarge(text: Path, path: Path, size: int = 10**9) -> Path:
    """Write a gigabyte of repeated text in which every twentieth word is new at each repetition, so
    the tables grow.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        for line in varied(text):
            file.write(line)
            if file.tell() >= size:
                return path
    return path


def varied(text: Path) -> Iterator[str]:
    repetition = 0
    while True:
        with text.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                words = line.rstrip("\n").split(" ")
                words[::20] = [f"{word}{repetition or ''}" for word in words[::20]]
                yield " ".join(words) + "\n"
        repetition += 1


def show(name: str, **values: float | bool) -> None:
    rounded = {
        key: round(value, 2) if isinstance(value, float) else value for key, value in values.items()
    }
    print(json.dumps({"measured": name} | rounded), flush=True)


if __name__ == "__main__":
    main()
