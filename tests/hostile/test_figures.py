"""Names from files are text in every figure: plotly interprets tags, entities, $ and %{…}."""

import re
from collections.abc import Callable, Iterator

import numpy as np
import plotly.graph_objects as go
import pytest

from vocadapt.analysis.figures import diagnostics, figures, published, search, training
from vocadapt.training.masked.validation import HeldOutCurve

NAMES = [
    "<img src=x onerror=alert(1)>",
    '<a href="https://evil.example.org">x</a>',
    "</extra><b>b</b>",
    "%{customdata} %{x:.0%}",
    "$x$",
    "&lt;b&gt;",
    "\u202egnirts\x1b[31m\0",
    "x" * 10_000,
]
OWN = re.compile(r"<extra>|</extra>|<br>|%\{[a-z]+(?:\[\d\])?(?::[^}<]*)?\}")
LINE = [(1.0, 0.5), (2.0, 0.6)]


def plot_norms(name: str) -> go.Figure:
    one = np.ones(2)
    panel = diagnostics.NormPanel(name, "#000", "rank", False, *[one] * 6)
    return diagnostics.plot_norms([panel])


def plot_relations(name: str) -> go.Figure:
    return diagnostics.plot_relations(
        [name], [diagnostics.RelationMarks(name, "#000", [0.1], [0.1], [0.1])]
    )


def plot_overlap(name: str) -> go.Figure:
    return figures.plot_overlap_by_frequency([1], [0.5], [name], [True], {name: ([1], [0.5])})


PLOTS: dict[str, Callable[[str], go.Figure]] = {
    "norms": plot_norms,
    "relations": plot_relations,
    "overlap": plot_overlap,
    "bars": lambda name: figures.plot_wordpieces_per_word({name: {"1": 0.5}}),
    "lengths": lambda name: figures.plot_length_distribution({name: {1: 5}}),
    "leaderboard": lambda name: figures.plot_leaderboard([name], [0.5], [0.1], [False]),
    "ids": lambda name: figures.plot_against_id([figures.Dots(name, [1.0], [False])], "count"),
    "growth": lambda name: figures.plot_vocabulary_growth({name: {0.5: 0.1}}, (name, 0.5, 0.1)),
    "held-out": lambda name: training.plot_held_out_losses({name: HeldOutCurve()}),
    "losses": lambda name: training.plot_losses({name: LINE}, smoothing=0.5),
    "dev": lambda name: training.plot_dev_scores({name: [0.5]}, name),
    "scores": lambda name: training.plot_scores(
        [training.ScoreMark(name, "base", [0.5], 0.5, None)], name
    ),
    "importance": lambda name: search.plot_importance({name: 0.5}),
    "trials": lambda name: search.plot_trials([search.TrialMark(1, "done", 0.5, None, name)], name),
    "gap": lambda name: published.plot_gap_coverage([published.GapMark(name, 0.5)]),
    "curves": lambda name: published.plot_score_curves({name: LINE}, name, name),
    "discs": lambda name: published.plot_discs([published.DiscMark(name, 1.0, 0.5, 0.5)], name),
    "means": lambda name: published.plot_group_means({name: {name: 0.5}}, name),
}


def texts(value: object) -> Iterator[str]:
    """Every text of a figure, without its template of colors and fonts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != "template":
                yield from texts(item)
    elif isinstance(value, list | tuple | np.ndarray):
        for item in value:
            yield from texts(item)


@pytest.mark.parametrize("plot", PLOTS)
def test_names_are_escaped_and_shortened(plot):
    for name in NAMES:
        found = list(texts(PLOTS[plot](name).to_plotly_json()))
        for text in found:
            rest = OWN.sub("", text)
            assert "<" not in rest and "%{" not in rest and "$" not in rest, text
            assert all(letter.isprintable() or letter in "\xa0\u202f" for letter in rest), text
            assert len(text) < 1_000
        # It is shown: the figure does not leave it out.
        beginning = {"<": "&lt;", "%": "&#37;", "$": "&#36;", "&": "&amp;lt;", "\u202e": "�gnirts"}
        assert any(beginning.get(name[0], "xxx") in text for text in found), name


@pytest.mark.parametrize("name", NAMES)
def test_the_text_of_a_name_is_what_plotly_shows(name):
    """Plotly decodes entities once; nothing that it would interpret is left before that."""
    escaped = figures.escape_name(name[:40], 100)
    shown = re.sub("[^\x20-\x7e]", "�", name[:40])
    for entity, letter in {
        "&lt;": "<",
        "&gt;": ">",
        "&quot;": '"',
        "&#x27;": "'",
        "&#36;": "$",
        "&#37;": "%",
        "&amp;": "&",
    }.items():
        escaped = escaped.replace(entity, letter)
    assert escaped == shown
