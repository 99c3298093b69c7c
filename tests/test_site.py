"""The documentation: the site builds without warnings, links lead somewhere, generated pages are
current, and what a page says to run runs.
"""

import ast
import fnmatch
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.material.cases import check_each
from tests.material.sources import ROOT
from vocadapt import __version__
from vocadapt.cli import main
from vocadapt.cli.recipe_reference import FILE, render_recipes
from vocadapt.cli.run import COMMANDS, build_parser, load_command
from vocadapt.recipe import Recipe
from vocadapt.settings import walk_settings

DOCS = ROOT / "docs"
MARKDOWN = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *(ROOT / "assets").rglob("*.md")])
CODE = re.compile(r"^```.*?^```$|^    .*?$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def slug(heading: str) -> str:
    """Return the anchor that GitHub and the site give to a heading."""
    plain = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return plain.replace(" ", "-")


def anchors(path: Path) -> set[str]:
    """Return the anchors of a Markdown file."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {slug(line) for line in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def broken_links(path: Path) -> list[str]:
    """Return the links of a Markdown file to files or headings that do not exist."""
    found = []
    for link in LINK.findall(CODE.sub("", path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = unquote(link).partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target)
        ):
            found.append(link)
    return found


@check_each("path", MARKDOWN)
def test_links_lead_to_files_and_headings_that_exist(path):
    assert broken_links(path) == []


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "other.md").write_text("# A heading, named\n")
    page = tmp_path / "page.md"
    page.write_text("[a](none.md) [b](other.md#a-heading-named) [c](other.md#gone) `[d](e)`\n")
    assert broken_links(page) == ["none.md", "other.md#gone"]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(DOCS), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def test_the_site_builds_without_warnings_and_reads_offline(site):
    pages = {path.stem for path in DOCS.glob("*.md")}
    assert pages <= {path.stem for path in site.glob("*.html")}
    for path in site.glob("*.html"):
        html = path.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]* src=\"([^\"]+)\"", html)
        loaded += re.findall(r"<link[^>]*rel=\"(?:stylesheet|icon)\"[^>]*href=\"([^\"]+)\"", html)
        assert loaded and not [one for one in loaded if re.match(r"(https?:)?//", one)], path.name
    for path in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", path.read_text(encoding="utf-8"))
    assert (site / "concepts.html").read_text(encoding="utf-8").count('display="block"') >= 8
    anchors = set(re.findall(r' id="([^"]+)"', (site / "tokenizers.html").read_text("utf-8")))
    assert {slug("Adding words"), "speed"} <= anchors


def test_every_page_is_in_the_menu_of_the_index():
    """The build adds the pages that are missing here at the end; the pages of this list are ours."""
    menu = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text("utf-8"), re.S)
    named = re.findall(r"^([\w-]+)$", "\n".join(menu), re.MULTILINE)
    assert len(named) == len(set(named)) >= 25
    assert [name for name in named if not (DOCS / f"{name}.md").exists()] == []


@check_each("path", sorted(DOCS.glob("*.md")))
def test_equations_can_be_written_as_mathml(path):
    convert = pytest.importorskip("latex2mathml.converter").convert
    text = path.read_text(encoding="utf-8")
    equations = re.findall(r"^```math\n(.*?)^```$", text, re.M | re.S)
    assert path.stem != "concepts" or len(equations) >= 8
    for equation in equations:
        assert convert(equation, display="block").startswith("<math")


def test_the_reference_of_recipes_is_current():
    # Written by python -m vocadapt.cli.recipe_reference.
    assert FILE.read_text(encoding="utf-8") == render_recipes()


def test_the_reference_of_recipes_has_every_setting():
    rows = re.findall(
        r"^\| `(\w+)` \| .+ \| .+ \| .+ \|$", FILE.read_text(encoding="utf-8"), re.MULTILINE
    )
    declared = [setting.name for setting, _ in walk_settings(Recipe)]
    assert sorted(rows) == sorted(declared) and len(rows) > 40


PAGES = ["start.md", "faq.md", "recipes.md"]


def list_commands(name: str) -> list[str]:
    return re.findall(r"^    python -m vocadapt (.*)$", (DOCS / name).read_text("utf-8"), re.M)


@check_each("page", PAGES)
def test_the_commands_of_a_page_have_the_options_that_they_use(page):
    assert list_commands(page)
    for command in list_commands(page):
        words = shlex.split(command)
        name = " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else words[0]
        parser = build_parser(name, load_command(name))
        parser.parse_args(words[len(name.split()) :])


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_in_their_order(page, tmp_path, monkeypatch, capsys):
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)
    commands = list_commands(page)
    assert commands
    for command in commands:
        assert main(shlex.split(command)) == 0, f"{command}\n{capsys.readouterr()}"


def test_every_test_that_the_threat_model_names_exists():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "SECURITY.md").read_text("utf-8")))
    sources = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    defined = set(re.findall(r"^(?:async )?def (test_\w+)", "\n".join(sources), re.MULTILINE))
    assert len(named) >= 30 and named - defined == set()


def test_every_asset_has_an_origin_and_a_license():
    assets = ROOT / "assets"
    text = (assets / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    patterns = [pattern for row, _, _ in rows for pattern in re.findall(r"`(.+?)`", row)]
    listed = subprocess.run(
        ["git", "ls-files", "assets"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    files = [name.removeprefix("assets/") for name in listed]
    if not files:  # an unpacked archive without git
        files = [str(path.relative_to(assets)) for path in assets.rglob("*") if path.is_file()]
    covered = {name: [p for p in patterns if fnmatch.fnmatch(name, p)] for name in files}
    assert [name for name, by in covered.items() if not by] == []
    assert [p for p in patterns if not any(p in by for by in covered.values())] == []


def test_the_citation_has_what_the_format_requires():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    keys = dict(re.findall(r"^([a-z-]+): *(.*)$", text, re.MULTILINE))
    assert keys["cff-version"] == "1.2.0"
    assert keys["message"]
    assert keys["title"].strip('"').startswith("vocadapt")
    assert keys["version"] == __version__ and keys["license"] == "Apache-2.0"
    assert re.search(r"^authors:\n\s+-\s+name:\s+\S", text, re.MULTILINE)


def test_the_changelog_and_the_license_have_their_form():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert re.search(r"^## Unreleased$", text, re.MULTILINE)
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= kinds
    license = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0" in license


def test_files_and_modules_that_contributing_names_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in re.findall(r"`(vocadapt/[\w/.]+)`", text):
        assert (ROOT / name).exists(), name
    for module in re.findall(r"python -m (vocadapt\.[\w.]+)", text):
        path = ROOT / (module.replace(".", "/") + ".py")
        assert '"__main__"' in path.read_text(encoding="utf-8"), module


@pytest.mark.slow
def test_the_initializer_of_the_extensions_page_works_from_a_file(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "extensions.md").read_text("utf-8"), re.S)
    assert len(blocks) == 2
    for block in blocks:
        ast.parse(block)
    function = next(
        node
        for node in ast.parse(blocks[0]).body
        if isinstance(node, ast.FunctionDef) and node.name == "initialize_constant"
    )
    assert function.end_lineno - function.lineno < 15
    (tmp_path / "constant.py").write_text("\n\n".join(blocks), encoding="utf-8")
    demo = ROOT / "assets" / "demo"
    code = (
        "import sys; from vocadapt.cli import main\n"
        "from vocadapt.training.tasks.kinds import TASK_KINDS\n"
        "assert 'sentiment' in TASK_KINDS\n"
        "code = main(sys.argv[1:]); assert code == 0, code\n"
        "from vocadapt.models.language_model import open_model\n"
        "model = open_model('adapted')\n"
        "row = model.space.matrix[-1]\n"
        "assert abs(row - 0.1).max() < 1e-3, row\n"
    )
    arguments = ["adapt", "--preset", "green-bert", "--initializer", "constant"]
    arguments += ["--constant-value", "0.1", "--max-added", "5", "--out", "adapted"]
    arguments += ["--model", str(demo / "models" / "demo-bert")]
    arguments += ["--vectors", str(demo / "vectors" / "demo-biomedical")]
    environment = {**os.environ, "VOCADAPT_EXTENSIONS": "constant.py", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
