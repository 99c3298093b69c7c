"""Paths to write to: ~ is expanded, an empty one refused, the current folder filled if it is empty."""

import json
import os
from pathlib import Path

import pytest

from vocadapt.cli import main
from vocadapt.cli.parser import Parser
from vocadapt.cli.run import build_parser, list_commands, load_command
from vocadapt.cli.workspace_options import read_output_path
from vocadapt.lab.workspace.drafts import open_file_draft

FLAGS = {"--out", "--to", "--html", "--csv", "--token-map", "--checkpoints", "--workspace"}


def list_outputs(parser: Parser) -> list[str]:
    return [one.option_strings[0] for one in parser._actions if FLAGS & {*one.option_strings}]


def test_every_command_reads_its_output_paths_in_one_way(capsys):
    n_outputs = 0
    for name in list_commands():
        parser = build_parser(name, load_command(name))
        for action in parser._actions:
            if FLAGS & {*action.option_strings}:
                assert action.type is read_output_path, (name, action.option_strings)
        for flag in list_outputs(parser):
            n_outputs += 1
            assert main([*name.split(), f"{flag}="]) == 2
            error = capsys.readouterr().err
            assert flag in error and "path" in error, (name, error)
    assert n_outputs > 60


def test_a_path_of_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_output_path("~/a") == str(tmp_path / "a")
    assert read_output_path("a/~b") == "a/~b"
    monkeypatch.chdir(tmp_path)
    for given in (".", "./", "~", str(tmp_path), "../" + tmp_path.name):
        assert read_output_path(given) == str(tmp_path)


@pytest.fixture
def vectors(tmp_path) -> Path:
    file = tmp_path / "words.vec"
    file.write_text("2 3\nheart 0.1 0.2 0.3\nlung 0.3 0.2 0.1\n")
    return file


def test_an_output_in_the_home_folder_is_there(vectors, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["vectors", "import", str(vectors), "--out=~/there", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == str(tmp_path / "there")
    assert (tmp_path / "there" / "manifest.json").is_file()
    assert os.listdir() == []


def test_the_current_folder_is_filled_if_it_is_empty(vectors, tmp_path, monkeypatch, capsys):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert main(["vectors", "import", str(vectors), "--out=.", "--json"]) == 0
    assert "manifest.json" in os.listdir()  # not a folder that replaced this one
    assert Path(json.loads(capsys.readouterr().out)["manifest"]).is_file()
    before = sorted(os.listdir())
    assert main(["vectors", "import", str(vectors), "--out=."]) == 2
    assert "already exists" in capsys.readouterr().err
    assert sorted(os.listdir()) == before
    assert sorted(os.listdir(tmp_path)) == ["here", "words.vec"]


def test_a_workspace_is_opened_in_the_current_folder(vectors, tmp_path, monkeypatch, capsys):
    place = ["--workspace", str(tmp_path / "w")]
    assert main(["vectors", "import", str(vectors), "--name", "v", *place]) == 0
    assert main(["workspace", "export", "--out", str(tmp_path / "w.zip"), *place]) == 0
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert main(["workspace", "open", "../w.zip", "--out", "."]) == 0
    assert os.listdir() == ["vectors"]
    for command in (["open", "../w.zip"], ["copy", *place]):
        assert main(["workspace", *command, "--out", "."]) == 2
    assert main(["workspace", "export", "--out", ".", *place]) == 2
    assert os.listdir() == ["vectors"]
    assert sorted(os.listdir(tmp_path)) == ["here", "w", "w.zip", "words.vec"]


def test_the_demo_is_not_made_among_other_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("thesis.txt").write_text("mine")
    assert main(["demo", "--out", "."]) == 2
    assert os.listdir() == ["thesis.txt"]


def test_the_draft_of_a_killed_writer_is_removed_by_the_next_one(tmp_path):
    target = tmp_path / "report.html"
    child = os.fork()
    if not child:
        with open_file_draft(target) as draft:
            draft.write_text("half")
            os._exit(0)
    os.waitpid(child, 0)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".report.html.") and left.suffix == ".draft"
    with open_file_draft(target) as draft:
        assert draft.name == "report.html" and not left.exists()
        draft.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(ZeroDivisionError), open_file_draft(target) as draft:
        draft.write_text("half")
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert target.read_text() == "whole"
