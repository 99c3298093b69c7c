"""Small files that would fill the memory when decompressed are refused or streamed, within 1.5
GB.

They are read in a separate process with that limit on its address space (RLIMIT_AS), each within
seconds."""

import gzip
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from vocadapt.errors import InputError
from vocadapt.system.files import MEGABYTE
from vocadapt.text.corpus import CorpusSettings

PASSAGES = 300  # looked at
LIMIT = 1536 * MEGABYTE
TIMES = 256  # members of a bomb, 8 MB each: 2 GB unpacked
SETTINGS = CorpusSettings(max_line_mb=4)  # the usual 64 would be as safe, and slower
LINES = "longer than 4 MB"
USUAL = "longer than 64 MB"
BOMBS: dict[
    str, tuple[bytes, bytes, str]
] = {  # file: how it begins, what is then repeated, the message
    "line.txt.gz": (b"one\n", b"a", f"line 2: {LINES}"),
    "zeros.txt.gz": (b"", b"\0", "binary file"),
    "line.jsonl.gz": (b'{"text": "one"}\n{"text": "', b"a", f"line 2: {LINES}"),
    "cell.csv.gz": (b'text,id\n"', b"a", LINES),
    "record.csv.gz": (b'text,id\n"', b"a\n", LINES),
    "cells.csv.gz": (b'text,id\n"', b'a\n","', LINES),
    "header.tsv.gz": (b"", b"text\t", f"line 1: {LINES}"),
    "text.xml.gz": (b"<article><body><p>", b"a", LINES),
    "markup.xml.gz": (b"<article><body><p>", b"<b>aaaaaaaa</b>", LINES),
    "article.xml.gz": (b"<article><body>", b"<p>" + b"a" * 1000 + b"</p>", LINES),
    "attribute.xml.gz": (b'<article><body a="', b"a", "a tag or a comment"),
    "comment.xml.gz": (b"<article><!--", b"a", "a tag or a comment"),
    "entity.xml.gz": (
        b'<!DOCTYPE article [<!ENTITY e "e">]><article><body><p>',
        b"&e;",
        "an entity of its own",
    ),
    "default.xml.gz": (
        b'<!DOCTYPE article [<!ATTLIST p a CDATA "' + b"a" * 5000 + b'">]><article>',
        b"<p/>",
        "default",
    ),
    "cord.json.gz": (b'{"paper_id": "', b"a", "too large for an article"),
    "lists.json.gz": (b'{"paper_id": 1, "body_text": [', b"[],", "too large for an article"),
}
TASKS: dict[str, tuple[bytes, bytes, str]] = {
    "ner.tsv.gz": (b"heart\tB\n", b"a", f"line 2: {USUAL}"),
    "ner.jsonl.gz": (b'{"words": ["', b"a", f"line 1: {USUAL}"),
    "ner.long.tsv.gz": (b"", b"heart\tB\nof\tO\n\n", "larger than"),
    "qa.json.gz": (b'{"data": "', b"a", "larger than 256 MB"),
}
VECTORS: dict[str, tuple[bytes, bytes, str]] = {
    "line.vec.gz": (b"2 3\n", b"a", "expected a word and 3 numbers"),
    "numbers.vec.gz": (b"2 3\nheart", b" 1", "expected a word and 3 numbers"),
    "bare.vec.gz": (b"", b"a", "vectors of 1 to"),
    "words.bin.gz": (b"9 3\n\x01", b"a", "ends within row"),
}
PACKED = {**BOMBS, **TASKS, **VECTORS}
TABLES = {  # parquet: what is said of it
    "cell.parquet": LINES,
    "page.parquet": "a page of its text decompresses to",
    "dictionary.parquet": LINES,
    "many.parquet": "",  # each of its rows may be read: 12 GB in all
    "prefix.parquet": LINES,
}
ALL = {**{name: message for name, (_, _, message) in PACKED.items()}, **TABLES}


def write_bomb(folder: Path, name: str) -> None:
    """A gzip file of 2 GB unpacked: one member of about 8 MB, repeated."""
    begins, repeated, _ = PACKED[name]
    member = gzip.compress(repeated * (8 * MEGABYTE // len(repeated)), 1)
    (folder / name).write_bytes(gzip.compress(begins) + member * TIMES)


def write_tables(folder: Path) -> None:
    """Parquet files of some kB: a long cell, a long page, and long cells that many rows refer to,
    or begin with.
    """
    import pyarrow as pa
    from pyarrow import parquet

    def write(name: str, cells: object, **options: object) -> None:
        parquet.write_table(pa.table({"text": cells}), folder / name, compression="zstd", **options)

    write("cell.parquet", ["one", "a" * 5 * MEGABYTE], use_dictionary=False)
    write("page.parquet", ["a" * 3 * MEGABYTE] * 12, use_dictionary=False, data_page_size=1 << 30)
    long = pa.DictionaryArray.from_arrays(
        pa.array([0] * 20_000, pa.int32()), pa.array(["a" * 5 * MEGABYTE])
    )
    write("dictionary.parquet", long)
    short = pa.DictionaryArray.from_arrays(
        pa.array([0] * 4_000, pa.int32()), pa.array(["a" * 3 * MEGABYTE])
    )
    write("many.parquet", short)
    write(
        "prefix.parquet",
        ["a" * 5 * MEGABYTE] * 8,
        use_dictionary=False,
        column_encoding={"text": "DELTA_BYTE_ARRAY"},
    )


def read_all(folder: Path) -> Iterator[tuple[str, str]]:
    """Each bomb's name and what is said of it; "" where so many passages of it were read."""
    from vocadapt.spaces.io.import_formats import read_space
    from vocadapt.text.corpus import open_corpus
    from vocadapt.training.tasks.formats import table_rows
    from vocadapt.training.tasks.kinds import TASK_KINDS

    table_rows.MAX_TASK_BYTES = 8 * MEGABYTE
    for name in ALL:
        try:
            if name in TASKS:
                TASK_KINDS[name[: name.index(".")]].read(folder / name)
            elif name in VECTORS:
                read_space(folder / name)
            else:
                for _ in islice(open_corpus([folder / name], SETTINGS).passages(), PASSAGES):
                    pass
            yield name, ""
        except InputError as error:
            yield name, error.problem
        except MemoryError:
            yield name, "MemoryError"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bombs")
    for name in PACKED:
        write_bomb(folder, name)
    write_tables(folder)
    done = subprocess.run(
        [sys.executable, __file__, str(folder)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ALL)
def test_a_bomb_is_refused_or_streamed_in_bounded_memory(told, name):
    assert ALL[name] in told[name] if ALL[name] else told[name] == ""
    assert len(told[name]) < 1000


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    sys.stdout.write(json.dumps(dict(read_all(Path(sys.argv[1])))))
