"""Models that several tests of training read."""

from pathlib import Path

import pytest

from tests.material.finetuning import tiny_adapted
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.training.encoding.model_tokenizers import ModelTokenizer, load_tokenizers


@pytest.fixture(scope="session")
def adapted_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny model that was taught three words; read only."""
    return tiny_adapted(tmp_path_factory.mktemp("adapted"))


@pytest.fixture(scope="module")
def adapted(adapted_path: Path) -> LanguageModel:
    """That model, opened for the tests of a file."""
    return open_model(adapted_path)


@pytest.fixture(scope="module")
def tokenizers(adapted: LanguageModel) -> dict[str, ModelTokenizer]:
    """Its two tokenizers."""
    return load_tokenizers(adapted)


@pytest.fixture(scope="module")
def model(tiny_bert: Path) -> LanguageModel:
    """The tiny BERT, opened for the tests of a file."""
    return open_model(tiny_bert)
