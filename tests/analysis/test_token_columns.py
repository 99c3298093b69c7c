"""Columns with a value per token: worked by hand, with hostile tokens, and from the user's
tables."""

import numpy as np
import pytest

from vocadapt.analysis import token_columns
from vocadapt.errors import InputError
from vocadapt.vocabulary.families.wordpiece import find_word_kinds

TOKENS = ("cancer", "##ing", "##", "<script>", "$x$", "שלום")


def test_lengths_leave_the_mark_of_a_continuation_out():
    assert token_columns.build_length_column(TOKENS, find_word_kinds(TOKENS)).values == [
        6.0,
        3.0,
        2.0,
        8.0,
        3.0,
        4.0,
    ]
    assert token_columns.build_id_column([5, 7]).values == [5.0, 7.0]


def test_origin_by_the_plan():
    added = [["sepsis", ["se", "##psis"], 3]]
    plan = {
        "kind": "append",
        "added_tokens": added,
        "replaced_tokens": ["cell"],
        "dropped_tokens": ["old"],
    }
    assert token_columns.build_origin_column(["sepsis", "cell", "old", "the"], plan).words == (
        "added",
        "new row",
        "dropped",
        "source",
    )
    assert token_columns.build_origin_column(["sepsis"], plan | {"kind": "transfer"}).words == (
        "target",
    )
    combined = plan | {"kind": "combined", "settings": {"add_by": "corpus-words"}}
    assert token_columns.build_origin_column(["sepsis"], combined).words == ("added",)
    assert token_columns.build_origin_column(["sepsis", "the"], plan).categories == (
        "source",
        "added",
    )  # in this order, whatever their number


def test_a_slice_parts_the_tokens_in_two():
    column = token_columns.build_membership_column(TOKENS, ["cancer", "$x$", "elsewhere"], "mine")
    assert column.words == (
        "mine",
        token_columns.REST,
        token_columns.REST,
        token_columns.REST,
        "mine",
        token_columns.REST,
    )
    assert (
        len(
            set(token_columns.build_membership_column(TOKENS, ["cancer"], token_columns.REST).words)
        )
        == 2
    )  # whatever it is called


def test_more_categories_than_colors_become_other():
    words = tuple(f"c{i:02}" for i in range(20) for _ in range(20 - i))
    column = token_columns.Column("many", words=(*words, ""))
    assert column.categories == (*(f"c{i:02}" for i in range(7)), token_columns.OTHER)
    assert column.codes[0] == 0 and column.codes[-2] == 7 and column.codes[-1] == -1
    assert column.known == len(words) and np.bincount(column.codes[:-1]).sum() == len(words)
    eight = token_columns.Column("eight", words=tuple("abcdefgh"))
    assert eight.categories == tuple("abcdefgh")


def table(tmp_path, content, encoding="utf-8"):
    path = tmp_path / "mine.csv"
    path.write_bytes(content.encode(encoding))
    return path


@pytest.mark.parametrize("separator", [",", "\t"])
def test_a_table_of_numbers(tmp_path, separator):
    lines = [("token", "value"), ("cancer", "1.5"), ("$x$", "-2"), ("absent", "9")]
    read = token_columns.read_token_table(
        table(tmp_path, "".join(f"{a}{separator}{b}\n" for a, b in lines))
    )
    assert read == {"cancer": "1.5", "$x$": "-2", "absent": "9"}
    column = token_columns.column_from_table(TOKENS, read, "mine")
    assert column.values == [1.5, None, None, None, -2.0, None] and column.known == 2


def test_a_table_of_words_with_quotes_and_a_byte_order_mark(tmp_path):
    read = token_columns.read_token_table(
        table(tmp_path, '"<script>",markup\n"a,b",comma\ncancer,illness\n', "utf-8-sig")
    )
    assert read == {"<script>": "markup", "a,b": "comma", "cancer": "illness"}
    column = token_columns.column_from_table(TOKENS, read, "mine")
    assert column.numbers is None
    assert column.known == 2
    assert column.categories == ("illness", "markup")


def test_a_table_of_nothing_that_is_there_is_all_unknown(tmp_path):
    column = token_columns.column_from_table(TOKENS, {"absent": "1"}, "mine")
    assert column.known == 0 and column.values == [None] * len(TOKENS)
    assert token_columns.column_from_table(["a"], {"a": "nan"}, "mine").values == [
        "nan"
    ]  # no number: a word


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"token,value\n",
        b"cancer\n",
        b"\xff\xfe\x00",
        b"a,1\nb\n",
        b'"' + b"x" * 200_000 + b'",1\n',
    ],
)
def test_what_is_no_table_is_refused(tmp_path, content):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(InputError):
        token_columns.read_token_table(path)
    with pytest.raises(InputError):
        token_columns.read_token_table(tmp_path / "gone.csv")


def test_a_quotation_mark_between_tabs_is_a_token(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text('token\tvalue\na\t1\n"\t2\nb\t3\nx"y\t4\n', encoding="utf-8")
    assert token_columns.read_token_table(path) == {"a": "1", '"': "2", "b": "3", 'x"y': "4"}
