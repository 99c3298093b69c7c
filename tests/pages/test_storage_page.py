"""The part Workspace: an artifact is renamed, annotated and deleted; the trash is restored."""

from unittest.mock import Mock

import pytest
from streamlit.testing.v1 import AppTest

from tests.material.apps import join_values, list_button_keys, list_texts
from vocadapt.lab.housekeeping.renames import rename_artifact
from vocadapt.lab.housekeeping.trash import delete_artifact, list_trash
from vocadapt.lab.jobs.uploads import list_unused_uploads
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.notes import load_notes
from vocadapt.lab.workspace.workspace import Workspace


@pytest.fixture
def workspace(seeded_copy):
    return seeded_copy


def draw_item(workspace, name):
    """The forms of the artifact with this name, as after a click on its row."""

    def page() -> None:
        import streamlit as st

        from vocadapt.lab.workspace.workspace import Workspace
        from vocadapt.ui.components import mistakes
        from vocadapt.ui.parts.storage import page as storage_page

        workspace = Workspace(st.session_state["root"])
        for item in storage_page.list_items(workspace):
            if item.name == st.session_state["name"]:
                with mistakes.show_errors():
                    storage_page.draw_item(workspace, item)

    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["root"], app.session_state["name"] = workspace.root, name
    return app.run()


def unescape(text):
    """Markdown without the backslashes before special characters."""
    return text.replace("\\", "")


def press(app, key):
    next(button for button in app.button if button.key == key).click()
    return app.run()


def test_everything_is_listed(open_page, seeded):
    app = open_page("storage", seeded)
    assert not app.exception and not app.error
    assert {"trials-model", "trials-vectors"} <= set(app.dataframe[0].value["Name"])


def test_an_artifact_is_annotated_and_renamed_and_its_old_link_opens_it(open_page, workspace):
    app = draw_item(workspace, "trials-model")
    app.text_area[0].set_value("the first one").run()
    press(app, "storage_save")
    assert load_notes(workspace)["models/trials-model"].text == "the first one"
    app = draw_item(workspace, "trials-model")
    app.text_input[0].set_value("../x").run()
    press(app, "storage_rename")
    assert not app.exception and app.error and workspace.artifact("models", "trials-model")
    app.text_input[0].set_value("mine").run()
    press(app, "storage_rename")
    assert not app.exception
    assert [one.name for one in workspace.artifacts("models")].count("mine") == 1
    app = open_page("lens", workspace, lens_models="trials-model")
    assert not app.exception and app.query_params["lens_models"] in ("mine", ["mine"])


def test_a_deleted_artifact_is_restored_from_the_trash(open_page, workspace):
    app = draw_item(workspace, "trials-vectors")
    # What depends on it is named first.
    assert any("trials-model" in unescape(warning.value) for warning in app.warning)
    press(app, "storage_delete")
    assert [one.name for one in list_trash(workspace)] == ["trials-vectors"]
    app = open_page("storage", workspace)
    assert any("trials-vectors" in unescape(text) for text in list_texts(app))
    entry = list_trash(workspace)[0]
    press(app, f"storage_restore_{entry.id}")
    assert not app.exception and list_trash(workspace) == []
    assert workspace.artifact("vectors", "trials-vectors")


def test_a_deleted_artifact_whose_name_was_taken_comes_back_under_another(open_page, workspace):
    folder = workspace.folder("vectors", "trials-vectors")
    delete_artifact(workspace, workspace.artifact("vectors", "trials-vectors"))
    folder.mkdir()
    [entry] = list_trash(workspace)
    app = press(open_page("storage", workspace), f"storage_restore_{entry.id}")
    assert not app.exception and not app.error
    assert workspace.artifact("vectors", "trials-vectors-2")
    assert "trials-vectors-2" in unescape(join_values(app.success))


def test_a_link_to_a_deleted_artifact_says_that_another_one_is_selected(open_page, workspace):
    app = open_page("alignment", workspace, alignment_vectors="*gone*")
    assert not app.exception
    [message] = [toast.value for toast in app.toast]
    assert r"\*gone\*" in message
    app.run()
    assert not app.toast, "it is said once"


def test_an_old_name_is_read_by_its_kind_and_with_what_stands_beside_it(open_page, workspace):
    rename_artifact(workspace, workspace.artifact("vectors", "trials-vectors"), "trials-model")
    rename_artifact(workspace, workspace.artifact("models", "trials-model"), "mine")
    # A model and vectors have had the same name: the parameter tells which one is meant.
    app = open_page("alignment", workspace, alignment_vectors="trials-model")
    assert not app.exception
    assert app.query_params["alignment_vectors"] in ("trials-model", ["trials-model"])
    assert not app.toast
    app = open_page("projection", workspace, projection_space="model · trials-model")
    assert not app.exception
    assert app.query_params["projection_space"] in ("model · mine", ["model · mine"])


def test_a_broken_record_of_old_names_is_a_message_beside_the_page(open_page, workspace):
    (workspace.root / "renamed.json").write_text("{")
    app = open_page("lens", workspace, lens_models="trials-model")
    assert not app.exception and app.text_area(key="lens_text")
    assert app.error and "renamed.json" in join_values(app.text)


def test_the_names_of_many_jobs_are_not_looked_up_one_by_one(workspace, monkeypatch):
    from vocadapt.ui.parts.storage import page as storage_page

    job = Mock(id="j", target=Mock(), folder=workspace.root)
    job.spec, job.target.name = Mock(kind="models"), "trials-model"
    job.status.return_value = Mock(alive=False, queued=0.0)
    monkeypatch.setattr(storage_page.queue, "list_jobs", lambda _: [job] * 30)
    counted = Mock(side_effect=storage_page.list_display_names)
    monkeypatch.setattr(storage_page, "list_display_names", counted)
    found = storage_page.list_items(workspace)
    items = [one for one in found if one.source is job]
    kinds = [call.args[1] for call in counted.call_args_list]
    assert len(items) == 30 and len(kinds) == len(set(kinds))
    model = next(one for one in found if one.id == "models/trials-model")
    assert items[0].display_name == model.display_name


def test_an_upload_that_was_not_imported_is_listed_and_deleted(open_page, tmp_path):
    """It counts against the quota of a visitor, in a workspace that has nothing else."""
    workspace = Workspace(tmp_path / "empty")
    upload = workspace.root / "uploads" / "a_text.txt"
    upload.parent.mkdir(parents=True)
    upload.write_text("a line\n" * 100)
    app = open_page("storage", workspace)
    assert not app.exception and any("a_text.txt" in unescape(text) for text in list_texts(app))
    press(app, "storage_upload_uploads/a_text.txt")
    assert not app.exception and not upload.exists()
    assert "storage_upload_uploads/a_text.txt" not in list_button_keys(app)


def test_an_upload_in_use_is_not_offered_for_deletion(tmp_path):
    workspace = Workspace(tmp_path / "used")
    uploads = workspace.root / "uploads"
    # A bare vocabulary is used as it is.
    (uploads / "vocabularies").mkdir(parents=True)
    for name in ("used", "unused", "vocabularies/vocab"):
        (uploads / f"{name}.txt").write_text("a line of text\n")
    spec = Spec(CorpusStep(), {"text": (str(uploads / "used.txt"),)})
    run_step(spec, workspace.folder("corpora", "c"))
    assert [file.name for file in list_unused_uploads(workspace)] == ["unused.txt"]
