"""A manifest from elsewhere: a value of the wrong type hides its artifact, never the others."""

import json
from dataclasses import fields

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.lab.workspace.manifest import MANIFEST, Input, Manifest
from vocadapt.lab.workspace.workspace import Workspace

WRONG = [5, -1.5, True, None, "text", [], ["a"], {}, {"a": 1}, [[1]]]
FIELDS = [field.name for field in fields(Manifest) if field.name != "format"]


def save(workspace: Workspace, name: str, /, **values: object) -> None:
    folder = workspace.folder("models", name)
    folder.mkdir(parents=True)
    manifest = Manifest("models", name, {}, {"text": Input(("a.txt",), "1", "2")})
    manifest.save(folder)
    content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    (folder / MANIFEST).write_text(json.dumps({**content, **values}), encoding="utf-8")


@pytest.mark.parametrize("field", FIELDS)
def test_a_value_of_another_type_hides_only_its_own_artifact(field, tmp_path):
    workspace = Workspace(tmp_path)
    save(workspace, "sound")
    for number, value in enumerate(WRONG):
        save(workspace, f"w{number}", **{field: value})
    artifacts = workspace.artifacts("models")
    assert "sound" in {one.name for one in artifacts} and len(artifacts) <= 6
    for one in artifacts:
        given = getattr(one.manifest, field)
        usual = getattr(Manifest("", "", {}), field)
        assert isinstance(given, (type(usual), int, float)), (field, given)


@pytest.mark.parametrize(
    "value",
    [
        {"paths": "a", "stamp": 1},
        {"paths": [1], "stamp": "1"},
        {"paths": [], "stamp": "1"},
        {"stamp": "1"},
        5,
    ],
)
def test_an_input_of_another_type_is_refused(value, tmp_path):
    workspace = Workspace(tmp_path)
    save(workspace, "wrong", inputs={"text": value})
    with raises_input_error("invalid-manifest"):
        Manifest.load(workspace.folder("models", "wrong"))


def test_a_lone_surrogate_in_a_manifest_is_refused(tmp_path):
    """It could not be sent to a page."""
    workspace = Workspace(tmp_path)
    save(workspace, "wrong", command="\ud800")
    with raises_input_error("half-character"):
        Manifest.load(workspace.folder("models", "wrong"))
