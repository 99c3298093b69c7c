"""Published .bin weights: tensors are read, and code never runs."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.material.input_errors import raises_input_error
from vocadapt.models.convert import convert
from vocadapt.models.language_model import open_model


class Malice:
    """Unpickling this creates a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (open, (str(self.marker), "w"))  # type: ignore[return-value]


@pytest.fixture
def published(make_bert: Callable[..., Path]) -> Path:
    """A folder as they were published in 2018: a .bin, with gamma and beta."""
    folder = make_bert("published")
    tensors = load_file(folder / "model.safetensors")
    names = {
        n: (
            n.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            )
        )
        for n in tensors
    }
    old = {names[name]: tensor for name, tensor in tensors.items()}
    torch.save(old, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


@pytest.mark.usefixtures("fresh_processes")
def test_bin_becomes_safetensors(published: Path, tiny_bert: Path, tmp_path: Path) -> None:
    assert convert(published, tmp_path / "out") == len(load_file(tiny_bert / "model.safetensors"))
    network = open_model(tmp_path / "out").network
    original = open_model(tiny_bert).network.state_dict()
    assert all(torch.equal(original[name], tensor) for name, tensor in network.state_dict().items())
    assert not list((tmp_path / "out").glob("*.bin"))


def test_objects_are_refused_unexecuted(published: Path, tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    with (published / "pytorch_model.bin").open("wb") as file:
        pickle.dump({"w": Malice(marker)}, file)
    with raises_input_error("not-only-tensors"):
        convert(published, tmp_path / "out")
    torch.save({"w": Malice(marker)}, published / "pytorch_model.bin")
    with raises_input_error("not-only-tensors"):
        convert(published, tmp_path / "out")
    assert not marker.exists()


def test_what_is_not_a_published_folder(
    tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with raises_input_error("no-weights"):
        convert(tiny_bert, tmp_path / "out")
    with raises_input_error("not-a-folder"):
        convert("../../x", tmp_path / "out")
    shutil.copytree(tiny_bert, tmp_path / "text")
    (tmp_path / "text" / "pytorch_model.bin").write_text("not a pickle")
    with raises_input_error("not-only-tensors"):
        convert(tmp_path / "text", tmp_path / "out")
