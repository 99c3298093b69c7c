"""The exBERT network: equal to BERT if all gates are open, the published sizes, and saving and
loading with every head."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers

from tests.material.finetuning import one_thread
from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.models.add_extension import add_extension, list_gates, open_gates
from vocadapt.models.exbert import AUTO, HEADS, ExBertConfig, ExBertForMaskedLM, ExBertModel
from vocadapt.models.extension_size import (
    SIZES,
    ModuleSettings,
    ModuleSize,
    compute_gate_bias,
    is_extension_tensor,
)
from vocadapt.models.loading import align_memory

BASE = {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12}
SMALL = transformers.BertConfig(
    vocab_size=50,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=96,
    max_position_embeddings=32,
)
S3 = ModuleSettings("s3")


@pytest.fixture(autouse=True)
def _small():
    torch.manual_seed(3)
    with one_thread():
        yield


def bert(head="BertForMaskedLM", **changes):
    """A small BERT of that class whose biases are no zeros."""
    config = transformers.BertConfig(**{**SMALL.to_dict(), **changes})
    network = getattr(transformers, head)(config).eval()
    with torch.no_grad():
        for name, value in network.named_parameters():
            if name.endswith("bias"):
                value.normal_()
    return network


def inputs():
    ids = torch.randint(0, 50, (3, 17))
    mask = torch.ones_like(ids)
    mask[0, 9:] = 0
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": (torch.arange(17) > 5).long().expand(3, 17),
    }


def answers(network, given, **options):
    with torch.no_grad():
        return [part for part in network(**given, **options).to_tuple() if torch.is_tensor(part)]


def same(left, right):
    return len(left) == len(right) and all(
        torch.equal(a, b) for a, b in zip(left, right, strict=True)
    )


@pytest.mark.parametrize(
    ("size", "hidden", "intermediate", "share"),
    [
        ("s1", 120, 512, 0.1637),
        ("s2", 180, 720, 0.2349),
        ("s3", 252, 1024, 0.3320),
        ("s4", 504, 2048, 0.6634),
        ("s5", 768, 3072, 1),
    ],
)
def test_the_published_sizes_at_the_width_of_bert_base(size, hidden, intermediate, share):
    found = ModuleSize.from_settings(ModuleSettings(size), BASE)
    assert (found.hidden, found.intermediate) == (hidden, intermediate)
    assert round(found.share, 4) == share
    with torch.device("meta"):
        network = ExBertModel(
            ExBertConfig(extension_hidden_size=hidden, extension_intermediate_size=intermediate)
        )
    own = sum(
        value.numel() for name, value in network.named_parameters() if is_extension_tensor(name)
    )
    assert own == found.to_dict(12)["parameters"] == 12 * (found.parameters + 769)
    layer = sum(
        v.numel()
        for n, v in network.named_parameters()
        if ".layer.0." in f".{n}" and not is_extension_tensor(n)
    )
    assert found.share == pytest.approx(found.parameters / layer, abs=1e-12)


def test_s3_adds_28_25_million_parameters_to_bert_base():
    with torch.device("meta"):
        plain = transformers.BertForMaskedLM(transformers.BertConfig())
        made = ExBertForMaskedLM(
            ExBertConfig(extension_hidden_size=252, extension_intermediate_size=1024)
        )
    assert made.num_parameters() - plain.num_parameters() == 28_249_980


@pytest.mark.parametrize(
    ("width", "heads", "units"), [(384, 12, 120), (256, 4, 84), (16, 2, 6), (16, 16, 16)]
)
def test_units_fall_to_the_heads_in_equal_numbers(width, heads, units):
    config = {"hidden_size": width, "intermediate_size": 4 * width, "num_attention_heads": heads}
    found = ModuleSize.from_settings(S3, config)
    assert found.intermediate % 8 == 0 and abs(found.intermediate - 4 * width / 3) <= 4
    assert found.hidden % heads == 0
    assert found.hidden == {384: 120, 256: 84, 16: units}[width] == units


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("head", HEADS)
def test_with_open_gates_and_no_added_token_it_is_bert_bit_for_bit(head, attention):
    network, given = bert(head), inputs()
    network.set_attn_implementation(attention)
    expected = answers(network, given)
    made = add_extension(network, S3)
    assert type(made) is HEADS[head] and made.config._attn_implementation == attention
    with open_gates(made):
        assert same(answers(made, given), expected)
    assert not same(answers(made, given), expected)  # half of it is the untrained module's again


@pytest.mark.parametrize("head", HEADS)
def test_saved_and_loaded_it_gives_the_same(head, tmp_path):
    made, given = add_extension(bert(head), ModuleSettings("s2", gate=0.9)), inputs()
    made.save_pretrained(tmp_path)
    auto = next(auto for auto, kind in AUTO.items() if kind is type(made))
    back, report = getattr(transformers, auto).from_pretrained(tmp_path, output_loading_info=True)
    align_memory(back)
    assert type(back) is type(made) and not report["missing_keys"] and not report["unexpected_keys"]
    assert same(answers(back.eval(), given), answers(made, given))
    assert back.config.extension_hidden_size == 6 and back.config.gate_start == 0.9
    if back.get_output_embeddings() is not None:
        assert back.get_output_embeddings().weight is back.get_input_embeddings().weight


def test_a_layer_mixes_what_both_sides_give_by_a_gate_for_each_token():
    made = add_extension(bert("BertModel"), S3)
    layer, hidden = made.encoder.layer[0], torch.randn(2, 5, 24)
    with torch.no_grad():
        gate = 1 / (1 + torch.exp(-(hidden @ layer.gate.weight[0] + layer.gate.bias)))[..., None]
        own = transformers.models.bert.modeling_bert.BertLayer.forward(
            _without_extension(layer), hidden, torch.zeros(2, 1, 5, 5)
        )
        expected = gate * own + (1 - gate) * _module_by_hand(layer.extension, hidden, heads=2)
        found = layer(hidden, torch.zeros(2, 1, 5, 5))
    assert torch.allclose(found, expected, atol=1e-6)
    assert not torch.allclose(found, own, atol=1e-2)


def _without_extension(layer):
    plain = transformers.models.bert.modeling_bert.BertLayer(SMALL_SDPA).eval()
    plain.load_state_dict(
        {name: value for name, value in layer.state_dict().items() if not is_extension_tensor(name)}
    )
    return plain


SMALL_SDPA = transformers.BertConfig(**SMALL.to_dict())
SMALL_SDPA._attn_implementation = "eager"


def _module_by_hand(module, hidden, heads):
    """The layer's equations, head by head, in the units of the module."""
    attention = module.attention
    query, key, value = (part(hidden) for part in (attention.query, attention.key, attention.value))
    width = query.shape[-1] // heads
    mixed = []
    for head in range(heads):
        part = slice(head * width, (head + 1) * width)
        scores = query[..., part] @ key[..., part].transpose(1, 2) / width**0.5
        mixed.append(torch.softmax(scores, -1) @ value[..., part])
    norm = torch.nn.functional.layer_norm
    out = module.attention_output
    attended = norm(
        out.dense(torch.cat(mixed, -1)) + hidden,
        (24,),
        out.LayerNorm.weight,
        out.LayerNorm.bias,
        1e-12,
    )
    inner = torch.nn.functional.gelu(module.intermediate.dense(attended))
    end = module.output
    return norm(end.dense(inner) + attended, (24,), end.LayerNorm.weight, end.LayerNorm.bias, 1e-12)


