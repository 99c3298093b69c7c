"""Every encoder and decoder with token embeddings opens, is adapted, saved, reloaded and certified:
tied or not, with biases or without, padded or not. What a model cannot do is refused by name.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

from tests.material.adapted import change, planned
from tests.material.architectures import (
    ARCHITECTURES,
    TinyTokenizer,
    build_tiny_model,
    build_wordpiece,
)
from tests.material.changed_architectures import WORDS, add_words, remove_tokens
from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from tests.material.sentencepiece_bpe import build
from tests.material.stated_numbers import find_numbers
from vocadapt.errors import InputError
from vocadapt.models.abilities import (
    ABILITIES,
    ENCODERS,
    EXTENDABLE,
    check_ability,
    has_masked_head,
)
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.certificate.certificate import CHECKS, Edit, certify, run_check
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.embedding_matrix.padding import count_rows
from vocadapt.models.embedding_matrix.stored import find_embeddings
from vocadapt.models.extension_size import MODEL_TYPE
from vocadapt.models.heads import HEADS, load_with_new_head
from vocadapt.models.language_model import open_model
from vocadapt.models.layers import get_embeddings, get_output_bias, get_output_layer, is_tied
from vocadapt.vocabulary.initializers.initialize import NewEmbeddings, Provenance
from vocadapt.vocabulary.plan.plan import AddedWord, PlanSettings, VocabularyPlan

DECODERS = ("gpt2", "llama", "qwen2", "qwen3")
ENCODER_NAMES = sorted(set(ARCHITECTURES) - set(DECODERS) - {"t5", "electra-discriminator"})


def list_failed(before: Path, after: Path) -> dict[str, str]:
    certificate = certify(open_model(before), open_model(after))
    return {check.name: check.detail for check in certificate.checks if not check.passed}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_is_adapted_and_certified(tmp_path: Path, name: str) -> None:
    folder = build_tiny_model(name, tmp_path / "before")
    model = open_model(folder)
    weight = model.network.get_input_embeddings().weight.detach().numpy()
    assert np.array_equal(model.space.matrix, weight[: len(model.vocabulary)])
    out = add_words(model).save(tmp_path / "after")
    assert list_failed(folder, out) == {}

    after = open_model(out)
    assert after.config["architectures"] == [ARCHITECTURES[name].network]
    loaded = transformers.AutoTokenizer.from_pretrained(out)
    ids = loaded("the tachycardia was", add_special_tokens=False)["input_ids"]
    assert after.vocabulary.ids[after.vocabulary.spell("tachycardia")] in ids


@pytest.mark.parametrize("name", ["electra", "roberta", "modernbert", "gpt2", "llama"])
def test_tokens_are_removed_and_the_rest_is_certified(tmp_path: Path, name: str) -> None:
    folder = build_tiny_model(name, tmp_path / "before", tokenizer=build_wordpiece)
    model = open_model(folder)
    adapted = remove_tokens(model, 20)
    out = adapted.save(tmp_path / "after")
    assert list_failed(folder, out) == {}
    assert adapted.matrix_rows.new_rows == len(model.vocabulary) - 20
    assert open_model(out).config["vocab_size"] == len(model.vocabulary) - 20


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("name", ["bert", "electra", "roberta", "distilbert", "gpt2", "llama"])
def test_tied_and_separate_output_layers_stay_as_they_were(
    tmp_path: Path, name: str, tied: bool
) -> None:
    folder = build_tiny_model(
        name, tmp_path / "before", tokenizer=build_wordpiece, tie_word_embeddings=tied
    )
    model = open_model(folder)
    assert is_tied(model.network) == tied
    plan, rows = planned(model, words=WORDS)
    after = open_model(apply_plan(model, plan, rows).save(tmp_path / "after"))
    assert is_tied(after.network) == tied
    output, bias = get_output_layer(after.network).weight, get_output_bias(after.network)
    assert (bias is None) == (name in DECODERS)
    if tied:
        assert torch.equal(output[-3:], torch.from_numpy(rows.matrix))
        assert bias is None or (bias[-3:].tolist() == [0.0] * 3 and bias[:-3].abs().min() > 0)
    else:  # its own rows and biases are the means of those of the pieces
        ids = [[model.vocabulary.ids[one] for one in word.pieces] for word in plan.added]
        for number, own in enumerate(ids, start=len(output) - 3):
            assert torch.allclose(output[number], output[own].mean(dim=0), atol=1e-6)
            assert bias is None or torch.allclose(bias[number], bias[own].mean(), atol=1e-6)
    assert list_failed(folder, tmp_path / "after") == {}


def test_the_rows_of_a_matrix_counted_by_hand() -> None:
    def numbers(*given: int, keeps: bool = True) -> tuple[int, int, int]:
        rows = count_rows(*given, keeps_rows=keeps)
        return rows.new_rows, rows.filled, rows.multiple

    assert numbers(100, 100, 103) == (103, 0, 1)  # not padded
    assert numbers(100, 128, 103) == (128, 3, 128)  # free rows are filled
    assert numbers(100, 128, 130) == (256, 28, 128)
    assert numbers(100, 192, 200) == (256, 92, 64)
    assert numbers(100, 104, 109) == (112, 4, 8)
    assert numbers(100, 101, 103) == (103, 1, 1)  # no multiple divides 101
    assert numbers(50_280, 50_368, 50_400) == (50_432, 88, 64)  # ModernBERT
    assert numbers(151_665, 151_936, 151_700) == (151_936, 35, 128)  # Qwen
    assert numbers(128_256, 128_256, 129_066) == (129_152, 0, 128)  # Llama 3.1 has no free rows
    assert numbers(192, 192, 193) == (256, 0, 64)
    assert numbers(30_000, 30_000, 30_001) == (30_001, 0, 1)  # ALBERT: 8 times 3,750 by chance
    assert numbers(100, 192, 60, keeps=False) == (64, 0, 64)
    assert numbers(100, 100, 60, keeps=False) == (60, 0, 1)


@pytest.mark.parametrize("name", ["modernbert", "qwen2", "roberta", "llama"])
def test_new_tokens_take_the_rows_without_a_token_first(tmp_path: Path, name: str) -> None:
    folder = build_tiny_model(name, tmp_path / "before", padded_to=64)
    model = open_model(folder)
    before = get_embeddings(model.network).detach()
    n, rows = len(model.vocabulary), len(before)
    assert rows % 64 == 0 and rows > n + 3
    adapted = add_words(model)
    n_new = len(adapted.plan.added)
    assert (adapted.matrix_rows.filled, adapted.matrix_rows.new_rows) == (n_new, rows)
    out = adapted.save(tmp_path / "after")
    after = get_embeddings(open_model(out).network).detach()
    assert torch.equal(after[n + n_new :], before[n + n_new :])
    record = json.loads((out / "vocadapt.json").read_text(encoding="utf-8"))
    expected = {"before": rows, "after": rows, "filled": n_new, "free": rows - n - n_new}
    assert {key: record["matrix"][key] for key in expected} == expected
    assert list_failed(folder, out) == {}


def test_a_padded_matrix_grows_to_its_multiple(tmp_path: Path) -> None:
    folder = build_tiny_model(
        "modernbert", tmp_path / "before", tokenizer=build_wordpiece, padded_to=8
    )
    model = open_model(folder)
    rows = len(get_embeddings(model.network))
    words = tuple(f"zz{chr(97 + i)}" for i in range(10))
    adapted = add_words(model, words)
    assert adapted.matrix_rows.filled == rows - len(model.vocabulary)
    assert len(get_embeddings(adapted.network)) == adapted.matrix_rows.new_rows
    assert adapted.matrix_rows.new_rows == -(-(len(model.vocabulary) + 10) // 8) * 8
    out = adapted.save(tmp_path / "after")
    assert open_model(out).config["vocab_size"] == adapted.matrix_rows.new_rows
    assert list_failed(folder, out) == {}


def test_a_reduced_matrix_keeps_its_multiple(tmp_path: Path) -> None:
    folder = build_tiny_model("llama", tmp_path / "before", tokenizer=build_wordpiece, padded_to=64)
    model = open_model(folder)
    adapted = remove_tokens(model, len(model.vocabulary) - 100)
    assert (adapted.matrix_rows.new_tokens, adapted.matrix_rows.new_rows) == (100, 128)
    out = adapted.save(tmp_path / "after")
    before, after = (get_embeddings(open_model(one).network) for one in (folder, out))
    n_free = min(len(before) - len(model.vocabulary), 28)
    assert torch.equal(after[100 : 100 + n_free], before[len(model.vocabulary) :][:n_free])
    assert list_failed(folder, out) == {}


def test_an_id_without_a_token_is_not_given_to_a_word(tmp_path: Path) -> None:
    folder = build_tiny_model("llama", tmp_path / "before", padded_to=64)
    model = open_model(folder)
    edit_json(folder / "config.json", eos_token_id=len(model.vocabulary) + 1)
    with pytest.raises(InputError, match="eos_token_id is"):
        add_words(open_model(folder))


def test_positions_numbered_after_the_padding_token_must_not_move(tmp_path: Path) -> None:
    folder = build_tiny_model("roberta", tmp_path / "before", tokenizer=build_wordpiece)
    model = open_model(folder)
    tokens = model.vocabulary.tokens
    order = (tokens[1], tokens[0], *tokens[2:])
    plan = VocabularyPlan(model.vocabulary, (), settings=PlanSettings("reduce"), order=order)
    none = NewEmbeddings((), np.empty((0, model.dim), np.float32), ())
    with raises_input_error("moved-padding"):
        apply_plan(model, plan, none, "replacement")


# Faults that each check must find, in models that are not BERTs.


def swap_rows(folder: Path) -> None:
    name = find_embeddings(open_model(folder))[0]

    def swap(tensors: dict[str, torch.Tensor]) -> None:
        tensors[name][[9, 10]] = tensors[name][[10, 9]]

    change(folder, swap)


def nudge_free_row(folder: Path) -> None:
    name = find_embeddings(open_model(folder))[0]

    def nudge(tensors: dict[str, torch.Tensor]) -> None:
        tensors[name][-1, 0] += 1

    change(folder, nudge)


def nudge_new_row(folder: Path) -> None:
    model = open_model(folder)
    new = model.vocabulary.ids[model.vocabulary.spell("tachycardia")]
    name = find_embeddings(model)[0]

    def nudge(tensors: dict[str, torch.Tensor]) -> None:
        tensors[name][new, 0] += 1

    change(folder, nudge)


def nudge_other(folder: Path) -> None:
    def nudge(tensors: dict[str, torch.Tensor]) -> None:
        name = next(name for name in tensors if "norm" in name.lower() and "weight" in name)
        tensors[name][0] += 1e-3

    change(folder, nudge)


def roll_bias(folder: Path) -> None:
    def roll(tensors: dict[str, torch.Tensor]) -> None:
        name = next(name for name in ("lm_head.bias", "decoder.bias") if name in tensors)
        tensors[name] = tensors[name].roll(1)

    change(folder, roll)


def untie(folder: Path) -> None:
    name = find_embeddings(open_model(folder))[0]
    edit_json(folder / "config.json", tie_word_embeddings=False)
    output = {"modernbert": "decoder", "gpt2": "lm_head", "xlm-roberta": "lm_head.decoder"}
    kind = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"]
    change(
        folder, lambda tensors: tensors.update({f"{output[kind]}.weight": tensors[name].clone()})
    )


def merge_again(folder: Path) -> None:
    """Switch off what makes the words whole."""
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["model"]["ignore_merges"] = False
    path.write_text(json.dumps(content), encoding="utf-8")


def lower_score(folder: Path) -> None:
    """Give the last new piece of a Unigram a score below that of its split."""
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["model"]["vocab"][-1][1] = -1000.0
    path.write_text(json.dumps(content), encoding="utf-8")


def merge_whole_texts(folder: Path) -> None:
    """Remove the pre-tokenizer that exact words need in BPE of SentencePiece."""
    edit_json(folder / "tokenizer.json", pre_tokenizer=None)


def add_special_word(folder: Path) -> None:
    """A word that transformers adds to the special tokens, and the stored tokenizer does not have."""
    edit_json(folder / "tokenizer_config.json", extra_special_tokens=["heart"])


def build_sentencepiece() -> TinyTokenizer:
    """The BPE of SentencePiece, as Llama 2 has it."""
    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    return TinyTokenizer(build(), special, "LlamaTokenizer")


# Byte-level BPE: ModernBERT, RoBERTa, GPT-2; Unigram: XLM-R; BPE of SentencePiece: Llama.
FAULTS = {
    "modernbert": {
        "kept embeddings": swap_rows,
        "other tensors": nudge_other,
        "new embeddings": nudge_new_row,
        "outputs": nudge_other,
        "reload": add_special_word,
        "tokenizer settings": lambda f: edit_json(f / "tokenizer_config.json", model_max_length=77),
        "padding token": lambda f: edit_json(f / "config.json", pad_token_id=3),
        "tied head": untie,
        "output bias": roll_bias,
        "vocabulary size": nudge_free_row,
        "token ids": lambda f: edit_json(f / "config.json", cls_token_id=3),
        "added tokens reachable": merge_again,
    },
    "roberta": {
        "padding token": lambda f: edit_json(f / "config.json", pad_token_id=3),
        "output bias": roll_bias,
        "reload": lambda f: edit_json(
            f / "tokenizer_config.json", tokenizer_class="RobertaTokenizer"
        ),
    },
    "gpt2": {
        "tied head": untie,
        "vocabulary size": nudge_free_row,
        "other tensors": lambda f: change(
            f, lambda tensors: tensors["transformer.wpe.weight"].add_(1)
        ),
        "reload": lambda f: edit_json(f / "tokenizer_config.json", tokenizer_class="GPT2Tokenizer"),
    },
    "xlm-roberta": {"tied head": untie, "added tokens reachable": lower_score},
    "llama": {
        "new embeddings": nudge_new_row,
        "token ids": lambda f: edit_json(f / "config.json", bos_token_id=3),
        "vocabulary size": lambda f: edit_json(f / "config.json", vocab_size=300),
        "added tokens reachable": merge_whole_texts,
    },
}
OTHER_TOKENIZERS = {"llama": build_sentencepiece}
CASES = [(name, check) for name, faults in FAULTS.items() for check in faults]


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Folders of padded models before and after words were added."""
    folders = {}
    for name in FAULTS:
        root = tmp_path_factory.mktemp(name)
        tokenizer = OTHER_TOKENIZERS.get(name)
        before = build_tiny_model(name, root / "before", tokenizer, padded_to=64)
        folders[name] = before, add_words(open_model(before)).save(root / "after")
    return folders


