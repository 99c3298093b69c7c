"""Vocabulary packs: made from adapted models, applied, and removed to the byte."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tests.material.architectures import build_tiny_model
from tests.material.files import edit_json
from tests.material.packs import CHEMICAL, MEDICAL, adapt_words, build_pack, hash_folder
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.errors import InputError
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
        header[name] = {
            "shape": shape,
            "dtype": "F32",
            "data_offsets": [begin, begin + len(raw)],
        }
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
def test_a_pack_is_applied_and_removed_to_the_byte(tmp_path: Path, kind: str) -> None:
    base = BASES[kind](tmp_path / "base")
    before = hash_folder(base)
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
    assert remove_pack(edit.after, "medical", tmp_path / "restored") is None
    assert hash_folder(tmp_path / "restored") == before
    assert hash_folder(base) == before


def test_the_whole_certificate_of_a_model_with_two_packs(tiny_bert: Path, tmp_path: Path) -> None:
    for name, words in (("medical", MEDICAL), ("chemical", CHEMICAL)):
        pack = build_pack(tiny_bert, words, tmp_path, name)
        model = tmp_path / "medical" if name == "chemical" else tiny_bert
        apply_pack(open_model(model), pack, tmp_path / name)
    certificate = certify(open_model(tiny_bert), open_model(tmp_path / "chemical"))
    assert [check.name for check in certificate.checks] == list(CHECKS)
    assert certificate.passed, certificate.to_dict()


@pytest.fixture(scope="module")
def packs(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, VocabularyPack]:
    """Two packs of the tiny model with a word in common; read only."""
    place = tmp_path_factory.mktemp("packs")
    words = {"medical": MEDICAL, "chemical": CHEMICAL}
    return {name: build_pack(tiny_bert, words[name], place, name) for name in words}


@pytest.mark.parametrize("order", [("medical", "chemical"), ("chemical", "medical")])
def test_two_packs_in_both_orders(
    tiny_bert: Path, tmp_path: Path, packs: dict[str, VocabularyPack], order: tuple[str, str]
) -> None:
    first, second = (packs[name] for name in order)
    base = open_model(tiny_bert)
    apply_pack(base, first, tmp_path / "one")
    result = apply_pack(open_model(tmp_path / "one"), second, tmp_path / "two")

    # 1. Ids follow the order of the packs; the word that both have keeps the first embedding.
    both = open_model(tmp_path / "two")
    only_second = [token for token in second.tokens if token not in first.tokens]
    assert both.vocabulary.tokens == (*base.vocabulary.tokens, *first.tokens, *only_second)
    assert dict(result.shared) == {first.name: (), second.name: ("hyperoxia",)}
    assert result.to_dict()["shared"] == {second.name: 1}
    for pack in (second, first):  # so that a shared word is compared with the first
        matrix = np.frombuffer(pack.rows[EMBEDDINGS].data, "<f4").reshape(len(pack.tokens), -1)
        for token, row in zip(pack.tokens, matrix, strict=True):
            expected = token != "hyperoxia" or pack is first
            assert np.array_equal(both.space[token], row) == expected
    assert both.fast_tokenizer.encode("benzene euthymia", add_special_tokens=False).tokens == [
        "benzene",
        "euthymia",
    ]

    # 2. Without the first, the second is as if it had been applied alone: with its own embedding of
    #    the word that both have, and ids without gaps.
    remove_pack(both, first.name, tmp_path / "left")
    apply_pack(base, second, tmp_path / "alone")
    assert hash_folder(tmp_path / "left") == hash_folder(tmp_path / "alone")

    # 3. Without the second, the first is alone; without both, the base is there again.
    remove_pack(both, second.name, tmp_path / "first")
    assert hash_folder(tmp_path / "first") == hash_folder(tmp_path / "one")
    remove_pack(open_model(tmp_path / "left"), "", tmp_path / "restored")
    assert hash_folder(tmp_path / "restored") == hash_folder(tiny_bert)


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
        found[name] = {role: rows.shape for role, rows in pack.rows.items()}
    assert found["headless"] == {EMBEDDINGS: (3, 16)}
    assert found["tied"] == {EMBEDDINGS: (3, 16), OUTPUT_BIAS: (3,)}
    assert found["untied"] == {EMBEDDINGS: (3, 16), OUTPUT: (3, 16), OUTPUT_BIAS: (3,)}


def test_a_pack_without_a_head_gets_output_rows_of_the_base(tmp_path: Path) -> None:
    """Its embeddings are not those of an output layer: the mean of the pieces is."""
    base = open_model(untied(tmp_path / "base"))
    pack = build_pack(base.path, MEDICAL, tmp_path / "pack", "a")
    pack = replace(pack, rows={EMBEDDINGS: pack.rows[EMBEDDINGS]})
    apply_pack(base, pack, tmp_path / "out")
    after = open_model(tmp_path / "out").network
    for values in (get_output_layer(after).weight, get_output_bias(after)):
        for place, (_, pieces, _) in enumerate(pack.plan["added_tokens"], start=-3):
            ids = [base.vocabulary.ids[piece] for piece in pieces]
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
    result = apply_pack(open_model(base), pack, tmp_path / "applied")
    new = load_file(tmp_path / "applied" / "model.safetensors")[
        "bert.embeddings.word_embeddings.weight"
    ]
    tokens = len(open_model(base).vocabulary)
    assert (result.matrix.filled, len(new)) == (3, 192)
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
    bare = replace(pack, rows={EMBEDDINGS: pack.rows[EMBEDDINGS]})
    apply_pack(open_model(base), bare, tmp_path / "bare")
    after = load_file(tmp_path / "bare" / "model.safetensors")
    assert after["cls.predictions.bias"][-3:].tolist() == [0, 0, 0]


def test_the_demo_model(tmp_path: Path) -> None:
    before = hash_folder(DEMO)
    pack = build_pack(DEMO, ("tachycardia", "euthymia"), tmp_path, "medical")
    apply_pack(open_model(DEMO), pack, tmp_path / "applied")
    remove_pack(open_model(tmp_path / "applied"), "", tmp_path / "restored")
    expected = {name: digest for name, digest in before.items() if name != "manifest.json"}
    assert hash_folder(tmp_path / "restored") == expected


def test_an_adapted_model_as_a_base(tiny_bert: Path, tmp_path: Path) -> None:
    """Its own record, card and original tokenizer come back, too."""
    base = adapt_words(tiny_bert, ("benzene",), tmp_path / "base")
    before = hash_folder(base)
    pack = build_pack(base, MEDICAL, tmp_path, "medical")
    apply_pack(open_model(base), pack, tmp_path / "applied")
    remove_pack(open_model(tmp_path / "applied"), "medical", tmp_path / "restored")
    assert hash_folder(tmp_path / "restored") == before


def test_insertion_and_exact_words_on_one_base(tiny_bert: Path, tmp_path: Path) -> None:
    inserted = build_pack(tiny_bert, ("tachycardia",), tmp_path, "inserted", "insertion")
    exact = build_pack(tiny_bert, ("tachycardiac", "tachycardia"), tmp_path, "exact")
    apply_pack(open_model(tiny_bert), inserted, tmp_path / "one")
    result = apply_pack(open_model(tmp_path / "one"), exact, tmp_path / "two")
    both = open_model(tmp_path / "two")
    encode = both.fast_tokenizer.encode
    assert encode("tachycardiac", add_special_tokens=False).tokens == ["tachycardiac"]
    assert encode("tachycardias", add_special_tokens=False).tokens == ["tachycardia", "##s"]
    assert result.hidden == {"inserted": (), "exact": ()}
    assert certify(open_model(tiny_bert), both).passed


def test_the_record_and_the_card_name_the_packs(
    tiny_bert: Path, tmp_path: Path, packs: dict[str, VocabularyPack]
) -> None:
    apply_pack(open_model(tiny_bert), packs["medical"], tmp_path / "one")
    apply_pack(open_model(tmp_path / "one"), packs["chemical"], tmp_path / "two")
    record = json.loads((tmp_path / "two" / "vocadapt.json").read_text())
    assert [one["name"] for one in record["packs"]["applied"]] == ["medical", "chemical"]
    assert record["packs"]["applied"][1]["shared"] == ["hyperoxia"]
    assert record["plan"]["added"] == 5 == len(record["provenance"]["tokens"])
    assert [token for token, *_ in record["plan"]["added_tokens"]] == [
        *MEDICAL,
        "benzene",
        "toluene",
    ]
    card = (tmp_path / "two" / "README.md").read_text()
    assert "the vocabulary packs `medical, chemical`" in card and "with 5 more words" in card
    with safe_open(tmp_path / "two" / "packs" / "medical.safetensors", "np") as file:
        assert set(file.keys()) == {EMBEDDINGS, OUTPUT_BIAS}


# Refusals


def test_another_base_is_named(
    make_bert: Callable[..., Path], tmp_path: Path, packs: dict[str, VocabularyPack]
) -> None:
    other = make_bert("other", dim=32)
    with pytest.raises(InputError) as caught:
        apply_pack(open_model(other), packs["medical"], tmp_path / "out")
    assert "tiny-bert (151 tokens, width 16, F32" in caught.value.problem
    assert "not for other (151 tokens, width 32, F32" in caught.value.problem


def test_a_base_with_one_changed_bit_or_another_tokenizer_is_another_base(
    tiny_bert: Path, tmp_path: Path, packs: dict[str, VocabularyPack]
) -> None:
    name = "bert.embeddings.word_embeddings.weight"
    changed = Path(shutil.copytree(tiny_bert, tmp_path / "changed"))
    tensors = load_file(changed / "model.safetensors")
    tensors[name][7, 3] = torch.nextafter(tensors[name][7, 3], torch.tensor(9.0))
    save_file(tensors, changed / "model.safetensors", {"format": "pt"})
    cased = build_tiny_bert(tmp_path / "cased", lowercase=False)
    for folder in (changed, cased):
        with pytest.raises(InputError, match="was made for"):
            apply_pack(open_model(folder), packs["medical"], tmp_path / "out")


def test_a_pack_is_applied_once(
    tiny_bert: Path, tmp_path: Path, packs: dict[str, VocabularyPack]
) -> None:
    apply_pack(open_model(tiny_bert), packs["medical"], tmp_path / "one")
    with pytest.raises(InputError, match="already has a pack named medical"):
        apply_pack(open_model(tmp_path / "one"), packs["medical"], tmp_path / "two")


def test_a_model_lacks_the_pack(
    tiny_bert: Path, tmp_path: Path, packs: dict[str, VocabularyPack]
) -> None:
    apply_pack(open_model(tiny_bert), packs["medical"], tmp_path / "one")
    apply_pack(open_model(tmp_path / "one"), packs["chemical"], tmp_path / "two")
    file = tmp_path / "file.safetensors"
    replace(packs["medical"], name="third").save(file)
    for name in ("third", str(file)):
        with pytest.raises(InputError, match="no pack named 'third'"):
            remove_pack(open_model(tmp_path / "two"), name, tmp_path / "out")
    with pytest.raises(InputError, match="has 2 packs"):
        remove_pack(open_model(tmp_path / "two"), "", tmp_path / "out")
    with pytest.raises(InputError, match="has no packs"):
        remove_pack(open_model(tiny_bert), "medical", tmp_path / "out")
    packs["medical"].save(file)
    remove_pack(open_model(tmp_path / "two"), str(file), tmp_path / "out")
    assert open_model(tmp_path / "out").vocabulary.tokens[-3:] == CHEMICAL


def test_a_model_that_was_trained_since_is_not_restored(
    tiny_bert: Path, tmp_path: Path, packs: dict[str, VocabularyPack]
) -> None:
    applied = tmp_path / "applied"
    apply_pack(open_model(tiny_bert), packs["medical"], applied)
    tensors = load_file(applied / "model.safetensors")
    tensors["bert.encoder.layer.0.output.dense.bias"] += 1
    save_file(tensors, applied / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"restored: model\.safetensors is missing or"):
        remove_pack(open_model(applied), "medical", tmp_path / "out")
    (applied / "base" / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"restored: config\.json is missing or"):
        remove_pack(open_model(applied), "medical", tmp_path / "out")


def test_a_folder_that_a_training_wrote_is_not_restored(
    tiny_bert: Path, tmp_path: Path, packs: dict[str, VocabularyPack]
) -> None:
    apply_pack(open_model(tiny_bert), packs["medical"], tmp_path / "applied")
    applied = open_model(tmp_path / "applied")
    save_trained(applied, load_network(applied), tmp_path / "trained", torch.float32, TRAINING)
    trained = open_model(tmp_path / "trained")
    assert trained.vocabulary.tokens[-3:] == MEDICAL
    for change in (
        lambda: remove_pack(trained, "", tmp_path / "out"),
        lambda: apply_pack(trained, packs["chemical"], tmp_path / "out"),
    ):
        with pytest.raises(InputError, match=r"packs/medical\.safetensors is missing"):
            change()
    # Its new embeddings make a pack again, because nothing else was trained.
    pack = make_pack(open_model(tiny_bert), trained, "again")
    assert pack.rows == packs["medical"].rows and pack.tokens == MEDICAL


@pytest.mark.parametrize(
    "names",
    [
        {"../../escaped.json": "0" * 64},
        {"/escaped.json": "0" * 64},
        {"base/.hidden.json": "0" * 64},
        {"config.json": "short"},
        {"run.py": "0" * 64},
        {"": "0" * 64},
    ],
)
def test_a_record_cannot_name_files_elsewhere(
    tiny_bert: Path,
    tmp_path: Path,
    packs: dict[str, VocabularyPack],
    names: dict[str, str],
) -> None:
    applied = tmp_path / "applied"
    apply_pack(open_model(tiny_bert), packs["medical"], applied)
    record = json.loads((applied / "vocadapt.json").read_text())
    record["packs"]["base_files"] |= names
    edit_json(applied / "vocadapt.json", packs=record["packs"])
    with pytest.raises(InputError, match="list of packs is damaged"):
        remove_pack(open_model(applied), "medical", tmp_path / "out")
    assert not list(tmp_path.rglob("escaped.json"))


def test_only_models_that_add_tokens_make_packs(tiny_bert: Path, tmp_path: Path) -> None:
    base = open_model(tiny_bert)

    def refused(folder: Path) -> str:
        with pytest.raises(InputError) as caught:
            make_pack(base, open_model(folder), "name")
        return caught.value.problem

    adapted = adapt_words(tiny_bert, MEDICAL, tmp_path / "adapted")
    # 1. Replaced embeddings, and changed weights.
    replaced = adapt_words(tiny_bert, ("heart", "benzene"), tmp_path / "r", kind="replace")
    assert "changes the bert.embeddings.word_embeddings.weight of tokens" in refused(replaced)
    tensors = load_file(adapted / "model.safetensors")
    tensors["bert.encoder.layer.1.output.dense.bias"][0] += 1
    changed = Path(shutil.copytree(adapted, tmp_path / "changed"))
    save_file(tensors, changed / "model.safetensors", {"format": "pt"})
    assert "the tensor bert.encoder.layer.1.output.dense.bias" in refused(changed)
    # 2. Another setting, another head, no record, no new token.
    edit_json(Path(shutil.copytree(adapted, tmp_path / "set")) / "config.json", hidden_act="relu")
    assert "differs from tiny-bert in hidden_act of its config" in refused(tmp_path / "set")
    tagging = adapt_words(tagger(tmp_path / "tagger"), MEDICAL, tmp_path / "tagging")
    assert "its class, BertForTokenClassification" in refused(tagging)
    bare = Path(shutil.copytree(adapted, tmp_path / "bare"))
    (bare / "vocadapt.json").unlink()
    assert "it has no vocadapt.json" in refused(bare)
    shutil.copyfile(bare / "config.json", tmp_path / "config.json")
    same = Path(shutil.copytree(tiny_bert, tmp_path / "same"))
    shutil.copyfile(adapted / "vocadapt.json", same / "vocadapt.json")
    assert refused(same) == "same adds no token to tiny-bert."


@pytest.mark.parametrize(
    ("name", "padded_to"), [("roberta", 1), ("modernbert", 64), ("gpt2", 1), ("llama", 1)]
)
def test_byte_level_models_with_two_packs(tmp_path: Path, name: str, padded_to: int) -> None:
    """Encoders and decoders, tied, untied and padded: exact words of byte-level BPE."""
    base = build_tiny_model(name, tmp_path / "base", padded_to=padded_to)
    before = hash_folder(base)
    medical = build_pack(base, MEDICAL, tmp_path, "medical")
    chemical = build_pack(base, CHEMICAL, tmp_path, "chemical")
    apply_pack(open_model(base), medical, tmp_path / "one")
    result = apply_pack(open_model(tmp_path / "one"), chemical, tmp_path / "two")
    assert result.to_dict()["shared"] == {"chemical": 1} and result.to_dict()["hidden"] == {}
    edit = Edit(open_model(base), open_model(tmp_path / "two"))
    results = {check: CHECKS[check](edit) for check in CHECKS if check != "reload"}
    assert {check: detail for check, (passed, detail) in results.items() if not passed} == {}
    card = (tmp_path / "two" / "README.md").read_text("utf-8")
    assert FAMILIES["byte-level-bpe"].exceptions in card
    encode = edit.after.fast_tokenizer.encode
    assert encode("a benzene", add_special_tokens=False).tokens[-1] == "Ġbenzene"
    remove_pack(edit.after, "medical", tmp_path / "left")
    apply_pack(open_model(base), chemical, tmp_path / "alone")
    assert hash_folder(tmp_path / "left") == hash_folder(tmp_path / "alone")
    remove_pack(open_model(tmp_path / "left"), "chemical", tmp_path / "restored")
    assert hash_folder(tmp_path / "restored") == before


def test_models_with_removed_or_moved_tokens_make_no_packs(tiny_bert: Path, tmp_path: Path) -> None:
    base = open_model(tiny_bert)
    smaller = build_tiny_bert(
        tmp_path / "smaller", tokens=[*base.vocabulary.tokens[:-1], "tachycardia"]
    )
    (smaller / "vocadapt.json").write_text("{}")
    with pytest.raises(InputError, match="lacks 1 tokens of tiny-bert, 'cafe' first"):
        make_pack(base, open_model(smaller), "name")
    moved = list(base.vocabulary.tokens)
    moved[-2:] = moved[:-3:-1]
    build_tiny_bert(tmp_path / "moved", tokens=[*moved, "tachycardia"])
    (tmp_path / "moved" / "vocadapt.json").write_text("{}")
    with pytest.raises(InputError, match="2 tokens of tiny-bert another id"):
        make_pack(base, open_model(tmp_path / "moved"), "name")


@pytest.mark.parametrize("name", ["", ".", "a/b", "..", "-a", "a\n", " a", "a" * 101])
def test_a_pack_needs_a_name_for_a_file(tiny_bert: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of a pack"):
        make_pack(open_model(tiny_bert), open_model(tiny_bert), name)


def test_a_word_that_begins_with_a_word_of_another_pack_stays_whole(tmp_path: Path) -> None:
    """In a Unigram model the score of the longer word was computed without the shorter one: with the
    patches alone it would be split.
    """
    base = build_tiny_model("xlm-roberta", tmp_path / "base")
    before = hash_folder(base)
    short = build_pack(base, ("hyperox",), tmp_path, "short")
    long = build_pack(base, ("hyperoxia", "benzene"), tmp_path, "long")
    apply_pack(open_model(base), short, tmp_path / "one")
    result = apply_pack(open_model(tmp_path / "one"), long, tmp_path / "two")
    assert result.to_dict()["hidden"] == {}
    both = open_model(tmp_path / "two")
    assert both.vocabulary.tokens[-3:] == ("▁hyperox", "▁hyperoxia", "▁benzene")
    for word in ("hyperox", "hyperoxia", "benzene"):
        encoded = both.fast_tokenizer.encode(f"the {word}", add_special_tokens=False)
        assert encoded.tokens[-1] == f"▁{word}"
    edit = Edit(open_model(base), both)
    assert all(CHECKS[name](edit)[0] for name in CHECKS if name != "reload")
    remove_pack(both, "short", tmp_path / "left")
    apply_pack(open_model(base), long, tmp_path / "alone")
    assert hash_folder(tmp_path / "left") == hash_folder(tmp_path / "alone")
    remove_pack(open_model(tmp_path / "left"), "long", tmp_path / "restored")
    assert hash_folder(tmp_path / "restored") == before


def test_words_that_inserted_ones_of_another_pack_hide_are_named(tmp_path: Path) -> None:
    base = build_tiny_model("xlm-roberta", tmp_path / "base")
    short = build_pack(base, ("hyperox",), tmp_path, "short", "insertion")
    long = build_pack(base, ("hyperoxia", "benzene"), tmp_path, "long")
    apply_pack(open_model(base), short, tmp_path / "one")
    result = apply_pack(open_model(tmp_path / "one"), long, tmp_path / "two")
    assert dict(result.hidden) == {"short": (), "long": ("▁hyperoxia",)}
    assert result.to_dict()["hidden"] == {"long": 1}
    record = json.loads((tmp_path / "two" / "vocadapt.json").read_text())
    assert record["packs"]["applied"][1]["hidden"] == ["▁hyperoxia"]
    assert record["plan"]["silent_tokens"] == ["▁hyperoxia"]
    passed, detail = CHECKS["added tokens reachable"](
        Edit(open_model(base), open_model(tmp_path / "two"))
    )
    assert passed and detail.startswith("2 of 3 added tokens are reachable, 1 ")
