"""A vocabulary with an empty token in its middle, such as SciBERT's published one at line 30 107
(Beltagy et al. 2019).

No text is tokenized into it, but it has an id and an embedding. Without it, every later token
would have the embedding of another one."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.material.tiny_bert import SPECIAL, TINY_TOKENS, build_tiny_bert
from tests.material.warm_process import WarmProcess
from vocadapt.cli import main
from vocadapt.models.certificate.certificate import certify
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.initializers.initialize import InitializerSettings, Materials, initialize
from vocadapt.vocabulary.overlap import profile
from vocadapt.vocabulary.plan.plan import AddedWord, PlanSettings
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.reduction import (
    ReductionSettings,
    group_protected_tokens,
    select_removed_tokens,
)

PLACE = 120
TOKENS = (*TINY_TOKENS[:PLACE], "", *TINY_TOKENS[PLACE:])
RELOAD = """
import json, sys
from transformers import AutoModel, AutoTokenizer
folder = json.load(sys.stdin)
tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
ids = tokenizer("hypertension of the heart")["input_ids"]
rows = model.get_input_embeddings().weight
print(json.dumps({"ids": ids, "rows": len(rows), "first": rows[ids].flatten()[:64].tolist()}))
"""


@pytest.fixture(scope="module", params=["tokenizer.json", "vocab.txt"])
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> LanguageModel:
    """The model with its tokenizer in one file or in the other."""
    folder = build_tiny_bert(tmp_path_factory.mktemp("scibert") / "model", tokens=list(TOKENS))
    if request.param == "vocab.txt":
        (folder / "tokenizer.json").unlink()
        (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n", encoding="utf-8")
    return open_model(folder)


def test_no_id_is_shifted(model: LanguageModel) -> None:
    assert model.vocabulary.tokens == TOKENS and model.vocabulary.ids[""] == PLACE
    assert np.array_equal(
        model.space.matrix, model.network.get_input_embeddings().weight.detach().numpy()
    )
    cut = model.fast_tokenizer.encode(
        "the hypertension of patients and heart pain", add_special_tokens=False
    )
    assert [TOKENS[i] for i in cut.ids] == cut.tokens and "" not in cut.tokens
    text = "tachycardia of the heart"
    assert model.tokenizer(text).input_ids == model.fast_tokenizer.encode(text).ids


def test_its_lists_and_figures_hold_it(model: LanguageModel) -> None:
    shown = profile(model.vocabulary, model.splitter)
    figures = shown.figures
    assert "" in figures.unreachable.first and sum(figures.positions.values()) == len(TOKENS)
    assert any(
        "" in tokens for tokens in group_protected_tokens(model.vocabulary).values()
    )  # shorter than four characters: it stays
    assert "" not in select_removed_tokens(model.vocabulary, ReductionSettings("last", 0.9))
    assert model.vocabulary.tokenize_token("") == ("",) and not model.vocabulary.continues("")


def test_a_model_that_takes_the_vocabulary_over_gives_the_empty_token_a_finite_embedding(
    tiny_bert: Path,
) -> None:
    model = open_model(tiny_bert)
    target = WordPieceVocabulary(TOKENS, model.vocabulary.special)
    plan = plan_vocabulary(
        model.vocabulary, model.splitter, PlanSources(target=target), PlanSettings("transfer")
    )
    assert plan.added == (AddedWord("", ("[UNK]",)),)
    made = initialize(Materials(plan, model.space), InitializerSettings("syntactic")).matrix
    assert made.shape == (1, model.dim) and np.isfinite(made).all()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            ("vocabulary", "reduce", "--keep", "0.9", "--heuristic", "longest"),
            marks=pytest.mark.slow,
            id="reduced",
        ),
        pytest.param(
            ("adapt", "--preset", "combined-last-10", "--target", "TARGET"),
            marks=pytest.mark.slow,
            id="combined",
        ),
        pytest.param(
            ("adapt", "--preset", "green-bert", "--method", "ridge", "--vectors", "VECTORS"),
            id="appended",
        ),
    ],
)
def test_it_is_trimmed_adapted_and_certified(
    model: LanguageModel,
    command: tuple[str, ...],
    vectors: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    warm_process: WarmProcess,
) -> None:
    target = tmp_path / "target.txt"
    target.write_text(
        "\n".join([*SPECIAL, "aspirin", "dyspnea", "sepsis", "warf", "##arin", "euthy", "##mia"])
        + "\n"
    )
    places = {"TARGET": str(target), "VECTORS": str(vectors)}
    arguments = [places.get(word, word) for word in command]
    code = main([*arguments, "--model", str(model.path), "--out", str(tmp_path / "out")])
    assert code == 0, capsys.readouterr().err
    after = open_model(tmp_path / "out")
    assert "" in after.vocabulary
    kept = [token for token in after.vocabulary.tokens if token in model.vocabulary]
    assert np.array_equal(
        np.stack([after.space[token] for token in kept]),
        np.stack([model.space[token] for token in kept]),
    )
    failed = [check for check in certify(model, after).checks if not check.passed]
    assert not failed
    ids = after.fast_tokenizer.encode("hypertension of the heart").ids
    elsewhere = json.loads(warm_process.run_script(RELOAD, json.dumps(str(after.path))).stdout)
    assert elsewhere["ids"] == ids and elsewhere["rows"] == len(after.vocabulary)
    assert np.array_equal(np.float32(elsewhere["first"]), after.space.matrix[ids].ravel()[:64])


def test_an_empty_last_line_is_still_a_fault(
    model: LanguageModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(model.path, tmp_path / "model"))
    (folder / "tokenizer.json").unlink(missing_ok=True)
    (folder / "vocab.txt").write_text("\n".join(TINY_TOKENS) + "\n\n", encoding="utf-8")
    assert main(["tokenize", "heart", "--model", str(folder)]) == 2
    assert "is empty" in capsys.readouterr().err
