"""Every check of the certificate with its figures, worked by hand: what mutation tests found unchecked."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.material.adapted import adapted_folder, moved, planned
from tests.material.files import edit_json
from tests.material.stated_numbers import find_numbers
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.errors import InputError
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.certificate import certificate as certificate_module
from vocadapt.models.certificate import comparisons, reload_process
from vocadapt.models.certificate.certificate import CHECKS, Certificate, Check, run_check
from vocadapt.models.certificate.comparisons import (
    BIT_EQUAL,
    DIFFERENT,
    EQUAL_TO_ROUNDING,
    compare_free_rows,
    compare_named_tokens,
    describe_tie,
    draw_sequences,
    find_padding_token,
    is_equal_to_rounding,
    list_token_tensor_names,
    view_bits,
)
from vocadapt.models.certificate.reload_process import (
    build_input,
    list_tensors,
    reload_in_new_process,
)
from vocadapt.models.edit import LINES, Edit
from vocadapt.models.embedding_matrix.padding import MatrixRows
from vocadapt.models.extension_size import ModuleSettings
from vocadapt.models.language_model import open_model
from vocadapt.models.layers import get_embeddings, get_output_bias
from vocadapt.models.loaders.loader import LoadResult
from vocadapt.models.model_folder import describe_id

# The tiny model has 151 tokens, 40 tensors without a row for each token, and a tied head. Words are
# added: tachycardia, euthymia, hypertension; a replacing plan also renews heart and blood.
# The numbers that each check states.
INTACT = {
    "tokenizer settings": [22],
    "kept embeddings": [151, 151, 0],  # bit-identical, of all, replaced on purpose
    "token ids": [0, 151],
    "padding token": [],
    "tied head": [],
    "output bias": [151, 151, 154, 154],
    "vocabulary size": [154, 154, 153],
    "other tensors": [40, 40],
    "added tokens reachable": [3, 3],
    "new embeddings": [3],
    "position classes": [3, 0],  # word starts, continuations
    "outputs": [12, 12, 8, 4, 4],  # bit-equal inputs, of all, random sequences, lines, of all
}
REPLACED = {
    "kept embeddings": [149, 149, 2],
    "output bias": [149, 149, 154, 154],
    "new embeddings": [5],
    "outputs": [11, 11, 8, 3, 4],  # one of the lines has the word blood
}
# 97 tokens stay, in another order; tachycardia and ##emia are new.
MOVED = {
    "kept embeddings": [97, 97, 0],
    "token ids": [],
    "output bias": [97, 97, 99, 99],
    "vocabulary size": [99, 99, 98],
    "added tokens reachable": [2, 2],
    "new embeddings": [2],
    "position classes": [1, 1],
    "outputs": [8, 8, 8, 0, 4],
}
ENCODER = {"output bias": [], "other tensors": [38, 38]}
ROWS = "bert.embeddings.word_embeddings.weight"


@pytest.fixture
def edit(tiny_bert: Path, appended: Path) -> Edit:
    """Both models, loaded anew: a test may change the weights in memory."""
    return Edit(open_model(tiny_bert), open_model(appended))


def list_numbers(edit: Edit) -> dict[str, list[float]]:
    """Return the numbers that every check but the reload states; all must pass."""
    results = {name: check(edit) for name, check in CHECKS.items() if name != "reload"}
    assert all(passed for passed, _ in results.values())
    return {name: find_numbers(detail) for name, (_, detail) in results.items()}


def test_an_intact_model(edit: Edit) -> None:
    assert list_numbers(edit) == INTACT


def test_replaced_embeddings(tiny_bert: Path, tmp_path: Path) -> None:
    out = adapted_folder(tiny_bert, tmp_path / "out", kind="replace")
    found = Edit(open_model(tiny_bert), open_model(out))
    assert list_numbers(found) == INTACT | REPLACED
    assert found.replaced == {"heart", "blood"} and not found.rearranged and not found.extended


def test_a_rearranged_vocabulary(tiny_bert: Path, tmp_path: Path) -> None:
    found = moved(tiny_bert, tmp_path / "out")
    assert list_numbers(found) == INTACT | MOVED
    assert found.rearranged and not found.extended
    assert found.plan["kind"] == "transfer" and found.record["plan"] == found.plan


def test_a_model_without_a_head(make_bert: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_bert(head="BertModel")
    out = adapted_folder(folder, tmp_path / "out")
    assert list_numbers(Edit(open_model(folder), open_model(out))) == INTACT | ENCODER


def test_a_model_without_a_record(tiny_bert: Path) -> None:
    found = Edit(open_model(tiny_bert), open_model(tiny_bert))
    assert (found.record, found.plan, found.replaced, found.added) == ({}, {}, frozenset(), ())
    assert (found.rearranged, found.extended, found.kept) == (False, False, tuple(TINY_TOKENS))
    passed, detail = CHECKS["new embeddings"](found)
    assert passed and find_numbers(detail) == [0]


def edit_rows(edit: Edit, change: Callable[[torch.Tensor], Any]) -> None:
    with torch.no_grad():
        change(get_embeddings(edit.after.network))


def nudge(name: str) -> Callable[[Edit], None]:
    def change(edit: Edit) -> None:
        with torch.no_grad():
            edit.after.network.state_dict()[name].view(-1)[0].add_(1)

    return change


def fill_row(row: int, value: float) -> Callable[[Edit], None]:
    return lambda edit: edit_rows(edit, lambda rows: rows[row].fill_(value))


def shift_bias(edit: Edit) -> None:
    bias = get_output_bias(edit.after.network)
    assert bias is not None
    with torch.no_grad():
        bias[10] += 1


def set_config(key: str, value: object) -> Callable[[Edit], None]:
    def change(edit: Edit) -> None:
        assert edit.after.network is not None  # loaded with the old value
        edit.after.config[key] = value

    return change


def set_padding(edit: Edit) -> None:
    edit.after.network.get_input_embeddings().padding_idx = 3


def forget_a_word(edit: Edit) -> None:
    edit.record["plan"]["added_tokens"] = edit.record["plan"]["added_tokens"][1:]


# What is changed, the check that finds it, and the numbers and names that it states.
NAN, DENSE = float("nan"), "bert.encoder.layer.0.output.dense.weight"
DAMAGE: dict[str, tuple[Callable[[Edit], Any], str, list[float], str]] = {
    "another row": (fill_row(7, 0.5), "kept embeddings", [150, 151, 0], ""),
    "a new row that is not finite": (fill_row(152, NAN), "kept embeddings", [151, 151, 0], ""),
    "another new row": (fill_row(152, 0.5), "new embeddings", [3], ""),
    "a word that the record lacks": (forget_a_word, "new embeddings", [1, 3], ""),
    "another dtype": (lambda edit: edit.after.network.half(), "kept embeddings", [0, 151, 0], ""),
    "another bias": (shift_bias, "output bias", [150, 151, 154, 154], ""),
    "a stated size that is too small": (
        set_config("vocab_size", 153),
        "vocabulary size",
        [153, 154, 153],
        "",
    ),
    "another special id": (set_config("pad_token_id", 3), "token ids", [0, 151], ": pad_token_id"),
    "another padding row": (set_padding, "padding token", [], "after: [SEP]"),
    "another weight": (nudge(DENSE), "other tensors", [39, 40], f": {DENSE}"),
    "another weight in every output": (
        nudge("cls.predictions.transform.dense.bias"),
        "outputs",
        [0, 12, 8, 4, 4],
        "",
    ),
}


@pytest.mark.parametrize("fault", DAMAGE)
def test_damage_in_figures(edit: Edit, fault: str) -> None:
    damage, name, numbers, named = DAMAGE[fault]
    damage(edit)
    passed, detail = CHECKS[name](edit)
    assert not passed and named in detail
    assert find_numbers(detail)[: len(numbers)] == numbers


def test_the_first_three_tensors_that_differ_are_named(edit: Edit) -> None:
    names = [name for name in edit.after.network.state_dict() if "layer.1.attention" in name]
    for name in names:
        nudge(name)(edit)
    passed, detail = CHECKS["other tensors"](edit)
    assert not passed and len(names) > 3
    assert find_numbers(detail)[:2] == [40 - len(names), 40]
    assert detail.endswith(f": {', '.join(names[:3])}")


def test_an_output_bias_may_neither_go_nor_come(edit: Edit, monkeypatch) -> None:
    biases = {edit.before.network: None, edit.after.network: torch.zeros(154)}
    monkeypatch.setattr(certificate_module.layers, "get_output_bias", biases.get)
    assert not CHECKS["output bias"](edit)[0]
    biases.update({edit.before.network: torch.zeros(151), edit.after.network: None})
    assert not CHECKS["output bias"](edit)[0]
    biases.update({edit.after.network: torch.zeros(155)})
    passed, detail = CHECKS["output bias"](edit)
    assert not passed and find_numbers(detail) == [151, 151, 155, 154]


def test_logits_that_differ_in_rounding_are_counted(edit: Edit, monkeypatch) -> None:
    found = iter([BIT_EQUAL] * 9 + [EQUAL_TO_ROUNDING] * 3)
    monkeypatch.setattr(certificate_module, "compare_outputs", lambda *_: next(found))
    passed, detail = CHECKS["outputs"](edit)
    # Bit-equal inputs of all, those with equal states, random sequences, lines of all.
    assert passed and find_numbers(detail) == [9, 12, 3, 8, 4, 4]
    found = iter([BIT_EQUAL] * 9 + [DIFFERENT, EQUAL_TO_ROUNDING, BIT_EQUAL])
    passed, detail = CHECKS["outputs"](edit)
    assert not passed and find_numbers(detail) == [10, 12, 1, 8, 4, 4]


def test_a_swapped_id_is_counted(tiny_bert: Path, appended: Path) -> None:
    """The record tells of a plan that keeps ids; two tokens have changed places."""
    edit = Edit(open_model(tiny_bert), open_model(appended))
    ids = edit.after.vocabulary.ids
    ids["heart"], ids["blood"] = ids["blood"], ids["heart"]
    passed, detail = CHECKS["token ids"](edit)
    assert not passed and find_numbers(detail) == [2, 151] and detail.endswith(": none")


def test_another_special_token_of_the_tokenizer(tiny_bert: Path, out: Path) -> None:
    edit_json(out / "tokenizer_config.json", cls_token="[SEP]")
    passed, detail = CHECKS["token ids"](Edit(open_model(tiny_bert), open_model(out)))
    assert not passed and find_numbers(detail) == [0, 151] and detail.endswith(": cls_token")


def test_tokens_known_to_be_unreachable_are_accepted(tiny_bert: Path, out: Path) -> None:
    text = (out / "tokenizer.json").read_text(encoding="utf-8")
    (out / "tokenizer.json").write_text(
        text.replace('"euthymia"', '"Euthymia"').replace('"tachycardia"', '"Tachycardia"'),
        encoding="utf-8",
    )
    edit = Edit(open_model(tiny_bert), open_model(out))
    # Reachable tokens, added ones, and those that are unreachable in the target, too.
    for accepted, example, numbers in (
        ([], "'Tachycardia'", [1, 3]),
        (["Tachycardia"], "'Euthymia'", [1, 3, 1]),
        (["Euthymia", "Tachycardia"], "", [1, 3, 2]),
    ):
        edit.record["plan"]["silent_tokens"] = accepted
        passed, detail = CHECKS["added tokens reachable"](edit)
        assert passed == (not example)
        assert example in detail and find_numbers(detail) == numbers


def test_a_continuation_computed_as_a_word_start(tiny_bert: Path, tmp_path: Path) -> None:
    """##emia from the pieces of emia: e ##m ##i ##a instead of ##e ##m ##i ##a."""
    edit = moved(tiny_bert, tmp_path / "out")
    rows = get_embeddings(edit.before.network).detach()
    ids = edit.before.vocabulary.ids
    assert edit.before.vocabulary.tokenize_token("emia") == ("e", "##m", "##i", "##a")
    as_start = rows[[ids[token] for token in ("e", "##m", "##i", "##a")]].mean(dim=0)
    place = edit.after.vocabulary.ids["##emia"]
    edit_rows(edit, lambda matrix: matrix[place].copy_(as_start))
    passed, detail = CHECKS["position classes"](edit)
    # Word starts, continuations, and how many of these are computed as word starts.
    assert not passed and find_numbers(detail) == [1, 1, 1] and "'##emia'" in detail
    edit.record["plan"]["forms"] = {"##emia": "tachycardia"}
    passed, detail = CHECKS["position classes"](edit)
    assert passed and find_numbers(detail) == [2, 0]


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (InputError("No head.", "Give one."), ": No head."),
        (IndexError("row 7\nof 3"), ": row 7"),
        (KeyError("a"), ": 'a'"),
        (ValueError("b"), ": b"),
        (RuntimeError("c"), ": c"),
    ],
)
def test_a_check_that_cannot_be_made_fails(
    monkeypatch: pytest.MonkeyPatch, error: Exception, detail: str
) -> None:
    def fail(edit: Edit) -> tuple[bool, str]:
        raise error

    monkeypatch.setitem(CHECKS, "outputs", fail)
    found = run_check("outputs", None)  # type: ignore[arg-type]
    assert not found.passed and found.detail.endswith(detail)


