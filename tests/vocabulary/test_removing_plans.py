"""Plans that remove or reorder tokens (reduction, transfer): the saved folder is ordinary and
its certificate passes."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.material.adapted import HEADS, TARGET, change, moved, transfer, untie
from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from tests.material.model_changes import list_failures
from tests.material.tiny_bert import SPECIAL, TINY_TOKENS
from vocadapt.errors import InputError
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.certificate.certificate import CHECKS, Edit, certify, run_check
from vocadapt.models.language_model import open_model
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary


@pytest.mark.parametrize("options", [{}, {"tie_word_embeddings": False}])
@pytest.mark.parametrize("head", HEADS)
def test_every_head_keeps_its_certificate(
    make_bert: Callable[..., Path], tmp_path: Path, head: str, options: dict[str, bool]
) -> None:
    edit = moved(make_bert(head=head, **options), tmp_path / "out")
    assert list_failures(edit) == {}
    assert edit.after.vocabulary.tokens == TARGET
    assert edit.added == ("tachycardia", "##emia")
    assert edit.after.config["architectures"] == [head]


def test_the_whole_certificate(tiny_bert: Path, tmp_path: Path) -> None:
    edit = moved(tiny_bert, tmp_path / "out")
    certificate = certify(edit.before, edit.after)
    assert certificate.passed, certificate.to_dict()
    assert edit.after.config["pad_token_id"] == TARGET.index("[PAD]")
    assert edit.after.tokenizer("tachycardia")["input_ids"] == [1, 3, 2]


def test_embeddings_and_biases_move_with_their_token(tiny_bert: Path, tmp_path: Path) -> None:
    edit = moved(tiny_bert, tmp_path / "out")
    before, after = (model.network.get_output_embeddings() for model in (edit.before, edit.after))
    old, new = TINY_TOKENS.index("placebo"), TARGET.index("placebo")
    assert torch.equal(before.weight[old], after.weight[new])
    assert before.bias[old] == after.bias[new] != 0
    assert after.bias[TARGET.index("tachycardia")] == 0
    assert len(after.bias) == len(after.weight) == len(TARGET)


def test_the_plan_lists_removed_tokens(tiny_bert: Path) -> None:
    plan, _ = transfer(open_model(tiny_bert))
    assert plan.kept == tuple(token for token in TARGET if token in TINY_TOKENS)
    assert set(plan.kept) | set(plan.removed_tokens) == set(TINY_TOKENS)
    assert [word.pieces for word in plan.added] == [
        ("tachy", "##card", "##i", "##a"),
        ("##e", "##m", "##i", "##a"),
    ]
    assert plan.summary().dropped == len(plan.removed_tokens) > 0
    assert json.dumps(plan.to_dict())


def test_with_renew_no_row_is_carried_over(tiny_bert: Path, tmp_path: Path) -> None:
    model = open_model(tiny_bert)
    plan, rows = transfer(model, renew=True)
    assert plan.kept == () and len(plan.new_embeddings) == len(TARGET)
    after = open_model(apply_plan(model, plan, rows, "replacement").save(tmp_path / "out"))
    assert np.array_equal(after.space[plan.new_embeddings[5]], rows.matrix[5])


def test_only_replacement_fits_such_a_plan(tiny_bert: Path) -> None:
    model = open_model(tiny_bert)
    with raises_input_error("removing-plan", "replacement"):
        apply_plan(model, *transfer(model), "insertion")
    plan, rows = transfer(model)
    with raises_input_error("not-whole-words", "insertion"):
        apply_plan(model, replace(plan, order=None), rows, "exact-word")


def test_a_target_without_a_special_token_is_refused(tiny_bert: Path) -> None:
    model = open_model(tiny_bert)
    target = WordPieceVocabulary(
        tuple(token for token in TARGET if token != "[MASK]"), frozenset(SPECIAL)
    )
    with raises_input_error("missing-special-tokens", "[MASK]"):
        plan_vocabulary(
            model.vocabulary, model.splitter, PlanSources(target=target), PlanSettings("transfer")
        )


def swap_added(folder: Path) -> None:
    change(
        folder,
        lambda tensors: swap(tensors, edited(folder, "tachycardia"), edited(folder, "##emia")),
    )


def swap_kept(folder: Path) -> None:
    change(
        folder, lambda tensors: swap(tensors, edited(folder, "placebo"), edited(folder, "cancer"))
    )


def swap(tensors: dict[str, torch.Tensor], one: int, other: int) -> None:
    for name in [
        name for name in tensors if name.endswith(("word_embeddings.weight", "decoder.weight"))
    ]:
        tensors[name][[one, other]] = tensors[name][[other, one]]


def edited(folder: Path, token: str) -> int:
    return open_model(folder).vocabulary.ids[token]


def retie(folder: Path) -> None:
    """Untie a tied head; tie an untied one."""
    tied = json.loads((folder / "config.json").read_text())["tie_word_embeddings"]
    if tied:
        untie(folder)
        return
    edit_json(folder / "config.json", tie_word_embeddings=True)
    change(
        folder, lambda tensors: [tensors.pop(name) for name in list(tensors) if "decoder." in name]
    )


def old_order_of_biases(folder: Path) -> None:
    """The rows were moved and the bias was not: what skeletoken's issue 108 tells of."""

    def unmap(tensors: dict[str, torch.Tensor]) -> None:
        for name in [
            name for name in tensors if name.endswith(("predictions.bias", "decoder.bias"))
        ]:
            tensors[name] = tensors[name].flip(0)

    change(folder, unmap)


