import errno
import gzip
import json
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import list_numbers
from vocadapt.errors import Canceled, InputError
from vocadapt.spaces.io import row_files, storage, tensors
from vocadapt.spaces.io.case_folding import COLLISIONS, describe_capitals, fold_case
from vocadapt.spaces.io.import_formats import read_space
from vocadapt.spaces.io.storage import load_space, save_space
from vocadapt.spaces.space import EmbeddingSpace, check_magnitudes
from vocadapt.text.splitter import Splitter

WORDS = ("the", "Café", "心臓", "x")
ROWS = np.array([[1, 2, 3], [-0.5, 0.25, 1e-3], [0, 0, 0], [1e20, -1e-20, 7]], dtype=np.float32)
TEXT = "".join(
    f"{word} {' '.join(map(repr, row))}\n" for word, row in zip(WORDS, ROWS.tolist(), strict=True)
)


def binary(words=WORDS, rows=ROWS, header=None, end=b"\n"):
    encoded = [word if isinstance(word, bytes) else word.encode() for word in words]
    body = b"".join(
        word + b" " + row.tobytes() + end for word, row in zip(encoded, rows, strict=True)
    )
    return (header or f"{len(words)} {rows.shape[1]}\n").encode() + body


def write(folder, content, name="vectors.any"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path, code, *values, **options):
    with raises_input_error(code, *values):
        read_space(path, **options)