def test_failed_checks_come_first_in_a_summary() -> None:
    checks = (Check("one", True, "fine"), Check("two", False, "not fine"), Check("three", True, ""))
    loads = (
        LoadResult("a", "Program A", "loads", "equal", "1.2"),
        LoadResult("b", "Program B", "not tried", "not requested"),
    )
    made = Certificate(checks, loads)
    assert not made.passed and Certificate(checks[:1]).passed
    summary = made.summarize()
    assert summary.title == "" and find_numbers(summary.facts["verdict"]) == [1, 3]
    first, second = summary.tables
    assert (first.columns, first.of, first.noun) == (("", "check", "detail"), 3, "checks")
    assert list(first.rows) == [
        ("FAILED", "two", "not fine"),
        ("passed", "one", "fine"),
        ("passed", "three", ""),
    ]
    assert (second.of, second.noun, second.shown, first.shown) == (2, "programs", 50, 50)
    assert list(second.rows) == [
        ("loads", f"{loads[0].title} 1.2", "equal"),
        ("not tried", "Program B", "not requested"),
    ]
    assert find_numbers(Certificate(checks[:1]).summarize().facts["verdict"]) == [1]
    assert made.to_dict() == {
        "passed": False,
        "checks": [asdict(check) for check in checks],
        "loads": [asdict(load) for load in loads],
    }


