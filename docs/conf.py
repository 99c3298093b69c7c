"""The documentation site: `python -m sphinx -W docs DIR` writes it as HTML that works offline."""

import os
import re
from pathlib import Path

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
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"
# Pages that show a file of the repository.
FILES = {
    "readme": "README.md",
    "security": "SECURITY.md",
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
    "assets": "assets/README.md",
    "demo": "assets/demo/README.md",
}
ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#]+)")
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
    """Show files of the repository as pages, and add pages that the menu of the index lacks."""
    folder = ROOT / "docs"
    if name in FILES:
        file = ROOT / FILES[name]
        source[0], folder = file.read_text(encoding="utf-8"), file.parent
    # Links lead to the page of a file, if it has one.
    pages = {ROOT / file: ROOT / "docs" / f"{page}.md" for page, file in FILES.items()}

    def move(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / link[1]))
        return f"]({os.path.relpath(pages.get(target, target), ROOT / 'docs')}"

    source[0] = LINK.sub(move, source[0])
    if name == "index":
        others = sorted(app.env.found_docs - {name, *NAMED.findall(source[0])})
        if others:
            menu = ["", "```{toctree}", ":hidden:", ":caption: More", *others, "```", ""]
            source[0] += "\n".join(menu)


def setup(app: Sphinx) -> None:
    """Register the renderer of equations."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    app.connect("source-read", read_page)
