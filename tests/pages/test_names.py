"""One name for one thing: what menus show, and that every form of a name still resolves."""

from types import SimpleNamespace

import pytest

from vocadapt.lab.demo import ADAPTED
from vocadapt.lab.workspace.manifest import ARTIFACTS, Input, Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components.pickers import display_run
from vocadapt.ui.frame import names

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
    [("ner-demo-adapted", f"ner · {SHOWN}"), ("mine", "mine"), ("ner2", "ner2")],
)
def test_runs_are_named_by_task_and_model(name, shown):
    run_set = SimpleNamespace(name=name, record={"task": "tasks/ner"}, model="models/demo-adapted")
    assert display_run(run_set, {"demo-adapted": SHOWN}) == shown


def test_a_long_name_is_shortened_in_its_middle():
    assert (
        names.shorten_name("train-models-demo-bert-demo-biomedical") == "train-models…-biomedical"
    )
    assert names.shorten_name("demo-bert") == "demo-bert"
