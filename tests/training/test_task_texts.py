"""Reading labeled texts: relations, classification, multi-label, NLI; entity markers and masks;
documents."""

import pytest

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
    assert split.examples[1] == Text("7", '@GENE$ "not" @DISEASE$', ("0",))
    assert (len(split), split.notes[NO_PAIR], split.labeled) == (2, 0, True)


def test_a_header_may_leave_a_column_without_a_name(read):
    assert read("\tsentence\tlabel\n0\ta\t1\n").examples == (Text("0", "a", ("1",)),)


def test_a_table_without_a_header_by_the_number_of_columns(read):
    assert read("some text\t1\nmore\t0\n").examples == (
        Text("0", "some text", ("1",)),
        Text("1", "more", ("0",)),
    )
    assert read("12.T1\tsome text\tCPR:3\n").examples == (Text("12.T1", "some text", ("CPR:3",)),)
    assert read("some text\nmore\n", "classification").examples[1] == Text("1", "more", None)


def test_json_lines_with_marks(read):
    split = read(
        '{"text": "<< Ang II >> and [[ losartan ]]", "label": "INHIBITOR", "metadata":'
        ' []}\n\n{"text": "x", "label": 3}\n'
    )
    assert split.examples[0].labels == ("INHIBITOR",) and split.examples[1].labels == ("3",)
    assert split.notes[NO_PAIR] == 1


def test_marks_and_masks():
    text = "<< Ang II >>-induced by [[ X ]], @GENE$, @CHEM-GENE$ and @problem$"
    marks = find_marks(text)
    assert [(mark.text, mark.masked) for mark in marks] == [
        ("Ang II", False),
        ("X", False),
        ("GENE", True),
        ("CHEM-GENE", True),
        ("problem", True),
    ]
    assert [text[mark.start : mark.end] for mark in marks[:2]] == ["<< Ang II >>", "[[ X ]]"]
    assert has_pair("@CHEM-GENE$ alone")
    assert not has_pair("@GENE$ alone")
    assert not has_pair("a@b.com costs 3$")


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
    assert read('{"text": "a", "labels": ["x", "y", "x"]}\n', "multilabel").gold == (("x", "y"),)


def test_documents_need_an_index_that_names_them(read):
    with pytest.raises(InputError, match="which document"):
        merge_documents(read("a\tx\n", "multilabel").examples)


def test_nli_pairs(read):
    line = (
        '{"sentence1": "No fever.", "sentence2": "Afebrile.", "gold_label": "%s", "pairID": "%s"}\n'
    )
    split = read(line % ("entailment", "p1") + line % ("-", "p2") + line % ("neutral", "p3"), "nli")
    assert split.examples[0] == Text("p1", "No fever.", ("entailment",), "Afebrile.")
    assert (len(split), split.notes[NO_AGREEMENT]) == (2, 1)
    assert not read('{"sentence1": "a", "sentence2": "b"}\n', "nli").labeled
    with pytest.raises(InputError, match="two sentences"):
        read('{"sentence1": "a", "label": "x"}\n', "nli")
    with pytest.raises(InputError, match="agreed label"):
        read(line % ("-", "p"), "nli")


def test_columns_that_are_not_called_as_usual(read):
    split = read(
        "body\tverdict\nhello\tyes\n",
        "classification",
        columns={"text": "body", "label": "verdict"},
    )
    assert split.examples == (Text("0", "hello", ("yes",)),)
    assert read(
        '{"body": "hello", "verdict": true}\n',
        "classification",
        columns={"text": "body", "label": "verdict"},
    ).gold == (("true",),)
    with pytest.raises(InputError, match="called alike"):
        read("body\tverdict\tbody\na\tyes\tb\n", "classification", columns={"text": "body"})
    with pytest.raises(InputError, match=r"there is no 'boddy'.*\nIt has: body"):
        read('{"body": "hello"}\n', "classification", columns={"text": "boddy"})


