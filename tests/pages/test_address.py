"""The address: each setting belongs to one part, a link restores the view, and only artifacts of
the workspace are opened."""

import ast
import shutil
from itertools import pairwise

import pytest
from streamlit.testing.v1 import AppTest

from tests.material.address_keys import (
    HELPERS,
    LINKED,
    SOURCES,
    constants_of,
    key_of,
    keys_of,
    part_of,
    place_of,
)
from tests.material.apps import go_to, markup, read_page
from tests.material.sources import list_nodes, parse, read_source
from tests.material.workspaces import inputs
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.ui.shell.server import ROOT
from vocadapt.ui.state.names import build_address_filter, models_of
from vocadapt.ui.state.pages import PAGE_OF_PART, PARTS


def test_every_key_of_the_address_begins_with_the_name_of_its_page():
    found = {
        (key, part_of(path))
        for path in SOURCES
        if place_of(path) not in HELPERS
        for key in keys_of(path)
    }
    assert len(found) > 60
    odd = [(key, page) for key, page in found if page != key.split("_")[0]]
    assert odd == []


def test_no_file_binds_a_key_that_the_test_above_cannot_read():
    bound = sum(read_source(path).count('bind="query-params"') for path in SOURCES)
    literal = 0
    for path in SOURCES:
        for node in list_nodes(parse(read_source(path))):
            if not isinstance(node, ast.Call):
                continue
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            function = getattr(node.func, "id", "")
            bound += function in LINKED
            key = key_of(node, function, named)
            if isinstance(key, ast.JoinedStr):  # the page's name, then a part that is computed
                key = key.values[0]
            if isinstance(key, ast.Name) and key.id in constants_of(path):
                key = ast.Constant(constants_of(path)[key.id])
            is_bound = "bind" in named or function in LINKED
            literal += is_bound and isinstance(key, ast.Constant)
    # The tabs of a page are bound under a key that pages.py declares; LINKED are given theirs.
    assert literal == bound - 1 - len(LINKED)


PROCRUSTES = AlignmentSettings("procrustes").digest
SETTINGS = {  # what is set on each page before the others are visited
    "vectors": {"vectors_word": "aspirin"},
    "alignment": {
        "alignment_word": "aspirin",
        "alignment_k": "5",
        "alignment_method": PROCRUSTES,
    },
    "lens": {"lens_text": "aspirin for the heart"},
    "vocabulary": {"vocabulary_heuristic": "random"},
    "adapt": {"adapt_preset": "green-bert-random", "adapt_cap": "3"},
    "projection": {
        "projection_shortest": "0",
        "projection_pieces": "true",
        "projection_word": "heart",
        "projection_near": "5",
    },
    "diagnostics": {"diagnostics_tokens": "words"},
    "change": {"change_k": "4", "change_among": "all"},
    "pretraining": {"pretraining_budget": "tokens"},
    "finetune": {"finetune_limit": "7", "finetune_preset": "poerner"},
}


def own_of(app, prefix):
    """The settings of a page, as its address has them."""
    return {
        name: app.query_params[name] for name in app.query_params if name.startswith(f"{prefix}_")
    }


@pytest.mark.parametrize("walk", ["there and back", pytest.param("all", marks=pytest.mark.slow)])
def test_settings_stay_whatever_other_page_is_visited(walk, open_page, seeded):
    """To each page from those beside it; in the nightly run, from every other one."""
    app = open_page("home", seeded)
    pages = [part for part in PARTS if part != "home"]
    before = {}
    for page in pages:
        for name in list(app.query_params):
            del app.query_params[name]
        for name, value in SETTINGS.get(page, {}).items():
            app.query_params[name] = value
        go_to(app, page)
        assert not app.exception, page
        before[page] = own_of(app, page)
        assert set(SETTINGS.get(page, {})) <= set(before[page]), page
    if walk == "all":
        visits = tour(pages)
    else:
        visits = list(pairwise([*pages, *reversed(pages[:-1])]))
    for page, other in visits:
        for name in list(app.query_params):  # the browser leaves them behind with the page
            del app.query_params[name]
        go_to(app, other)
        assert not app.exception
        assert own_of(app, other) == before[other], (page, other)
        assert all(
            name.startswith((f"{other}_", "workspace")) or name == PAGE_OF_PART[other].tab_key
            for name in app.query_params
        ), (page, other)