def test_what_is_padding_does_not_matter():
    made, given = add_extension(bert("BertModel"), S3), inputs()
    before = answers(made, given)[0][0, :9]
    given["input_ids"][0, 9:] = 7
    assert torch.equal(answers(made, given)[0][0, :9], before)


@pytest.mark.parametrize("start", [0.5, 0.98])
def test_the_gates_start_at_the_given_value(start):
    made = add_extension(bert("BertModel"), ModuleSettings("s1", gate=start))
    assert [gate.bias.item() for gate in list_gates(made)] == pytest.approx(
        [compute_gate_bias(start)] * 2, abs=1e-6
    )
    made.set_attn_implementation("eager")  # the other does not give its attentions away
    found = made(**inputs(), output_gates=True, output_hidden_states=True, output_attentions=True)
    assert len(found.gates) == 2 and found.gates[0].shape == (3, 17, 1)
    assert abs(found.gates[0].mean().item() - start) < 0.1
    assert len(found.hidden_states) == 3
    assert torch.equal(found.hidden_states[-1], found.last_hidden_state)
    assert len(found.attentions) == 2


def test_the_module_is_drawn_by_its_seed_and_nothing_else():
    network = bert("BertModel").state_dict()

    def drawn(seed):
        fresh = bert("BertModel")
        fresh.load_state_dict(network)
        torch.manual_seed(torch.seed())
        return add_extension(fresh, ModuleSettings("s3", seed=seed)).state_dict()

    first, again, other = drawn(1), drawn(1), drawn(2)
    assert all(torch.equal(first[name], again[name]) for name in first)
    moved = {name for name in first if not torch.equal(first[name], other[name])}
    assert moved and all(is_extension_tensor(name) and name.endswith("weight") for name in moved)
    weights = torch.cat([first[name].flatten() for name in moved])
    assert abs(weights.std().item() - 0.02) < 0.002