def test_an_empty_text_is_kept_and_counted(read):
    split = read("index\tsentence\tlabel\n0\t\t1\n1\tx\t0\n", "classification")
    assert len(split) == 2 and split.notes[NO_TEXT] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("index\tsentence\tlabel\n0\ta\t1\n1\tb\n", "line 3 has 2 columns where 3 were expected"),
        ("a\tb\tc\td\n", "line 1 has 4 columns and no header"),
        ("index\tsentence\tlabel\n0\ta\t1\n1\tb\t\n", "line 3: an empty label"),
        ('{"text": "a", "label": "x"}\n{"text": "b"}\n', "line 2: labels in some rows only"),
        ('{"text": "a", "label": "x"}\n{"text": "b"\n', "line 2: not valid JSON"),
        ('{"text": "a", "label": "x"}\n[1]\n', "line 2: expected a JSON object"),
        ('{"text": 3, "label": "x"}\n', "expected a text, found int"),
        ('{"text": "a", "label": 1.5}\n', "expected a label, found 1.5"),
        ('{"text": "a", "label": {"x": 1}}\n', "expected a label"),
        ('{"title": "a"}\n', "no text among title"),
        ("text\ttext\tlabel\na\tb\tx\n", "two columns are called alike"),
        ("Text\ttext\tlabel\na\tb\tx\n", "two columns are called alike"),
        ("", "holds no example"),
        ("index\tsentence\tlabel\n", "holds no example"),
        (b"caf\xe9\t1\n", "expected UTF-8"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(read, text, said):
    with pytest.raises(InputError, match=said) as raised:
        read(text)
    assert raised.value.remedy


def test_an_empty_name_among_labels_is_refused(read):
    with pytest.raises(InputError, match="an empty label among"):
        read('{"text": "a", "labels": "x,,y"}\n', "multilabel")


PAIR = ("No fever.", "He is afebrile.")


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
    with pytest.raises(InputError, match=f"has {len(columns)} columns and no header") as caught:
        read("\t".join(columns) + "\n", "nli")
    assert (
        caught.value.remedy
        == "Name them on the first line: pairID, sentence1, sentence2, gold_label."
    )


def test_a_row_that_does_not_fit_the_columns_of_the_first_is_refused(read):
    first = "\t".join(("p1", *PAIR, "entailment"))
    with pytest.raises(InputError, match="line 2: 'perhaps' is none of the labels") as caught:
        read(f"{first}\np2\tNo fever.\tHe is afebrile.\tperhaps\n", "nli")
    assert "pairID, sentence1, sentence2, gold_label" in caught.value.remedy


@pytest.mark.parametrize(
    ("kind", "columns", "name"),
    [
        ("relations", "id, text, label", "text, sentence."),
        ("classification", "id, text, label", "text, sentence."),
        ("multilabel", "id, text, labels", "text, sentence."),
        ("nli", "pairID, sentence1, sentence2, gold_label", "sentence1, premise."),
    ],
)
def test_messages_name_the_columns_of_their_own_kind_of_task(read, kind, columns, name):
    with pytest.raises(InputError) as caught:
        read("a\tb\tc\td\te\n", kind)
    assert caught.value.remedy == f"Name them on the first line: {columns}."
    with pytest.raises(InputError) as caught:
        read('{"question": "a"}\n', kind)
    assert caught.value.remedy == f"Name it one of: {name}"
    with pytest.raises(InputError) as caught:
        read('{"text": "a", "pair": "b"}\n[1]\n', kind)
    assert all(f'"{column}": "…"' in caught.value.remedy for column in columns.split(", "))


def test_messages_of_predictions_and_tags_name_their_own_columns(tmp_path):
    path = tmp_path / "said.tsv"
    path.write_text("a\tb\tc\td\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(read_table_rows(path, shape=PREDICTIONS))
    assert caught.value.remedy == "Name them on the first line: id, label."
    tags = tmp_path / "tags.jsonl"
    tags.write_text("[1]\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_sentences(tags)
    assert '"words"' in caught.value.remedy and '"text"' not in caught.value.remedy