@pytest.mark.parametrize(("name", "check"), CASES, ids=[" ".join(case) for case in CASES])
def test_every_check_finds_its_fault(
    adapted: dict[str, tuple[Path, Path]], tmp_path: Path, name: str, check: str
) -> None:
    before, after = adapted[name]
    damaged = tmp_path / "damaged"
    subprocess.run(["cp", "-r", str(after), str(damaged)], check=True)
    assert run_check(check, Edit(open_model(before), open_model(after))).passed
    FAULTS[name][check](damaged)
    assert not run_check(check, Edit(open_model(before), open_model(damaged))).passed


def test_a_continuation_that_was_computed_as_a_word_start_is_found(tmp_path: Path) -> None:
    before = build_tiny_model("distilbert", tmp_path / "before")
    model = open_model(before)
    vocabulary, matrix = model.vocabulary, model.space.matrix
    token = vocabulary.spell("cells", continues=True)
    plan = VocabularyPlan(vocabulary, (AddedWord(token, vocabulary.tokenize_token(token)),))
    for word, passes in (("cells", False), (token, True)):
        ids = [vocabulary.ids[piece] for piece in vocabulary.tokenize_token(word)]
        mean = NewEmbeddings((token,), matrix[ids].mean(axis=0)[None], (Provenance("mean", ()),))
        out = apply_plan(model, plan, mean, "insertion").save(tmp_path / str(passes))
        edit = Edit(model, open_model(out))
        assert run_check("position classes", edit).passed == passes


