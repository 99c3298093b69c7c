"""Files that are read as a whole have bounded numbers of values, lines and cells.

Each of these becomes an object, which needs far more memory than its few characters, and a gzip file
may repeat it for nothing. The gate lowers the limits; the slow test reads files just above the real
ones within 2 GB, in a process of its own.
"""

import gzip
import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.analysis.token_columns import read_token_table
from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.notes import load_notes
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.diagnostics.word_lists import read_pairs
from vocadapt.spaces.io import row_files
from vocadapt.spaces.io.import_formats import read_space
from vocadapt.spaces.projection.layout_file import read_layout
from vocadapt.system import files
from vocadapt.system.files import MEGABYTE, parse_json, parse_toml
from vocadapt.text.corpus import open_corpus
from vocadapt.training.prediction.plain_text import read_lines
from vocadapt.training.tasks.formats import table_rows
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.vocabulary.families.files.merges_file import _read_merges
from vocadapt.vocabulary.families.files.vocab_file import read_tokens

SPACE = 2048 * MEGABYTE
VALUES = "values in one JSON document"
LINES = "lines, the limit for such a file"
CELLS = "cells, the limit for such a file"
MEMORY = "too much for a file of its size"
LIMITS = {  # where a limit is, and its value in the gate
    (files, "MAX_JSON_VALUES"): 5_000,
    (files, "MAX_LINES"): 5_000,
    (files, "MAX_CELLS"): 5_000,
    (table_rows, "MAX_TASK_LINES"): 5_000,
    (row_files, "MIN_MEMORY"): 1 << 16,
}


def numbered(form: str, number: int, between: str = ",") -> bytes:
    return between.join(form % i for i in range(number)).encode()


