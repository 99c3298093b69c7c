"""Models with exact-word tokens are reduced, extended and adapted again; targets that share
them, in another order or size."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.material.adapted import adapted_folder
from tests.material.input_errors import raises_input_error
from tests.material.tiny_bert import SPECIAL, TINY_TOKENS
from vocadapt.models.certificate.certificate import CHECKS, Edit, run_check
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.pipeline import Sources, adapt
from vocadapt.presets import get_preset
from vocadapt.recipe import Recipe
from vocadapt.vocabulary.families import vocabulary_of
from vocadapt.vocabulary.initializers.initialize import InitializerSettings
from vocadapt.vocabulary.plan.plan import PlanSettings

COUNTS = {"semaglutide": 40, "metformin": 30, "insulin": 20, "obesity": 20}
PERMUTED = [*SPECIAL, *reversed(TINY_TOKENS[5:])]


def after(recipe: Recipe, model: LanguageModel, sources: Sources, out: Path) -> LanguageModel:
    """The saved model; its certificate holds, and every token has the id of the plan."""
    adapted = adapt(recipe, model, sources)
    made = open_model(adapted.save(out))
    edit = Edit(open_model(model.path), made)
    assert [name for name in CHECKS if name != "reload" and not run_check(name, edit).passed] == []
    assert made.vocabulary.tokens == adapted.plan.tokens
    if recipe.tokenizer == "replacement":
        assert made.vocabulary.whole == adapted.plan.after.whole
    return made


def add_by(heuristic: str) -> Recipe:
    plan = PlanSettings("combined", remove_by="random", removed=0.05, add_by=heuristic)
    return Recipe(
        "r", vocabulary=plan, initializer=InitializerSettings("syntactic"), tokenizer="replacement"
    )


@pytest.mark.parametrize("heuristic", ["words", "bpe-merges"])
def test_new_wordpieces_come_before_exact_words_and_every_id_is_the_plans(
    tiny_bert: Path, tmp_path: Path, heuristic: str
) -> None:
    once = open_model(adapted_folder(tiny_bert, tmp_path / "once"))
    made = after(add_by(heuristic), once, Sources(counts=COUNTS), tmp_path / "twice")
    word = sorted(made.vocabulary.whole)[0]
    assert made.fast_tokenizer.encode(word, add_special_tokens=False).tokens == [word]
    assert (
        len(made.fast_tokenizer.encode(f"{word}s", add_special_tokens=False).tokens) > 1
    )  # no beginning of longer words


def test_no_wordpieces_are_inserted_behind_exact_words(tiny_bert: Path, tmp_path: Path) -> None:
    once = open_model(adapted_folder(tiny_bert, tmp_path / "once"))
    plan = PlanSettings("extend", add_by="words")
    with raises_input_error("exact-words-before"):
        adapt(
            Recipe(
                "r",
                vocabulary=plan,
                initializer=InitializerSettings("syntactic"),
                tokenizer="insertion",
            ),
            once,
            Sources(counts=COUNTS),
        )
    after(
        Recipe("r", vocabulary=plan, initializer=InitializerSettings("syntactic")),
        once,
        Sources(counts=COUNTS),
        tmp_path / "twice",
    )


def test_the_exact_words_of_a_target_stay_such(tiny_bert: Path, tmp_path: Path) -> None:
    target = open_model(adapted_folder(tiny_bert, tmp_path / "target"))
    made = after(
        get_preset("transfer-syntactic"),
        open_model(tiny_bert),
        Sources(target=target),
        tmp_path / "out",
    )
    for text in ("tachycardia", "tachycardias", "hypertension patients"):
        assert made.fast_tokenizer.encode(text).ids == target.fast_tokenizer.encode(text).ids


def test_an_exact_word_that_is_a_wordpiece_of_the_target_becomes_one(
    tiny_bert: Path, make_bert: Callable[..., Path], tmp_path: Path
) -> None:
    once = open_model(adapted_folder(tiny_bert, tmp_path / "once"))
    target = open_model(make_bert(tokens=[*SPECIAL, "tachycardia", *TINY_TOKENS[5:]]))
    made = after(get_preset("transfer-syntactic"), once, Sources(target=target), tmp_path / "out")
    assert made.vocabulary.whole == frozenset()
    assert (
        made.fast_tokenizer.encode("tachycardias").ids
        == target.fast_tokenizer.encode("tachycardias").ids
    )


@pytest.mark.parametrize("more", [[], ["##emic"]])
def test_a_target_with_the_same_tokens_in_another_order_is_certified(
    tiny_bert: Path, make_bert: Callable[..., Path], tmp_path: Path, more: list[str]
) -> None:
    target = open_model(make_bert(tokens=[*PERMUTED, *more]))
    after(
        get_preset("transfer-syntactic"),
        open_model(tiny_bert),
        Sources(target=target),
        tmp_path / "out",
    )


def test_a_token_added_to_a_tokenizer_that_has_it_as_a_wordpiece_is_one(tiny_bert: Path) -> None:
    tokenizer = open_model(tiny_bert).fast_tokenizer
    tokenizer.add_tokens(["drug", "ozempic"])
    assert vocabulary_of(tokenizer).whole == {"ozempic"}
