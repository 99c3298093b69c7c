"""Models with real tokenizers are adapted, trimmed, reduced, packed and reloaded, and nothing of
their tokenizer is lost.
"""

from pathlib import Path

import pytest

from tests.material import real_tokenizers
from tests.material.byte_level import read_abstracts
from tests.material.model_changes import TRIM, check_every_change, remove_tokens, tokenize
from tests.material.real_tokenizers import (
    MODERNBERT,
    NPM_TOKENIZERS,
    build_real_model,
    find_npm_tokenizer,
    list_lost,
)
from vocadapt.models.language_model import open_model

LINES = 200


def test_modernbert_is_trimmed_without_a_loss(shared: Path, tmp_path: Path) -> None:
    source = shared / "data" / "tokenizers" / "modernbert"
    text = read_abstracts(shared)[:5]
    before = open_model(build_real_model(source, MODERNBERT, tmp_path / "before"))
    trimmed = remove_tokens(before, TRIM, text, tmp_path / "trimmed")
    assert list_lost(before, trimmed) == {}
    assert tokenize(trimmed, text) == tokenize(before, text)


@pytest.mark.slow
def test_modernbert_is_changed_without_a_loss(shared: Path, tmp_path: Path) -> None:
    source = shared / "data" / "tokenizers" / "modernbert"
    before = open_model(build_real_model(source, MODERNBERT, tmp_path / "before"))
    check_every_change(before, read_abstracts(shared)[:LINES], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NPM_TOKENIZERS)
def test_a_real_tokenizer_is_changed_without_a_loss(
    shared: Path, tmp_path: Path, name: str
) -> None:
    source = find_npm_tokenizer(name)
    before = open_model(build_real_model(source, NPM_TOKENIZERS[name], tmp_path / "before"))
    check_every_change(before, read_abstracts(shared)[:LINES], tmp_path)


def test_the_nightly_run_fails_without_the_real_tokenizers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_tokenizers, "NPM", tmp_path)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="npm"):
        find_npm_tokenizer("gpt2")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="npm"):
        find_npm_tokenizer("gpt2")
