"""Faults of other vocabulary tools, each a test here: reference/transfer-systems.md, section 3, by
its numbers.

8 is also in test_initializers: every initializer gives embeddings. 7 (exBERT's weights cannot be
loaded back) waits for the extension module.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import AddedToken, Tokenizer, models

from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from tests.material.tiny_bert import SPECIAL, TINY_TOKENS, build_tiny_bert
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import FAMILIES, read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary, build_tokenizer
from vocadapt.vocabulary.initializers.initialize import (
    InitializerSettings,
    Materials,
    NewEmbeddings,
    initialize,
)
from vocadapt.vocabulary.initializers.materials import Provenance
from vocadapt.vocabulary.plan.augmentation import AUGMENTATIONS, AugmentationMaterials, propose
from vocadapt.vocabulary.plan.plan import AddedWord, PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary

WORDPIECE = FAMILIES["wordpiece"]

TOKENS = (*TINY_TOKENS, "cake", "##cake", "graft", "##hyper", "##oo", "oma")
UNCASED = Splitter.bert()


def cut(tokenizer: Tokenizer, text: str) -> list[str]:
    tokens: list[str] = tokenizer.encode(text, add_special_tokens=False).tokens
    return tokens


def saved(
    model: LanguageModel,
    plan: VocabularyPlan,
    out: Path,
    mode: str,
    matrix: np.ndarray | None = None,
) -> LanguageModel:
    """The model after a plan, read back; rows of ones where none are given."""
    made = np.ones((len(plan.new_embeddings), model.dim), np.float32) if matrix is None else matrix
    rows = NewEmbeddings(plan.new_embeddings, made, (Provenance("test"),) * len(made))
    return open_model(apply_plan(model, plan, rows, mode).save(out))


def rows_of(model: LanguageModel) -> torch.Tensor:
    return model.network.get_input_embeddings().weight.detach()


def test_1_ids_close_up_when_tokens_are_removed_and_each_embedding_keeps_its_token(
    tiny_bert: Path, tmp_path: Path
) -> None:
    """Elsewhere rows move up and the ids of the tokenizer's file do not."""
    model = open_model(tiny_bert)
    going = {"!", "heart", "##ed"}
    order = ("tachycardia", *(token for token in TINY_TOKENS if token not in going))
    plan = VocabularyPlan(model.vocabulary, (AddedWord("tachycardia", ()),), order=order)
    after = saved(model, plan, tmp_path / "out", "replacement")
    stored = json.loads((tmp_path / "out/tokenizer.json").read_text(encoding="utf-8"))["model"][
        "vocab"
    ]
    assert sorted(stored.values()) == list(range(len(TINY_TOKENS) - 3 + 1))
    assert not going & set(stored)
    assert stored.pop("tachycardia") == 0
    for token, i in stored.items():
        assert torch.equal(rows_of(after)[i], rows_of(model)[TINY_TOKENS.index(token)])


def test_3_ids_in_the_configuration_move_with_their_tokens(
    make_bert: Callable[..., Path], tmp_path: Path
) -> None:
    """Elsewhere decoder_start_token_id and others keep their old ids, some beyond the matrix."""
    ids = {
        "sep_token_id": "[SEP]",
        "mask_token_id": "[MASK]",
        "decoder_start_token_id": "[CLS]",
        "eos_token_id": "[SEP]",
    }
    folder = make_bert()
    edit_json(
        folder / "config.json", **{key: TINY_TOKENS.index(token) for key, token in ids.items()}
    )
    model = open_model(folder)
    rest = [token for token in TINY_TOKENS if token not in SPECIAL and token != "heart"]
    added = (AddedWord("tachycardia", ()),)
    plan = VocabularyPlan(model.vocabulary, added, order=(*rest, "tachycardia", *reversed(SPECIAL)))
    after = saved(model, plan, tmp_path / "out", "replacement")
    config = json.loads((tmp_path / "out/config.json").read_text(encoding="utf-8"))
    for key, token in {**ids, "pad_token_id": "[PAD]"}.items():
        assert config[key] == after.vocabulary.ids[token] < len(rows_of(after)), key
    assert after.tokenizer("the pain").input_ids[0] == after.vocabulary.ids["[CLS]"]