# Comparisons


def test_bits_tell_apart_what_numbers_do_not() -> None:
    zeros = torch.tensor([0.0, -0.0])
    assert view_bits(zeros).tolist() == [0, -(2**31)]
    nan = torch.tensor([float("nan")])
    assert torch.equal(view_bits(nan), view_bits(nan.clone()))
    sizes = {
        torch.float64: torch.int64,
        torch.float32: torch.int32,
        torch.bfloat16: torch.int16,
        torch.int8: torch.int8,
    }
    for kind, whole in sizes.items():
        assert view_bits(torch.zeros(2, 3, dtype=kind).T).dtype == whole


class Tokens(SimpleNamespace):
    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self.tokens


def make_model(tokens: tuple[str, ...], rows: int, **config: object) -> Any:
    return SimpleNamespace(
        vocabulary=Tokens(tokens=tokens), config={"vocab_size": rows, **config}, generation={}
    )


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (0, "a"),
        (1, "b"),
        (2, "row 0 after the tokens"),
        (3, "row 1 after the tokens"),
        (4, "id 4"),
        (-1, "id -1"),
    ],
)
def test_ids_are_described_by_what_they_stand_for(value: int, described: str) -> None:
    assert describe_id(make_model(("a", "b"), 4), value) == described


@pytest.mark.parametrize("value", [None, "0", True])
def test_what_is_no_id_is_not_compared(value: object) -> None:
    models = [make_model(("a", "b"), 4, pad_token_id=value) for _ in range(2)]
    assert compare_named_tokens(Edit(*models)) == ([], [])


