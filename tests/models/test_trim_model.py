"""Trimmed models of every kind: on lines whose tokens are all kept, the same tokens, hidden states bit
by bit, and logits but for rounding; the certificate passes; the sizes are those of the files."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.material.architectures import LETTERS, TEXT, build_tiny_model
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.models.adapted_model import AdaptedModel
from vocadapt.models.card import render_model_card
from vocadapt.models.certificate.certificate import Edit, certify, run_check
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.layers import get_embeddings
from vocadapt.models.trimmed_size import measure_trimmed_size
from vocadapt.pipeline import Sources, adapt
from vocadapt.presets import build_trim, get_preset
from vocadapt.text.corpus import open_corpus

NAMES = (
    "bert",
    "distilbert",
    "roberta",
    "xlm-roberta",
    "deberta-v3",
    "albert",
    "modernbert",
    "gpt2",
)
DECODERS = ("llama", "qwen2", "qwen3")


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def trim_model(folder: Path, text: Path, **options: float) -> AdaptedModel:
    sources = Sources(corpus=open_corpus([text]))
    return adapt(build_trim(**options), open_model(folder), sources)


def run(model: LanguageModel, line: str) -> tuple[list[str], torch.Tensor, torch.Tensor]:
    """Return the tokens of a line, all hidden states, and the logits."""
    encoding, network = model.fast_tokenizer.encode(line), model.network
    with torch.inference_mode():
        output = network(
            input_ids=torch.tensor([encoding.ids]), output_hidden_states=True, return_dict=True
        )
    states = torch.stack([state[0] for state in output.hidden_states])
    return [model.vocabulary.tokens[i] for i in encoding.ids], states, output.logits[0]


@pytest.mark.parametrize("name", [*NAMES, *DECODERS])
def test_lines_of_kept_tokens_give_the_same_states_and_logits(tmp_path: Path, name: str) -> None:
    padding = 1 if name == "deberta-v3" else 64  # its positions have 128 rows, as a padded matrix
    folder = build_tiny_model(name, tmp_path / "before", padded_to=padding)
    text = write_lines(tmp_path / "text.txt", *TEXT[:2])
    trim_model(folder, text, cover=1.0).save(tmp_path / "after")
    before, after = open_model(folder), open_model(tmp_path / "after")
    assert len(after.vocabulary) < len(before.vocabulary)
    assert len(get_embeddings(after.network)) % padding == 0
    kept = list(after.vocabulary.tokens)
    old_ids = [before.vocabulary.ids[token] for token in kept]
    for line in (*TEXT[:2], "the drug had a study", "trial"):
        old_tokens, old_states, old_logits = run(before, line)
        tokens, states, logits = run(after, line)
        if not set(kept).issuperset(old_tokens):
            assert line not in TEXT
            continue
        assert tokens == old_tokens
        assert torch.equal(states, old_states)
        expected, found = old_logits[:, old_ids], logits[:, : len(kept)]
        assert torch.allclose(found, expected, rtol=1e-5, atol=1e-5)
        # Probabilities are over fewer tokens: those of the kept ones grow.
        assert (found.softmax(-1) > 0).all()
        assert not torch.allclose(
            logits.softmax(-1)[:, : len(kept)], old_logits.softmax(-1)[:, old_ids]
        )
    failed = {c.name: c.detail for c in certify(before, after, TEXT[:2]).checks if not c.passed}
    assert failed == {}


def test_a_smaller_trim_changes_only_lines_with_removed_tokens(tmp_path: Path) -> None:
    folder = build_tiny_model("roberta", tmp_path / "before")
    text = write_lines(tmp_path / "text.txt", *[TEXT[0]] * 9, TEXT[1])
    adapted = trim_model(folder, text, cover=0.95)
    assert adapted.plan.changed_pretokens
    adapted.save(tmp_path / "after")
    before, after = open_model(folder), open_model(tmp_path / "after")
    old_tokens, old_states, _ = run(before, TEXT[0])
    tokens, states, _ = run(after, TEXT[0])
    assert tokens == old_tokens and torch.equal(states, old_states)
    assert run(before, TEXT[1])[0] != run(after, TEXT[1])[0]
    assert certify(before, after, TEXT).passed


@pytest.mark.parametrize("tied", [True, False])
def test_the_size_is_that_of_the_stored_tensors(tmp_path: Path, tied: bool) -> None:
    folder = build_tiny_model("bert", tmp_path / "before", tie_word_embeddings=tied)
    text = write_lines(tmp_path / "text.txt", TEXT[0])
    adapted = trim_model(folder, text, cover=1.0)
    size = measure_trimmed_size(adapted)
    before, after = open_model(folder).network, adapted.network
    for key, network in (("parameters_before", before), ("parameters_after", after)):
        assert size[key] == sum(value.numel() for value in network.parameters())
    assert size["parameters_saved"] == size["parameters_before"] - size["parameters_after"]
    assert size["bytes_saved"] == 4 * size["parameters_saved"]
    adapted.save(tmp_path / "after")
    stored = load_file(tmp_path / "after/model.safetensors")
    assert sum(value.numel() for value in stored.values()) == size["parameters_after"]


def test_the_step_reports_sizes_lines_and_limits(tmp_path: Path) -> None:
    folder = build_tiny_model("bert", tmp_path / "before")
    text = write_lines(tmp_path / "text.txt", *[TEXT[0]] * 3, "", "tachycardia", TEXT[1])
    settings = AdaptStep(build_trim(cover=0.9))
    spec = Spec(settings, {"model": str(folder), "text": str(text)})
    artifact = run_step(spec, tmp_path / "after")
    numbers = artifact.manifest.numbers
    assert numbers["certificate"] is True and numbers["kind"] == "trim"
    assert numbers["lines"] == 5 and 0 < numbers["changed_lines"] < 5
    assert numbers["parameters_saved"] > 0
    assert numbers["trim"]["coverage"] >= 0.9 and "changed" not in numbers["trim"]
    record = json.loads((tmp_path / "after/vocadapt.json").read_text(encoding="utf-8"))
    assert record["lines"] == {"lines": 5, "changed_lines": numbers["changed_lines"]}
    card = render_model_card(record)
    assert f"{numbers['changed_lines']} of its" in card
    assert "Probabilities" in card


def test_the_preset_keeps_all_tokens_and_needs_a_text() -> None:
    recipe = get_preset("trim")
    assert recipe.needs == {"counts"} and not recipe.makes_embeddings
    assert recipe.vocabulary.cover == 1.0
    assert get_preset("trim-99.99").vocabulary.cover == 0.9999


def test_embeddings_are_gathered_by_the_plan(tmp_path: Path) -> None:
    folder = build_tiny_model("bert", tmp_path / "before")
    text = write_lines(tmp_path / "text.txt", " ".join(LETTERS[:5]))
    model = open_model(folder)
    adapted = trim_model(folder, text, cover=1.0)
    old = get_embeddings(model.network)[[model.vocabulary.ids[t] for t in adapted.plan.tokens]]
    assert torch.equal(get_embeddings(adapted.network), old)
    assert np.array_equal(adapted.plan.moves[0], np.arange(len(adapted.plan.tokens)))


def test_logits_may_differ_in_rounding_but_hidden_states_may_not(tmp_path: Path) -> None:
    folder = build_tiny_model("gpt2", tmp_path / "before")
    text = write_lines(tmp_path / "text.txt", *TEXT)
    trim_model(folder, text, cover=1.0).save(tmp_path / "after")
    edit = Edit(open_model(folder), open_model(tmp_path / "after"), TEXT)
    # 1. Short inputs are multiplied by other routines, which may sum in another order.
    words = tuple(" ".join(TEXT).split())
    assert run_check("outputs", Edit(edit.before, edit.after, words)).passed
    # 2. Errors of the size of rounding in the logits pass, larger ones fail.
    network = edit.after.network
    head = network.get_output_embeddings()
    for factor in (1.0, 1 + 4e-7, 1.001):
        handle = head.register_forward_hook(lambda _, __, out, by=factor: out * by)
        found = run_check("outputs", Edit(edit.before, edit.after, ("☃",)))
        handle.remove()
        assert found.passed == (factor < 1.001)
        assert factor == 1.0 or found.detail.startswith("0 of ")
        assert ("rounding" in found.detail) == (factor == 1 + 4e-7)
    # 3. Hidden states that differ in rounding fail.
    layer = network.transformer.h[0].mlp
    handle = layer.register_forward_hook(lambda _, __, out: out * (1 + 4e-7))
    assert not run_check("outputs", edit).passed
    handle.remove()
    assert run_check("outputs", edit).passed
