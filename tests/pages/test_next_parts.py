"""The links to the next part lead forward: from any part of any workspace they end, or reach Error
analysis or the lessons.
"""

import shutil

import pytest

from tests.material.apps import list_button_keys
from tests.material.lab import NEW
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.parts.advise.page import choose_next
from vocadapt.ui.shell.frame import choose_following
from vocadapt.ui.state.pages import PARTS, format_title

ENDS = ("errors", "lessons")
KINDS = {
    "empty": (),
    "text": ("corpora",),
    "adapted": ("corpora", "vectors", "models"),
    "full": ("corpora", "vectors", "models", "alignments", "tasks", "runs"),
}
PART_OF_TITLE = {f"**Next: {format_title(part)}**": part for part in PARTS}


def make_workspace_of(root, kinds):
    """Make a workspace with an artifact of each kind that has a manifest only."""
    workspace = Workspace(root)
    for kind in kinds:
        with open_draft(workspace.folder(kind, "some")) as draft:
            Manifest(kind, "some", {}).save(draft)
    return workspace


def follow(graph, start):
    """Follow the links from a part; return the parts, the last one twice if they form a cycle."""
    way = [start]
    while (following := graph.get(way[-1])) and way[-1] not in ENDS:
        way.append(following)
        if following in way[:-1]:
            break
    return way


@pytest.mark.parametrize("verdict", ["keep", "adapt"])
@pytest.mark.parametrize("name", KINDS)
def test_no_link_leads_in_a_circle(tmp_path, name, verdict):
    workspace = make_workspace_of(tmp_path / "w", KINDS[name])
    graph = {}
    for part in PARTS.values():
        if following := choose_following(workspace, part):
            graph[part.name] = following.part
    if "advise" in graph:
        vectors = next(iter(workspace.artifacts("vectors")), None)
        graph["advise"] = choose_next(workspace, verdict, vectors).part
    for part in PARTS:
        way = follow(graph, part)
        assert len(set(way)) == len(way), way


def test_what_is_missing_decides_where_a_link_leads(tmp_path):
    empty = make_workspace_of(tmp_path / "empty", ())
    text = make_workspace_of(tmp_path / "text", ("corpora",))
    full = make_workspace_of(tmp_path / "full", KINDS["full"])

    def find(workspace, part):
        following = choose_following(workspace, PARTS[part])
        return following and following.part

    assert [find(one, "vectors") for one in (empty, text, full)] == ["text", None, "alignment"]
    assert [find(one, "finetune") for one in (empty, text, full)] == [None, None, "results"]
    assert find(full, "diagnostics") == "finetune"
    assert choose_next(full, "keep", None).part == "finetune"
    assert choose_next(text, "keep", None).part == "vectors"
    assert choose_next(text, "keep", full.artifacts("vectors")[0]).part == "adapt"


def find_link(app):
    """Return the part that the page's link Next leads to, None if there is no link."""
    labels = [link.proto.label for link in app.get("page_link")]
    (*found,) = (PART_OF_TITLE[label] for label in labels if label in PART_OF_TITLE)
    assert len(found) <= 1
    return found[0] if found else None


@pytest.fixture(scope="module")
def with_text(tmp_path_factory, tiny_bert):
    """A workspace with a text only, whose words are counted."""
    root = tmp_path_factory.mktemp("next")
    (root / "text.txt").write_text(f"the drug {NEW[0]} of the patient\n" * 40, encoding="utf-8")
    workspace = Workspace(root / "w")
    inputs = {"text": (str(root / "text.txt"),), "model": (str(tiny_bert),)}
    run_step(Spec(CorpusStep(copy=True), inputs), workspace.folder("corpora", "some"))
    return workspace


def test_the_pages_of_a_text_lead_on(open_page, with_text, tmp_path):
    workspace = Workspace(shutil.copytree(with_text.root, tmp_path / "w"))
    ways = {part: find_link(open_page(part, workspace)) for part in ("text", "advise", "vectors")}
    assert ways == {"text": "advise", "advise": "vectors", "vectors": None}
    assert "train" in list_button_keys(open_page("vectors", workspace))
