"""The documentation site: `python -m sphinx -W docs DIR` writes it as HTML that works offline."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

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
# Files of the repository that are pages of the site, too.
PAGES = {
    "../README.md": "start.md",
    "../SECURITY.md": "security.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "../assets/README.md": "assets.md",
}
NAMED = re.compile(r"^[\w-]+$", re.MULTILINE)


def write_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write an equation within a line as MathML, which browsers draw without a script."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def write_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write an equation on a line of its own as MathML."""
    translator.body.append(f"<div class='math'>{convert(node.astext(), display='block')}</div>\n")
    raise nodes.SkipNode


def read_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Point links to pages of the site, and add pages that the menu of the index does not name."""
    for file, page in PAGES.items():
        source[0] = re.sub(rf"\]\({re.escape(file)}(#[^)]*)?\)", rf"]({page}\1)", source[0])
    if name == "index":
        others = sorted(app.env.found_docs - {name, *NAMED.findall(source[0])})
        if others:
            menu = ["", "```{toctree}", ":hidden:", ":caption: More", *others, "```", ""]
            source[0] += "\n".join(menu)


def setup(app: Sphinx) -> None:
    """Register the renderer of equations."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    app.connect("source-read", read_page)
