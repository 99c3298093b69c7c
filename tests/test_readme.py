"""The examples of README and tutorial work: Python, commands, make targets and links."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from vocadapt.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
HUB = "bert-base-uncased"  # no network here: MiniLM has the same vocabulary


def test_the_python_lines_give_what_they_show(
    minilm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert block is not None
    example = doctest.DocTestParser().get_doctest(
        block[1].replace(HUB, minilm), {}, "README", "README.md", 0
    )
    assert sum(line.lstrip().startswith(">>>") for line in block[1].splitlines()) == 8
    report: list[str] = []
    doctest.DocTestRunner().run(example, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("number", [8, pytest.param(None, marks=pytest.mark.slow, id="all")])
def test_the_commands_run_in_their_order(
    number: int | None,
    tiny_bert: Path,
    minilm: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The commands of the README on a tiny model, in this process; with the tutorial, on a real model
    and each in a process of its own, they take minutes.
    """
    model = minilm if number is None else str(tiny_bert)
    from gensim.test.utils import datapath

    news = Path(datapath("lee_background.cor")).read_text(encoding="utf-8")
    (tmp_path / "articles.txt").write_text(
        news + "the tachycardia of the patient\n" * 10, encoding="utf-8"
    )
    tagged = "the O\nacute B-Finding\ntachycardia I-Finding\nended O\n\nno O\nfever B-Finding\n\n"
    for name, times in (("train.tsv", 8), ("test.tsv", 2)):
        (tmp_path / name).write_text((tagged * times).replace(" ", "\t"), encoding="utf-8")
    commands = re.findall(r"^    python -m vocadapt (.*)$", README + TUTORIAL, re.MULTILINE)
    assert len(commands) >= 25
    monkeypatch.chdir(tmp_path)
    for command in commands[:number]:
        arguments = shlex.split(command.replace(HUB, model), comments=True)
        if number is not None:
            assert main(arguments) == 0, f"{command}\n{capsys.readouterr()}"
            continue
        done = subprocess.run(
            [sys.executable, "-m", "vocadapt", *arguments],
            env=_env(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_the_two_commands_are_make_targets() -> None:
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        done = subprocess.run(
            ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_files_and_pictures_that_are_named_exist() -> None:
    named = re.findall(r"\]\((.*?)\)", README) + re.findall(r"\| `([\w/.]+)`", README)
    assert [name for name in named if not (ROOT / name).exists()] == []
    linked = [name for name in re.findall(r"\]\((.*?)\)", TUTORIAL)]
    assert [name for name in linked if not (ROOT / "docs" / name).exists()] == []


def _env() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}
