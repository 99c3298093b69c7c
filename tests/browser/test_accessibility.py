"""axe-core finds nothing serious on any part, light and dark, beside what Streamlit itself draws."""

import os
from pathlib import Path

import pytest

from tests.material.lab_server import absent
from tests.material.workspaces import seed_workspace
from vocadapt.lab.demo import open_demo
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.state.pages import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# The npm package axe-core; .ci/nightly installs it by name.
AXE = (
    Path(os.environ.get("AXE", Path(__file__).parents[2] / "node_modules" / "axe-core"))
    / "axe.min.js"
)
LEVELS = ("serious", "critical")
ATTEMPTS = 5  # seconds that a busy machine may take to draw
# Rule, what the element is or is in -> why it is not ours to mend.
STREAMLITS_OWN = {
    ("list", '[data-testid="stSidebarNav"]'): "it draws the sections of the navigation in one list",
    ("listitem", '[data-testid="stSidebarNav"]'): "the same",
}
RUN = """async known => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  const isOwn = (rule, node) => known.some(([own, within]) =>
    own === rule && document.querySelector(node.target[0])?.closest(within));
  return found.violations.map(one => ({
    rule: one.id, impact: one.impact,
    nodes: one.nodes.filter(node => !isOwn(one.id, node)).map(node => (
      {at: node.target.flat().join(" "), html: node.html.slice(0, 200), why: node.failureSummary}))}));
}"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory, tiny_bert) -> Path:
    """A workspace with the shipped artifacts of the demo, and an adapted model."""
    workspace = Workspace(tmp_path_factory.mktemp("axe") / "demo")
    open_demo(workspace)
    seed_workspace(workspace.root, tiny_bert)
    return workspace.root


def list_addresses() -> dict[str, str]:
    """The address of each part: that of its page, with its tab."""
    found = {}
    for page in PAGES:
        for part in page.parts:
            tab = f"?{page.tab_key}={part.title}" if len(page.parts) > 1 else ""
            found[part.name] = f"{'' if page.name == 'home' else page.name}{tab}"
    return found


def list_findings(page) -> list[str]:
    """Run axe on a drawn page; return the serious findings that are ours, one line each."""
    lines = []
    for finding in page.evaluate(RUN, list(map(list, STREAMLITS_OWN))):
        if finding["impact"] in LEVELS:
            for node in finding["nodes"]:
                why = " ".join(node["why"].split())
                lines.append(f"{finding['rule']} at {node['at']} {node['html']}: {why}")
    return lines


@pytest.mark.parametrize("part", list_addresses())
def test_no_part_has_a_serious_finding(serve, page, demo, part):
    if not AXE.is_file():
        absent(f"no axe-core at {AXE}: npm install axe-core")
    page.goto(f"{serve(demo)}/{list_addresses()[part]}")
    page.get_by_role("heading", level=1).first.wait_for()
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.add_script_tag(path=str(AXE))
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        lines = []
        for _ in range(ATTEMPTS):
            page.wait_for_timeout(1000)  # figures and colors are drawn after the script has ended
            lines = list_findings(page)
            if not lines:
                break
        found += [f"{scheme}: {line}" for line in lines]
    assert found == [], "\n".join(found)