def test_a_line_with_a_character_that_became_unknown_is_not_compared(tmp_path: Path) -> None:
    """The tokens of an encoding are the same, its ids are not."""
    before = build_tiny_model("albert", tmp_path / "before")
    model = open_model(before)
    assert "=" in model.vocabulary
    order = tuple(token for token in model.vocabulary.tokens if token != "=")
    plan = VocabularyPlan(model.vocabulary, (), settings=PlanSettings("reduce"), order=order)
    none = NewEmbeddings((), np.empty((0, model.dim), np.float32), ())
    after = open_model(apply_plan(model, plan, none, "replacement").save(tmp_path / "after"))
    edit = Edit(model, after, ("the trial = pain", "the trial of pain"))
    passed, detail = CHECKS["outputs"](edit)
    assert passed and find_numbers(detail)[-2:] == [1, 2]  # lines of the same tokenization


def test_every_check_is_tried_on_another_model_than_bert() -> None:
    assert set(CHECKS) - set(FAULTS["modernbert"]) == {"position classes"}  # the test above


@pytest.mark.slow
@pytest.mark.usefixtures("fresh_processes")
@pytest.mark.parametrize("name", ["roberta", "xlm-roberta", "llama", "qwen2"])
def test_a_new_interpreter_loads_them(tmp_path: Path, name: str) -> None:
    before = build_tiny_model(name, tmp_path / "before")
    assert list_failed(before, add_words(open_model(before)).save(tmp_path / "after")) == {}


