"""Reading labeled texts: relations, classification, multi-label, NLI; entity markers and masks;
documents."""

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.training.examples.examples import Text
from vocadapt.training.tasks.formats.conll import read_sentences
from vocadapt.training.tasks.formats.table_rows import PREDICTIONS, read_table_rows
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.kinds.labeled_texts import NO_AGREEMENT, NO_TEXT
from vocadapt.training.tasks.kinds.multilabel import merge_documents
from vocadapt.training.tasks.kinds.relations import NO_PAIR, find_marks, has_pair


@pytest.fixture
def read(tmp_path):
    def read(text, kind="relations", **how):
        (tmp_path / "t.tsv").write_bytes(text if isinstance(text, bytes) else text.encode())
        return TASK_KINDS[kind].read(tmp_path / "t.tsv", **how)

    return read


GAD = 'index\tsentence\tlabel\n0\t@GENE$ and @DISEASE$\t1\n7\t@GENE$ "not" @DISEASE$\t0\n'


def test_a_table_with_a_header(read):
    split = read(GAD)
    quoted = '@GENE$ "not" @DISEASE$'
    assert split.examples[1] == Text("7", quoted, ("0",))
    assert (len(split), split.notes[NO_PAIR], split.labeled) == (2, 0, True)


def test_a_header_may_leave_a_column_without_a_name(read):
    table = "\tsentence\tlabel\n0\ta\t1\n"
    assert read(table).examples == (Text("0", "a", ("1",)),)


def test_a_table_without_a_header_by_the_number_of_columns(read):
    one, two, three = "note\nmore\n", "note\t1\nmore\t0\n", "12.T1\tnote\tCPR:3\n"
    assert read(two).examples == (Text("0", "note", ("1",)), Text("1", "more", ("0",)))
    assert read(three).examples == (Text("12.T1", "note", ("CPR:3",)),)
    assert read(one, "classification").examples[1] == Text("1", "more", None)


def test_json_lines_with_marks(read):
    split = read(
        '{"text": "<< Ang II >> and [[ losartan ]]", "label": "INHIBITOR", "metadata":'
        ' []}\n\n{"text": "x", "label": 3}\n'
    )
    assert split.examples[0].labels == ("INHIBITOR",) and split.examples[1].labels == ("3",)
    assert split.notes[NO_PAIR] == 1


def test_marks_and_masks():
    first, second = "<< Ang II >>", "[[ X ]]"
    text = f"{first}-induced by {second}, @GENE$, @CHEM-GENE$ and @problem$"
    marks = find_marks(text)
    assert [(mark.text, mark.masked) for mark in marks] == [
        ("Ang II", False),
        ("X", False),
        ("GENE", True),
        ("CHEM-GENE", True),
        ("problem", True),
    ]
    assert [text[mark.start : mark.end] for mark in marks[:2]] == [first, second]
    assert has_pair("@CHEM-GENE$ alone")
    assert not has_pair("@GENE$ alone")
    assert not has_pair("a@b.com 3$")


def test_hoc_flags_names_and_documents(read):
    flags = "labels\tsentence\tindex\n0_0,1_1,2_1\tone\t12_s0\n0_1,1_1,2_0\ttwo\t12_s1\n0_0,1_0,2_0\tthree\t9_s0\n"
    split = read(flags, "multilabel")
    assert split.gold == (("1", "2"), ("0", "1"), ()) and split.documents == ("12", "12", "9")
    assert merge_documents(split.examples) == (
        Text("12", "one two", ("0", "1", "2"), document="12"),
        Text("9", "three", (), document="9"),
    )
    names = "index\tsentence\tlabels\n12_s0\tone\tcell death,tumor promoting\n12_s1\ttwo\t\n"
    assert read(names, "multilabel").gold == (("cell death", "tumor promoting"), ())
    line = '{"text": "a", "labels": ["x", "y", "x"]}\n'
    assert read(line, "multilabel").gold == (("x", "y"),)


def test_documents_need_an_index_that_names_them(read):
    with raises_input_error("no-documents"):
        merge_documents(read("a\tx\n", "multilabel").examples)


def test_nli_pairs(read):
    line = (
        '{"sentence1": "No fever.", "sentence2": "Afebrile.", "gold_label": "%s", "pairID": "%s"}\n'
    )
    split = read(line % ("entailment", "p1") + line % ("-", "p2") + line % ("neutral", "p3"), "nli")
    assert split.examples[0] == Text("p1", "No fever.", ("entailment",), "Afebrile.")
    assert (len(split), split.notes[NO_AGREEMENT]) == (2, 1)
    unlabeled = '{"sentence1": "a", "sentence2": "b"}\n'
    assert not read(unlabeled, "nli").labeled
    with raises_input_error("one-sentence"):
        read('{"sentence1": "a", "label": "x"}\n', "nli")
    with raises_input_error("no-agreed-label"):
        read(line % ("-", "p"), "nli")


def test_columns_that_are_not_called_as_usual(read):
    table = "body\tverdict\nhello\tyes\n"
    line = '{"body": "hello", "verdict": true}\n'
    columns = {"text": "body", "label": "verdict"}
    split = read(table, "classification", columns=columns)
    assert split.examples == (Text("0", "hello", ("yes",)),)
    assert read(line, "classification", columns=columns).gold == (("true",),)
    with raises_input_error("repeated-column"):
        read("body\tverdict\tbody\na\tyes\tb\n", "classification", columns={"text": "body"})
    with raises_input_error("missing-column", "boddy", "body"):
        read('{"body": "hello"}\n', "classification", columns={"text": "boddy"})


