"""Reading tagged sentences: columns, schemes, documents, chunks, slices; what is refused and
counted."""

import gzip
import json

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.training.encoding.encoding import divide_into_chunks
from vocadapt.training.examples.examples import Sentence
from vocadapt.training.examples.tags import decode_spans
from vocadapt.training.tasks.formats.conll import COMMENTS, EMPTY, INSIDE, NUMBERED, read_sentences
from vocadapt.training.tasks.kinds import find_kind
from vocadapt.training.tasks.kinds.ner import OTHER_SCHEME
from vocadapt.training.tasks.task import build_task
from vocadapt.training.tasks.word_endings import count_suffix


@pytest.fixture
def read(tmp_path):
    def read(text, name="t.tsv", **how):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_sentences(tmp_path / name, **how)

    return read


TYPED = "Gout\tB-D\nand\tO\nrenal\tB-D\nfailure\tI-D\n\nGout\tB-D\n"


def test_two_columns(read):
    split = read(TYPED)
    assert split.examples[0] == Sentence(
        ("Gout", "and", "renal", "failure"), ("B-D", "O", "B-D", "I-D")
    )
    assert len(split) == 2
    assert split.notes["words"] == 5
    assert split.notes["entities"] == 3
    assert split.notes["scheme"] == "IOB2"
    assert split.labeled and split.gold[1] == ("B-D",)


def test_blanks_instead_of_tabs_and_windows_lines_and_gzip(read, tmp_path):
    expected = read(TYPED).gold
    assert read(TYPED.replace("\t", "  ")).gold == expected
    assert read(TYPED.replace("\n", "\r\n")).gold == expected
    assert read("\ufeff" + TYPED).examples[0].words[0] == "Gout"
    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(TYPED.encode()))
    assert read_sentences(tmp_path / "t.tsv.gz").gold == expected


def test_four_columns_of_blue_name_the_document(read):
    split = read("Torsade\t2004\t0\tB\nde\t-\t8\tI\n\nis\t2004\t11\tO\n\nNo\t77\t0\tO\n")
    assert split.gold == (("B", "I"), ("O",), ("O",))
    assert split.documents == ("2004", "2004", "77")


def test_four_columns_of_conll_name_none(read):
    lines = "EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n"
    assert read(lines).examples == (Sentence(("EU", "rejects"), ("B-ORG", "O")),)


def test_docstart_begins_a_document(read):
    split = read(
        "-DOCSTART- 90092414\n\nIL-2\tB\n\nis\tO\n\n-DOCSTART-\tO\n\nCD28\tB\n-DOCSTART-"
        " (12)\n\nx\tO\n"
    )
    assert split.documents == ("90092414", "90092414", "line 7", "(12)")
    assert (split.gold, split.notes[EMPTY]) == ((("B",), ("O",), ("B",), ("O",)), 0)


@pytest.mark.parametrize(
    ("tags", "iob2", "scheme"),
    [
        ("B-X I-X B-X O B-Y", "B-X I-X B-X O B-Y", "IOB2"),
        ("I-X I-X B-X O I-Y", "B-X I-X B-X O B-Y", "IOB1"),
        ("B-X E-X S-X O S-Y", "B-X I-X B-X O B-Y", "BIOES"),
        ("B I B O B", "B I B O B", "IOB2"),
        ("B E S O S", "B I B O B", "BIOES"),
        ("B-X L-X U-X O U-Y", "B-X I-X B-X O B-Y", "BILOU"),
        ("B L U O U", "B I B O B", "BILOU"),
        ("PER PER LOC O Dx-1", "B-PER I-PER B-LOC O B-Dx-1", "IO"),
    ],
)
def test_every_scheme_comes_out_as_iob2(read, tags, iob2, scheme):
    text = "".join(f"w{place}\t{tag}\n" for place, tag in enumerate(tags.split()))
    assert read(text).gold == (tuple(iob2.split()),)
    assert (read(text).notes["scheme"], read(text).notes[INSIDE]) == (scheme, 0)
    words = [f"w{place}" for place in range(5)]
    rows = json.dumps({"words": words, "tags": tags.split()})
    assert read(rows, "t.jsonl").gold == (tuple(iob2.split()),)
    # Without conversion only the letters of BILOU are replaced, and those of IO added.
    plain = {"BILOU": tags.replace("L", "E").replace("U", "S"), "IO": "I-PER I-PER I-LOC O I-Dx-1"}
    assert read(text, iob2=False).gold == (tuple(plain.get(scheme, tags).split()),)