def test_without_a_module_it_is_bert():
    network, given = bert(), inputs()
    expected = answers(network, given)
    made = add_extension(network, ModuleSettings(""), added=4)
    assert same(answers(made, given), expected) and not list_gates(made)
    assert made.config.extension_vocab_size == 4


def test_a_model_of_half_precision_stays_one():
    made = add_extension(bert().half(), S3)
    assert {value.dtype for value in made.parameters()} == {torch.float16}


def test_only_a_bert_that_is_not_extended_yet_can_be():
    with raises_input_error("not-a-bert", "ExBertForMaskedLM"):
        add_extension(add_extension(bert(), S3), S3)
    other = transformers.DistilBertModel(
        transformers.DistilBertConfig(vocab_size=20, dim=8, n_layers=1, n_heads=1, hidden_dim=8)
    )
    with raises_input_error("not-a-bert", "DistilBertModel"):
        add_extension(other, S3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": "s6"},
        {"size": "S3"},
        {"gate": 1.0},
        {"gate": 0.0},
        {"gate": float("nan")},
        {"seed": -1},
    ],
)
def test_settings_without_sense_are_refused(wrong):
    with pytest.raises(InputError):
        ModuleSettings(**{"size": "s3", **wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {
            "extension_hidden_size": 10,
            "extension_intermediate_size": 8,
            "num_attention_heads": 4,
            "hidden_size": 16,
        },
        {"extension_hidden_size": 12},
        {"is_decoder": True},
    ],
)
def test_a_config_without_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"extension_hidden_size|encoder"):
        ExBertConfig(**wrong)


@pytest.mark.slow
def test_where_vocadapt_is_not_imported_the_error_names_it(tmp_path, warm_process):
    add_extension(bert("BertModel"), S3).save_pretrained(tmp_path)
    code = (
        "import transformers;"
        f" print(type(transformers.AutoModel.from_pretrained({str(tmp_path)!r})).__name__)"
    )
    options = {
        "capture_output": True,
        "text": True,
        "cwd": Path(__file__).resolve().parents[2],
        "check": False,
    }
    alone = warm_process.run_script(code)
    assert alone.returncode and "vocadapt-exbert" in alone.stderr
    known = subprocess.run(
        [sys.executable, "-c", f"import vocadapt.models.exbert; {code}"], **options
    )
    assert known.stdout.strip() == "ExBertModel"


def test_every_size_says_what_it_is():
    assert list(SIZES) == ["s1", "s2", "s3", "s4", "s5"]
    assert all(size.about for size in SIZES.values())