@pytest.mark.parametrize(
    ("added", "word", "fault", "rule"),
    [
        ("moom", "moomcake", ["moom", "cake"], ["m", "##oo", "##m", "##cake"]),
        ("grafts", "graftss", ["grafts", "s"], ["graft", "##s", "##s"]),
        ("hyper", "hyperhyper", ["hyper", "hyper"], ["hyper", "##hyper"]),
    ],
)
def test_4_an_added_token_does_not_split_the_words_that_contain_it(
    added: str, word: str, fault: list[str], rule: list[str]
) -> None:
    """Elsewhere added tokens are matched before WordPiece, wherever they stand, and what is left
    begins a word anew.
    """
    old = build_tokenizer(TOKENS)
    plain = build_tokenizer(TOKENS)
    plain.add_tokens([AddedToken(added)])
    assert cut(plain, word) == fault
    assert cut(old, word) == rule == cut(WORDPIECE.add_exact_words(old, [added]), word)


def test_4_a_shorter_added_token_leaves_a_longer_word_alone() -> None:
    """Elsewhere "graft" makes graft + s of "grafts"."""
    tokens = (*(token for token in TOKENS if token != "graft"), "grafts")
    old = build_tokenizer(tokens)
    assert cut(WORDPIECE.add_exact_words(old, ["graft"]), "Grafts, graft.") == [
        "grafts",
        ",",
        "graft",
        ".",
    ]


def test_4_no_blank_is_eaten_around_an_added_word() -> None:
    text = "pain moom pain  moom,moom"
    encoding = WORDPIECE.add_exact_words(build_tokenizer(TOKENS), ["moom"]).encode(
        text, add_special_tokens=False
    )
    assert [text[start:end] for start, end in encoding.offsets] == [
        "pain",
        "moom",
        "pain",
        "moom",
        ",",
        "moom",
    ]


def test_4_words_within_the_wordpiece_vocabulary_change_other_words_which_is_called_insertion() -> (
    None
):
    """Appending to vocab.txt is longest match: not Poerner's rule, whose added words change no
    other word.
    """
    old, others = (
        build_tokenizer(TOKENS),
        ("tachycardia", "hypertensive", "hypertensions", "cakes"),
    )
    before = [cut(old, word) for word in others]
    assert cut(old, "hypertensive")[0] == "hyper"
    inserted, exact = (
        WORDPIECE.insert_tokens(old, ["hyperten", "tachy"]),
        WORDPIECE.add_exact_words(old, ["hyperten", "tachy"]),
    )
    assert cut(inserted, "hypertensive") == ["hyperten", "##s", "##i", "##v", "##e"] != before[1]
    assert [cut(exact, word) for word in others] == before
    assert cut(inserted, "hyperten") == cut(exact, "hyperten") == ["hyperten"]


def test_5_a_continuation_is_made_of_continuations(make_bert: Callable[..., Path]) -> None:
    """Elsewhere ## is stripped and the rest cut as the start of a word: "##oma" would be made of
    "oma".
    """
    model = open_model(make_bert(tokens=[token for token in TOKENS if token != "##oma"]))
    target = WordPieceVocabulary((*SPECIAL, "the", "##oma"), frozenset(SPECIAL))
    plan = plan_vocabulary(
        model.vocabulary, model.splitter, PlanSources(target=target), PlanSettings("transfer")
    )
    assert plan.added == (AddedWord("##oma", ("##o", "##m", "##a")),)
    made = initialize(Materials(plan, model.space), InitializerSettings("syntactic")).matrix[0]
    continuations = np.mean([model.space[piece] for piece in ("##o", "##m", "##a")], axis=0)
    np.testing.assert_allclose(made, continuations, atol=1e-6)
    assert not np.allclose(made, model.space["oma"], atol=1e-3)


