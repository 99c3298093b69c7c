"""Every plot has a description for those who cannot see it."""

import ast
import inspect

import pytest

from tests.material.sources import check_files, list_modules, list_nodes, parse
from vocadapt.ui.components import blocks

DRAWERS = {  # functions of Streamlit that draw a picture
    "altair_chart",
    "area_chart",
    "bar_chart",
    "graphviz_chart",
    "image",
    "line_chart",
    "map",
    "plotly_chart",
    "pydeck_chart",
    "pyplot",
    "scatter_chart",
    "vega_lite_chart",
}


def find_plots_without_description(source: str) -> list[int]:
    """Lines of a page that draw a picture without an `alt` that can be read."""
    found = []
    for node in list_nodes(parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        is_streamlit = ast.unparse(node.func.value) in ("st", "place", "column")
        if node.func.attr not in DRAWERS or not is_streamlit:
            continue
        given = [word.value for word in node.keywords if word.arg == "alt"]
        is_empty = [isinstance(one, ast.Constant) and not one.value for one in given]
        if not given or any(is_empty):
            found.append(node.lineno)
    return found


def test_each_plot_of_a_page_has_a_description():
    check_files(find_plots_without_description, list_modules("vocadapt/ui"))


def test_a_figure_cannot_be_drawn_without_a_description():
    assert (
        inspect.signature(blocks.draw_figure).parameters["alt"].default is inspect.Parameter.empty
    )


@pytest.mark.parametrize(
    "source",
    [
        "st.plotly_chart(figure)",
        "st.plotly_chart(figure, alt='')",
        "column.bar_chart(rows)",
        "st.line_chart(rows, alt=None)",
    ],
)
def test_a_planted_plot_without_a_description_is_found(source):
    assert find_plots_without_description(source) == [1]


def test_a_described_plot_passes():
    assert not find_plots_without_description("st.plotly_chart(figure, alt=text)\nmap(int, words)")