CLEAN = "Gout\tB-D\n#\tO\n\n#\tO\nfailure\tB-D\n"
TWINS = {
    "clean": (CLEAN, {}),
    "-DOCSTART- without a blank line": ("-DOCSTART-\tO\n" + CLEAN, {}),
    "-DOCSTART- between sentences": (CLEAN.replace("\n\n", "\n-DOCSTART- x\n"), {}),
    "lines of blanks": (CLEAN.replace("\n\n", "\n  \n"), {}),
    "lines of a tab": (CLEAN.replace("\n\n", "\n\t\n"), {}),
    "comments": ("# id = 1\n" + CLEAN.replace("\n\n", "\n\n# id = 2\n"), {COMMENTS: 2}),
    "comments with tabs": ("#\tid\t1\n# text\n" + CLEAN, {COMMENTS: 2}),
    "comments between blanks": ("# id 1\n" + CLEAN.replace("\t", " "), {COMMENTS: 1}),
    "numbers of words": ("1\tGout\tB-D\n2\t#\tO\n\n1\t#\tO\n2\tfailure\tB-D\n", {NUMBERED: 1}),
    "numbers from 0": ("0 Gout B-D\n1 # O\n\n0 # O\n1 failure B-D\n", {NUMBERED: 1}),
    "numbers that run on": ("1\tGout\tB-D\n2\t#\tO\n\n3\t#\tO\n4\tfailure\tB-D\n", {NUMBERED: 1}),
    "numbers, lemmas and comments": (
        "# id = 1\n1 Gout gout B-D\n2 # # O\n\n# id = 2\n1 # # O\n2 failure f B-D\n",
        {NUMBERED: 1, COMMENTS: 2},
    ),
}


@pytest.mark.parametrize("kind", TWINS)
def test_a_file_is_read_as_its_clean_twin(read, kind):
    text, notes = TWINS[kind]
    split = read(text)
    assert [(one.words, one.tags) for one in split.examples] == [
        (("Gout", "#"), ("B-D", "O")),
        (("#", "failure"), ("O", "B-D")),
    ]
    assert {
        name: split.notes[name] for name in (COMMENTS, NUMBERED) if name in split.notes
    } == notes


def test_words_that_are_numbers_stay_words(read):
    split = read("1\tCD\tO\n.\t.\tO\n\n1\tCD\tO\n2\tCD\tO\n")
    assert [one.words for one in split.examples] == [("1", "."), ("1", "2")]
    one, long = "1\tCD\tO\n", f"{'9' * 5000}\tx\tO\n"
    assert read(f"{one}\n{one}").examples[1].words == ("1",)
    assert read(one + long).examples[0].words[0] == "1"


def test_schemes_of_a_task_are_reported(read, tmp_path):
    files = {"train": "a\tU-X\nb\tO\n", "dev": "a\tB-X\nb\tO\n", "test": "a\tX1\nb\tO\n"}
    splits = {name: read(text, f"{name}.txt") for name, text in files.items()}
    kind = find_kind("ner")
    assert list(kind.describe_splits({"dev": splits["dev"]})) == []
    (sentence,) = kind.describe_splits(splits)
    assert all(each in sentence for each in ("train BILOU", "dev IOB2", "test IO"))
    task = build_task(kind, {name: tmp_path / f"{name}.txt" for name in files})
    assert sentence in task.findings
    (tmp_path / "io.txt").write_text("a\tX\nb\tO\n".replace("X", "Xy"))
    predicted = kind.read_predictions(tmp_path / "io.txt", splits["dev"])
    assert predicted.notes == {OTHER_SCHEME: "IO"}


def test_an_i_without_a_b_begins_an_entity_and_is_counted(read):
    split = read("a\tO\nb\tI\nc\tI\n\nd\tB\n\ne\tB\n")
    assert split.gold[0] == ("O", "B", "I") and split.notes[INSIDE] == 1
    iob1 = "a\tI-X\nb\tI-Y\nc\tB-Y\n"
    assert read(iob1).notes[INSIDE] == 0


def test_empty_sentences_are_left_out_and_counted(read):
    split = read("\n\na\tO\n\n\n\nb\tB\n\n\n")
    assert len(split) == 2 and split.notes[EMPTY] == 3


def test_words_alone_are_to_be_predicted_on(read):
    split = read("No\nfever\n\nGout\n")
    assert (split.labeled, split.examples[0]) == (False, Sentence(("No", "fever"), None))
    with raises_input_error("no-labels"):
        _ = split.gold


def test_json_lines(read):
    split = read(
        '{"words": ["No", "gout"], "tags": ["O", "B-D"], "document": "7"}\n\n{"words": ["x"],'
        ' "tags": ["O"]}\n',
        "t.jsonl",
    )
    assert split.examples[0] == Sentence(("No", "gout"), ("O", "B-D"), "7") and len(split) == 2
    assert not read('{"words": ["No"]}\n', "t.jsonl").labeled