def test_6_new_embeddings_are_at_their_ids_if_the_matrix_is_longer_than_the_vocabulary(
    tmp_path: Path,
) -> None:
    """Elsewhere they are appended behind the padding of the matrix, where no id leads."""
    folder = build_tiny_bert(
        tmp_path / "padded", tokens=[*TINY_TOKENS, *(f"pad{i}" for i in range(7))]
    )
    spec = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    for i in range(7):
        del spec["model"]["vocab"][f"pad{i}"]
    (folder / "tokenizer.json").write_text(json.dumps(spec), encoding="utf-8")
    model = open_model(folder)
    assert len(rows_of(model)) == len(TINY_TOKENS) + 7 and len(model.vocabulary) == len(TINY_TOKENS)
    plan = VocabularyPlan(
        model.vocabulary, (AddedWord("tachycardia", ()), AddedWord("placebos", ()))
    )
    given = np.stack([np.full(model.dim, 2.0), np.full(model.dim, 3.0)]).astype(np.float32)
    after = saved(model, plan, tmp_path / "out", "exact-word", given)
    place = len(TINY_TOKENS)
    assert after.tokenizer("tachycardia placebos").input_ids[1:3] == [place, place + 1]
    assert torch.equal(rows_of(after)[place : place + 2], torch.from_numpy(given))
    assert torch.equal(rows_of(after)[place + 2 :], rows_of(model)[place + 2 :])


def test_6_no_row_is_drawn_or_averaged_again(tiny_bert: Path, tmp_path: Path) -> None:
    """Elsewhere resizing draws means again, falls back to identical rows, or moves old ones by a
    rounding.
    """
    model = open_model(tiny_bert)
    given = np.random.default_rng(1).normal(size=(2, model.dim)).astype(np.float32)
    plan = VocabularyPlan(
        model.vocabulary, (AddedWord("tachycardia", ()), AddedWord("placebos", ()))
    )
    after = saved(model, plan, tmp_path / "out", "exact-word", given)
    assert torch.equal(rows_of(after), torch.cat([rows_of(model), torch.from_numpy(given)]))


@pytest.mark.parametrize(
    "name", [name for name, one in AUGMENTATIONS.items() if one.family in ("", "wordpiece")]
)
def test_8_what_is_written_is_what_was_chosen(name: str) -> None:
    """Elsewhere blocks of words are written that the returned list does not hold, as their size
    grows.
    """
    base = build_tokenizer(tuple(TINY_TOKENS))
    counts = {
        f"{start}{end}": 9
        for start in ("card", "hyper", "melan", "neur")
        for end in ("oma", "itis", "al", "ist", "emia")
    }
    target = WordPieceVocabulary((*SPECIAL, *counts), frozenset(SPECIAL))
    materials = AugmentationMaterials(
        vocabulary_of(base),
        UNCASED,
        counts,
        target,
        network=lambda tokens: np.ones(len(tokens), np.float32),
    )
    most = len(propose(materials, name, 10_000).tokens)
    assert most > 10
    for size in (0, 1, 7, 10, most, most + 3):
        made = propose(materials, name, size)
        assert len(made.tokens) == min(size, most) and (made.note == "") == (size <= most)
        written = vocabulary_of(WORDPIECE.insert_tokens(base, made.tokens)).tokens
        assert written == (*TINY_TOKENS, *made.tokens)


@pytest.mark.parametrize(
    ("model", "kind"),
    [(models.BPE({"a": 0}, []), "BPE"), (models.WordLevel({"a": 0}, "a"), "WordLevel")],
)
def test_2_and_9_other_kinds_of_vocabularies_are_refused_by_name(
    model: models.Model, kind: str, tmp_path: Path
) -> None:
    """Elsewhere a BPE vocabulary is cut and its merges stay; words are asked for on such models again
    and again, and answered by a wrong edit or by none.
    """
    Tokenizer(model).save(str(tmp_path / "tokenizer.json"))
    with raises_input_error("unsupported-tokenizer", kind):
        read_tokenizer(tmp_path)
