"""Code in a model folder never runs, whatever its config files say; nor does a pickle in it."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import vocadapt
from tests.material.input_errors import raises_input_error
from vocadapt.cli import main
from vocadapt.cli.lab.jobs import SERVER
from vocadapt.errors import InputError
from vocadapt.lab.jobs import queue, watchdog
from vocadapt.models.language_model import open_model
from vocadapt.models.loading import load_network
from vocadapt.models.transformers_tokenizer import load_tokenizer

PLANT = "from pathlib import Path\nPath({marker!r}).write_text(__name__)\nModel = Config = Tokenizer = object\n"
# Names that transformers, Python or torch might import from a folder.
PLANTED = (
    "modeling_x.py",
    "configuration_x.py",
    "tokenization_x.py",
    "modeling_bert.py",
    "x.py",
    "torch.py",
    "sitecustomize.py",
    "__init__.py",
    "conftest.py",
    "custom_generate/generate.py",
)
AUTO = {
    "AutoConfig": "configuration_x.Config",
    "AutoModel": "modeling_x.Model",
    "AutoModelForMaskedLM": "modeling_x.Model",
    "AutoTokenizer": ["tokenization_x.Tokenizer", "tokenization_x.Tokenizer"],
}
CONFIGS: dict[str, dict[str, object]] = {
    "map": {"auto_map": AUTO},
    "map and type": {"auto_map": AUTO, "model_type": "x"},
    "map elsewhere": {
        "auto_map": {name: f"org/repository--{given}" for name, given in AUTO.items()}
    },
    "architecture": {"auto_map": AUTO, "architectures": ["x.Model"]},
    "trusting": {"auto_map": AUTO, "trust_remote_code": True},
    "pipelines": {"custom_pipelines": {"x": {"impl": "modeling_x.Model", "pt": ["Model"]}}},
}


class Planted:
    """Its pickle writes a file when it is loaded."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return (Path.write_text, (self.marker, "ran"))


@pytest.fixture
def planted(tiny_bert: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A model folder with code and pickles in it, and the file that these write if they run."""
    folder, marker = tmp_path / "model", tmp_path / "ran"
    shutil.copytree(tiny_bert, folder)
    for name in PLANTED:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(PLANT.format(marker=str(marker)), encoding="utf-8")
    content = pickle.dumps(Planted(marker))
    for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt", "model.pkl"):
        (folder / name).write_bytes(content)
    return folder, marker


def edit(path: Path, **values: object) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **values}), encoding="utf-8")


@pytest.mark.parametrize("name", CONFIGS)
def test_code_in_the_folder_never_runs(name, planted, monkeypatch):
    folder, marker = planted
    monkeypatch.chdir(folder)
    values = CONFIGS[name]
    edit(folder / "config.json", **values)
    edit(folder / "tokenizer_config.json", tokenizer_class="Tokenizer", **values)
    before = set(sys.modules)
    for read in (
        lambda: open_model(folder).vocabulary.tokenize("heart"),
        lambda: open_model(folder).space,
        lambda: load_network(open_model(folder)),
        lambda: load_tokenizer(open_model(folder)),
    ):
        try:
            read()
        except InputError:
            assert not marker.exists()
    assert not marker.exists()
    assert not any("transformers_modules" in module for module in set(sys.modules) - before)


def test_a_pickle_beside_or_instead_of_the_weights_is_not_opened(planted, tmp_path, capsys):
    folder, marker = planted
    load_network(open_model(folder))
    (folder / "model.safetensors").unlink()
    with raises_input_error("pickled-weights"):
        load_network(open_model(folder))
    # The conversion, which is requested, reads tensors only.
    assert main(["convert", str(folder), "--out", str(tmp_path / "converted")]) == 2
    assert "only tensors" in capsys.readouterr().err
    assert not marker.exists() and not (tmp_path / "converted").exists()


@pytest.mark.parametrize(
    "program", [queue.WORKER, watchdog.PROGRAM, pytest.param(SERVER, marks=pytest.mark.slow)]
)
def test_the_programs_of_the_lab_import_nothing_from_the_working_folder(program, tmp_path):
    """A lab may be started in the folder of a model."""
    marker = tmp_path / "ran"
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("argparse", "json", "torch", "vocadapt", "streamlit"):
        (folder / f"{name}.py").write_text(PLANT.format(marker=str(marker)), encoding="utf-8")
    subprocess.run(
        [sys.executable, *program, "--help"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(vocadapt.__file__).parents[1])},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert not marker.exists()


def test_what_is_planted_would_write_the_file(planted):
    """The test can fail."""
    folder, marker = planted
    exec(compile((folder / "x.py").read_text(), "x.py", "exec"), {"__name__": "x"})
    assert marker.read_text() == "x"
    marker.unlink()
    pickle.loads((folder / "model.pkl").read_bytes())
    assert marker.read_text() == "ran"
