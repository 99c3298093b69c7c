"""The documentation site: `python -m sphinx -W docs DIR` writes it as HTML that works offline."""

from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator
from docutils import nodes

import vocadapt

project = "vocadapt"
version = release = vocadapt.__version__
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
# Links to headings, as GitHub writes them; ```math and $…$ are equations there, too.
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_dmath_double_inline = True
html_theme = "furo"
html_title = "vocadapt"
html_favicon = "../assets/icon.png"
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"
# A part of the menu may name pages that come later.
suppress_warnings = ["toc.empty_glob"]


def write_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write an equation within a line as MathML, which browsers draw without a script."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def write_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write an equation on a line of its own as MathML."""
    translator.body.append(f"<div class='math'>{convert(node.astext(), display='block')}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the renderer of equations."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
