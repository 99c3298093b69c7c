"""Plans under which tokens go or change place: reduction, transfer; the saved folder is ordinary and its certificate holds."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conftest import SPECIAL, TINY_TOKENS
from tests.test_adapt import HEADS
from vocadapt.errors import InputError
from vocadapt.models.adapt import apply_plan
from vocadapt.models.certificate import CHECKS, Edit, certify
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.vocabulary.initialise import Provenance, Rows
from vocadapt.vocabulary.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.wordpiece import Vocabulary

# Another order, some tokens gone, some new; the special tokens stand elsewhere too.
TARGET = ("[unused0]", "[CLS]", "[SEP]", "tachycardia", "[PAD]", "[UNK]", "[MASK]", "##emia", *reversed(TINY_TOKENS[60:]))


def transfer(model: LanguageModel, renew: bool = False) -> tuple[VocabularyPlan, Rows]:
    target = Vocabulary(TARGET, frozenset(SPECIAL))
    plan = plan_vocabulary(model.vocabulary, model.splitter, PlanSources(target=target), PlanSettings("transfer", renew=renew))
    drawn = np.random.default_rng(1).normal(size=(len(plan.new_rows), model.dim)).astype(np.float32)
    return plan, Rows(plan.new_rows, drawn, tuple(Provenance("drawn") for _ in plan.new_rows))


def moved(folder: Path, out: Path) -> Edit:
    model = open_model(folder)
    return Edit(open_model(folder), open_model(apply_plan(model, *transfer(model), "replacement").save(out)))


@pytest.mark.parametrize("options", [{}, {"tie_word_embeddings": False}])
@pytest.mark.parametrize("head", HEADS)
def test_every_head_keeps_its_certificate(
    make_bert: Callable[..., Path], tmp_path: Path, head: str, options: dict[str, bool]
) -> None:
    edit = moved(make_bert(head=head, **options), tmp_path / "out")
    failed = {name: detail for name, check in CHECKS.items() if name != "reload" for ok, detail in [check(edit)] if not ok}
    assert failed == {}
    assert edit.after.vocabulary.tokens == TARGET
    assert edit.added == ("tachycardia", "##emia")
    assert edit.after.config["architectures"] == [head]


def test_the_whole_certificate_with_a_fresh_process(tiny_bert: Path, tmp_path: Path) -> None:
    edit = moved(tiny_bert, tmp_path / "out")
    certificate = certify(edit.before, edit.after)
    assert certificate.passed, certificate.to_dict()
    assert edit.after.config["pad_token_id"] == TARGET.index("[PAD]")
    assert edit.after.tokenizer("tachycardia")["input_ids"] == [1, 3, 2]


def test_rows_and_biases_go_where_their_token_goes(tiny_bert: Path, tmp_path: Path) -> None:
    edit = moved(tiny_bert, tmp_path / "out")
    before, after = (model.network.get_output_embeddings() for model in (edit.before, edit.after))
    old, new = TINY_TOKENS.index("placebo"), TARGET.index("placebo")
    assert torch.equal(before.weight[old], after.weight[new]) and before.bias[old] == after.bias[new] != 0
    assert after.bias[TARGET.index("tachycardia")] == 0
    assert len(after.bias) == len(after.weight) == len(TARGET)


def test_the_plan_says_what_goes(tiny_bert: Path) -> None:
    plan, _ = transfer(open_model(tiny_bert))
    assert plan.kept == tuple(token for token in TARGET if token in TINY_TOKENS)
    assert set(plan.kept) | set(plan.dropped) == set(TINY_TOKENS)
    assert [word.pieces for word in plan.added] == [("tachy", "##card", "##i", "##a"), ("##e", "##m", "##i", "##a")]
    assert plan.summary()["dropped"] == len(plan.dropped) > 0
    assert json.dumps(plan.to_dict())


def test_with_renew_no_row_is_carried_over(tiny_bert: Path, tmp_path: Path) -> None:
    model = open_model(tiny_bert)
    plan, rows = transfer(model, renew=True)
    assert plan.kept == () and len(plan.new_rows) == len(TARGET)
    after = open_model(apply_plan(model, plan, rows, "replacement").save(tmp_path / "out"))
    assert np.array_equal(after.space[plan.new_rows[5]], rows.matrix[5])


def test_only_replacement_fits_such_a_plan(tiny_bert: Path) -> None:
    model = open_model(tiny_bert)
    with pytest.raises(InputError, match="Choose replacement"):
        apply_plan(model, *transfer(model), "insertion")
    plan, rows = transfer(model)
    with pytest.raises(InputError, match="Choose insertion"):
        apply_plan(model, replace(plan, order=None), rows, "exact-word")


def test_a_target_without_a_special_token_is_refused(tiny_bert: Path) -> None:
    model = open_model(tiny_bert)
    target = Vocabulary(tuple(token for token in TARGET if token != "[MASK]"), frozenset(SPECIAL))
    with pytest.raises(InputError, match=r"lacks \[MASK\]"):
        plan_vocabulary(model.vocabulary, model.splitter, PlanSources(target=target), PlanSettings("transfer"))
