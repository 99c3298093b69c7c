"""Vocabulary packs: made from adapted models, applied, and removed to the bit."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from tests.material.architectures import build_tiny_model
from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from tests.material.packs import MEDICAL, adapt_words, build_pack, check_restored
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.models.adapted_model import save_trained
from vocadapt.models.certificate.certificate import CHECKS, Edit, certify
from vocadapt.models.language_model import open_model
from vocadapt.models.layers import get_output_bias, get_output_layer
from vocadapt.models.loading import load_network
from vocadapt.models.packs.apply import apply_pack, remove_pack
from vocadapt.models.packs.make import identify_base, make_pack
from vocadapt.models.packs.pack import EMBEDDINGS, OUTPUT, OUTPUT_BIAS, VocabularyPack, load_pack
from vocadapt.vocabulary.families import FAMILIES

ROOT = Path(__file__).parents[2]
TRAINING = {"stage": "whole", "tokens": 100}  # as reported by a training
DEMO = ROOT / "assets" / "demo" / "models" / "demo-bert"


def untied(folder: Path) -> Path:
    return build_tiny_bert(folder, tie_word_embeddings=False)


def headless(folder: Path) -> Path:
    return build_tiny_bert(folder, head="BertModel")


def tagger(folder: Path) -> Path:
    return build_tiny_bert(folder, head="BertForTokenClassification")


def half(folder: Path) -> Path:
    """A model in bfloat16."""
    build_tiny_bert(folder)
    network = transformers.BertForMaskedLM.from_pretrained(folder, dtype=torch.bfloat16)
    network.save_pretrained(folder)
    return folder


def padded(folder: Path) -> Path:
    """A model with more rows than tokens, which hold numbers."""
    build_tiny_bert(folder)
    network = transformers.BertForMaskedLM.from_pretrained(folder)
    network.resize_token_embeddings(192)
    network.save_pretrained(folder)
    return folder


def sharded(folder: Path) -> Path:
    """A model in several files."""
    build_tiny_bert(folder)
    network = transformers.BertForMaskedLM.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    network.save_pretrained(folder, max_shard_size="20KB")
    assert len(list(folder.glob("*.safetensors"))) > 1
    return folder


def untidy(folder: Path) -> Path:
    """A model as another program may have written it: more metadata, tensors in another order and a
    tied one twice, vocab.txt, a card.
    """
    build_tiny_bert(folder)
    tensors = load_file(folder / "model.safetensors")
    tensors["cls.predictions.decoder.weight"] = tensors[
        "bert.embeddings.word_embeddings.weight"
    ].clone()
    tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"].clone()
    shuffled = sorted(tensors, key=lambda name: name[::-1])
    begin, header = 0, dict[str, object]()
    data = b""
    for name in shuffled:
        raw = tensors[name].numpy().tobytes()
        shape = list(tensors[name].shape)
        header[name] = {"shape": shape, "dtype": "F32", "data_offsets": [begin, begin + len(raw)]}
        begin += len(raw)
        data += raw
    header["__metadata__"] = {"format": "pt", "made by": "hand"}
    text = json.dumps(header, indent=1).encode()
    text += b" " * (16 + -len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    tokens = sorted(open_model(folder).vocabulary.ids.items(), key=lambda item: item[1])
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token, _ in tokens))
    (folder / "README.md").write_text("# A base\n")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text("{}")
    return folder


BASES: dict[str, Callable[[Path], Path]] = {
    "tied": build_tiny_bert,
    "untied": untied,
    "headless": headless,
    "tagger": tagger,
    "half": half,
    "padded": padded,
    "sharded": sharded,
    "untidy": untidy,
}


@pytest.mark.parametrize("kind", BASES)
def test_a_pack_is_applied_and_removed_to_the_bit(tmp_path: Path, kind: str) -> None:
    base = BASES[kind](tmp_path / "base")
    pack = build_pack(base, MEDICAL, tmp_path, "medical")
    file = tmp_path / "medical.safetensors"
    pack.save(file)

    # 1. The folder with the pack is an ordinary model folder, in which nothing else changed.
    apply_pack(open_model(base), load_pack(file), tmp_path / "applied")
    edit = Edit(open_model(base), open_model(tmp_path / "applied"))
    assert edit.added == MEDICAL
    results = {name: check(edit) for name, check in CHECKS.items() if name != "reload"}
    assert {name: detail for name, (passed, detail) in results.items() if not passed} == {}
    network = transformers.AutoModel.from_pretrained(tmp_path / "applied")
    assert type(network).__name__ == "BertModel"

    # 2. It equals the adapted model that the pack was made from.
    adapted = open_model(tmp_path / "adapted-medical")
    for name, value in adapted.network.state_dict().items():
        assert torch.equal(edit.after.network.state_dict()[name], value), name

    # 3. Without the pack it is the base again.
    rows = remove_pack(edit.after, tmp_path / "restored")
    assert (rows.tokens - rows.new_tokens, rows.new_rows) == (
        3,
        len(edit.before.network.get_input_embeddings().weight),
    )
    check_restored(base, tmp_path / "restored")


def test_the_whole_certificate(tiny_bert: Path, tmp_path: Path, pack: VocabularyPack) -> None:
    apply_pack(open_model(tiny_bert), pack, tmp_path / "applied")
    certificate = certify(open_model(tiny_bert), open_model(tmp_path / "applied"))
    assert [check.name for check in certificate.checks] == list(CHECKS)
    assert certificate.passed, certificate.to_dict()


@pytest.fixture(scope="module")
def pack(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> VocabularyPack:
    """A pack of the tiny model; read only."""
    return build_pack(tiny_bert, MEDICAL, tmp_path_factory.mktemp("packs"), "medical")


def test_a_pack_is_the_same_file_again(tiny_bert: Path, tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        build_pack(tiny_bert, MEDICAL, tmp_path / place, "medical").save(tmp_path / f"{place}.st")
    written = (tmp_path / "one.st").read_bytes()
    assert written == (tmp_path / "two.st").read_bytes()
    load_pack(tmp_path / "one.st").save(tmp_path / "three.st")
    assert written == (tmp_path / "three.st").read_bytes()


def test_a_pack_has_the_rows_of_its_tokens(tmp_path: Path) -> None:
    found = {}
    for name in ("tied", "untied", "headless"):
        pack = build_pack(BASES[name](tmp_path / name), MEDICAL, tmp_path / f"{name}-pack", "a")
        found[name] = {role: tuple(rows.shape) for role, rows in pack.tensors.items()}
    assert found["headless"] == {EMBEDDINGS: (3, 16)}
    assert found["tied"] == {EMBEDDINGS: (3, 16), OUTPUT_BIAS: (3,)}
    assert found["untied"] == {EMBEDDINGS: (3, 16), OUTPUT: (3, 16), OUTPUT_BIAS: (3,)}


def test_a_pack_without_a_head_gets_output_rows_of_the_base(tmp_path: Path) -> None:
    """Its embeddings are not those of an output layer: the mean of the pieces is."""
    base = open_model(untied(tmp_path / "base"))
    pack = build_pack(base.path, MEDICAL, tmp_path / "pack", "a")
    pack = replace(pack, tensors={EMBEDDINGS: pack.tensors[EMBEDDINGS]})
    apply_pack(base, pack, tmp_path / "out")
    after = open_model(tmp_path / "out").network
    for values in (get_output_layer(after).weight, get_output_bias(after)):
        for place, word in enumerate(pack.words, start=-3):
            ids = [base.vocabulary.ids[piece] for piece in word.pieces]
            assert torch.allclose(values[place], values[ids].mean(dim=0), atol=1e-7)


def test_trained_output_rows_and_biases_of_new_tokens_are_kept(tmp_path: Path) -> None:
    """Rows of the output layer that differ from the embeddings, as after training them."""
    base = untied(tmp_path / "base")
    adapted = adapt_words(base, MEDICAL, tmp_path / "adapted")
    tensors = load_file(adapted / "model.safetensors")
    weight, *biases = (
        f"cls.predictions.{one}" for one in ("decoder.weight", "decoder.bias", "bias")
    )
    tensors[weight][-3:] = torch.randn(3, 16)
    for name in biases:
        tensors[name][-3:] = torch.tensor([0.5, -1.0, 2.0])
    save_file(tensors, adapted / "model.safetensors", {"format": "pt"})
    pack = make_pack(open_model(base), open_model(adapted), "trained")
    apply_pack(open_model(base), pack, tmp_path / "applied")
    after = load_file(tmp_path / "applied" / "model.safetensors")
    for name in (weight, *biases):
        assert torch.equal(after[name], tensors[name])


def test_free_rows_are_taken_first_and_restored(tmp_path: Path) -> None:
    base = padded(tmp_path / "base")
    old = load_file(base / "model.safetensors")["bert.embeddings.word_embeddings.weight"]
    pack = build_pack(base, MEDICAL, tmp_path, "medical")
    rows = apply_pack(open_model(base), pack, tmp_path / "applied")
    new = load_file(tmp_path / "applied" / "model.safetensors")[
        "bert.embeddings.word_embeddings.weight"
    ]
    tokens = len(open_model(base).vocabulary)
    assert (rows.filled, len(new)) == (3, 192)
    assert torch.equal(new[tokens + 3 :], old[tokens + 3 :])
    assert not torch.equal(new[tokens : tokens + 3], old[tokens : tokens + 3])


def test_a_pack_fits_its_base_with_another_head(tmp_path: Path) -> None:
    base = build_tiny_bert(tmp_path / "base")
    other = Path(shutil.copytree(base, tmp_path / "other"))
    transformers.BertModel.from_pretrained(base).save_pretrained(other)
    assert identify_base(open_model(base)).sha256 == identify_base(open_model(other)).sha256
    pack = build_pack(base, MEDICAL, tmp_path, "medical")
    apply_pack(open_model(other), pack, tmp_path / "applied")
    assert certify(open_model(other), open_model(tmp_path / "applied")).passed
    # A pack without a head gives a tied head its embeddings, and biases of zero.
    bare = replace(pack, tensors={EMBEDDINGS: pack.tensors[EMBEDDINGS]})
    apply_pack(open_model(base), bare, tmp_path / "bare")
    after = load_file(tmp_path / "bare" / "model.safetensors")
    assert after["cls.predictions.bias"][-3:].tolist() == [0, 0, 0]


def test_the_demo_model(tmp_path: Path) -> None:
    pack = build_pack(DEMO, ("tachycardia", "euthymia"), tmp_path, "medical")
    apply_pack(open_model(DEMO), pack, tmp_path / "applied")
    remove_pack(open_model(tmp_path / "applied"), tmp_path / "restored")
    check_restored(DEMO, tmp_path / "restored")


def test_an_adapted_model_as_a_base(tiny_bert: Path, tmp_path: Path) -> None:
    """Its own record, card and original tokenizer come back, too."""
    base = adapt_words(tiny_bert, ("benzene",), tmp_path / "base")
    pack = build_pack(base, MEDICAL, tmp_path, "medical")
    apply_pack(open_model(base), pack, tmp_path / "applied")
    remove_pack(open_model(tmp_path / "applied"), tmp_path / "restored")
    check_restored(base, tmp_path / "restored")
    for name in ("vocadapt.json", "README.md", "base/tokenizer.json"):
        assert (tmp_path / "restored" / name).read_bytes() == (base / name).read_bytes()


def test_the_record_and_the_card_name_the_pack(
    tiny_bert: Path, tmp_path: Path, pack: VocabularyPack
) -> None:
    apply_pack(open_model(tiny_bert), pack, tmp_path / "one")
    record = json.loads((tmp_path / "one" / "vocadapt.json").read_text())
    assert (record["pack"]["name"], record["pack"]["rows"]) == ("medical", 151)
    assert record["plan"]["added"] == 3 == len(record["provenance"]["tokens"])
    assert [token for token, *_ in record["plan"]["added_tokens"]] == list(MEDICAL)
    card = (tmp_path / "one" / "README.md").read_text()
    assert "`medical`" in card


# Refusals


def test_another_base_is_named(
    make_bert: Callable[..., Path], tmp_path: Path, pack: VocabularyPack
) -> None:
    other = open_model(make_bert("other", dim=32))
    assert (pack.base.width, identify_base(other).width) == (16, 32)
    with raises_input_error("other-base-model", str(pack.base), str(identify_base(other))):
        apply_pack(other, pack, tmp_path / "out")


def test_a_base_with_one_changed_bit_or_another_tokenizer_is_another_base(
    tiny_bert: Path, tmp_path: Path, pack: VocabularyPack
) -> None:
    name = "bert.embeddings.word_embeddings.weight"
    changed = Path(shutil.copytree(tiny_bert, tmp_path / "changed"))
    tensors = load_file(changed / "model.safetensors")
    tensors[name][7, 3] = torch.nextafter(tensors[name][7, 3], torch.tensor(9.0))
    save_file(tensors, changed / "model.safetensors", {"format": "pt"})
    cased = build_tiny_bert(tmp_path / "cased", lowercase=False)
    for folder in (changed, cased):
        with raises_input_error("other-base-model"):
            apply_pack(open_model(folder), pack, tmp_path / "out")


def test_a_model_has_one_pack(tiny_bert: Path, tmp_path: Path, pack: VocabularyPack) -> None:
    apply_pack(open_model(tiny_bert), pack, tmp_path / "one")
    for other in (pack, replace(pack, name="other")):
        with raises_input_error("second-pack", "medical"):
            apply_pack(open_model(tmp_path / "one"), other, tmp_path / "two")
    with raises_input_error("no-pack"):
        remove_pack(open_model(tiny_bert), tmp_path / "out")


def test_a_changed_model_is_not_restored(
    tiny_bert: Path, tmp_path: Path, pack: VocabularyPack
) -> None:
    """A weight, a token of the base, or a missing folder: the digests detect each."""
    apply_pack(open_model(tiny_bert), pack, tmp_path / "applied")

    def refuse(name: str, change: Callable[[Path], object]) -> None:
        folder = Path(shutil.copytree(tmp_path / "applied", tmp_path / name))
        change(folder)
        with raises_input_error("changed-model"):
            remove_pack(open_model(folder), tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def change_weight(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        tensors["bert.encoder.layer.0.output.dense.bias"] += 1
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})

    def change_token(folder: Path) -> None:
        file = folder / "base" / "tokenizer.json"
        file.write_text(file.read_text().replace('"heart"', '"haert"'))

    refuse("weight", change_weight)
    refuse("token", change_token)
    refuse("folder", lambda folder: shutil.rmtree(folder / "base"))


def test_free_rows_that_were_changed_are_detected(tmp_path: Path) -> None:
    base = padded(tmp_path / "base")
    applied = tmp_path / "applied"
    apply_pack(open_model(base), build_pack(base, MEDICAL, tmp_path, "medical"), applied)
    file = applied / "base" / "free_rows.safetensors"
    kept = load_file(file)
    changes: tuple[Callable[[], object], ...] = (
        lambda: save_file({name: value + 1 for name, value in kept.items()}, file),
        lambda: save_file({name: value[:, None] for name, value in kept.items()}, file),
        lambda: file.write_bytes(b"short"),
        file.unlink,
    )
    for change in changes:
        change()
        with raises_input_error("changed-model"):
            remove_pack(open_model(applied), tmp_path / "out")


def test_a_folder_that_a_training_wrote_is_not_restored(
    tiny_bert: Path, tmp_path: Path, pack: VocabularyPack
) -> None:
    apply_pack(open_model(tiny_bert), pack, tmp_path / "applied")
    applied = open_model(tmp_path / "applied")
    loaded = load_network(applied)
    save_trained(applied, loaded, tmp_path / "same", torch.float32, TRAINING)
    # Its new embeddings make a pack again, because nothing else was trained.
    again = make_pack(open_model(tiny_bert), open_model(tmp_path / "same"), "again")
    assert again.tokens == MEDICAL
    assert torch.equal(again.tensors[EMBEDDINGS], pack.tensors[EMBEDDINGS])
    with torch.no_grad():
        loaded.network.get_input_embeddings().weight += 1
    save_trained(applied, loaded, tmp_path / "trained", torch.float32, TRAINING)
    with raises_input_error("changed-model"):
        remove_pack(open_model(tmp_path / "trained"), tmp_path / "out")


@pytest.mark.parametrize(
    "change",
    [{"rows": "151"}, {"rows": True}, {"name": None}, {"weights": 1}, {"base": []}, {"more": 1}],
)
def test_a_damaged_record_is_refused(
    tiny_bert: Path, tmp_path: Path, pack: VocabularyPack, change: dict[str, object]
) -> None:
    applied = tmp_path / "applied"
    apply_pack(open_model(tiny_bert), pack, applied)
    record = json.loads((applied / "vocadapt.json").read_text())
    edit_json(applied / "vocadapt.json", pack=record["pack"] | change)
    with raises_input_error("damaged-record"):
        remove_pack(open_model(applied), tmp_path / "out")
    for rows in (-1, 0, 10**12):
        edit_json(applied / "vocadapt.json", pack=record["pack"] | {"rows": rows})
        with raises_input_error("changed-model"):
            remove_pack(open_model(applied), tmp_path / "out")


def test_only_models_that_add_tokens_make_packs(tiny_bert: Path, tmp_path: Path) -> None:
    base = open_model(tiny_bert)

    adapted = adapt_words(tiny_bert, MEDICAL, tmp_path / "adapted")
    # 1. Replaced embeddings, and changed weights.
    replaced = adapt_words(tiny_bert, ("heart", "benzene"), tmp_path / "r", kind="replace")
    with raises_input_error("changed-token-tensor", "bert.embeddings.word_embeddings.weight"):
        make_pack(base, open_model(replaced), "name")
    bias = "bert.encoder.layer.1.output.dense.bias"
    tensors = load_file(adapted / "model.safetensors")
    tensors[bias][0] += 1
    changed = Path(shutil.copytree(adapted, tmp_path / "changed"))
    save_file(tensors, changed / "model.safetensors", {"format": "pt"})
    with raises_input_error("other-network", bias):
        make_pack(base, open_model(changed), "name")
    # 2. Another setting, another head, no record, no new token.
    edit_json(Path(shutil.copytree(adapted, tmp_path / "set")) / "config.json", hidden_act="relu")
    with raises_input_error("other-network", "hidden_act"):
        make_pack(base, open_model(tmp_path / "set"), "name")
    tagging = adapt_words(tagger(tmp_path / "tagger"), MEDICAL, tmp_path / "tagging")
    with raises_input_error("other-network", "BertForTokenClassification"):
        make_pack(base, open_model(tagging), "name")
    bare = Path(shutil.copytree(adapted, tmp_path / "bare"))
    (bare / "vocadapt.json").unlink()
    with raises_input_error("not-adapted", "vocadapt.json"):
        make_pack(base, open_model(bare), "name")
    shutil.copyfile(bare / "config.json", tmp_path / "config.json")
    same = Path(shutil.copytree(tiny_bert, tmp_path / "same"))
    shutil.copyfile(adapted / "vocadapt.json", same / "vocadapt.json")
    with raises_input_error("no-added-tokens", "same", "tiny-bert"):
        make_pack(base, open_model(same), "name")


@pytest.mark.parametrize(
    ("name", "padded_to"), [("roberta", 1), ("modernbert", 64), ("gpt2", 1), ("llama", 1)]
)
def test_byte_level_models(tmp_path: Path, name: str, padded_to: int) -> None:
    """Encoders and decoders, tied, untied and padded: exact words of byte-level BPE."""
    base = build_tiny_model(name, tmp_path / "base", padded_to=padded_to)
    pack = build_pack(base, MEDICAL, tmp_path, "medical")
    apply_pack(open_model(base), pack, tmp_path / "applied")
    edit = Edit(open_model(base), open_model(tmp_path / "applied"))
    results = {check: CHECKS[check](edit) for check in CHECKS if check != "reload"}
    assert {check: detail for check, (passed, detail) in results.items() if not passed} == {}
    card = (tmp_path / "applied" / "README.md").read_text("utf-8")
    assert FAMILIES["byte-level-bpe"].exceptions in card
    encode = edit.after.fast_tokenizer.encode
    assert encode("a euthymia", add_special_tokens=False).tokens[-1] == "Ġeuthymia"
    remove_pack(edit.after, tmp_path / "restored")
    check_restored(base, tmp_path / "restored")


def test_words_that_were_added_in_two_ways_make_no_pack(tiny_bert: Path, tmp_path: Path) -> None:
    first = adapt_words(tiny_bert, ("tachycardia",), tmp_path / "first", "insertion")
    second = adapt_words(first, ("hyperoxia",), tmp_path / "second")
    with raises_input_error("other-tokenizer", "2 tokens"):
        make_pack(open_model(tiny_bert), open_model(second), "both")


def test_words_that_were_added_in_turn_make_one_pack(tmp_path: Path) -> None:
    """A Unigram tokenizer computes the score of a new word from those that it has."""
    base = build_tiny_model("xlm-roberta", tmp_path / "base")
    first = adapt_words(base, ("hyperox",), tmp_path / "first")
    second = open_model(adapt_words(first, ("hyperoxia", "benzene"), tmp_path / "second"))
    apply_pack(open_model(base), make_pack(open_model(base), second, "both"), tmp_path / "applied")
    applied = open_model(tmp_path / "applied")
    assert applied.fast_tokenizer.to_str() == second.fast_tokenizer.to_str()


def test_models_with_removed_or_moved_tokens_make_no_packs(tiny_bert: Path, tmp_path: Path) -> None:
    base = open_model(tiny_bert)
    smaller = build_tiny_bert(
        tmp_path / "smaller", tokens=[*base.vocabulary.tokens[:-1], "tachycardia"]
    )
    (smaller / "vocadapt.json").write_text("{}")
    with raises_input_error("removed-tokens", "1 tokens", "cafe"):
        make_pack(base, open_model(smaller), "name")
    moved = list(base.vocabulary.tokens)
    moved[-2:] = moved[:-3:-1]
    build_tiny_bert(tmp_path / "moved", tokens=[*moved, "tachycardia"])
    (tmp_path / "moved" / "vocadapt.json").write_text("{}")
    with raises_input_error("moved-tokens", "2 tokens"):
        make_pack(base, open_model(tmp_path / "moved"), "name")


@pytest.mark.parametrize("name", ["", ".", "a/b", "..", "-a", "a\n", " a", "a" * 101])
def test_a_pack_needs_a_name_for_a_file(tiny_bert: Path, name: str) -> None:
    with raises_input_error("invalid-name"):
        make_pack(open_model(tiny_bert), open_model(tiny_bert), name)