FORMS = {
    "word2vec text": f"4 3\n{TEXT}".encode(),
    "fastText: a blank ends the row": (
        f"4 3\n{TEXT}".replace("\n", " \n").replace("3 \n", "3\n", 1).encode()
    ),
    "Windows line ends": f"4 3\n{TEXT}".replace("\n", "\r\n").encode(),
    "no newline at the end": f"4 3\n{TEXT}".rstrip("\n").encode(),
    "byte order mark": b"\xef\xbb\xbf" + f"4 3\n{TEXT}".encode(),
    "tabs": f"4\t3\n{TEXT}".replace(" ", "\t").encode(),
    "word2vec binary": binary(),
    "binary without newlines": binary(end=b""),
    "GloVe": TEXT.encode(),
    "GloVe with a byte order mark": b"\xef\xbb\xbf" + TEXT.encode(),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_the_format_is_detected_from_the_content_and_read_exactly(tmp_path, form, packed):
    content = gzip.compress(FORMS[form]) if packed else FORMS[form]
    got = read_space(write(tmp_path, content, "vectors.jpg"))
    assert got.space.words == WORDS
    np.testing.assert_array_equal(got.space.matrix, ROWS)
    assert got.notes == ()
    assert got.format == (
        "GloVe" if "GloVe" in form else "word2vec binary" if "binary" in form else "word2vec text"
    )


@pytest.mark.parametrize("as_binary", [False, True])
def test_what_gensim_writes_is_read_as_gensim_reads_it(tmp_path, as_binary):
    from gensim.models import KeyedVectors

    rng = np.random.default_rng(0)
    words = [f"wörd{n}" for n in range(5000)]
    vectors = KeyedVectors(40)
    vectors.add_vectors(words, rng.normal(size=(5000, 40)).astype(np.float32))
    vectors.save_word2vec_format(str(tmp_path / "v"), binary=as_binary)
    theirs = KeyedVectors.load_word2vec_format(str(tmp_path / "v"), binary=as_binary)
    ours = read_space(tmp_path / "v").space
    assert list(ours.words) == theirs.index_to_key
    np.testing.assert_array_equal(ours.matrix, theirs.vectors)


def test_rows_that_span_many_blocks_keep_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(row_files, "BLOCK", 200)
    rows = np.arange(3000, dtype=np.float32).reshape(1000, 3)
    words = [f"w{n}" for n in range(1000)]
    text = "".join(f"{word} {a} {b} {c}\n" for word, (a, b, c) in zip(words, rows, strict=True))
    for content in (binary(words, rows), text):
        got = read_space(write(tmp_path, content)).space
        assert got.words == tuple(words)
        np.testing.assert_array_equal(got.matrix, rows)


def test_words_with_blanks_in_glove(tmp_path):
    words = ("the", ". . .", "at name@domain.com")
    space = read_space(write(tmp_path, "".join(f"{word} 3 4\n" for word in words))).space
    assert space.words == words
    np.testing.assert_array_equal(space.matrix, [[3, 4]] * 3)


def test_words_of_odd_characters_stay_whole(tmp_path):
    words = ("a\u00a0b", "c\u2028d", "e\x85f", "7", "-0.5")
    rows = np.ones((5, 3), dtype=np.float32)
    text = "".join(f"{word} 1 1 1\n" for word in words)
    assert read_space(write(tmp_path, text)).space.words == words
    assert read_space(write(tmp_path, binary(words, rows))).space.words == words


@pytest.mark.parametrize(
    "content", [FORMS["word2vec text"], FORMS["word2vec binary"], FORMS["GloVe"]]
)
def test_limit_and_only(tmp_path, content):
    path = write(tmp_path, content)
    first = read_space(path, limit=2)
    assert first.space.words == WORDS[:2]
    assert list_numbers(first.notes[0])[0] == "2"
    assert read_space(path, limit=4).space.words == WORDS
    assert read_space(path, limit=99).space.words == WORDS
    some = read_space(path, only={"x", "the", "other"})
    assert some.space.words == ("the", "x")
    np.testing.assert_array_equal(some.space.matrix, ROWS[[0, 3]])
    assert [list_numbers(note) for note in some.notes] == [["2", "4"]]
    refused(path, "no-word", "4", only={"other"})
    refused(path, "out-of-range", "0", limit=0)


def test_of_repeated_words_the_first_is_kept_and_their_number_said(tmp_path):
    rows = np.array([[1, 1], [2, 2], [3, 3]], dtype=np.float32)
    words = ("a", "b", "a")
    np.save(tmp_path / "v.npy", rows)
    write(tmp_path, "a\nb\na\n", "v.txt")
    for path in (
        write(tmp_path, "a 1 1\nb 2 2\na 3 3\n"),
        write(tmp_path, binary(words, rows), "b"),
        tmp_path / "v.npy",
    ):
        got = read_space(path)
        assert got.space.words == ("a", "b")
        np.testing.assert_array_equal(got.space.matrix, rows[:2])
        assert [list_numbers(note) for note in got.notes] == [["1", "3"]]


@pytest.mark.parametrize("rows", [3, 5])
@pytest.mark.parametrize("form", ["text", "binary"])
def test_a_header_that_is_off_by_one_is_reported(tmp_path, form, rows):
    content = {"text": f"{rows} 3\n{TEXT}".encode(), "binary": binary(header=f"{rows} 3\n")}
    got = read_space(write(tmp_path, content[form]))
    assert got.space.words == WORDS
    assert [list_numbers(note) for note in got.notes] == [[str(rows), "4"]]


def test_rows_without_a_word_are_left_out_and_counted(tmp_path):
    rows = np.array([[1, 1], [2, 2], [3, 3], [4, 4]], dtype=np.float32)
    words = ("a", "", "\u2003", "b")
    np.save(tmp_path / "v.npy", rows)
    write(tmp_path, "a\n\n\u2003\nb\n", "v.txt")
    for path in (
        write(tmp_path, "4 2\na 1 1\n 2 2\n\u2003 3 3\nb 4 4\n"),
        write(tmp_path, "a\t1\t1\n\t2\t2\n\u2003\t3\t3\nb\t4\t4\n", "glove"),
        write(tmp_path, binary(words, rows), "b"),
        tmp_path / "v.npy",
    ):
        got = read_space(path)
        assert got.space.words == ("a", "b")
        np.testing.assert_array_equal(got.space.matrix, rows[[0, 3]])
        assert [list_numbers(note) for note in got.notes] == [["2", "4"]]


@pytest.mark.parametrize("header", ["", "4 2\n"])
def test_words_may_contain_numbers(tmp_path, header):
    words = ("the", "type 2 diabetes", "covid 19", "vitamin 1.5 mg")
    numbers = (".1 .2", ".3 -1e-3", ".5 .6", ".7 0")
    rows = map("{} {}\n".format, words, numbers)
    space = read_space(write(tmp_path, header + "".join(rows))).space
    assert space.words == words
    np.testing.assert_array_equal(space["covid 19"], np.float32([0.5, 0.6]))


@pytest.mark.parametrize(
    ("content", "stated"),
    [
        ("2 3\na 1 2 3\nb 1 2\n", ["invalid-row", "line 3", "3 fields"]),
        ("2 3\na 1 2 3\nb 1 2 3 4\n", ["invalid-row", "line 3", "5 fields"]),
        ("a 1 2 3\nb 1 2 3\nc 1 2\n", ["invalid-row", "line 3"]),
        ("a 1 2 3\nb 1 2 3\nc 1 2 3 4\n", ["invalid-row", "line 3"]),
        ("a 1 2 3\nb 1 2 3\n1 2 3\n", ["invalid-row", "line 3"]),
        ("2 2\na .1 .2\nheart .3 .1 .2\n", ["invalid-row", "line 3", "4 fields"]),
        ("2 2\n 1 2\n 3 4\n", ["no-word", "2"]),
        ("a 1 2 3\n\nb 1 x 3\n", ["invalid-row", "line 3", "'x'"]),
        ("a 1 2 3\nb 1 2_0 3\n", ["invalid-row", "line 2", "'2_0'"]),
        ("2 3\na 1 2 3\nb 1 0x3 3\n", ["invalid-row", "line 3", "'0x3'"]),
        ("2 2\na\t1 2\nb\t1 2 3\n", ["invalid-row", "line 3", "4 fields"]),
        ("a 1 2\nb 1 2\nc 1\t2 3\n", ["invalid-row", "line 3"]),
        ("a 1 2 3\nb 1 2 3\nc 1  3\n", ["invalid-row", "line 3"]),
        ("a 1 2\nb 1 2\r3\n", ["invalid-row", "line 2"]),
        ("a 1\nb\n", ["invalid-row", "line 2"]),
        ("a 1 2\nb nan 2\n", ["not-finite", "'b'", "row 2"]),
        ("2 2\na 1 2\nb 1 -inf\n", ["not-finite", "'b'"]),
        ("a 1 2\nb 1 1e99\n", ["not-finite", "'b'"]),
        (binary(rows=np.where(ROWS == 7, np.nan, ROWS)), ["not-finite", "'x'", "row 4"]),
        ("6 3\n" + TEXT, ["wrong-header", "6", "4"]),
        ("2 3\n" + TEXT, ["wrong-header", "2", "4"]),
        ("4 2\n" + TEXT, ["invalid-row", "line 2", "2 numbers"]),
        ("4 4\n" + TEXT, ["invalid-row", "line 2", "4 numbers"]),
        ("999999999999 3\n" + TEXT, ["wrong-header", "999,999,999,999"]),
        ("4 999999999999\n" + TEXT, ["wrong-dimensions", "100,000"]),
        ("4 0\n" + TEXT, ["wrong-dimensions"]),
        ("0 3\n", ["no-word"]),
        (binary(header="6 3\n"), ["wrong-header", "6", "4"]),
        (binary(header="2 3\n"), ["wrong-header", "2", "4"]),
        (binary(header="999999999999 3\n"), ["wrong-header", "999,999,999,999"]),
        (binary(header="4 99999\n"), ["truncated-file", "row 1"]),
        (binary(header="4 999999999999\n"), ["wrong-dimensions", "100,000"]),
        (binary()[:-4], ["truncated-file", "row 4"]),
        (binary(header="4 2\n"), ["truncated-file", "row 5"]),
        (binary(header="4 4\n"), ["truncated-file", "row 4"]),
        (b"", ["empty-file"]),
        (b"\n \n", ["empty-file"]),
        (gzip.compress(b"", mtime=0), ["empty-file"]),
        (gzip.compress(FORMS["GloVe"] * 99, mtime=0)[:-9], ["incomplete-gzip"]),
        (gzip.compress(FORMS["GloVe"], mtime=0)[:20] + b"garbage", ["incomplete-gzip"]),
        (bytes(range(256)) * 40, ["not-word-vectors"]),
        (b"10 300\n" + bytes(range(256)) * 40, ["truncated-file", "row 9"]),
        (TEXT.encode("utf-16"), ["not-word-vectors"]),
        (TEXT.replace("心臓", "é").encode("latin-1"), ["not-utf8", "line 2", "iconv"]),
        ("just a few words of prose\nand a few more words\n", ["invalid-row", "5 numbers"]),
        ("one\nword\na\nline\n", ["wrong-dimensions", "0"]),
        (b"\xba\x16\x4f\x2f" + bytes(100), ["not-word-vectors", "fastText", ".vec"]),
        (b"a 1 2\n" + b"b" * 5_000_000, ["invalid-row", "line 2", "3,200,000"]),
    ],
)
def test_bad_files_are_refused_with_the_place(tmp_path, content, stated):
    refused(write(tmp_path, content), *stated)


def test_a_false_header_takes_no_memory(tmp_path):
    import tracemalloc

    for content in (
        "999999999999 3\n" + TEXT,
        binary(header="999999999999 99999\n"),
        binary(header="999999999999 3\n"),
    ):
        path = write(tmp_path, content)
        tracemalloc.start()
        with pytest.raises(InputError):
            read_space(path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()


def test_words_that_are_not_utf8_in_a_binary_file_are_left_out_and_counted(tmp_path):
    got = read_space(write(tmp_path, binary(("the", b"caf\xe9", "a", "b"))))
    assert got.space.words == ("the", "a", "b")
    np.testing.assert_array_equal(got.space.matrix, ROWS[[0, 2, 3]])
    assert [list_numbers(note)[:2] for note in got.notes] == [["1", "4"]]


def test_missing_files_and_folders(tmp_path):
    refused(tmp_path / "none", "missing-file")
    refused(tmp_path, "not-a-file")


class Bomb:
    """Pickled, it would write a file when it is opened."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (os.mkdir, (str(self.marker),))


@pytest.mark.parametrize(
    "name", ["v.bin", "v.kv", "v.npy", "v.pt", "v.model", "v.vec", "v.safetensors"]
)
@pytest.mark.parametrize("kind", ["pickle", "old pickle", "torch", "objects", "gzip", "npz"])
def test_a_pickle_is_refused_unexecuted(tmp_path, name, kind):
    marker, path = tmp_path / "executed", tmp_path / name
    write(tmp_path, "a\n", "v.txt")
    bomb = Bomb(marker)
    if kind == "torch":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", pickle.dumps(bomb))
    elif kind == "objects":
        with path.open("wb") as file:
            np.save(file, np.array([[bomb]], dtype=object), allow_pickle=True)
    elif kind == "npz":
        with path.open("wb") as file:
            np.savez(file, a=np.array([bomb], dtype=object))
    elif kind == "gzip":
        path.write_bytes(gzip.compress(pickle.dumps(bomb)))
    else:
        path.write_bytes(pickle.dumps(bomb, protocol=0 if kind == "old pickle" else 4))
    with pytest.raises(InputError) as caught:
        read_space(path)
    assert kind != "pickle" or "pickle" in str(caught.value)
    assert not marker.exists()
    pickle.loads(pickle.dumps(bomb))
    assert marker.exists()  # the bomb is live, or the test would prove nothing


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
def test_npy_with_words(tmp_path, dtype):
    rows = np.arange(12).reshape(4, 3).astype(dtype)
    np.save(tmp_path / "v.npy", rows)
    refused(tmp_path / "v.npy", "missing-words", "words.txt")
    words = write(tmp_path, "\n".join(WORDS) + "\n", "list")
    for path in ("words.txt", "vocab.txt", "v.txt"):
        beside = write(tmp_path, "\n".join(WORDS), path)
        assert read_space(tmp_path / "v.npy").space.words == WORDS
        beside.unlink()
    got = read_space(tmp_path / "v.npy", words=words)
    assert got.format == "npy"
    assert got.space.matrix.dtype == np.float32
    np.testing.assert_array_equal(got.space.matrix, rows)
    [note] = read_space(tmp_path / "v.npy", words=words, limit=2).notes
    assert list_numbers(note) == ["2", "4"]
    np.testing.assert_array_equal(
        read_space(tmp_path / "v.npy", words=words, only=WORDS[1:3]).space.matrix, rows[1:3]
    )


def test_an_array_over_many_blocks(tmp_path):
    rows = np.arange(30_000, dtype=np.float32).reshape(10_000, 3)
    np.save(tmp_path / "v.npy", rows)
    words = write(tmp_path, "".join(f"w{n}\t{n}\n" for n in range(10_000)), "words.txt")
    got = read_space(tmp_path / "v.npy", only={f"w{n}" for n in range(0, 10_000, 7)}).space
    assert got.words[:2] == ("w0", "w7") and words.exists()
    np.testing.assert_array_equal(got.matrix, rows[::7])
    assert got.counts.tolist() == list(range(0, 10_000, 7))


def test_bad_arrays(tmp_path):
    words = write(tmp_path, "a\nb\n", "words.txt")
    path = tmp_path / "v.npy"
    np.save(path, np.ones((3, 2)))
    refused(path, "unlike-words-file", "3 rows", "2 lines")
    np.save(path, np.ones(2))
    refused(path, "not-a-matrix", "(2,)")
    np.save(path, np.ones((2, 2), dtype=complex))
    refused(path, "not-a-matrix", "complex")
    np.save(path, np.array([[1, np.nan], [1, 2]]))
    refused(path, "not-finite", "'a'")
    np.save(path, np.array([[1, 2], [1e300, 2]]))
    refused(path, "not-finite", "'b'")
    np.save(path, np.ones((2, 2)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    refused(path, "invalid-array")
    path.write_bytes(whole.replace(b"(2, 2)", b"(9999999999, 9999999999)"))
    refused(path, "invalid-array")
    path.write_bytes(gzip.compress(whole))
    refused(path, "array-in-gzip", "gunzip")
    path.write_bytes(whole)
    refused(path, "not-utf8", words=write(tmp_path, b"caf\xe9\nb\n", "latin"))
    refused(path, "missing-file", words=tmp_path / "none")
    refused(write(tmp_path, TEXT), "needless-words-file", words=words)


def safetensors_file(path, **arrays):
    from safetensors.numpy import save_file

    save_file(arrays, path)
    return path


def test_safetensors_finds_the_matrix(tmp_path):
    words = write(tmp_path, "\n".join(WORDS), "words.txt")
    path = tmp_path / "m"
    for arrays in (
        {"weight": ROWS},
        {"vectors": ROWS, "other": ROWS + 1},
        {"a": ROWS, "b": np.ones((7, 7), dtype=np.float32), "c": np.ones(4, dtype=np.float32)},
    ):
        got = read_space(safetensors_file(path, **arrays))
        assert got.format == "safetensors"
        np.testing.assert_array_equal(got.space.matrix, ROWS)
    refused(safetensors_file(path, a=ROWS, b=ROWS + 1), "not-one-matrix", "found 2 among 2")
    refused(
        safetensors_file(path, a=ROWS[:2]), "unlike-words-file", "2 rows", "4 lines", words=words
    )


def test_safetensors_in_bfloat16(tmp_path):
    write(tmp_path, "a\nb\n", "words.txt")
    rows = np.array(
        [[1.5, -2.0], [3.0, 0.15625]], dtype="<f4"
    )  # exact in bfloat16: the upper half of each float32
    header = json.dumps({"v": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}).encode()
    upper = (rows.view("<u4") >> 16).astype("<u2").tobytes()
    path = write(tmp_path, struct.pack("<Q", len(header)) + header + upper)
    np.testing.assert_array_equal(read_space(path).space.matrix, rows)


@pytest.mark.parametrize(
    "change",
    [
        lambda h: {"v": h["v"] | {"shape": [999999, 999999]}},
        lambda h: {"v": h["v"] | {"shape": [-4, -3]}},
        lambda h: {"v": h["v"] | {"data_offsets": [0, 10**15]}},
        lambda h: {"v": h["v"] | {"data_offsets": [-48, 0]}},
        lambda h: {"v": h["v"] | {"data_offsets": "x"}},
        lambda h: {"v": 7},
        lambda h: {"v": {}},
        lambda h: [1],
        lambda h: None,
    ],
)
def test_a_false_safetensors_header_is_refused(tmp_path, change):
    write(tmp_path, "\n".join(WORDS), "words.txt")
    path = safetensors_file(tmp_path / "m", v=ROWS)
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.dumps(change(json.loads(raw[8 : 8 + length]))).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + raw[8 + length :])
    with pytest.raises(InputError):
        read_space(path)
    path.write_bytes(raw[:-4])
    refused(path, "invalid-tensors")
    path.write_bytes(struct.pack("<Q", 10**7) + raw[8:])
    refused(path, "invalid-tensors")


def test_damaged_files_raise_nothing_but_input_errors(tmp_path):
    """Bytes changed, lost and put in at random, in a file of each kind."""
    rng = np.random.default_rng(4)
    write(tmp_path, "\n".join(WORDS), "words.txt")
    np.save(tmp_path / "a.npy", ROWS)
    arrays = [
        (tmp_path / "a.npy").read_bytes(),
        safetensors_file(tmp_path / "m", v=ROWS).read_bytes(),
    ]
    whole = [*FORMS.values(), gzip.compress(FORMS["GloVe"]), *arrays]
    refusals = 0
    for number in range(600):
        raw = bytearray(whole[number % len(whole)])
        for _ in range(rng.integers(1, 4)):
            place, kind = int(rng.integers(len(raw))), rng.integers(4)
            if kind == 0:
                raw[place] = int(rng.integers(256))
            elif kind == 1:
                del raw[place : place + int(rng.integers(1, 9))]
            else:
                raw[place:place] = (
                    rng.choice(list(b"0123456789. \n\t\r-e\0{}[]\"'\xff"), 3)
                    .astype(np.uint8)
                    .tobytes()
                )
        try:
            read_space(write(tmp_path, bytes(raw)))
        except InputError:
            refusals += 1
    assert 0 < refusals < 600


def test_reading_reports_and_can_be_stopped(tmp_path):
    told = []
    read_space(
        write(tmp_path, FORMS["word2vec text"]),
        progress=lambda fraction, message="": told.append((fraction, message)),
    )
    fraction, message = told[-1]
    assert fraction == 1 and list_numbers(message) == ["4"]

    def stop(fraction, message=""):
        raise Canceled

    with pytest.raises(Canceled):
        read_space(tmp_path / "vectors.any", progress=stop)


def cased(counts=None):
    words = ("Aspirin", "the", "aspirin", "New-York", "ASPIRIN", "Café")
    matrix = np.array([[1, 0], [2, 2], [3, 0], [4, 4], [8, 4], [6, 6]], dtype=np.float32)
    return EmbeddingSpace(words, matrix, None if counts is None else np.array(counts), "cased")


def test_folding_keeps_the_first_spelling_and_reports_it():
    got = fold_case(cased(), Splitter.bert())
    assert got.space.words == ("aspirin", "the", "cafe")
    np.testing.assert_array_equal(got.space.matrix, [[1, 0], [2, 2], [6, 6]])
    split, merged = got.notes
    assert list_numbers(split) == ["1", "6"] and list_numbers(merged) == ["5", "3"]
    assert COLLISIONS["first"] in merged


def test_fold_takes_the_mean():
    plain = fold_case(cased(), Splitter.bert(), "mean")
    np.testing.assert_allclose(plain.space["aspirin"], [4, 4 / 3])
    weighted = fold_case(cased([4, 9, 2, 1, 2, 0]), Splitter.bert(), "mean")
    np.testing.assert_allclose(weighted.space["aspirin"], [(4 * 1 + 2 * 3 + 2 * 8) / 8, 8 / 8])
    assert COLLISIONS["mean"] in weighted.notes[1]
    np.testing.assert_array_equal(weighted.space.counts, [8, 9, 0])
    np.testing.assert_allclose(
        fold_case(cased([0] * 6), Splitter.bert(), "mean").space["aspirin"], [4, 4 / 3]
    )


def test_fold_for_a_cased_model_changes_nothing():
    space = cased()
    got = fold_case(space, Splitter.bert(lowercase=False))
    assert got.space.words == tuple(word for word in space.words if word != "New-York")
    assert [list_numbers(note) for note in got.notes] == [["1", "6"]]


def test_capitals_are_reported_where_case_is_not_folded():
    space = EmbeddingSpace(("Aspirin", "aspirin", "COVID"), ROWS[:3])
    for splitter in (None, Splitter.bert()):
        (note,) = describe_capitals(space, splitter)
        assert list_numbers(note)[:2] == ["2", "3"]
    assert describe_capitals(space, Splitter.bert(lowercase=False)) == []
    assert describe_capitals(EmbeddingSpace(("a", "b"), ROWS[:2])) == []


def test_folding_refuses_bad_input():
    with raises_input_error("unknown-choice", "'last'"):
        fold_case(cased(), Splitter.bert(), "last")
    with raises_input_error("no-word-left", "1"):
        fold_case(EmbeddingSpace(("a-b",), ROWS[:1]), Splitter.bert())


def space_of(words=WORDS, counts=(9, 5, 2, 1)):
    return EmbeddingSpace(
        words, ROWS.copy(), None if counts is None else np.array(counts, dtype=np.int64), "mine"
    )


@pytest.mark.parametrize("counts", [None, (9, 5, 2, 1)])
def test_what_is_saved_comes_back(tmp_path, counts):
    save_space(space_of(counts=counts), tmp_path / "new" / "mine")
    got = load_space(tmp_path / "new" / "mine")
    assert (got.words, got.name) == (WORDS, "mine")
    assert got.matrix.dtype == np.float32
    np.testing.assert_array_equal(got.matrix, ROWS)
    assert got.counts is None if counts is None else got.counts.tolist() == list(counts)
    assert sorted(path.name for path in (tmp_path / "new" / "mine").iterdir()) == [
        "vectors.safetensors",
        "words.txt",
    ]
    assert load_space(tmp_path / "new" / "mine", "other").name == "other"
    np.testing.assert_array_equal(
        read_space(tmp_path / "new" / "mine" / "vectors.safetensors").space.matrix, ROWS
    )


def test_arrays_in_any_memory_order_are_saved_correctly(tmp_path):
    matrix = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(4, 3))
    save_space(EmbeddingSpace(WORDS, matrix), tmp_path)
    np.testing.assert_array_equal(load_space(tmp_path).matrix, matrix)


def test_float16_halves_the_file_and_loads_as_float32(tmp_path):
    small = EmbeddingSpace(WORDS, ROWS.clip(-100, 100))
    save_space(small, tmp_path, "float16")
    got = load_space(tmp_path)
    assert got.matrix.dtype == np.float32
    np.testing.assert_allclose(got.matrix, small.matrix, rtol=1e-3, atol=1e-6)
    with raises_input_error("too-large-numbers", "65,504"):
        save_space(space_of(), tmp_path, "float16")
    with raises_input_error("unknown-choice", "'int8'"):
        save_space(space_of(), tmp_path, "int8")


def test_odd_words_survive_and_a_line_break_is_refused(tmp_path):
    words = ("a b", "\r", "c\u2028d", "e\x85f")
    save_space(space_of(words), tmp_path)
    assert load_space(tmp_path).words == words
    for word, code in (("a\nb", "line-break"), ("\ud800", "not-utf8")):
        with raises_input_error(code):
            save_space(space_of(("a", "b", "c", word)), tmp_path / "bad")
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize("when", ["words", "vectors", "rust"])
@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch, when, there):
    import safetensors.numpy
    from safetensors import SafetensorError

    folder = tmp_path / "mine"
    if there:
        save_space(space_of(counts=None), folder)
    before = {path: path.read_bytes() for path in folder.glob("*")} if there else None

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    def rust(tensors, path):
        path.write_bytes(b"half")
        raise SafetensorError(
            "Error while serializing: I/O error: No space left on device (os error 28)"
        )

    if when == "words":
        monkeypatch.setattr(storage.Path, "write_bytes", full)
    else:
        monkeypatch.setattr(safetensors.numpy, "save_file", full if when == "vectors" else rust)
    with raises_input_error("full-disk"):
        save_space(space_of(("n", "e", "w", "!")), folder)
    monkeypatch.undo()
    assert folder.exists() == there
    assert not there or {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_place_that_cannot_be_written_is_reported(tmp_path):
    write(tmp_path, "a file", "taken")
    with raises_input_error("unwritable-file"):
        save_space(space_of(), tmp_path / "taken" / "below")


def test_what_is_no_folder_of_vectors_is_said(tmp_path):
    with raises_input_error("missing-file", "missing"):
        load_space(tmp_path / "missing")
    with raises_input_error("not-a-folder", "heart.vec"):
        load_space(write(tmp_path, "1 2\nheart 1 2\n", "heart.vec"))


def test_damaged_artifacts_are_refused(tmp_path):
    with raises_input_error("missing-file", "vectors.safetensors"):
        load_space(tmp_path)
    save_space(space_of(), tmp_path)
    write(tmp_path, "a\nb\n", "words.txt")
    with raises_input_error("unlike-words", "2 words"):
        load_space(tmp_path)
    safetensors_file(tmp_path / "vectors.safetensors", other=ROWS)
    with raises_input_error("missing-tensor"):
        load_space(tmp_path)
    safetensors_file(
        tmp_path / "vectors.safetensors", vectors=ROWS[:2], counts=np.ones(4, dtype=np.int64)
    )
    with raises_input_error("unlike-counts"):
        load_space(tmp_path)
    write(tmp_path, b"junk" * 9, "vectors.safetensors")
    with raises_input_error("invalid-tensors"):
        load_space(tmp_path)


def test_a_loaded_space_is_memory_mapped(tmp_path):
    import tracemalloc

    big = EmbeddingSpace(
        tuple(f"w{n}" for n in range(2000)), np.ones((2000, 500), dtype=np.float32)
    )
    save_space(big, tmp_path)
    tensors.index_tensors(tmp_path / "vectors.safetensors")
    tracemalloc.start()
    space = load_space(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000  # the matrix has 4 MB
    tracemalloc.stop()
    assert space.matrix[1999, 499] == 1


@pytest.mark.parametrize("size", [1e37, 1e-37, 1e16, 1e-16])
def test_vectors_that_float32_cannot_square_are_refused(size, tmp_path):
    words, matrix = ("heart", "lung"), np.array([[1, 2], [0.5, 1]], np.float32)
    odd = EmbeddingSpace(words, (matrix * size).astype(np.float32), name="odd")
    with raises_input_error("odd-magnitudes", "2 of 2"):
        check_magnitudes(odd)
    save_space(odd, tmp_path / "odd")  # as an earlier version imported them
    if size == 1e37:
        with raises_input_error("odd-magnitudes", "'heart'"):
            _ = load_space(tmp_path / "odd").unit


def test_a_vector_of_zeros_and_values_near_one_are_kept():
    matrix = np.array([[0, 0], [1e-6, 0], [1e6, 1]], np.float32)
    space = EmbeddingSpace(("a", "b", "c"), matrix)
    check_magnitudes(space)
    assert space.unit.max(axis=1).tolist() == [0, 1, 1]
