"""`pretrain --from-scratch`, in this process on a synthetic text."""

import pytest

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
    ("options", "code", "value"),
    [
        ("--from-scratch --num-epochs 1 --tokens 5", "invalid-arguments", "--num-epochs"),
        ("--from-scratch --hidden 200", "", "200"),
        ("--from-scratch --vocabulary 3", "too-few-tokens", "3"),
        ("--from-scratch --trainer best", "unknown-choice", "bpe-merges"),
        ("--from-scratch --vocabulary 12", "too-few-tokens", "12"),
        ("--from-scratch --length 2", "out-of-range", "--length"),
        ("--from-scratch --hours nan", "out-of-range", "--hours"),
        ("", "nothing-to-train", "--from-scratch"),
    ],
)
def test_mistakes_are_one_message_and_leave_nothing(options, code, value, text, refused_with):
    refused_with(f"pretrain --corpus {text} --out w/m {options}", code, value)
