"""Counting the words of a corpus: speed against the pure-Python BasicTokenizer, memory, several
processes, and byte-level BPE against counting line by line.

The counts must equal those of the tokenizer's normalizer and pre-tokenizer on whole lines. --full: on
100 MB instead of 20, and also the memory for 1 GB of text with many distinct words, every Unicode code
point as `ab<c>cd`, `a <c>` and `<c> a`, and two processes on three times the text and on compressed
text.
"""

import gzip
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from benchmarks._figures import SHARED, Figure, run, time_in_turn
from vocadapt.text.corpus import open_corpus
from vocadapt.text.counting import LineCounter, build_word_counter
from vocadapt.text.shards import count_words_in_parallel
from vocadapt.text.words import Splitter, count_words, write_sentences
from vocadapt.vocabulary.families import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
TEXT = SHARED / "text" / "biomedical-fulltext.txt.gz"
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


def measure(full: bool) -> Iterator[Figure]:
    """Count the words of the beginning of a text."""
    with tempfile.TemporaryDirectory() as folder:
        text = unpack(Path(folder) / "text.txt", (100 if full else 20) * 10**6)
        yield from measure_speed(text, Path(folder) / "sentences")
        yield measure_byte_level(text, full)
        yield from measure_memory("", text, Path(folder) / "sentences")
        yield compare_lines("a slice", start_of(text, SLICE), Path(folder) / "slice.txt")
        yield measure_workers("plain", text)
        if not full:
            return
        yield compare_lines("every code point", every_code_point(), Path(folder) / "planes.txt")
        packed = text.with_name("text.txt.gz")
        packed.write_bytes(gzip.compress(text.read_bytes(), 6))
        yield measure_workers("compressed", packed)
        yield measure_workers(
            "three times as much",
            enlarge(text, text.with_name("large.txt"), 3 * text.stat().st_size),
        )
        gigabyte = enlarge(text, Path(folder) / "gigabyte.txt", 10**9)
        yield from measure_memory(" of 1 GB", gigabyte, Path(folder) / "sentences")


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


def measure_speed(text: Path, sentences: Path) -> Iterator[Figure]:
    """Compare counting and writing with BasicTokenizer, in megabytes per second."""
    corpus, splitter, lines = open_corpus([text]), Splitter.bert(), start_of(text, SLICE)
    sizes = {
        "BasicTokenizer": sum(len(line.encode()) + 1 for line in lines),
        "count_words": corpus.bytes,
        "write_sentences": corpus.bytes,
    }
    basic_tokenizer(lines[:1])  # imports
    works: dict[str, Callable[[], object]] = {
        "BasicTokenizer": partial(basic_tokenizer, lines),
        "count_words": partial(count_words, corpus, splitter),
        "write_sentences": partial(write_sentences, corpus, splitter, sentences),
    }
    seconds = time_in_turn(works, 3)
    rates = {
        name: tuple(sizes[name] / 1e6 / one for one in values) for name, values in seconds.items()
    }
    for name, target in (("count_words", 14), ("write_sentences", None)):
        yield Figure(
            name,
            rates[name],
            "MB/s",
            rates["BasicTokenizer"],
            "BasicTokenizer",
            target=target,
            at_least=True,
        )


def measure_byte_level(text: Path, planes: bool) -> Figure:
    """Count byte-level BPE pre-tokens, compared with counting line by line."""
    splitter = FAMILIES["byte-level-bpe"].make_training_splitter(lowercase=False)
    lines = start_of(text, SLICE)
    if planes:
        lines += every_code_point()
    block = "".join(f"{line}\n" for line in lines)
    slow, fast = LineCounter(splitter), build_word_counter(splitter)
    works = {"lines": partial(slow.count, block), "ours": partial(fast.count, block)}
    seconds = time_in_turn(works, 1)
    identical = +fast.word_counts() == +slow.word_counts()
    return Figure(
        "byte-level BPE",
        seconds["ours"],
        baseline=seconds["lines"],
        against="line by line",
        speed=True,
        note="the same counts" if identical else "OTHER COUNTS",
    )


def basic_tokenizer(lines: list[str]) -> Counter[str]:
    from transformers.models.bert.tokenization_bert_legacy import BasicTokenizer

    basic = BasicTokenizer()
    return Counter(word for line in lines for word in basic.tokenize(line))


def measure_workers(name: str, path: Path) -> Figure:
    """Compare counting by two processes with counting by one."""
    corpus, splitter = open_corpus([path]), Splitter.bert()
    works = {
        "one": partial(count_words, corpus, splitter),
        "two": partial(count_words_in_parallel, corpus, splitter, 2),
    }
    one, two = (work() for work in works.values())
    seconds = time_in_turn(works, 2)
    identical = list(one.counts.items()) == list(two.counts.items())
    return Figure(
        f"two processes, {name}",
        seconds["two"],
        baseline=seconds["one"],
        against="one process",
        speed=True,
        target=1.7,
        at_least=True,
        note="the same counts" if identical else "OTHER COUNTS",
    )


def compare_lines(name: str, lines: list[str], path: Path) -> Figure:
    """Compare counts with the tokenizer's own normalizer and pre-tokenizer on whole lines, uncased
    and cased.
    """
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    differing = words = 0
    for lowercase in (True, False):
        normalize = BertNormalizer(lowercase=lowercase).normalize_str
        split = BertPreTokenizer().pre_tokenize_str
        expected = Counter(word for line in lines for word, _ in split(normalize(line)))
        counts = count_words(open_corpus([path]), Splitter.bert(lowercase)).counts
        differing += len(dict(counts).items() ^ dict(expected).items())
        words += sum(expected.values())
    return Figure(
        f"differing counts, {name}", (float(differing),), "", target=0, note=f"{words:,} words"
    )


def measure_memory(name: str, text: Path, sentences: Path) -> Iterator[Figure]:
    """Measure the peak memory of a new process, including its children."""
    for work in ("count", "write"):
        command = [sys.executable, "-c", PEAK, str(text), work, str(sentences)]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        yield Figure(f"peak memory, {work}{name}", (float(result.stdout),), "MB", target=600)


def enlarge(text: Path, path: Path, size: int) -> Path:
    """Write so many bytes of repeated text in which every twentieth word is new at each repetition, so
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


if __name__ == "__main__":
    sys.exit(run(measure))
