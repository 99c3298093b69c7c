"""axe-core finds nothing serious on any part, light and dark, beside what Streamlit itself draws."""

import os
from pathlib import Path

import pytest

from tests.browser.conftest import PATIENCE, absent
from vocadapt.lab.demo import open_demo
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.frame.pages import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# The npm package axe-core; .ci/nightly installs it by name.
AXE = (
    Path(os.environ.get("AXE", Path(__file__).parents[2] / "node_modules" / "axe-core"))
    / "axe.min.js"
)
LEVELS = ("serious", "critical")
# Rule, part of the selector -> why it is not ours to mend.
STREAMLITS_OWN: dict[tuple[str, str], str] = {
    ("list", "stSidebarNav"): "Streamlit draws the sections of the navigation inside its list",
}
RUN = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.map(one => ({
    rule: one.id, impact: one.impact,
    nodes: one.nodes.map(node => ({at: node.target.flat().join(" "), why: node.failureSummary}))}));
}"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    """A workspace with the shipped artifacts of the demo."""
    workspace = Workspace(tmp_path_factory.mktemp("axe") / "demo")
    open_demo(workspace)
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
    """Run axe on a drawn page; return the findings that are ours, one line each."""
    page.add_script_tag(path=str(AXE))
    lines = []
    for finding in page.evaluate(RUN):
        if finding["impact"] not in LEVELS:
            continue
        for node in finding["nodes"]:
            own = any(
                finding["rule"] == rule and selector in node["at"]
                for rule, selector in STREAMLITS_OWN
            )
            if not own:
                why = " ".join(node["why"].split())
                lines.append(f"{finding['rule']} at {node['at']}: {why}")
    return lines


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("part", list_addresses())
def test_no_part_has_a_serious_finding(serve, browser, demo, part, scheme):
    if not AXE.is_file():
        absent(f"no axe-core at {AXE}: npm install axe-core")
    context = browser.new_context(
        viewport={"width": 1440, "height": 980}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{serve(demo)}/{list_addresses()[part]}")
    page.get_by_role("heading", level=1).first.wait_for()
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.wait_for_timeout(500)  # figures are drawn after the script has ended
    found = list_findings(page)
    context.close()
    assert found == [], "\n".join(found)