def write_tensors(path: Path, number: int) -> None:
    entry = '"%x":{"dtype":"F32","shape":[0,0],"data_offsets":[0,0]}'
    header = b"{" + numbered(entry, number // 4) + b"}"
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    path.with_suffix(".txt").write_text("a\n")


def write_rows(path: Path, number: int) -> None:
    """Rows of many zeros, which take two bytes each, or almost none in a gzip file."""
    zeros = b" 0" * 5_000
    rows = range(files_memory() // (4 * 5_000) + 20)
    path.write_bytes(gzip.compress(b"".join(b"w%d%s\n" % (row, zeros) for row in rows), 9))


def write_words(path: Path, number: int) -> None:
    long = b"a" * 50_000
    rows = range(files_memory() // len(long) + 20)
    path.write_bytes(gzip.compress(b"".join(b"%d%s 1 2\n" % (row, long) for row in rows), 9))


def files_memory() -> int:
    """Bytes that vectors may need."""
    return row_files.MIN_MEMORY


def read_text(path: Path) -> None:
    list(islice(open_corpus([path]).passages(), 9))


def read_task(path: Path) -> None:
    TASK_KINDS[path.name.partition(".")[0]].read(path)


def read_workspace_notes(path: Path) -> None:
    load_notes(Workspace(path.parent))


Write = Callable[[Path, int], object]
Read = Callable[[Path], object]
CASES: dict[str, tuple[Write | bytes | Callable[[int], bytes], Read, str]] = {
    # name: content for a number of values, lines or cells; what reads it; what is said
    "keys.jsonl.gz": (lambda n: b"{" + numbered('"%x":1', n) + b"}\n", read_text, VALUES),
    "numbers.jsonl.gz": (
        lambda n: b'{"text": "a", "b": [' + b"0.5," * n + b"1]}\n",
        read_text,
        VALUES,
    ),
    "qa.json.gz": (lambda n: b'{"data": {' + numbered('"%x":1', n) + b"}}", read_task, VALUES),
    "ner.tsv.gz": (lambda n: numbered("w%x\tO", n, "\n"), read_task, LINES),
    "classification.tsv.gz": (lambda n: b"text\tlabel\n" + b"a\tb\n" * n, read_task, LINES),
    "classification.jsonl.gz": (lambda n: b'{"text": "a", "label": "b"}\n' * n, read_task, LINES),
    "tensors.safetensors": (write_tensors, read_space, VALUES),
    "zeros.vec.gz": (write_rows, read_space, MEMORY),
    "words.vec.gz": (write_words, read_space, MEMORY),
    "vocab.txt": (lambda n: b"[UNK]\n" + numbered("%x", n, "\n"), read_tokens, LINES),
    "merges.txt": (lambda n: b"a b\n" * n, _read_merges, LINES),
    "lines.txt": (lambda n: b"a\n" * n, read_lines, LINES),
    "pairs.tsv": (lambda n: b"a\tb\t1\n" * n, read_pairs, LINES),
    "rows.csv": (lambda n: b"token,x,y\n" + b"a,1,2\n" * n, read_layout, CELLS),
    "columns.csv": (lambda n: b"token,x,y" + b"," * n, read_layout, CELLS),
    "table.tsv": (lambda n: b"token\tvalue\n" + b"a\t1\n" * n, read_token_table, CELLS),
    "wide.csv": (lambda n: b"token,value" + b"," * n, read_token_table, CELLS),
    "manifest.json": (lambda n: b'{"a": [' + b"[]," * n + b"1]}", strict_json.read, VALUES),
    "notes.jsonl": (lambda n: b"\n" * n, read_workspace_notes, LINES),
}


def report(path: Path, number: int) -> str:
    """Write the file of a case, read it, and return the error."""
    content, read, _ = CASES[path.name]
    if content in (write_tensors, write_rows, write_words):
        content(path, number)
    else:
        raw = content(number)
        path.write_bytes(gzip.compress(raw, 1) if path.suffix == ".gz" else raw)
    try:
        read(path)
    except InputError as error:
        return error.problem
    except MemoryError:
        return "MemoryError"
    return ""


@pytest.mark.parametrize("name", CASES)
def test_more_than_the_limit_is_refused(name, tmp_path, monkeypatch):
    for (module, limit), value in LIMITS.items():
        monkeypatch.setattr(module, limit, value)
    said = report(tmp_path / name, 5_010)
    assert CASES[name][2] in said and len(said) < 400


@pytest.mark.parametrize("name", CASES)
def test_the_same_below_the_limit_is_not(name, tmp_path):
    if CASES[name][2] != MEMORY:
        assert CASES[name][2] not in report(tmp_path / name, 3_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_real_limits_hold_within_two_gigabytes(name):
    """Just below and just above: more memory would end the process of this file."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.test_bounded_readers", name],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr[-2000:]
    below, above = json.loads(done.stdout)
    assert "MemoryError" not in below and CASES[name][2] in above


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 50_000) + " = 1",
        "[" + " . ".join(["a"] * 50_000) + "]",
        "\"a\".'b'." * 20_000 + "c = 1",
        "a = {" + "b." * 50_000 + "c = 1}",
        "a = " + "[" * 5_000 + "]" * 5_000,
        "a = 1\n" * 200_000,
    ],
)
def test_a_settings_file_that_would_take_hours_is_refused_at_once(text):
    """The parser needs the square of the number of dots in a key."""
    code = "file-too-large" if len(text) > files.MAX_TOML_BYTES else "nested-too-deep"
    began = time.process_time()
    with raises_input_error(code):
        parse_toml(text, "The file")
    assert time.process_time() - began < 2


def test_usual_settings_have_as_many_dots_as_they_like():
    lines = [
        f"a{i} = [0.1, 0.25, 1.5e-3]  # see www.example.org, or section 1.2.3" for i in range(3_000)
    ]
    text = "\n".join([*lines, "[b.c.d]", 'e = "a. b. c."'])
    assert len(parse_toml(text, "x")) == 3_001


def test_commas_in_strings_are_no_values(monkeypatch):
    monkeypatch.setattr(files, "MAX_JSON_VALUES", 100)
    text = json.dumps({"text": 'one, "two", [three], {four}, \\' * 100, "b": [1] * 90})
    assert len(parse_json(text, "x")["b"]) == 90
    for content in ("[" + "1," * 101 + "1]", '["' + ',"' * 200 + "]"):
        with pytest.raises(InputError) as caught:
            parse_json(content, "x")
        assert caught.value.code in ("too-many-values", "invalid-json")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
    largest = {VALUES: files.MAX_JSON_VALUES, CELLS: files.MAX_CELLS, LINES: files.MAX_LINES}
    chosen = sys.argv[1]
    bound = largest.get(CASES[chosen][2], 0)
    below = bound // 2
    if chosen.startswith(("ner", "classification")):
        bound = table_rows.MAX_TASK_LINES
        below = bound // 100  # its lines are read one by one, so that above is as large
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / chosen
        answers = [report(place, number) for number in (below, bound + bound // 10)]
    sys.stdout.write(json.dumps(answers))