def test_odd_words_stay_words(read):
    words = ["\u200b", "\u2028", "##ia", "<b>", "a b", "\x85", "-DOCSTART-x"]
    assert read("".join(f"{word}\tO\n" for word in words)).examples[0].words == tuple(words)


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        ("a\tB\nb\tB\textra\n", "ragged-row", ("line 2", "3", "2")),
        ("a\tB\nb\n", "ragged-row", ("line 2", "1")),
        ("a B\n\nb\tO x\n", "ragged-row", ("line 3", "3")),
        ("a\tO\n\tB\n", "no-word", ("line 2",)),
        ("a\tO\nb\tX-B\n", "invalid-tag", ("line 2", "'X-B'")),
        ("a\tO\nb\to\n", "invalid-tag", ("line 2", "'o'")),
        ("a\tB-\n", "invalid-tag", ("'B-'",)),
        ("a\tO\nb\tPER\nc\tB-LOC\n", "invalid-tag", ("line 2", "'PER'")),
        ("a\tO\nb\tB-LOC\nc\tPER\n", "invalid-tag", ("line 3", "'PER'")),
        ("a\tNN\nb\tVBZ\n", "invalid-tag", ("line 1", "'NN'")),
        ("a\tO\t\n", "invalid-tag", ("''",)),
        ("a\tB\nb\tO\nc\tB-X\n", "bare-and-typed-tags", ("1", "3")),
        ("", "no-sentences", ()),
        ("\n\n", "no-sentences", ()),
        ("-DOCSTART-\n\n", "no-sentences", ()),
        (b"caf\xe9\tO\n", "not-utf8", ()),
        (b"a\0\tO\n", "binary-file", ()),
    ],
)
def test_a_bad_file_is_refused_with_its_line(read, text, code, values):
    with raises_input_error(code, *values) as raised:
        read(text)
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("{", "invalid-json", "line 1"),
        ("[1]", "not-a-json-object", "list"),
        ('{"text": "a"}', "no-words", "text"),
        ('{"words": ["a"], "tags": []}', "other-length", "0"),
        ('{"words": "a b"}', "wrong-type", "'words'"),
        ('{"words": ["a", ""]}', "wrong-type", "'words'"),
        ('{"words": ["a"], "tags": ["Z"]}', "invalid-tag", "'Z'"),
        (
            '{"words": ["a"], "tags": ["B"]}\n{"words": ["a"], "tags": ["B-X"]}',
            "bare-and-typed-tags",
            "",
        ),
    ],
)
def test_bad_json_lines_are_refused(read, text, code, value):
    with raises_input_error(code, value):
        read(text, "t.jsonl")


def test_no_file_and_a_folder(tmp_path):
    for path, code in ((tmp_path / "none.tsv", "missing-file"), (tmp_path, "not-a-file")):
        with raises_input_error(code):
            read_sentences(path)


def test_chunks_never_split_a_span_worked_by_hand():
    assert divide_into_chunks(7, [(2, 4)], 3) == ((0, 2), (2, 5), (5, 7))
    assert divide_into_chunks(6, [], 3) == ((0, 3), (3, 6))
    assert divide_into_chunks(9, [(1, 8)], 3) == (
        (0, 1),
        (1, 8),
        (8, 9),
    )  # longer than a chunk: one of its own
    assert divide_into_chunks(5, [(0, 5)], 3) == ((0, 5),)
    assert divide_into_chunks(40, [], 0) == ((0, 40),)


def test_chunks_join_to_the_sentence_and_split_no_entity():
    import random

    draw = random.Random(0)
    for _ in range(200):
        tags = tuple(
            draw.choice(["O", "O", "B-X", "I-X", "B-Y", "I-Y"]) for _ in range(draw.randint(1, 60))
        )
        limit, spans = draw.randint(1, 12), decode_spans(tags)
        bounds = divide_into_chunks(len(tags), [(span.start, span.end) for span in spans], limit)
        assert [place for start, end in bounds for place in range(start, end)] == [
            *range(len(tags))
        ]
        assert sum(len(decode_spans(tags[start:end])) for start, end in bounds) == len(spans)
        longest = max([limit, *(span.end - span.start for span in spans)])
        assert all(0 < end - start <= longest for start, end in bounds)


def test_a_slice_by_suffix_counts_occurrences_and_distinct_words(read):
    split = read("Anaemia\tB\nmedia\tO\nanaemia\tB\nMEDIA\tI\nvia\tO\ngout\tB\n")
    found = count_suffix(split.examples, "-ia")
    assert (found.inside, found.occurrences, found.distinct_inside, found.distinct) == (3, 5, 2, 3)
    assert found.share == pytest.approx(0.6) and count_suffix(split.examples, "xyz").share is None
    with raises_input_error("no-ending"):
        count_suffix(split.examples, "-")
