"""The projection figure: the data it contains, escaping of labels, highlighted tokens, and its
size."""

import json
import time

import numpy as np
import pytest

from vocadapt.analysis.figures.figures import escape_name, escape_names
from vocadapt.analysis.figures.projection import (
    Drawing,
    Label,
    Points,
    Rings,
    dot_size,
    plot_projection,
    plot_side_by_side,
    select_labels,
)
from vocadapt.analysis.token_columns import Column

HOSTILE = [
    "<script>alert(1)</script>",
    "$x$",
    "<s>",
    ":red[x]",
    "שלום",
    "x" * 500,
    "a\x07b",
    "cancer",
]


@pytest.fixture
def points() -> Points:
    xy = np.random.default_rng(1).normal(size=(len(HOSTILE), 2)).astype(np.float32)
    return Points(xy, np.arange(10, 10 + len(HOSTILE)), escape_names(HOSTILE))


def ids(trace):
    return np.asarray(trace.customdata).tolist()


def test_every_point_carries_its_id_and_its_name_as_it_is(points):
    (trace,) = plot_projection(points, Drawing()).data
    assert trace.type == "scattergl" and ids(trace) == list(range(10, 18))
    assert np.asarray(trace.x).dtype == np.float32
    assert trace.hovertemplate == "%{text}<extra></extra>"
    assert list(trace.text[:3]) == [
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&#36;x&#36;",
        "&lt;s&gt;",
    ]
    assert len(trace.text[5]) == 40
    assert "x…x" in trace.text[5]
    assert trace.text[4] == "שלום"
    assert "\x07" not in trace.text[6]


def test_no_markup_of_a_token_reaches_the_figure(points):
    labels = [(float(x), float(y), name) for (x, y), name in zip(points.xy, HOSTILE, strict=True)]
    rings = Rings(10, [11, 12], [13, 14, 999])
    text = plot_projection(
        points, Drawing(Column("<b>", words=tuple(HOSTILE)), rings=rings, labels=labels)
    ).to_json()
    assert "<script" not in text
    assert "<s>" not in text
    assert "$x" not in text
    assert "\\u003cscript" not in text


def test_a_category_is_a_trace_with_its_own_mark(points):
    words = ("source", "added", "source", "", "dropped", "source", "added", "target")
    figure = plot_projection(
        points,
        Drawing(Column("origin", words=words, order=("source", "added", "target", "dropped"))),
    )
    found = {trace.name.split(" · ")[0]: ids(trace) for trace in figure.data}
    expected = {
        "no value": [13],
        "source": [10, 12, 15],
        "added": [11, 16],
        "target": [17],
        "dropped": [14],
    }
    assert found == expected
    looks = [(trace.marker.color, trace.marker.symbol) for trace in figure.data]
    assert len(set(looks)) == len(looks)


def test_eight_categories_look_different_each(points):
    figure = plot_projection(points, Drawing(Column("mine", words=tuple("abcdefgh"))))
    assert len({(trace.marker.color, trace.marker.symbol) for trace in figure.data}) == 8
    assert not any(
        "open" in trace.marker.symbol for trace in figure.data
    )  # WebGL draws these by their line: it has no width


def test_numbers_have_a_bar_and_what_has_none_is_gray(points):
    values = np.array([0, 9, 99, 999, np.nan, 9, 9, 9], dtype=np.float32)
    blank, colored = plot_projection(
        points, Drawing(Column("frequency", values, logarithmic=True))
    ).data
    assert ids(blank) == [14] and blank.name == "no value"
    assert np.allclose(np.asarray(colored.marker.color)[:4], [0, 1, 2, 3])
    assert list(colored.marker.colorbar.ticktext) == ["1", "10", "100", "1,000"]


def test_rings_and_names_of_the_word_and_its_neighbors(points):
    figure = plot_projection(points, Drawing(rings=Rings(17, [11, 10, 500], [12])))
    base, selected, near, word = figure.data
    assert (ids(selected), ids(near), ids(word)) == ([12], [11, 10], [17])  # 500 is not on the map
    names = [note.text for note in figure.layout.annotations]
    assert names[0] == "<b>cancer</b>"
    assert set(names[1:]) <= {
        "&#36;x&#36;",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
    }
    assert base.marker.opacity < plot_projection(points, Drawing()).data[0].marker.opacity
    assert (
        plot_projection(points, Drawing(rings=Rings(500))).data[0].marker.opacity
    )  # a word that is not on the map


def test_names_do_not_cover_each_other():
    points = Points(
        np.array([[0, 0], [10, 10]], dtype=np.float32), np.arange(2), escape_names(["a", "b"])
    )
    names = [
        Label(5, 5, "first-one-two"),
        Label(5, 5.1, "second-over-it"),
        Label(1, 9, "far"),
        Label(50, 50, "outside"),
    ]
    assert [name.text for name in select_labels(names, points, Drawing())] == [
        "first-one-two",
        "far",
    ]
    labels = [(0.0, 0.4, "on the word"), (9.0, 5.0, "<free>")]
    figure = plot_projection(points, Drawing(rings=Rings(0, [1]), labels=labels))
    assert [note.text for note in figure.layout.annotations] == ["<b>a</b>", "b", "&lt;free&gt;"]


def test_on_paper_it_is_drawn_in_vectors(points):
    assert {
        trace.type
        for trace in plot_projection(points, Drawing(rings=Rings(10, [11]), as_vectors=True)).data
    } == {"scatter"}


def test_thirty_thousand_points_are_less_than_a_megabyte():
    n = 30_522
    xy = np.random.default_rng(1).normal(size=(n, 2)).astype(np.float32)
    points = Points(xy, np.arange(n), escape_names([f"token{i % 1000}" for i in range(n)]))
    text = plot_projection(
        points, Drawing(Column("length", np.ones(n, dtype=np.float32)))
    ).to_json()
    assert (
        len(text) < 1_150_000
    )  # names here are longer than a vocabulary's; the numbers: 12 bytes a point and its color
    assert json.loads(text)["data"][0]["x"]["dtype"] == "f4"


def test_points_shrink_as_they_grow_many():
    assert dot_size(10) > dot_size(4000) > dot_size(30_000) >= 3 and dot_size(0) <= 11
    assert escape_name("a" * 40) == "a" * 40
    shortened = escape_name(f"first{'a' * 40}last")
    assert len(shortened) == 40 and shortened.startswith("firsta") and shortened.endswith("alast")
    assert shortened.count("…") == 1


def test_building_a_large_figure_takes_a_tenth_of_a_second():
    xy, tokens = (
        np.random.default_rng(0).normal(size=(30_000, 2)).astype(np.float32),
        [f"token{i}" for i in range(30_000)],
    )
    many = Points(xy, np.arange(30_000), escape_names(tokens))
    plot_projection(many, Drawing())  # plotly's first figure loads its validators
    seconds = []
    for _ in range(5):
        start = time.thread_time()
        plot_projection(many, Drawing())
        seconds.append(time.thread_time() - start)
    assert min(seconds) < 0.1


def test_side_by_side_moves_together(points):
    one, two = (plot_projection(points, Drawing(labels=[(0.0, 0.0, "x")])) for _ in range(2))
    both = plot_side_by_side(("<A>", "B"), (one, two))
    assert {trace.xaxis for trace in both.data} == {"x", "x2"} and both.layout.xaxis2.matches == "x"
    assert [label.text for label in both.layout.annotations][:2] == ["&lt;A&gt;", "B"]