# Finding the embeddings.


@pytest.mark.parametrize("name", ["gpt2", "llama", "modernbert", "electra", "roberta"])
def test_embeddings_are_found_without_torch(tmp_path: Path, name: str) -> None:
    folder = build_tiny_model(name, tmp_path / "m", tokenizer=build_wordpiece)
    script = (
        "import sys; from vocadapt.models.language_model import open_model;"
        " m = open_model(sys.argv[1]); assert m.space.matrix.shape == (len(m.vocabulary), m.dim);"
        " assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script, str(folder)], check=True)


@pytest.mark.parametrize(
    ("kind", "name"), [("XLMModel", "embeddings.weight"), ("FunnelModel", "word_embeddings")]
)
def test_other_names_are_those_that_transformers_tells(
    tmp_path: Path, kind: str, name: str
) -> None:
    special = {"bos_index": 2, "eos_index": 3, "pad_index": 0, "unk_index": 1, "mask_index": 4}
    config = {"emb_dim": 32, "n_layers": 1, "n_heads": 2, **special}
    if kind == "FunnelModel":
        config = {"d_model": 32, "block_sizes": [1, 1], "n_head": 2, "d_head": 8, "d_inner": 32}
    folder = build_tiny_model("bert", tmp_path / "m")
    network = getattr(transformers, kind)
    vocabulary = len(open_model(folder).vocabulary)
    network(network.config_class(vocab_size=vocabulary, **config)).save_pretrained(folder)
    edit_json(folder / "config.json", vocab_size=vocabulary)
    assert name in find_embeddings(open_model(folder))[0]
    assert len(open_model(folder).space) == vocabulary


def test_a_model_without_token_embeddings_is_told_what_is_supported(tmp_path: Path) -> None:
    folder = build_tiny_model("bert", tmp_path / "m")
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    transformers.ViTModel(config).save_pretrained(folder)
    with raises_input_error("no-embeddings") as caught:
        _ = open_model(folder).space
    assert all(name in caught.value.remedy for name in ("RoBERTa", "ModernBERT", "Llama", "GPT-2"))


def test_a_second_table_of_the_tokens_is_refused_by_name(tmp_path: Path) -> None:
    folder = build_tiny_model("gpt2", tmp_path / "m")
    rows = len(open_model(folder).vocabulary)
    change(folder, lambda tensors: tensors.update({"lexical.table": torch.zeros(rows, 4)}))
    with raises_input_error("other-token-tensor", "lexical.table"):
        add_words(open_model(folder))


@pytest.mark.parametrize("size", ["intermediate_size", "hidden_size", "max_position_embeddings"])
def test_another_size_that_equals_the_vocabulary_by_chance_is_no_table(
    tmp_path: Path, size: str
) -> None:
    tokens = build_wordpiece().tokenizer.get_vocab_size()
    padded = -(-tokens // 8) * 8
    folder = build_tiny_model("bert", tmp_path / "before", padded_to=8, **{size: padded})
    assert list_failed(folder, add_words(open_model(folder)).save(tmp_path / "after")) == {}


def test_a_bias_of_an_encoder_decoder_is_refused_by_name(tmp_path: Path) -> None:
    folder = build_tiny_model("t5", tmp_path / "m")
    tokens = len(open_model(folder).vocabulary)
    sizes = {f"{side}_{part}": 32 for side in ("encoder", "decoder") for part in ("ffn_dim",)}
    sizes |= {f"{side}_layers": 1 for side in ("encoder", "decoder")}
    config = transformers.BartConfig(vocab_size=tokens, d_model=32, **sizes)
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    with pytest.raises(InputError, match="final_logits_bias"):
        add_words(open_model(folder))


def test_a_head_that_the_class_lacks_follows_the_vocabulary(tmp_path: Path) -> None:
    """A RobertaModel in whose file the masked-language-model head is stored, too."""
    folder = build_tiny_model("roberta", tmp_path / "before")
    edit_json(folder / "config.json", architectures=["RobertaModel"])
    out = add_words(open_model(folder)).save(tmp_path / "after")
    before, after = (load_file(one / "model.safetensors") for one in (folder, out))
    n = len(before["lm_head.bias"])
    assert torch.equal(after["lm_head.bias"][:n], before["lm_head.bias"])
    assert len(after["lm_head.bias"]) > n and not after["lm_head.bias"][n:].any()
    edit_json(out / "config.json", architectures=["RobertaForMaskedLM"])
    assert get_output_bias(open_model(out).network) is not None


def test_a_sharded_decoder_is_adapted(tmp_path: Path) -> None:
    folder = build_tiny_model("llama", tmp_path / "before")
    network = open_model(folder).network
    network.save_pretrained(tmp_path / "sharded", max_shard_size="20KB")
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "sharded" / file).write_bytes((folder / file).read_bytes())
    assert len(list((tmp_path / "sharded").glob("*.safetensors"))) > 1
    out = add_words(open_model(tmp_path / "sharded")).save(tmp_path / "after")
    assert list_failed(tmp_path / "sharded", out) == {}


def test_a_config_without_architectures_is_that_of_the_network_without_a_head(
    tmp_path: Path,
) -> None:
    """As in the published DeBERTa-v3."""
    folder = build_tiny_model("deberta-v2", tmp_path / "before")
    path = folder / "config.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["architectures"]
    path.write_text(json.dumps(content), encoding="utf-8")
    out = add_words(open_model(folder)).save(tmp_path / "after")
    assert open_model(out).config["architectures"] == ["DebertaV2Model"]
    assert list_failed(folder, out) == {}


CONTRADICTIONS = {
    "electra": {"embedding_size": 24},
    "distilbert": {"hidden_dim": 50},
    "roberta": {"max_position_embeddings": 99},
    "deberta-v2": {"intermediate_size": 50},
    "albert": {"hidden_size": 64},
    "modernbert": {"intermediate_size": 50},
    "gpt2": {"n_positions": 99},
    "llama": {"num_key_value_heads": 4},
    "qwen2": {"intermediate_size": 50},
    "qwen3": {"head_dim": 8},
    "t5": {"num_layers": 7},
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_config_that_contradicts_the_weights_is_refused(tmp_path: Path, name: str) -> None:
    folder = build_tiny_model(name, tmp_path / "m")
    edit_json(folder / "config.json", **CONTRADICTIONS[name])
    with raises_input_error("config-mismatch") as caught:
        _ = open_model(folder).network
    assert "Error" not in caught.value.problem  # found before transformers reads the weights


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("gpt2", {"n_layer": 10**9}),
        ("gpt2", {"n_embd": 0}),
        ("gpt2", {"activation_function": "magic"}),
        ("llama", {"head_dim": "8"}),
        ("llama", {"rope_parameters": [1]}),
        ("llama", {"num_key_value_heads": 0}),
        ("modernbert", {"layer_types": "full"}),
        ("modernbert", {"hidden_activation": "magic"}),
        ("albert", {"num_hidden_groups": 0}),
        ("t5", {"d_kv": -1}),
    ],
)
def test_impossible_values_are_refused(
    tmp_path: Path, name: str, changes: dict[str, object]
) -> None:
    folder = build_tiny_model(name, tmp_path / "m", tokenizer=build_wordpiece)
    edit_json(folder / "config.json", **changes)
    with pytest.raises(InputError, match=next(iter(changes))):
        _ = open_model(folder).network