def test_an_empty_text_is_kept_and_counted(read):
    split = read("index\tsentence\tlabel\n0\t\t1\n1\tx\t0\n", "classification")
    assert len(split) == 2 and split.notes[NO_TEXT] == 1


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("index\tsentence\tlabel\n0\ta\t1\n1\tb\n", "ragged-row", "line 3"),
        ("a\tb\tc\td\n", "no-header", "line 1"),
        ("index\tsentence\tlabel\n0\ta\t1\n1\tb\t\n", "empty-label", "line 3"),
        ('{"text": "a", "label": "x"}\n{"text": "b"}\n', "some-unlabeled", "line 2"),
        ('{"text": "a", "label": "x"}\n{"text": "b"\n', "invalid-json", "line 2"),
        ('{"text": "a", "label": "x"}\n[1]\n', "not-a-json-object", "line 2"),
        ('{"text": 3, "label": "x"}\n', "wrong-type", "int"),
        ('{"text": "a", "label": 1.5}\n', "wrong-type", "1.5"),
        ('{"text": "a", "label": {"x": 1}}\n', "wrong-type", "{'x': 1}"),
        ('{"title": "a"}\n', "missing-column", "title"),
        ("text\ttext\tlabel\na\tb\tx\n", "repeated-column", "text"),
        ("Text\ttext\tlabel\na\tb\tx\n", "repeated-column", "Text"),
        ("", "no-examples", ""),
        ("index\tsentence\tlabel\n", "no-examples", ""),
        (b"caf\xe9\t1\n", "not-utf8", ""),
    ],
)
def test_a_bad_file_is_refused_with_its_line(read, text, code, value):
    with raises_input_error(code, value) as raised:
        read(text)
    assert raised.value.remedy


def test_an_empty_name_among_labels_is_refused(read):
    with raises_input_error("empty-label"):
        read('{"text": "a", "labels": "x,,y"}\n', "multilabel")


PAIR = ("No fever.", "He is afebrile.")
NLI_COLUMNS = "pairID, sentence1, sentence2, gold_label"


@pytest.mark.parametrize(
    "columns",
    [
        ("p1", *PAIR, "entailment"),  # id first, label last
        ("entailment", *PAIR, "p1"),  # SNLI and MedNLI: label first, id last
        (*PAIR, "p1", "entailment"),
        ("entailment", "p1", *PAIR),
        ("p1", "Entailment", *PAIR),
    ],
)
def test_nli_pairs_without_a_header_are_read_where_the_columns_can_be_told(read, columns):
    other = [
        "neutral" if cell.lower() == "entailment" else "p2" if cell == "p1" else cell
        for cell in columns
    ]
    split = read("\t".join(columns) + "\n" + "\t".join(other) + "\n", "nli")
    label = next(cell for cell in columns if cell.lower() == "entailment")
    assert split.examples == (
        Text("p1", PAIR[0], (label,), PAIR[1]),
        Text("p2", PAIR[0], ("neutral",), PAIR[1]),
    )


def test_nli_pairs_of_two_and_three_columns(read):
    assert read("\t".join(PAIR) + "\n", "nli").examples == (Text("0", PAIR[0], None, PAIR[1]),)
    for columns in ((*PAIR, "contradiction"), ("contradiction", *PAIR)):
        assert read("\t".join(columns) + "\n", "nli").examples == (
            Text("0", PAIR[0], ("contradiction",), PAIR[1]),
        )


@pytest.mark.parametrize(
    "columns",
    [
        ("p1", *PAIR, "true"),  # no label of NLI
        ("neutral", *PAIR, "entailment"),  # two of them
        ("p1", "Afebrile.", "Fever.", "neutral"),  # an id at either end
        ("one", "two", "three", "four", "five"),
        ("alone",),
    ],
)
def test_nli_columns_that_cannot_be_told_are_refused_by_their_own_names(read, columns):
    with raises_input_error("no-header", str(len(columns)), NLI_COLUMNS):
        read("\t".join(columns) + "\n", "nli")


def test_a_row_that_does_not_fit_the_columns_of_the_first_is_refused(read):
    first = "\t".join(("p1", *PAIR, "entailment"))
    with raises_input_error("unknown-label", "line 2", "perhaps", NLI_COLUMNS):
        read(f"{first}\np2\tNo fever.\tHe is afebrile.\tperhaps\n", "nli")


@pytest.mark.parametrize(
    ("kind", "columns", "name"),
    [
        ("relations", "id, text, label", "text, sentence."),
        ("classification", "id, text, label", "text, sentence."),
        ("multilabel", "id, text, labels", "text, sentence."),
        ("nli", NLI_COLUMNS, "sentence1, premise."),
    ],
)
def test_messages_name_the_columns_of_their_own_kind_of_task(read, kind, columns, name):
    with raises_input_error("no-header", f": {columns}."):
        read("a\tb\tc\td\te\n", kind)
    with raises_input_error("missing-column", f": {name}"):
        read('{"question": "a"}\n', kind)
    with raises_input_error(
        "not-a-json-object", *(f'"{name}": "…"' for name in columns.split(", "))
    ):
        read('{"text": "a", "pair": "b"}\n[1]\n', kind)


def test_messages_of_predictions_and_tags_name_their_own_columns(tmp_path):
    path = tmp_path / "said.tsv"
    path.write_text("a\tb\tc\td\n", encoding="utf-8")
    with raises_input_error("no-header", ": id, label."):
        list(read_table_rows(path, shape=PREDICTIONS))
    tags = tmp_path / "tags.jsonl"
    tags.write_text("[1]\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_sentences(tags)
    assert '"words"' in caught.value.remedy and '"text"' not in caught.value.remedy
