"""The command vocabulary trim: its answer, its token map, its refusals, and the command line that its
manifest records."""

import json
import shlex

import pytest
from safetensors.numpy import load_file

from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.cli import main
from vocadapt.cli.vocabulary.trim import CHANGES, CHARACTERS_LOST
from vocadapt.models.language_model import open_model


def test_a_trimmed_model_with_its_token_map(ask, tiny_bert, text, tmp_path):
    out, path = tmp_path / "out", tmp_path / "map.safetensors"
    line = f"vocabulary trim --model {tiny_bert} --corpus {text} --cover 1"
    found = ask(f"{line} --out {out} --token-map {path}")
    numbers = found["numbers"]
    assert numbers["certificate"] is True
    assert numbers["changed_lines"] == 0 and numbers["lines"] == 300
    assert numbers["trim"]["coverage"] == 1.0
    after = open_model(out).vocabulary
    assert numbers["tokens_after"] == len(after) < numbers["tokens_before"] == len(TINY_TOKENS)
    # The token map lists the rows of the original model, in the order of the trimmed one.
    stored = load_file(path)
    assert tuple(TINY_TOKENS[i] for i in stored["hot_token_id"]) == after.tokens
    assert len(stored["t2d"]) == len(TINY_TOKENS) and found["token_map"] == str(path)
    # The recorded command makes the same model.
    command = shlex.split(json.loads((out / "manifest.json").read_text())["command"])
    arguments = command[command.index("adapt") :]
    arguments[arguments.index("--out") + 1] = str(tmp_path / "again")
    assert main(arguments) == 0
    assert open_model(tmp_path / "again").vocabulary.tokens == after.tokens


def test_the_answer_in_words(show, tiny_bert, text, tmp_path):
    line = f"vocabulary trim --model {tiny_bert} --corpus {text} --cover .9 --no-certificate"
    shown = show(f"{line} --out {tmp_path}/out")
    for part in (f" {len(TINY_TOKENS)} tokens", " 300 lines", "fewer parameters", CHANGES):
        assert part in shown
    assert CHARACTERS_LOST in shown


def test_a_token_map_alone_needs_no_weights(ask, text, tmp_path):
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(TINY_TOKENS) + "\n", encoding="utf-8")
    line = f"vocabulary trim --model {vocabulary} --corpus {text} --keep 80"
    found = ask(f"{line} --token-map {tmp_path}/map.json")
    content = json.loads((tmp_path / "map.json").read_text(encoding="utf-8"))
    assert found["tokens_after"] == content["tokens"] == 80
    ids = content["hot_token_id"]
    assert ids == sorted(ids) and len(ids) == 80
    assert [i - n for n, i in enumerate(ids)] == content["d2t"]
    assert content["coverage"] == found["trim"]["coverage"]
    assert content["vocabulary"] == len(TINY_TOKENS)
    assert not any(path.is_dir() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "code", "value"),
    [
        ("--out out", "no-size", "--cover"),
        ("--out out --cover .9 --keep 99", "invalid-arguments", "--keep"),
        ("--out out --cover 1.5", "out-of-range", "1.5"),
        ("--out out --keep 3", "too-few-tokens", "3 tokens"),
        ("--out out --keep 9999", "too-many-tokens", len(TINY_TOKENS)),
        ("--cover 1", "no-output", "--token-map"),
        ("--cover 1 --token-map map.pt", "unknown-file-kind", ".safetensors"),
        ("--cover 1 --token-map old.json", "", "already exists"),
        ("--cover 1 --out out --corpus other.txt", "no-known-word", "2 distinct"),
    ],
)
def test_refusals_leave_nothing(refused_with, tiny_bert, text, tmp_path, options, code, value):
    (tmp_path / "old.json").write_text("{}", encoding="utf-8")
    (tmp_path / "other.txt").write_text("与 ☃\n", encoding="utf-8")
    given = "" if "--corpus" in options else f"--corpus {text}"
    refused_with(f"vocabulary trim --model {tiny_bert} {given} {options}", code, value)
    assert (tmp_path / "old.json").read_text(encoding="utf-8") == "{}"