def test_an_id_without_a_stated_size_is_an_id() -> None:
    model = make_model(("a",), 1)
    del model.config["vocab_size"]
    assert describe_id(model, 1) == "id 1"


def test_special_ids_refer_to_tokens() -> None:
    before = make_model(("a", "b"), 2, eos_token_id=[0, 1], pad_token_id=0)
    after = make_model(("b", "a"), 2, eos_token_id=[1, 0], pad_token_id=0)
    edit = Edit(before, after)
    assert compare_named_tokens(edit) == (["pad_token_id"], [])


def test_the_padding_row_is_named() -> None:
    model = make_model(("[PAD]", "a"), 4)
    for index, name in ((0, "[PAD]"), (3, "row 1 after the tokens"), (None, "none")):
        layer = SimpleNamespace(padding_idx=index)
        model.network = SimpleNamespace(get_input_embeddings=lambda layer=layer: layer)
        assert find_padding_token(model) == name
    model.network = SimpleNamespace(get_input_embeddings=lambda: object())
    assert find_padding_token(model) == "none"


def test_heads_and_token_tensors(make_bert: Callable[..., Path]) -> None:
    untied = open_model(make_bert("untied", tie_word_embeddings=False))
    assert describe_tie(untied.network) == "not tied"
    assert list_token_tensor_names(untied) == {
        ROWS,
        "cls.predictions.bias",
        "cls.predictions.decoder.weight",
        "cls.predictions.decoder.bias",
    }