# Positions, heads and abilities.


def test_positions_of_every_architecture(tmp_path: Path) -> None:
    """A text of as many tokens as the model accepts runs, a longer one does not have to."""
    for name, architecture in ARCHITECTURES.items():
        model = open_model(build_tiny_model(name, tmp_path / name))
        assert model.positions == architecture.positions, name
        ids = torch.full((1, model.positions or 1), 5)
        inputs = {"input_ids": ids}
        if name == "t5":
            inputs["decoder_input_ids"] = ids
        model.network(**inputs)


def test_positions_by_hand() -> None:
    assert count_positions({"model_type": "roberta", "max_position_embeddings": 514}) == 512
    assert count_positions({"model_type": "modernbert", "max_position_embeddings": 8192}) == 8192
    assert count_positions({"model_type": "gpt2", "n_positions": 1024}) == 1024
    assert count_positions({"model_type": "xlnet"}) is None


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("name", ENCODER_NAMES)
def test_every_encoder_gets_a_head_for_every_task(tmp_path: Path, name: str, head: str) -> None:
    model = open_model(build_tiny_model(name, tmp_path / "m"))
    first, second = (load_with_new_head(model, head, ("A", "B"), 1) for _ in range(2))
    ids = torch.tensor([[5, 6, 7, 8]])
    for network in (first, second):
        network.eval()
    for one, other in zip(
        first(input_ids=ids).to_tuple(), second(input_ids=ids).to_tuple(), strict=True
    ):
        assert torch.equal(one, other)
    body = dict(model.network.base_model.named_parameters())
    for key, value in first.base_model.named_parameters():
        assert "pooler" in key or torch.equal(value, body[key]), key


