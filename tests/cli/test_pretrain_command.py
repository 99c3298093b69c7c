"""`pretrain --from-scratch`, in this process on a synthetic text."""

import pytest

from tests.material.commands import run_line
from tests.material.lab import write_text
from vocadapt.lab.steps.command_lines import build_arguments
from vocadapt.lab.steps.pretrain import PretrainStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import open_artifact
from vocadapt.models.language_model import open_model
from vocadapt.training.masked.from_scratch import ScratchSettings
from vocadapt.training.masked.settings import MaskedSettings

TINY = "--vocabulary 120 --layers 1 --hidden 32 --length 16 --batch-size 8 --tokens 2560"


@pytest.fixture
def text(tmp_path):
    return write_text(tmp_path / "trials.txt", lines=600)


def test_pretrain_makes_a_model_that_the_other_commands_take(text, tmp_path, ask):
    out = tmp_path / "model"
    answer = ask(f"pretrain --from-scratch --corpus {text} --out {out} {TINY}")
    assert answer["stage"] == "from-scratch"
    assert answer["tokens"] == 2560
    assert answer["steps"] == 20
    assert answer["frozen"] == 0
    assert set(answer["loss_per_character"]) == {"before", "after", "unigram"}
    assert answer["out"] == str(out) and (out / "manifest.json").is_file()
    assert len(open_model(out).vocabulary) <= 120
    assert not (out / "checkpoint").exists()
    artifact = open_artifact(out)
    assert artifact.manifest.kind == "models" and "--from-scratch" in artifact.manifest.command
    assert ask(f"tokenize placebo --model {out}")


def test_its_command_line_is_the_step(text):
    scratch = ScratchSettings(
        layers=2, trainer="wordpiece-score", cased=True, training=MaskedSettings(hours=0.5)
    )
    arguments = build_arguments(
        Spec(PretrainStep(scratch=scratch, half=True), {"text": str(text)}),
        text.parent / "m",
    )
    assert (
        arguments[3:]
        == (
            f"pretrain --corpus {text} --from-scratch --trainer wordpiece-score --layers 2"
            f" --cased --hours 0.5 --half --out {text.parent}/m"
        ).split()
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--num-epochs", "1", "--tokens", "5"], "not allowed with"),
        (["--hidden", "200"], "cannot be divided"),
        (["--vocabulary", "3"], "special tokens"),
        (["--trainer", "best"], "choose one of bpe-merges"),
        (["--vocabulary", "12"], "is too small for"),
        (["--length", "2"], "--length: expected a whole number from 8 "),
        (["--hours", "nan"], "--hours: expected a number from 0 "),
    ],
)
def test_mistakes_are_one_message_and_leave_nothing(wrong, said, text, tmp_path, capsys):
    assert run_line(f"pretrain --from-scratch --corpus {text} --out {tmp_path}/w/m", *wrong) == 2
    found = capsys.readouterr()
    assert said in found.err and not found.out and len(found.err.splitlines()) <= 3
    assert not (tmp_path / "w").exists()


def test_without_from_scratch_it_says_what_there_is(text, tmp_path, ask):
    line = f"pretrain --corpus {text} --out {tmp_path}/m"
    assert "--from-scratch" in ask(line, code=2)