def test_rounding_is_relative_to_the_largest_value() -> None:
    one = torch.tensor([1.0, 1000.0])
    step = torch.finfo(torch.float32).eps * 1000
    for steps, equal in ((0, True), (63, True), (65, False), (-63, True), (-65, False)):
        assert is_equal_to_rounding(one, one + torch.tensor([steps * step, 0.0])) is equal
    assert not is_equal_to_rounding(one, one.double())
    assert not is_equal_to_rounding(one, one[:1])
    assert not is_equal_to_rounding(one[:0], one[:0])
    assert not is_equal_to_rounding(one, torch.tensor([float("nan"), 1000.0]))
    assert is_equal_to_rounding(-one, -one)


def test_rows_without_a_token_are_compared() -> None:
    """2 tokens in 4 rows; a token is added, so that the row with id 2 is filled."""
    old = torch.arange(8.0).reshape(4, 2)
    new = old.clone()
    new[2] = 9
    assert compare_free_rows(old, new, MatrixRows(2, 4, 3, 4), False) == (1, 1)
    new[3, 1] = 9
    assert compare_free_rows(old, new, MatrixRows(2, 4, 3, 4), False) == (0, 1)
    # A token is removed: both rows without a token move up by one, and a third is new.
    after = torch.cat([old[:1], old[2:], torch.ones(1, 2)])
    assert compare_free_rows(old, after, MatrixRows(2, 4, 1, 4), True) == (2, 2)
    assert compare_free_rows(old, after, MatrixRows(2, 4, 1, 4), False) == (0, 3)


def test_random_sequences_are_those_of_kept_tokens(edit: Edit) -> None:
    batches = draw_sequences(edit)
    assert len(batches) == 8
    for old, new in batches:
        assert old["input_ids"].shape == new["input_ids"].shape == (1, 24)
        assert torch.equal(old["input_ids"], new["input_ids"])  # the plan keeps ids
        assert int(old["input_ids"].max()) < 151
    again = draw_sequences(edit)
    assert all(
        torch.equal(a[0]["input_ids"], b[0]["input_ids"])
        for a, b in zip(batches, again, strict=True)
    )
    assert len({tuple(old["input_ids"][0].tolist()) for old, _ in batches}) == 8


def test_without_kept_tokens_there_is_no_sequence() -> None:
    assert draw_sequences(SimpleNamespace(kept=())) == []  # type: ignore[arg-type]


def test_logits_of_kept_tokens_are_compared(edit: Edit) -> None:
    old, new = draw_sequences(edit)[0]
    assert comparisons.compare_outputs(edit, old, new) == BIT_EQUAL
    bias = get_output_bias(edit.after.network)
    assert bias is not None
    # The first of these tokens was added: its score is not compared.
    for token, change, expected in (
        (152, 1, BIT_EQUAL),
        (10, 1e-6, EQUAL_TO_ROUNDING),
        (10, 1, DIFFERENT),
    ):
        with torch.no_grad():
            bias[token] += change
        assert comparisons.compare_outputs(edit, old, new) == expected


def test_states_must_be_bit_equal_where_logits_are_rounded(edit: Edit) -> None:
    old, new = draw_sequences(edit)[0]
    assert comparisons._have_equal_states(edit, old, new)
    nudge("bert.encoder.layer.1.output.LayerNorm.bias")(edit)
    assert not comparisons._have_equal_states(edit, old, new)


# Reloading


def test_inputs_are_truncated_to_the_positions() -> None:
    model: Any = SimpleNamespace(positions=3, config={})
    built = build_input(model, [5, 6, 7, 8])
    assert {name: tensor.tolist() for name, tensor in built.items()} == {
        "input_ids": [[5, 6, 7]],
        "attention_mask": [[1, 1, 1]],
    }
    model.config = {"is_encoder_decoder": True}
    assert build_input(model, [5])["decoder_input_ids"].tolist() == [[5]]


def test_only_tensors_of_an_output_are_compared() -> None:
    tensors = [torch.zeros(1), torch.ones(2)]
    output = SimpleNamespace(to_tuple=lambda: (tensors[0], (torch.zeros(3),), tensors[1]))
    assert list_tensors(output) == tensors


