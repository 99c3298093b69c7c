"""One name for one thing: what menus show, and that every form of a name still resolves."""

import re
import shutil

import pytest

from tests.material.runs import write_runs
from vocadapt.lab.demo import ADAPTED
from vocadapt.lab.housekeeping.renames import rename_artifact
from vocadapt.lab.workspace.manifest import ARTIFACTS, Input, Manifest
from vocadapt.lab.workspace.workspace import Workspace, list_adapted_models, simplify_name
from vocadapt.training.examples.examples import Sentence
from vocadapt.ui.state import names

SHOWN = "demo-bert + biomedical"


def make(workspace, name, kind="models", numbers=None, **inputs):
    folder = workspace.folder(kind, name)
    folder.mkdir(parents=True)
    given = {role: Input((path,), "stamp") for role, path in inputs.items()}
    Manifest(kind=kind, name=name, settings={}, inputs=given, numbers=numbers or {}).save(folder)


@pytest.fixture
def workspace(tmp_path):
    found = Workspace(tmp_path / "lab")
    source = {"model": "models/demo-bert", "vectors": "vectors/demo-biomedical"}
    make(found, "demo-bert")
    make(found, ADAPTED[1], **source)
    make(found, "demo-biomedical", "vectors")
    return found


@pytest.mark.parametrize(
    ("name", "inputs", "numbers", "shown"),
    [
        ("demo-bert-demo-biomedical-2", {"vectors": "vectors/demo-biomedical"}, {}, f"{SHOWN} 2"),
        ("demo-bert-news", {"text": "corpora/news"}, {}, "demo-bert + news"),
        ("demo-bert-other", {"target": "models/other"}, {}, "demo-bert + other"),
        ("demo-bert-continued", {}, {"stage": "continued"}, "demo-bert · continued"),
        ("mine", {"vectors": "vectors/demo-biomedical"}, {}, "mine"),
        ("demo-bert-mine", {"vectors": "vectors/demo-biomedical"}, {}, "demo-bert-mine"),
        ("demo-bert-demo", {"vectors": "vectors/demo"}, {}, "demo-bert + demo"),
    ],
)
def test_a_suggested_name_is_shown_as_what_the_model_was_made_from(
    workspace, name, inputs, numbers, shown
):
    make(workspace, name, numbers=numbers, model="models/demo-bert", **inputs)
    assert names.display_name(workspace, "models", name) == shown


def test_the_name_of_a_chain_of_models(workspace):
    adapted = "demo-bert-news"
    make(workspace, adapted, model="models/demo-bert", text="corpora/news")
    make(
        workspace, f"{adapted}-continued", numbers={"stage": "continued"}, model=f"models/{adapted}"
    )
    assert (
        names.display_name(workspace, "models", f"{adapted}-continued")
        == "demo-bert + news · continued"
    )


def test_two_models_never_share_a_name(workspace):
    source = {"model": "models/demo-bert", "vectors": "vectors/demo-biomedical"}
    make(workspace, "demo-bert-demo-biomedical", **source)
    shown = names.list_display_names(workspace)
    assert len(set(shown.values())) == len(shown) == 3 and SHOWN in shown.values()


def test_menus_show_no_kind_unless_two_options_would_look_alike(workspace):
    offered = ["word vectors · demo-biomedical", f"model · {ADAPTED[1]}", f"{ADAPTED[1]} · before"]
    assert list(names.build_labels(workspace, offered).values()) == [
        "demo-biomedical",
        SHOWN,
        f"{SHOWN} · before",
    ]
    make(workspace, "demo-biomedical")
    labels = names.build_labels(workspace, [offered[0], "model · demo-biomedical"])
    assert list(labels.values()) == ["demo-biomedical", "model · demo-biomedical"]


def test_word_vectors_that_are_named_as_a_model_keep_their_name(workspace):
    labels = names.build_labels(workspace, [f"word vectors · {ADAPTED[1]}", "models/demo-adapted"])
    assert list(labels.values()) == [ADAPTED[1], SHOWN]


@pytest.mark.parametrize("typed", ["{}", "models/{}", "model · {}"])
def test_every_form_of_a_name_still_resolves(workspace, typed):
    offered = names.spaces_of(workspace)
    folder = str(workspace.folder("models", ADAPTED[1]))
    assert names.resolve(workspace, typed.format(ADAPTED[1]), offered) == folder
    assert names.resolve(workspace, SHOWN, offered) == folder


def test_every_kind_of_artifact_has_an_icon():
    assert set(ARTIFACTS) - {"predictions"} <= set(names.KIND_ICONS)
    assert names.icon_of("none-of-these").startswith(":material/")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("ner-demo-adapted", f"ner · {SHOWN}"),
        ("ner-demo-adapted-2", f"ner · {SHOWN} 2"),
        ("demo-diseases-adapted", f"ner · {SHOWN}"),
        ("mine", "mine"),
        ("ner2", "ner2"),
        ("ner-best-of-all", "ner-best-of-all"),
    ],
)
def test_runs_are_named_by_task_and_model(workspace, name, shown):
    make(workspace, name, "runs", {"task": "tasks/ner"}, model=f"models/{ADAPTED[1]}")
    assert names.display_name(workspace, "runs", name) == shown