@pytest.mark.parametrize("name", DECODERS)
def test_what_a_decoder_cannot_do_is_refused_by_name(tmp_path: Path, name: str) -> None:
    model = open_model(build_tiny_model(name, tmp_path / "m"))
    assert all(one.explain(model) for one in ABILITIES.values())
    kind = ARCHITECTURES[name].network
    for ability in ("finetune", "pretrain", "extend"):
        with raises_input_error("unsuitable-model", kind):
            check_ability(model, ability)
    with raises_input_error("unsuitable-model"):
        load_with_new_head(model, "token", ("O", "B"), 1)


def test_abilities_of_encoders(tmp_path: Path) -> None:
    found = {
        name: (
            not ABILITIES["finetune"].explain(model),
            has_masked_head(model),
            not ABILITIES["extend"].explain(model),
        )
        for name in ENCODER_NAMES
        for model in [open_model(build_tiny_model(name, tmp_path / name))]
    }
    expected = dict.fromkeys(ENCODER_NAMES, (True, True, False)) | {"bert": (True, True, True)}
    assert found == expected
    detector = open_model(build_tiny_model("electra-discriminator", tmp_path / "detector"))
    assert not ABILITIES["finetune"].explain(detector)
    assert ABILITIES["pretrain"].explain(detector)


def test_the_listed_encoders_have_all_heads_in_transformers() -> None:
    from transformers.models.auto import modeling_auto

    from vocadapt.models import exbert

    for table in (
        modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES,
    ):
        assert ENCODERS - {MODEL_TYPE} <= set(table)
    assert tuple(exbert.HEADS) == EXTENDABLE