def run_with(monkeypatch: pytest.MonkeyPatch, code: int, out: str, err: str = "") -> list[Any]:
    """Let every new process end like this; return the list of what they were given."""
    given: list[Any] = []

    def run(command: list[str], **options: Any) -> Any:
        given.append((command, options))
        return SimpleNamespace(returncode=code, stdout=out, stderr=err)

    monkeypatch.setattr(reload_process, "subprocess", SimpleNamespace(run=run))
    return given


def test_a_process_that_fails_is_quoted(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    error = "OSError: no such file"
    for printed, quoted in ((f"Traceback\n  line\n{error}\n\n", error), (" \n", "no message")):
        run_with(monkeypatch, 1, "", printed)
        passed, detail = reload_in_new_process(edit.after, ["heart"])
        assert not passed and detail.endswith(f": {quoted}")


def test_what_a_new_process_is_given_and_answers(
    edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = reload_process._compute_in_this_process(edit.after, ["heart", ""])
    ids = edit.after.vocabulary.ids
    assert own["ids"] == [[ids["[CLS]"], ids["heart"], ids["[SEP]"]], [ids["[CLS]"], ids["[SEP]"]]]
    assert own["special ids"] == {
        "unk_token": 1,
        "sep_token": 3,
        "pad_token": 0,
        "cls_token": 2,
        "mask_token": 4,
    }
    other = reload_process._compute_in_this_process(edit.after, ["blood", ""])
    assert own["embeddings"] == other["embeddings"] and own["outputs"] != other["outputs"]

    answer = {"answer": own, "vocadapt": False}
    given = run_with(monkeypatch, 0, json.dumps(answer))
    passed, detail = reload_in_new_process(edit.after, ["heart", ""])
    assert passed and detail.startswith("2 ") and "differ" not in detail
    command, options = given[0]
    assert command[1:3] == ["-I", "-c"] and options["cwd"] == "/" and options["text"]
    package = str(Path(reload_process.__file__).parents[3])
    assert json.loads(options["input"]) == [
        str(edit.after.path),
        ["heart", ""],
        64,
        package,
        "",
        torch.get_num_threads(),
        list(reload_process.RELOADED),
    ]

    run_with(monkeypatch, 0, json.dumps(answer | {"vocadapt": True}))
    loaded, changed = reload_in_new_process(edit.after, ["heart", ""])
    assert not loaded and "differ" not in changed and changed != detail
    differing = {"answer": {**own, "ids": [], "outputs": ""}, "vocadapt": False}
    run_with(monkeypatch, 0, json.dumps(differing))
    passed, detail = reload_in_new_process(edit.after, ["heart", ""])
    assert not passed and detail.count("differ") == 2
    assert "ids differ" in detail and "outputs differ" in detail


def test_the_reload_reads_the_lines_and_the_first_added_words(
    edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    monkeypatch.setattr(
        certificate_module,
        "reload_in_new_process",
        lambda model, lines: given.append((model, lines)) or (True, "fine"),
    )
    assert CHECKS["reload"](edit) == (True, "fine")
    assert given == [(edit.after, (*LINES, " ".join(edit.added)))]


def test_extension_modules(tiny_bert: Path, tmp_path: Path) -> None:
    """Their tensors are expected, and every gate is held at 1 while the outputs are compared."""
    model = open_model(tiny_bert)
    extended = apply_plan(model, *planned(model), "exact-word", ModuleSettings("s3"))
    edit = Edit(open_model(tiny_bert), open_model(extended.save(tmp_path / "out")))
    assert edit.extended
    names = set(edit.after.network.state_dict())
    n_new = len(names - set(edit.before.network.state_dict()))
    numbers = list_numbers(edit)
    assert numbers["other tensors"] == [40, 40, n_new]
    assert numbers["outputs"] == [12, 12, 1, 8, 4, 4]  # every gate is at 1
    assert not Edit(edit.after, edit.after).extended


def test_a_process_imports_the_classes_of_an_extended_model(
    edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reload_process, "is_extended", lambda config: True)
    own = reload_process._compute_in_this_process(edit.after, ["heart"])
    given = run_with(monkeypatch, 0, json.dumps({"answer": own, "vocadapt": True}))
    passed, detail = reload_in_new_process(edit.after, ["heart"])
    assert passed and "vocadapt.models.exbert" in detail and "differ" not in detail
    assert json.loads(given[0][1]["input"])[4] == "vocadapt.models.exbert"
