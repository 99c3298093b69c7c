"""The certificate fails on planted faults and names them."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.material.adapted import ROWS, adapted_folder, change, untie
from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import find_numbers
from vocadapt.models.certificate.certificate import CHECKS, Edit, certify, run_check
from vocadapt.models.language_model import open_model


def swap_rows(tensors: dict[str, torch.Tensor]) -> None:
    tensors[ROWS][[50, 51]] = tensors[ROWS][[51, 50]]


def nudge_layer(tensors: dict[str, torch.Tensor]) -> None:
    tensors["bert.encoder.layer.0.output.dense.weight"][0, 0] += 1e-6


def shift_bias(tensors: dict[str, torch.Tensor]) -> None:
    tensors["cls.predictions.bias"] = tensors["cls.predictions.bias"].roll(1)


def minus_zero(tensors: dict[str, torch.Tensor]) -> None:
    tensors[ROWS][0] = -tensors[ROWS][0]  # the padding row is zero: only its bits change


FAULTS = {
    "swapped rows": (lambda f: change(f, swap_rows), "kept embeddings"),
    "padding row with another sign": (lambda f: change(f, minus_zero), "kept embeddings"),
    "a nudged weight": (lambda f: change(f, nudge_layer), "other tensors"),
    "unmapped output bias": (lambda f: change(f, shift_bias), "output bias"),
    "untied head": (lambda f: untie(f), "tied head"),
    "shifted pad id": (lambda f: edit_json(f / "config.json", pad_token_id=1), "padding token"),
    "another cls token": (
        lambda f: edit_json(f / "tokenizer_config.json", cls_token="[SEP]"),
        "token ids",
    ),
    "more tokens than rows": (lambda f: drop_rows(f), "vocabulary size"),
    "a word that never fires": (lambda f: rename_added(f), "added tokens reachable"),
    "a normalizer that the tokenizer class drops": (lambda f: uncase(f), "reload"),
}


def drop_rows(folder: Path) -> None:
    change(
        folder,
        lambda t: t.update({name: t[name][:-1].clone() for name in (ROWS, "cls.predictions.bias")}),
    )
    rows = len(load_file(folder / "model.safetensors")[ROWS])
    edit_json(folder / "config.json", vocab_size=rows)


def rename_added(folder: Path) -> None:
    text = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(
        text.replace('"euthymia"', '"euth-ymia®"').replace("Euthymia", ""), encoding="utf-8"
    )
    edit_json(
        folder / "tokenizer.json",
        normalizer={"type": "Replace", "pattern": {"String": "®"}, "content": ""},
    )


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


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(tiny_bert: Path, tmp_path: Path, name: str) -> None:
    damage, expected = FAULTS[name]
    out = adapted_folder(tiny_bert, tmp_path / "out")
    damage(out)
    assert not run_check(expected, Edit(open_model(tiny_bert), open_model(out))).passed


def test_a_fault_fails_the_whole_certificate(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CHECKS, "reload", lambda edit: (True, ""))  # starts a process
    out = adapted_folder(tiny_bert, tmp_path / "out")
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


def test_own_lines_are_used(tiny_bert: Path, tmp_path: Path) -> None:
    after = open_model(adapted_folder(tiny_bert, tmp_path / "out"))
    edit = Edit(open_model(tiny_bert), after, ("the heart", "tachycardia is pain"))
    passed, detail = CHECKS["outputs"](edit)
    assert passed and find_numbers(detail)[-2:] == [1, 2]  # lines of the same tokenization


def test_a_vocabulary_cannot_be_certified(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\na\n", encoding="utf-8")
    with raises_input_error("bare-vocabulary"):
        certify(open_model(tiny_bert), open_model(tmp_path / "vocab.txt"))


def test_weights_start_where_two_models_take_the_same_kernels(
    tiny_bert: Path, tmp_path: Path
) -> None:
    """Mapped from a file they start where its header ends, and the last bit of a product then
    depends on that.
    """
    for folder in (tiny_bert, adapted_folder(tiny_bert, tmp_path / "out")):
        assert {
            parameter.data_ptr() % 64 for parameter in open_model(folder).network.parameters()
        } == {0}
