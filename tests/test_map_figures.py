"""Maps as figures: small, quick, literal."""

import time

import numpy as np
import pytest

from vocadapt.analysis.figures import GOOD, NULL
from vocadapt.analysis.map_figures import Colouring, cloud, literal, side_by_side

RANDOM = np.random.default_rng(0)
N = 30_000
WORDS = [f"token{i}" for i in range(N)]
XY = RANDOM.normal(size=(N, 2)).astype(np.float32)
IDS = np.arange(N)


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("plain", "plain"), ("<s>", "&lt;s&gt;"), ("$x$", "&#36;x&#36;"), ("a&b", "a&amp;b"), (":red[x]", ":red[x]"),
        ("##ing", "##ing"), ("x" * 61, "x" * 59 + "…"), ("x" * 60, "x" * 60),
    ],
)  # fmt: skip
def test_tokens_are_literal(token, shown):
    assert literal(token) == shown


def test_thirty_thousand_words_are_a_megabyte_at_most():
    figure = cloud(WORDS, XY, IDS, Colouring("id", IDS))
    assert len(figure.to_json()) <= 1_000_000
    assert figure.data[0].type == "scattergl" and figure.data[0].x.dtype == np.float32


def test_building_the_figure_takes_a_tenth_of_a_second():
    cloud(WORDS[:10], XY[:10], IDS[:10])  # plotly's first figure loads its validators
    seconds = []
    for _ in range(5):
        start = time.thread_time()
        cloud(WORDS, XY, IDS)
        seconds.append(time.thread_time() - start)
    assert min(seconds) < 0.1


def test_categories_have_a_trace_each_and_keep_their_ids():
    values = np.array([0, 1, 1, -1, 0])
    figure = cloud(WORDS[:5], XY[:5], [10, 11, 12, 13, 14], Colouring("origin", values, ("added", "<b>")))
    assert [(trace.name, trace.customdata.tolist()) for trace in figure.data] == [
        ("added", [10, 14]), ("&lt;b&gt;", [11, 12]), ("none", [13]),
    ]  # fmt: skip
    assert figure.data[0].marker.color == GOOD and figure.data[2].marker.color == NULL
    assert figure.layout.showlegend


def test_marked_words_stand_out_with_their_names():
    figure = cloud(["a", "<s>", "c"], XY[:3], IDS[:3], marked=[1])
    assert figure.data[-1].text.tolist() == ["&lt;s&gt;"] and figure.data[-1].mode == "markers+text"


def test_labels_are_literal_and_stand_where_they_should():
    figure = cloud(["a", "b"], XY[:2], IDS[:2], labels=[("<i> · $x$", 1.0, 2.0)])
    label = figure.layout.annotations[0]
    assert (label.text, label.x, label.y) == ("&lt;i&gt; · &#36;x&#36;", 1.0, 2.0)


def test_side_by_side_moves_together():
    one, two = (cloud(["a", "b"], XY[:2], IDS[:2], labels=[("x", 0.0, 0.0)]) for _ in range(2))
    both = side_by_side(("<A>", "B"), (one, two))
    assert [trace.xaxis for trace in both.data] == ["x", "x2"] and both.layout.xaxis2.matches == "x"
    assert [label.text for label in both.layout.annotations][:2] == ["&lt;A&gt;", "B"]
    assert both.layout.annotations[3].xref == "x2"
