"""A layout that another program computed: every fault of a file is a sentence with numbers."""

import math

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import list_numbers
from vocadapt.spaces.projection.layout_file import MAX_BYTES, match_layout, read_layout
from vocadapt.spaces.space import EmbeddingSpace

HOSTILE = ("<img src=x>", "$x$", "=1+1", 'a,"b', "\u202eabc")
WORDS = ("heart", "lung", "liver", "brain", *HOSTILE)
SPACE = EmbeddingSpace(
    WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32), name="small"
)


@pytest.fixture
def write(tmp_path):
    def save(text, name="points.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return save


@pytest.mark.parametrize(
    "text",
    [
        "token,x,y\nheart,1,2\nlung,3.5,-4\n",
        "id,Word,X,Y,region\n0,heart,1,2,a\n1,lung,3.5,-4,b\n",
        "\ufefftoken,x,y\r\nheart,1,2\r\nlung,3.5,-4\r\n",
        "token\tx\ty\nheart\t1\t2\nlung\t3.5\t-4\n",
        "token;x;y\nheart;1;2\nlung;3,5;-4\n",  # decimal commas
        "y,x,name\n2,1,heart\n-4,3.5,lung\n",
        "token,umap1,umap2\n\nheart,1,2\nlung,3.5,'-4\n",  # as the lab escapes cells
        "\n\ntoken\tx\ty\nheart\t1\t2\nlung\t3.5\t-4\n",
        "token;x;y;note, or none\nheart;1;2;\nlung;3,5;-4;a, b\n",
        'token,x,y,"tab\there"\nheart,1,2,\nlung,3.5,-4,a;b\n',
    ],
)
def test_columns_are_found_by_name(text, write):
    layout = read_layout(write(text))
    assert layout.tokens == ("heart", "lung")
    assert layout.xy.tolist() == [[1, 2], [3.5, -4]]


def test_a_quotation_mark_is_a_token_of_a_tsv_file(write):
    text = 'token\tx\ty\n"\t1\t2\n'
    assert read_layout(write(text)).tokens == ('"',)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("", ["no-tokens"]),
        ("token,x,y\n", ["no-tokens"]),
        ("heart,1,2\nlung,3,4\n", ["missing-column", "no token", "'heart', '1', '2'"]),
        ("token,a,y\nheart,1,2\n", ["missing-column", "no x", "'token', 'a', 'y'"]),
        ("token,x,y\na,b,1,2\n", ["unlike-header", "1 of 1", "line 2"]),
        ("token,x,y\nheart,1,2\nlung,3\nliver\n", ["unlike-header", "2 of 3", "line 3"]),
        ("\ntoken,x,y\n\n\nheart,1\n", ["unlike-header", "1 of 1", "line 5"]),
        ('token,x,y\nlung,1,2\n",3,4\nheart,5,6\n",7,8\n', ["open-quote", "line 5"]),
        (b"token,x,y\n\xff,1,2\n", ["not-utf8"]),
        ('token,x,y\n"' + "a" * 200_000 + '",1,2\n', ["invalid-table"]),
    ],
)
def test_a_file_that_is_no_layout(text, stated, write):
    with raises_input_error(*stated) as caught:
        read_layout(write(text))
    assert caught.value.remedy and len(str(caught.value)) < 400


def test_a_huge_file_is_refused_before_it_is_read(write):
    path = write("token,x,y\n")
    with path.open("r+b") as file:
        file.truncate(MAX_BYTES + 1)  # sparse: no disk space
    with raises_input_error("file-too-large", path.name):
        read_layout(path)


@pytest.mark.parametrize("bad", ["", "nan", "inf", "-Infinity", "1e999", "1e31", "x", "١x"])
def test_a_coordinate_that_is_no_number_is_missing(bad, write):
    layout = read_layout(write(f"token,x,y\nheart,{bad},2\n"))
    assert math.isnan(layout.xy[0, 0]) and layout.xy[0, 1] == 2


def test_what_cannot_be_drawn_is_left_out_and_counted(write):
    lines = [
        "heart,0,1",
        "lung,1,0",
        "liver,2,2",
        "spleen,3,3",
        "brain,inf,0",
        "lung,9,9",
        "skin,1,1",
    ]
    matched = match_layout(read_layout(write("token,x,y\n" + "\n".join(lines))), SPACE)
    assert matched.rows.tolist() == [0, 1, 2] and matched.xy.tolist() == [[0, 1], [1, 0], [2, 2]]
    unknown, not_finite, repeated = matched.notes
    assert list_numbers(unknown) == ["2", "7"] and unknown.endswith("'spleen', 'skin'")
    assert list_numbers(not_finite) == ["1", "7"] and not_finite.endswith("'brain'")
    assert list_numbers(repeated) == ["1", "7"] and repeated.endswith("'lung'")


def test_many_unknown_tokens_are_not_all_listed(write):
    lines = [f"foreign{number},0,1" for number in range(1200)]
    lines += ["heart,0,1", "lung,1,0", "liver,2,2"]
    matched = match_layout(read_layout(write("token,x,y\n" + "\n".join(lines))), SPACE)
    assert list_numbers(matched.notes[0])[:2] == ["1,200", "1,203"]
    assert matched.notes[0].endswith("…") and len(matched.notes[0]) < 150


def test_a_layout_of_too_few_tokens(write):
    with raises_input_error("too-few-tokens") as caught:
        match_layout(read_layout(write("token,x,y\nheart,0,1\nlung,1,0\nskin,2,2\n")), SPACE)
    assert list_numbers(caught.value.problem) == ["2", "3", "3", "1", "3"]
    with raises_input_error("too-few-tokens") as caught:
        match_layout(read_layout(write("token,x,y\nskin,2,2\n")), SPACE)
    assert list_numbers(caught.value.problem) == ["0", "1", "3", "1", "1"]


def test_a_layout_of_one_place(write):
    text = "token,x,y\n" + "".join(f"{word},1,1\n" for word in WORDS[:4])
    with raises_input_error("one-place", "4"):
        match_layout(read_layout(write(text)), SPACE)


def test_hostile_tokens_are_matched_literally(write):
    import csv
    import io

    file = io.StringIO()
    csv.writer(file).writerows(
        [("token", "x", "y"), *((t, i, i * i) for i, t in enumerate(HOSTILE))]
    )
    matched = match_layout(read_layout(write(file.getvalue())), SPACE)
    assert matched.rows.tolist() == [4, 5, 6, 7, 8] and not matched.notes
