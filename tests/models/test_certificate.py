"""The certificate fails on planted faults and names them."""

from pathlib import Path

import pytest
import torch

from tests.material.adapted import ROWS, change
from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import find_numbers
from vocadapt.models.certificate.certificate import CHECKS, Edit, certify, run_check
from vocadapt.models.language_model import open_model


def swap_rows(tensors: dict[str, torch.Tensor]) -> None:
    tensors[ROWS][[50, 51]] = tensors[ROWS][[51, 50]]


def minus_zero(tensors: dict[str, torch.Tensor]) -> None:
    tensors[ROWS][0] = -tensors[ROWS][0]  # the padding row is zero: only its bits change


def uncase(folder: Path) -> None:
    """transformers 5 rebuilds a BertTokenizer with do_lower_case from its config, whatever
    tokenizer.json says.
    """
    cased = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": False,
    }
    edit_json(folder / "tokenizer.json", normalizer=cased)


FAULTS = {  # those of every check, in figures, are in test_certificate_details
    "padding row with another sign": (lambda f: change(f, minus_zero), "kept embeddings"),
    "a normalizer that the tokenizer class drops": (uncase, "reload"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(tiny_bert: Path, out: Path, name: str) -> None:
    damage, expected = FAULTS[name]
    damage(out)
    assert not run_check(expected, Edit(open_model(tiny_bert), open_model(out))).passed


def test_a_fault_fails_the_whole_certificate(
    tiny_bert: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CHECKS, "reload", lambda edit: (True, ""))  # starts a process
    change(out, swap_rows)
    reports: list[tuple[float | None, str]] = []

    def report(fraction: float | None, message: str = "") -> None:
        reports.append((fraction, message))

    certificate = certify(open_model(tiny_bert), open_model(out), progress=report)
    fractions = [fraction or 0.0 for fraction, _ in reports]
    assert [message for _, message in reports] == [f"certificate: {name}" for name in CHECKS]
    assert fractions == sorted(fractions) and fractions[0] == 0.0 and 0.5 < fractions[-1] < 0.6
    assert not certificate.passed
    assert {"kept embeddings", "outputs"} <= {
        check.name for check in certificate.checks if not check.passed
    }


def test_a_model_equals_itself(tiny_bert: Path) -> None:
    edit = Edit(open_model(tiny_bert), open_model(tiny_bert))
    assert all(check(edit)[0] for name, check in CHECKS.items() if name != "reload")


def test_own_lines_are_used(tiny_bert: Path, appended: Path) -> None:
    edit = Edit(open_model(tiny_bert), open_model(appended), ("the heart", "tachycardia is pain"))
    passed, detail = CHECKS["outputs"](edit)
    assert passed and find_numbers(detail)[-2:] == [1, 2]  # lines of the same tokenization


def test_a_vocabulary_cannot_be_certified(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\na\n", encoding="utf-8")
    with raises_input_error("bare-vocabulary"):
        certify(open_model(tiny_bert), open_model(tmp_path / "vocab.txt"))


def test_weights_start_where_two_models_take_the_same_kernels(
    tiny_bert: Path, appended: Path
) -> None:
    """Mapped from a file they start where its header ends, and the last bit of a product then
    depends on that.
    """
    for folder in (tiny_bert, appended):
        assert {
            parameter.data_ptr() % 64 for parameter in open_model(folder).network.parameters()
        } == {0}