def tour(pages):
    """A walk that goes once from each page to each other one: the edges of a complete graph, one
    after another.
    """
    left = {page: [other for other in pages if other != page] for page in pages}
    path, circuit = [pages[0]], []
    while path:
        if left[path[-1]]:
            path.append(left[path[-1]].pop())
        else:
            circuit.append(path.pop())
    circuit.reverse()
    return list(pairwise(circuit))


@pytest.fixture(scope="module")
def newer(seeded, tmp_path_factory, tiny_bert):
    """A copy of the seeded workspace with newer word vectors."""
    root = tmp_path_factory.mktemp("newer") / "w"
    shutil.copytree(seeded.root, root)
    workspace = Workspace(root)
    training = VectorsStep(word2vec=Word2VecSettings(epochs=1, min_count=2, workers=1))
    given = inputs(workspace, tiny_bert, text="corpora/trials")
    run_step(Spec(training, given), workspace.folder("vectors", "newer"))
    return workspace


@pytest.mark.parametrize(
    "page", ["vectors", "alignment", "projection", "change", "lens", "adapt", "diagnostics"]
)
def test_a_copied_link_shows_the_same_when_newer_artifacts_are_there(
    page, open_page, seeded, newer
):
    link = own_of(open_page(page, seeded), page)
    assert link
    again = open_page(page, newer, **link)
    assert not again.exception
    assert own_of(again, page) == link


def test_what_may_stand_in_an_address(seeded, monkeypatch):
    monkeypatch.chdir(ROOT)  # where there is a folder `tests`
    is_allowed = build_address_filter(seeded, models_of(seeded))
    paths = ("/etc/passwd", "../../etc/passwd", "~/.bashrc", "tests", "a/../../b", "models/../../x")
    names = ("trials-model", "models/trials-model", "bert-base-cased", "allenai/scibert_uncased")
    assert not [value for value in (*paths, "", "x" * 999) if is_allowed(value)]
    assert [value for value in names if is_allowed(value)] == list(names)


@pytest.mark.parametrize(
    ("page", "key"),
    [
        ("lens", "lens_models"),
        ("vocabulary", "vocabulary_models"),
        ("projection", "projection_space"),
        ("projection", "projection_other"),
        ("change", "change_before"),
        ("diagnostics", "diagnostics_spaces"),
        ("alignment", "alignment_model"),
        ("initializers", "initializers_target"),
        ("pretraining", "pretraining_model"),
        ("finetune", "finetune_models"),
        ("finetune", "finetune_task"),
        ("try", "try_folder"),
    ],
)
def test_a_path_in_an_address_is_not_opened(page, key, open_page, seeded, monkeypatch):
    opened, value = [], "/proc/self/environ"
    for name in (
        "vocadapt.ui.state.cache.open_model",
        "vocadapt.ui.state.cache.open_space",
        "vocadapt.ui.parts.finetune.page.find_task",
    ):
        monkeypatch.setattr(name, watching(name, opened))
    app = open_page(page, seeded, **{key: value})
    assert not app.exception and value not in opened
    assert value not in read_page(app)
    assert key == "try_folder" or value not in own_of(app, page).get(
        key, []
    )  # that folder is never in an address


def watching(name, opened):
    module, _, function = name.rpartition(".")
    real = getattr(__import__(module, fromlist=[function]), function)

    def watched(given, *rest, **named):
        opened.append(str(given))
        return real(given, *rest, **named)

    return watched


def test_a_typed_path_is_opened_and_stays_out_of_the_address(
    open_page, seeded, tiny_bert, tmp_path
):
    shutil.copytree(tiny_bert, tmp_path / "other")
    app = open_page("lens", seeded)
    app.multiselect(key="lens_models").set_value([str(tmp_path / "other"), "trials-model"]).run()
    assert not app.exception and not app.error and "other" in markup(app)
    assert app.query_params["lens_models"] in ("trials-model", ["trials-model"])
    go_to(app, "home")
    go_to(app, "lens")
    assert str(tmp_path / "other") in app.multiselect(key="lens_models").value


