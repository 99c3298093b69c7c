"""Every preset from end to end on small models: removed tokens, added tokens, their embeddings,
and the certificate."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.material.adapted import HEADS
from tests.material.input_errors import raises_input_error
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.__main__ import main
from vocadapt.errors import InputError
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.models.certificate.certificate import CHECKS, Edit, run_check
from vocadapt.models.language_model import open_model
from vocadapt.presets import PRESETS, build_reduction, format_recipe_name, get_preset, is_preset
from vocadapt.recipe_changes import _change_heuristics, choose_recipe
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import read_tokenizer, vocabulary_of
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.reduction import ReductionSettings, group_protected_tokens

LONG = ["hypertension", "tachycardia", "lymphoma", "leukemia", "asthma", "therapy", "##emia"]
LONG += ["##ology", "relapse"]
TARGET = [*TINY_TOKENS[:90], *LONG, *TINY_TOKENS[95:100]]


@pytest.fixture
def pair(make_bert: Callable[..., Path]) -> tuple[Path, Path]:
    """A model, and a target of the same size with another vocabulary."""
    source = [*TINY_TOKENS, *(f"word{i}" for i in range(500))]  # enough that may go
    filled = [*TARGET, *(f"term{i}" for i in range(len(source) - len(TARGET)))]
    return make_bert("a", tokens=source), make_bert("b", tokens=filled)


def made(name: str, out: Path, source: Path, certify: bool = False, **inputs: object) -> Path:
    spec = Spec(AdaptStep(get_preset(name), certify=certify), {"model": str(source), **inputs})  # type: ignore[dict-item]
    return run_step(spec, out).folder


def numbers_of(folder: Path) -> dict[str, object]:
    return dict(json.loads((folder / "manifest.json").read_text())["numbers"])


def failed(before: Path, after: Path) -> list[str]:
    """The checks that fail, the slow one in a fresh process aside."""
    edit = Edit(open_model(before), open_model(after))
    return [name for name in CHECKS if name != "reload" and not run_check(name, edit).passed]


@pytest.mark.parametrize(
    "name",
    [name for name in PRESETS if name.startswith(("transfer", "combined")) and "+" not in name],
)
def test_a_transfer_is_certified(pair: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    source, target = pair
    whole = name in ("transfer-syntactic", "combined-last-25")
    out = made(name, tmp_path / "m", source, certify=whole, target=str(target))
    numbers = numbers_of(out)
    assert failed(source, out) == []
    assert numbers.get("certificate", True) is True, run_check(
        "reload", Edit(open_model(source), open_model(out))
    )
    assert numbers["tokens_after"] == numbers["tokens_before"] == len(open_model(source).vocabulary)


def test_combined_at_a_hundred_is_transfer_bit_for_bit(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    source, target = pair
    one = made("combined-last-100", tmp_path / "one", source, target=str(target))
    other = made("transfer-syntactic", tmp_path / "other", source, target=str(target))
    for file in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (one / file).read_bytes() == (other / file).read_bytes(), file


def test_each_transfer_gives_embeddings_of_the_right_origin(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    source, target = (open_model(path) for path in pair)
    spaces = {
        how: open_model(made(f"transfer-{how}", tmp_path / how, pair[0], target=str(pair[1]))).space
        for how in ("target", "random", "syntactic", "semantic")
    }
    assert np.array_equal(spaces["target"].matrix, target.space.matrix)
    common = [token for token in target.vocabulary.tokens if token in source.vocabulary]
    for how in ("syntactic", "semantic"):
        assert all(np.array_equal(spaces[how][token], source.space[token]) for token in common)
    pieces = source.vocabulary.tokenize("hypertension")
    assert pieces == ("hyper", "##tension")
    mean = np.mean([source.space[piece] for piece in pieces], axis=0)
    assert np.allclose(spaces["syntactic"]["hypertension"], mean, atol=1e-6)
    assert not any(np.array_equal(spaces["random"][token], source.space[token]) for token in common)


@pytest.mark.parametrize("head", HEADS)
def test_every_head_survives_a_reduction(
    make_bert: Callable[..., Path], tmp_path: Path, head: str
) -> None:
    folder = make_bert(head=head)
    out = made("reduced-last-5", tmp_path / "m", folder)
    assert failed(folder, out) == []
    assert numbers_of(out)["dropped"] == len(TINY_TOKENS) - round(0.95 * len(TINY_TOKENS))
    assert open_model(out).config["architectures"] == [head]


def test_heuristics_that_count_need_a_text(tiny_bert: Path, tmp_path: Path, text: Path) -> None:
    with raises_input_error("missing-source", "reduced-freq-10", "text"):
        made("reduced-freq-10", tmp_path / "m", tiny_bert)
    assert made("reduced-freq-10", tmp_path / "m", tiny_bert, text=str(text)).is_dir()
    with raises_input_error("unused-source", "text"):
        made("reduced-last-10", tmp_path / "n", tiny_bert, text=str(text))
    with raises_input_error("missing-source", "target"):
        made("transfer-semantic", tmp_path / "n", tiny_bert)
    assert not (tmp_path / "n").exists()


def test_random_embeddings_keep_the_vocabulary(tiny_bert: Path, tmp_path: Path) -> None:
    before = open_model(tiny_bert)
    for name in ("reinit-normal", "reinit-uniform"):
        after = open_model(made(name, tmp_path / name, tiny_bert))
        assert after.vocabulary.tokens == before.vocabulary.tokens
        assert not (after.space.matrix == before.space.matrix).all(axis=1).any()


def test_a_bare_target_needs_no_embeddings_if_none_are_read(
    pair: tuple[Path, Path], tmp_path: Path, text: Path
) -> None:
    bare = tmp_path / "vocab.txt"
    bare.write_text("\n".join(open_model(pair[1]).vocabulary.tokens) + "\n", encoding="utf-8")
    assert made("transfer-syntactic", tmp_path / "m", pair[0], target=str(bare)).is_dir()
    with raises_input_error("no-embeddings"):
        made("transfer-target", tmp_path / "n", pair[0], target=str(bare))
    with raises_input_error("no-embeddings"):
        made("transfer-semantic", tmp_path / "n", pair[0], target=str(bare))


def test_a_cased_target_is_refused(make_bert: Callable[..., Path], tmp_path: Path) -> None:
    source = make_bert("a")
    target = make_bert("b", tokens=[*TINY_TOKENS, "Placebo"], lowercase=False)
    with raises_input_error("other-casing"):
        made("transfer-syntactic", tmp_path / "m", source, target=str(target))


def test_families_of_presets() -> None:
    assert get_preset("reduced-longest-33").vocabulary.removed == 0.33
    assert get_preset("combined-freq-50").vocabulary.remove_by == "freq"
    assert is_preset(get_preset("reduced-cost-40"))
    assert not is_preset(PRESETS["green-bert"].__class__("mine"))
    for wrong in ("reduced-last-0", "reduced-last-101", "reduced-last-", "combined-shortest-25"):
        with pytest.raises(InputError):
            get_preset(wrong)
    spec = Spec(
        AdaptStep(get_preset("combined-freq-50")), {"model": "a", "target": "b", "text": "t.txt"}
    )
    assert (
        build_command(spec, Path("m"))
        == "python -m vocadapt adapt --model a --target b --corpus t.txt --preset combined-freq-50"
        " --out m"
    )


def test_the_casing_of_a_bare_target_can_be_given(pair: tuple[Path, Path], tmp_path: Path) -> None:
    bare = tmp_path / "target.txt"
    bare.write_text("\n".join([*TARGET, ""]), encoding="utf-8")
    inputs = {"model": str(pair[0]), "target": str(bare)}
    step = AdaptStep(get_preset("transfer-syntactic"), certify=False)
    spec = Spec(step, inputs, casing="uncased")  # type: ignore[arg-type]
    assert numbers_of(run_step(spec, tmp_path / "out").folder)["tokens_after"] == len(TARGET)


def test_options_change_only_what_they_name_of_a_recipe() -> None:
    asked = dict(
        remove_by=None, add_by="savings", removed=None, preset="reduced-freq-25", recipe=None
    )
    recipe = _change_heuristics(get_preset("reduced-freq-25"), asked)
    plan = recipe.vocabulary
    assert (plan.kind, plan.remove_by, plan.removed) == ("combined", "freq", 0.25)
    assert plan.add_by == "savings"
    assert recipe.initializer.method == "syntactic" and recipe.needs == {"counts"}
    asked = dict(
        remove_by="last", add_by=None, removed=None, preset="combined-freq-50", recipe=None
    )
    assert _change_heuristics(get_preset("combined-freq-50"), asked).vocabulary.kind == "combined"


def test_whole_words_that_are_only_added_are_exact_words() -> None:
    for add_by, mode in (("words", "exact-word"), ("savings", "exact-word")):
        assert choose_recipe({"add_by": add_by}).tokenizer == mode
    for add_by in ("target", "bpe-merges", "byte-level-bpe"):  # parts of words among them
        assert choose_recipe({"add_by": add_by}).tokenizer == "insertion"
    assert (
        choose_recipe({"add_by": "words", "tokenizer_mode": "insertion"}).tokenizer == "insertion"
    )
    assert choose_recipe({"add_by": "words", "remove_by": "last"}).tokenizer == "replacement"
    # A named recipe keeps its own mode, as long as its heuristic stays.
    assert choose_recipe({"preset": "exbert-s3", "add_by": "bpe-merges"}).tokenizer == "insertion"


def test_a_title_names_the_heuristics_that_were_chosen() -> None:
    for values, given in (
        (("words",), {"add_by": "words"}),
        (("30 %", "freq"), {"remove_by": "freq", "removed": 0.3}),
        (("25 %", "last", "savings"), {"remove_by": "last", "add_by": "savings"}),
        (("extension module",), {"preset": "exbert-s3", "add_by": "bpe-merges"}),
    ):
        title = choose_recipe(given).title
        assert all(value in title for value in values), title


def test_presets_after_fast_2023_count_the_mark_in_lengths_and_other_plans_do_not() -> None:
    """Fast 2023, 3.3.3. PubMedBERT can only be reduced by 75 %, as table 6.10 has it, if the ##
    counts.
    """
    for name in ("reduced-last-75", "combined-last-50", "reduced-longest-33"):
        assert get_preset(name).vocabulary.count_marks, name
    assert "3.3.3" in PRESETS["reduced-last-75"].about
    assert build_reduction(ReductionSettings("last", 0.25, count_marks=True)) == get_preset(
        "reduced-last-75"
    )
    outside = build_reduction(ReductionSettings("last", 0.25))
    assert not outside.vocabulary.count_marks and format_recipe_name(outside) == "last-75"
    asked = dict(remove_by="last", add_by=None, removed=0.5, preset=None, recipe=None)
    assert not _change_heuristics(get_preset("combined-last-25"), asked).vocabulary.count_marks


def test_the_mark_is_an_option_of_adapt(tiny_bert: Path, tmp_path: Path) -> None:
    for name, flags, counted in (("a", [], True), ("b", ["--no-count-marks"], False)):
        line = [
            *f"adapt --model {tiny_bert} --preset reduced-last-5".split(),
            *flags,
            "--out",
            str(tmp_path / name),
        ]
        assert main(line) == 0
        record = json.loads((tmp_path / name / "vocadapt.json").read_text(encoding="utf-8"))
        assert record["plan"]["settings"]["count_marks"] is counted


def test_pubmedbert_is_reduced_by_three_quarters_as_published(shared: Path) -> None:
    pubmedbert = vocabulary_of(
        read_tokenizer(shared / "data/vocab/pubmedbert-abstract-fulltext.txt")
    )
    for heuristic in ("last", "longest", "random"):
        plan = plan_vocabulary(
            pubmedbert,
            Splitter.bert(),
            PlanSources(),
            get_preset(f"reduced-{heuristic}-75").vocabulary,
        )
        assert len(plan.tokens) == 7630
    assert sum(map(len, group_protected_tokens(pubmedbert, count_marks=True).values())) == 6414
    assert sum(map(len, group_protected_tokens(pubmedbert).values())) == 8512
