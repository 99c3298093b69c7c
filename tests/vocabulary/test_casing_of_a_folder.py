"""A folder with a cased vocab.txt that states no casing: both readings are said, and a given casing
decides.
"""

import json
import logging
from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import list_numbers
from tests.material.tiny_bert import TINY_TOKENS, build_tiny_bert
from vocadapt.cli.run import run
from vocadapt.models.certificate.certificate import Edit, run_check
from vocadapt.models.language_model import open_model

TOKENS = (*TINY_TOKENS, "Aspirin", "##A", "Ab")


def build_folder(folder: Path, tokens: tuple[str, ...] = TOKENS) -> Path:
    """Write config.json, weights and vocab.txt only, as older models have them."""
    build_tiny_bert(folder)
    for path in folder.glob("*token*"):
        path.unlink()
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens), "utf-8")
    return folder


def test_both_readings_are_said_when_the_model_is_opened(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = open_model(build_folder(tmp_path / "model"))
    with caplog.at_level(logging.WARNING):
        assert model.fast_tokenizer.encode("Aspirin", add_special_tokens=False).tokens == [
            "Aspirin"
        ]
    assert model.casing_note in caplog.text
    # [unused0], [unused1], … are never produced; the capitals are not in the uncased reading.
    never = sum(token.startswith("[unused") for token in TOKENS)
    assert list_numbers(model.casing_note) == [str(never), str(len(TOKENS)), str(never + 3)]
    passed, detail = run_check_of(model.path)
    assert passed and model.casing_note in detail


def run_check_of(folder: Path) -> tuple[bool, str]:
    check = run_check("token ids", Edit(open_model(folder), open_model(folder)))
    return check.passed, check.detail


def test_a_given_casing_decides(tmp_path: Path) -> None:
    folder = build_folder(tmp_path / "model")
    for lowercase, tokens in ((True, "aspirin"), (False, "Aspirin")):
        model = open_model(folder, lowercase=lowercase)
        assert model.casing_note == "" and model.splitter.lowercase == lowercase
        assert model.splitter.words("Aspirin") == [tokens]


def test_a_folder_without_doubt_says_nothing(tmp_path: Path) -> None:
    folder = build_folder(tmp_path / "uncased", tuple(TINY_TOKENS))
    assert open_model(folder).casing_note == "" and open_model(folder).splitter.lowercase
    folder = build_folder(tmp_path / "stated")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}), "utf-8")
    assert open_model(folder).casing_note == "" and open_model(folder).splitter.lowercase
    with raises_input_error("stated-casing"):
        _ = open_model(folder, lowercase=False).splitter


def test_the_command_line_says_it_without_verbose(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = build_folder(tmp_path / "model")
    assert run(["tokenize", "Aspirin", "--model", str(folder), "--json"]) == 0
    assert open_model(folder).casing_note in caplog.text
    caplog.clear()
    line = ["tokenize", "Aspirin", "--model", str(folder), "--casing", "uncased", "--json"]
    assert run(line) == 0
    assert caplog.text == ""
