"""The whole workflow, end to end, on a synthetic text."""

import gc
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from tests.material.tiny_bert import TINY_TOKENS, WORDS
from vocadapt.models.certificate.certificate import CHECKS, Edit
from vocadapt.models.language_model import open_model
from vocadapt.pipeline import Sources, adapt
from vocadapt.presets import PRESETS, get_preset
from vocadapt.recipe import Recipe
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.text.corpus import Corpus, open_corpus
from vocadapt.training.masked.continued_adaptation import ContinuedAdaptation
from vocadapt.vocabulary.plan.tokenizer import count_departures

NEW = ("tachycardia", "euthymia", "hypertension")
UNTRAINED = [name for name, recipe in PRESETS.items() if not recipe.pretraining.stage]
# Presets that differ from others in a number only.
ALIKE = re.compile(r"(reduced|combined)-.*-(25|75|100)|exbert-s[124]")
SHORT = [
    pytest.param(name, marks=pytest.mark.slow if ALIKE.fullmatch(name) else [])
    for name in UNTRAINED
    if "vectors" not in PRESETS[name].needs
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """400 lines of the tiny model's own words and three that it lacks."""
    rng = np.random.default_rng(0)
    known = [word for word in WORDS if word.isalpha()]
    lines = (" ".join(rng.choice([*known, *NEW], size=12)) for _ in range(400))
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    path.write_text(
        "\n".join(lines) + "\nA placebos® trial, and tachycardia® of the heart.\n", encoding="utf-8"
    )
    return open_corpus([path])


def small(recipe: Recipe) -> Recipe:
    return replace(recipe, vectors=Word2VecSettings(epochs=2, workers=1))


@pytest.mark.parametrize("name", SHORT)
def test_every_preset_without_word_vectors_runs(
    name: str, make_bert: Callable[..., Path], corpus: Corpus, tmp_path: Path
) -> None:
    words = [f"word{i}" for i in range(500)]  # enough that may go
    model = open_model(make_bert("a", tokens=[*TINY_TOKENS, *words]))
    target = open_model(make_bert("b", tokens=[*TINY_TOKENS, *(f"x{word}" for word in words)]))
    adapted = adapt(get_preset(name), model, Sources(corpus=corpus, target=target))
    share = int(name.rsplit("-", 1)[1]) / 100 if name.startswith("reduced") else 0.0
    more = (
        len(adapted.plan.added) if name.startswith("exbert") else 0
    )  # the others keep the size, or make it smaller
    if name.startswith("trim"):  # the text decides
        assert adapted.plan.trim is not None and adapted.plan.trim.coverage >= 0.9999
        assert len(adapted.plan.tokens) < len(model.vocabulary)
    else:
        assert len(adapted.plan.tokens) == round((1 - share) * len(model.vocabulary)) + more
    assert bool(more) == (name.startswith("exbert") and name != "exbert-no-vocabulary")
    edit = Edit(model, open_model(adapted.save(tmp_path / "out")))
    assert [check for check in CHECKS if check != "reload" and not CHECKS[check](edit)[0]] == []


@pytest.mark.parametrize("name", [name for name in UNTRAINED if "vectors" in PRESETS[name].needs])
def test_every_preset_runs(name: str, tiny_bert: Path, corpus: Corpus, tmp_path: Path) -> None:
    model = open_model(tiny_bert)
    adapted = adapt(small(get_preset(name)), model, Sources(corpus=corpus))
    assert set(adapted.plan.added_tokens) == set(NEW)
    edit = Edit(model, open_model(adapted.save(tmp_path / "out")))
    assert [check for check in CHECKS if check != "reload" and not CHECKS[check](edit)[0]] == []


def test_the_same_recipe_gives_the_same_model(tiny_bert: Path, corpus: Corpus) -> None:
    first, second = (
        adapt(small(get_preset("green-bert")), open_model(tiny_bert), Sources(corpus=corpus))
        for _ in range(2)
    )
    np.random.seed(7)  # noqa: NPY002
    third = adapt(small(get_preset("green-bert")), open_model(tiny_bert), Sources(corpus=corpus))
    assert np.array_equal(first.embeddings.matrix, second.embeddings.matrix)
    assert np.array_equal(first.embeddings.matrix, third.embeddings.matrix)


def test_departures_are_counted_on_the_corpus(tiny_bert: Path, corpus: Corpus) -> None:
    model = open_model(tiny_bert)
    adapted = adapt(small(get_preset("green-bert")), model, Sources(corpus=corpus))
    found = count_departures(corpus, model.vocabulary, adapted.tokenizer, model.splitter)
    assert found.missed == 0
    assert found.other == 1  # tachycardia® fires beside the symbol; placebos is no added word


def test_progress_never_runs_backwards(tiny_bert: Path, corpus: Corpus) -> None:
    seen: list[float] = []
    adapt(
        small(get_preset("green-bert")),
        open_model(tiny_bert),
        Sources(corpus=corpus),
        lambda fraction, message="": seen.append(
            fraction if fraction is not None else seen[-1] if seen else 0.0
        ),
    )
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] <= 1


def test_nothing_to_learn_from(tiny_bert: Path) -> None:
    with raises_input_error("no-domain"):
        adapt(get_preset("green-bert"), open_model(tiny_bert), Sources())


@pytest.mark.parametrize("name", ["BertConfig", "FancyBertV9"])
def test_what_is_no_network_is_refused_before_any_work(
    name: str, make_bert: Callable[..., Path], corpus: Corpus
) -> None:
    folder = make_bert()
    edit_json(folder / "config.json", architectures=[name])
    seen: list[str] = []
    with raises_input_error("unknown-architecture"):
        adapt(
            small(get_preset("green-bert")),
            open_model(folder),
            Sources(corpus=corpus),
            lambda fraction, message="": seen.append(message),
        )
    assert seen == []


def test_a_recipe_with_continued_pretraining_runs_to_the_end(
    tiny_bert: Path, corpus: Corpus, tmp_path: Path
) -> None:
    recipe = small(get_preset("green-bert+mlm"))
    training = replace(recipe.pretraining.training, tokens=256, length=16, batch=8, lr=0.01)
    recipe = replace(recipe, pretraining=replace(recipe.pretraining, training=training))
    model, seen = open_model(tiny_bert), [0.0]
    adapted = adapt(
        recipe,
        model,
        Sources(corpus=corpus),
        lambda fraction, message="": seen.append(seen[-1] if fraction is None else fraction),
    )
    assert isinstance(adapted, ContinuedAdaptation) and seen == sorted(seen)
    assert set(adapted.plan.added_tokens) == set(NEW)
    before, after = adapted.untrained.space, open_model(adapted.save(tmp_path / "out")).space
    assert not np.array_equal(before[NEW[0]], after[NEW[0]])
    assert np.array_equal(before["heart"], after["heart"])
    folder = adapted.untrained.path
    assert folder.is_dir()
    del adapted, before
    gc.collect()
    assert not folder.exists()


@pytest.mark.parametrize("name", [name for name in PRESETS if name not in UNTRAINED])
def test_a_preset_with_continued_pretraining_is_another_one_and_more(name: str) -> None:
    recipe, plain = get_preset(name), get_preset(name.removesuffix("+mlm"))
    assert (
        replace(recipe, name=plain.name, about=plain.about, pretraining=plain.pretraining) == plain
    )