def beyond_the_rows(folder: Path) -> None:
    """Another id than there are rows for one of the added tokens."""
    spec = json.loads((folder / "tokenizer.json").read_text())
    spec["model"]["vocab"]["tachycardia"] = len(TARGET) + 3
    (folder / "tokenizer.json").write_text(json.dumps(spec))


def unreachable_token(folder: Path) -> None:
    """An added token that the normalizer always takes apart."""
    text = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(text.replace('"tachycardia"', '"Tachy-Cardia"'))


def continuation_from_a_beginning(folder: Path) -> None:
    """##emia made of the pieces of "emia" as a word of its own; the record is removed, as if other
    code had made the edit.
    """
    (folder / "vocadapt.json").unlink()
    base = open_model(folder / "base").vocabulary
    before = dict(zip(base.tokens, BEFORE[0], strict=True))
    mean = np.mean([before[piece] for piece in base.tokenize_token("emia")], axis=0)

    def write(tensors: dict[str, torch.Tensor]) -> None:
        for name in [name for name in tensors if name.endswith("word_embeddings.weight")]:
            tensors[name][TARGET.index("##emia")] = torch.from_numpy(mean)

    change(folder, write)


BEFORE: list[np.ndarray] = []  # the rows of the model before, for the fault that is made of them
FAULTS: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "none": (lambda folder: None, set()),
    "swapped rows": (swap_kept, {"kept embeddings"}),
    "swapped new rows": (swap_added, {"new embeddings"}),
    "untied head": (retie, {"tied head"}),
    "unmapped decoder bias": (old_order_of_biases, {"output bias"}),
    "shifted pad id": (
        lambda folder: edit_json(folder / "config.json", pad_token_id=0),
        {"padding token", "token ids"},
    ),
    "wrong special id": (
        lambda folder: edit_json(folder / "tokenizer_config.json", cls_token="[SEP]"),
        {"token ids"},
    ),
    "unreachable token": (unreachable_token, {"added tokens reachable"}),
    "id beyond the rows": (beyond_the_rows, {"vocabulary size"}),
    "a ## row made from the beginning": (continuation_from_a_beginning, {"position classes"}),
}


OF_HEADS = ("none", "untied head", "unmapped decoder bias")  # faults that differ between heads


@pytest.mark.parametrize(
    ("head", "fault"),
    [
        *(("tied", fault) for fault in FAULTS),
        *product(("untied", "with next-sentence head"), OF_HEADS),
    ],
)
def test_the_certificate_fails_on_each_planted_fault_and_on_nothing_else(
    make_bert: Callable[..., Path], tmp_path: Path, head: str, fault: str
) -> None:
    kind = "BertForPreTraining" if head == "with next-sentence head" else "BertForMaskedLM"
    folder = make_bert(head=kind, tie_word_embeddings=head != "untied")
    out = moved(folder, tmp_path / "out").after.path
    BEFORE[:] = [open_model(folder).space.matrix]
    damage, expected = FAULTS[fault]
    damage(out)
    edit = Edit(open_model(folder), open_model(out))
    failed = {name for name in CHECKS if name != "reload" and not run_check(name, edit).passed}
    assert failed >= expected and bool(failed) == bool(expected)


@pytest.mark.parametrize(
    "damage",
    ["no weights", "half a file", "no vocabulary", "no rows for words", "a config of text"],
)
def test_a_damaged_folder_is_a_failed_certificate_or_a_message(
    tiny_bert: Path, tmp_path: Path, damage: str
) -> None:
    out = moved(tiny_bert, tmp_path / "out").after.path
    weights = out / "model.safetensors"
    if damage == "no weights":
        weights.unlink()
    elif damage == "half a file":
        weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    elif damage == "no vocabulary":
        (out / "tokenizer.json").unlink()
    elif damage == "no rows for words":
        tensors = load_file(weights)
        del tensors["bert.embeddings.word_embeddings.weight"]
        save_file(tensors, weights, metadata={"format": "pt"})
    else:
        (out / "config.json").write_text("none")
    try:
        certificate = certify(open_model(tiny_bert), open_model(out))
    except InputError as error:
        assert str(out) in str(error)
    else:
        assert not certificate.passed
