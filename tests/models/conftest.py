"""An adapted model that several tests of models read."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.material.adapted import adapted_folder


@pytest.fixture(scope="session")
def appended(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the tiny BERT with three more words; read only."""
    return adapted_folder(tiny_bert, tmp_path_factory.mktemp("appended") / "out")


@pytest.fixture
def out(appended: Path, tmp_path: Path) -> Path:
    """A copy of that folder, which a test may change."""
    return shutil.copytree(appended, tmp_path / "out")


@pytest.fixture
def record(appended: Path) -> dict[str, Any]:
    """The record of that model, which a test may change."""
    content: dict[str, Any] = json.loads((appended / "vocadapt.json").read_text(encoding="utf-8"))
    return content