def test_a_model_is_found_by_each_of_its_names(open_page, seeded):
    app = open_page("lens", seeded)
    folder = str(seeded.root / "models" / "trials-model")
    for typed in ("trials-model", "models/trials-model", "model · trials-model", folder):
        app.multiselect(key="lens_models").set_value([typed]).run()
        assert not app.exception and not app.error
        assert app.query_params["lens_models"] in ("trials-model", ["trials-model"])
        assert app.multiselect(key="lens_models").value == ["trials-model"]


MENUS = {  # part → the pickers that offer every model
    "advise": ["advise_model"],
    "vectors": ["vectors_model"],
    "alignment": ["alignment_model"],
    "lens": ["lens_models"],
    "vocabulary": ["vocabulary_models"],
    "initializers": ["initializers_model", "initializers_target"],
    "adapt": ["adapt_model"],
    "projection": ["projection_space", "projection_other"],
    "diagnostics": ["diagnostics_spaces"],
    "change": ["change_before", "change_after", "change_contextual_model"],
    "pretraining": ["pretraining_model"],
    "finetune": ["finetune_models"],
}


@pytest.fixture(scope="module")
def with_converted(seeded, tmp_path_factory, tiny_bert):
    """A copy of the seeded workspace with a model that is not adapted and not in use, as the second
    one of the demo.
    """
    root = tmp_path_factory.mktemp("converted") / "w"
    shutil.copytree(seeded.root, root)
    shutil.copytree(tiny_bert, root / "models" / "converted")
    Manifest("models", "converted", {}).save(root / "models" / "converted")
    return root


@pytest.mark.parametrize("page", MENUS)
def test_every_model_of_the_workspace_is_in_every_menu(page, open_page, with_converted):
    app = open_page(page, with_converted)
    assert not app.exception
    pickers = {one.key: one for kind in (app.selectbox, app.multiselect) for one in kind}
    for key in MENUS[page]:
        shown = {option.split(" · ")[-1] for option in pickers[key].options}
        # The first space, the newest adapted model, is not offered as the other one.
        wanted = {"converted"} if key == "projection_other" else {"trials-model", "converted"}
        assert wanted <= shown, key


def pick_a_letter():
    import streamlit as st

    from vocadapt.ui.state import address

    allowed = frozenset("ab").__contains__
    address.restore_selection("vectors_vectors", address.Choice(allowed, "a"))
    chosen = st.selectbox("Letter", ["a", "b"], key="vectors_vectors")
    address.write("vectors_vectors", [str(chosen)], allowed)


def test_an_address_from_before_a_result_was_selected_is_no_link(monkeypatch):
    app = AppTest.from_function(pick_a_letter).run()
    assert app.selectbox[0].value == "a"
    app.session_state["vectors_vectors_next"] = "b"  # a job has ended
    assert app.run().selectbox[0].value == "b"
    app.query_params["vectors_vectors"] = "a"  # of a part of the page that has not heard of it
    assert app.run().selectbox[0].value == "b"
    assert app.query_params["vectors_vectors"] == "b"
    # Later, it is a link.
    monkeypatch.setattr("vocadapt.ui.state.address.OUTDATED_SECONDS", 0.0)
    app.query_params["vectors_vectors"] = "a"
    assert app.run().selectbox[0].value == "a"


def pick_letters():
    import streamlit as st

    from vocadapt.ui.state import address

    allowed = frozenset("ab").__contains__
    address.restore_selections("finetune_models", address.Choice(allowed), lambda: ["a"])
    chosen = st.multiselect("Letters", ["a", "b"], key="finetune_models")
    address.write("finetune_models", chosen, allowed)


def test_neither_is_it_one_for_a_picker_of_several():
    app = AppTest.from_function(pick_letters).run()
    app.session_state["finetune_models_next"] = "b"
    assert app.run().multiselect[0].value == ["b"]
    app.query_params["finetune_models"] = "a"
    assert app.run().multiselect[0].value == ["b"]