def test_a_run_of_a_hub_model_is_named_by_its_last_part(workspace):
    snapshot = "/cache/models--org--bert-tiny/snapshots/0f3a"
    make(workspace, "ner-bert-tiny", "runs", {"task": "ner"}, model=snapshot)
    assert names.display_name(workspace, "runs", "ner-bert-tiny") == "ner · bert-tiny"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("demo-biomedical-to-demo-adapted", f"demo-biomedical → {SHOWN}"),
        ("demo-biomedical-to-demo-adapted-3", f"demo-biomedical → {SHOWN} 3"),
        ("demo-base-to-adapted", f"demo-biomedical → {SHOWN}"),
        ("mine", "mine"),
    ],
)
def test_comparisons_are_named_by_their_spaces(workspace, name, shown):
    spaces = {"before": "vectors/demo-biomedical", "after": f"models/{ADAPTED[1]}"}
    make(workspace, name, "changes", **spaces)
    assert names.display_name(workspace, "changes", name) == shown


@pytest.mark.parametrize("given", ["{root}/models/{name}", "models/{name}", "{name}"])
def test_a_model_is_shown_by_its_display_name_however_it_is_given(workspace, given):
    place = given.format(root=workspace.root, name=ADAPTED[1])
    assert names.display_model(workspace, place) == SHOWN
    vectors = given.replace("models", "vectors").format(root=workspace.root, name="demo-biomedical")
    assert names.display_model(workspace, vectors) == "demo-biomedical"


def test_pages_show_the_display_names_of_runs_and_keep_the_folders_in_the_address(
    open_page, workspace
):
    """Menus, tables and the legends of figures."""
    sentences = [Sentence(("a", "b"), ("O", "B-D")), Sentence(("c", "d"), ("O", "O"))]
    right = {"base": [one.tags for one in sentences]}
    for name, model in (("ner-demo-bert", "demo-bert"), ("ner-demo-adapted", ADAPTED[1])):
        folder = write_runs(workspace, name, sentences, {1: right}, task="ner", model=model)
        inputs = {"model": Input((f"models/{model}",), "")}
        Manifest("runs", name, {}, inputs, {"task": "ner"}).save(folder)
    app = open_page("results", workspace)
    baseline = app.selectbox(key="results_baseline")
    assert baseline.options == ["ner · demo-bert · base", f"ner · {SHOWN} · base"]
    assert baseline.value == "ner-demo-bert · base"
    tables = [one.value for one in app.dataframe]
    shown = {name for table in tables if "Run" in table for name in table["Run"]}
    assert shown == {"ner · demo-bert", f"ner · {SHOWN}"}
    assert app.multiselect(key="curves").value == [
        f"ner · {SHOWN} · seed 1",
        "ner · demo-bert · seed 1",
    ]
    settings = next(table for table in tables if "setting" in table)
    assert {f"ner · {SHOWN}", "ner · demo-bert"} <= set(settings)
    app = open_page("errors", workspace)
    picker = app.selectbox(key="errors_compared")
    assert f"ner · {SHOWN} · seed 1 · base" in picker.options
    assert picker.value == "ner-demo-adapted · seed 1 · base"


def test_names_contain_models_without_their_folders():
    assert names.find_model_stem("models/demo-bert") == "demo-bert"
    assert names.find_model_stem("org/bert-base") == names.find_model_stem("/data/bert-base")


def test_a_long_name_is_shortened_in_its_middle():
    assert (
        names.shorten_name("train-models-demo-bert-demo-biomedical") == "train-models…-biomedical"
    )
    assert names.shorten_name("demo-bert") == "demo-bert"


@pytest.fixture(scope="module")
def suggested(tmp_path_factory, seeded):
    """A workspace whose adapted model has the suggested name, and what it is shown as."""
    root = tmp_path_factory.mktemp("suggested") / "trials"
    shutil.copytree(seeded.root, root)
    workspace = Workspace(root)
    [model] = list_adapted_models(workspace)
    base = names.shown_model(model.manifest.inputs["model"].paths[0]).rpartition("/")[2]
    rename_artifact(workspace, model, simplify_name(f"{base}-trials-vectors"))
    return workspace, f"{base} + trials-vectors"


def list_shown(app):
    """Texts of a page that a visitor can see, without commands and fields to type in."""
    shown = [one.value for kind in ("markdown", "text") for one in app.main.get(kind)]
    shown += [re.sub(r"<[^>]*>", " ", one.proto.body) for one in app.main.get("html")]
    for kind in ("selectbox", "multiselect"):
        shown += [option for one in app.main.get(kind) for option in one.options]
    shown += [text for one in app.metric for text in (one.label, one.value, one.delta)]
    shown += [str(text) for one in app.dataframe for row in one.value.to_numpy() for text in row]
    shown += [one.proto.spec + one.proto.alt for one in app.main.get("plotly_chart")]
    return [text.replace("\\", "") for text in shown]


@pytest.mark.parametrize("part", ["lens", "adapt", "try", "projection", "change", "diagnostics"])
def test_no_page_shows_the_folder_of_a_model_with_a_suggested_name(part, suggested, open_page):
    workspace, display = suggested
    [model] = list_adapted_models(workspace)
    app = open_page(part, workspace)
    assert not app.exception and not app.error
    shown = list_shown(app)
    assert not [text for text in shown if model.name in text]
    assert any(display in text for text in shown)


def test_the_name_of_a_hostile_task_is_no_markdown_on_home(open_page, workspace):
    shutil.rmtree(workspace.root / "vectors")  # the fixture gives them no figures
    task = "a **b** :red[c]"
    numbers = {"task": task, "mean": {"f1": 0.5}, "metric": "f1", "tokenization": "base"}
    name = simplify_name(f"{task}-demo-bert")
    make(workspace, name, "runs", numbers, model="models/demo-bert")
    app = open_page("home", workspace)
    assert not app.exception
    shown = [
        *(link.proto.label for link in app.get("page_link")),
        *(one.delta for one in app.metric),
    ]
    found = [text for text in shown if "red" in text and "demo" in text]
    assert found and not any("**b**" in text or ":red[" in text for text in found)
