"""A path that begins with `~name` raises an InputError if there is no user of that name."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.cli import main
from vocadapt.lab.inputs.open_space import open_space
from vocadapt.lab.steps.convert import ConvertStep
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.noise_baselines import open_vectors_artifact
from vocadapt.lab.steps.step import Spec
from vocadapt.models.convert import convert
from vocadapt.models.language_model import open_model
from vocadapt.ui.state.names import label_of

NOBODY = "~no-such-user-4711/model"


@pytest.mark.parametrize(
    "open_it",
    [
        open_model,
        open_space,
        lambda name: convert(name, Path("out"), True),
        lambda name: Spec(CorpusStep(), {"text": name}).absolute(),
    ],
    ids=["model", "space", "convert", "spec"],
)
def test_a_path_below_the_home_of_nobody_is_refused(open_it: Callable[[str], object]) -> None:
    with raises_input_error("unknown-user", NOBODY):
        open_it(NOBODY)


@pytest.mark.parametrize(
    "command", [("tokenize", "heart", "--model", NOBODY), ("vocabulary", "compare", NOBODY, NOBODY)]
)
def test_a_command_ends_with_a_sentence(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 2
    assert NOBODY in capsys.readouterr().err


def test_functions_that_only_read_a_name_accept_it() -> None:
    assert open_vectors_artifact(NOBODY) is None
    assert label_of(NOBODY, {"model": "/models/model"}) == NOBODY


def test_a_link_that_leads_nowhere_takes_no_room(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "pytorch_model.bin").symlink_to(tmp_path / "blobs" / "gone")
    (folder / "model.safetensors").write_bytes(bytes(1000))
    assert Spec(ConvertStep(), {"model": str(folder)}).estimate_bytes() >= 1000
