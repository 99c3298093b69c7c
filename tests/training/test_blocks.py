import numpy as np
import pytest

from tests.material.blocks import CLS, FUL, HEART, MASK, PAIN, SEP, VOCABULARY, A, S
from tests.material.input_errors import raises_input_error
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.training.masked.blocks import Blocks, MaskedBlockDataset, pack_blocks


def test_words_are_tokenized_once_and_packed_into_whole_blocks(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("a pains heart\n\npainful a a\n", encoding="utf-8")
    blocks = pack_blocks(
        file, VOCABULARY, 5
    )  # a pain ##s heart pain ##ful a a → two blocks of three, two left over
    assert blocks.ids.tolist() == [[CLS, A, PAIN, S, SEP], [CLS, HEART, PAIN, FUL, SEP]]
    assert blocks.tokens == 10
    assert blocks.counts.tolist() == [0, 0, 2, 2, 0, 1, 2, 1, 1, 1]


def test_a_long_text_is_packed_piece_by_piece_and_stays_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("vocadapt.training.masked.blocks.BLOCKS_AT_A_TIME", 2)
    file = tmp_path / "words.txt"
    file.write_text(
        "a pains heart\n" * 9, encoding="utf-8"
    )  # 36 wordpieces: twelve blocks of three
    blocks = pack_blocks(file, VOCABULARY, 5)
    assert isinstance(blocks.ids, np.memmap) and len(blocks) == 12
    assert blocks.ids[:, 1:-1].ravel().tolist() == [A, PAIN, S, HEART] * 9
    assert blocks.counts.tolist() == [0, 0, 12, 12, 0, 9, 9, 9, 0, 9]


def test_too_little_text_is_reported(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("a heart\n", encoding="utf-8")
    with raises_input_error("little-text", "128"):
        pack_blocks(file, VOCABULARY, 128)


def blocks_of(*row, rows=1):
    return Blocks(np.array([row] * rows, dtype=np.int32), VOCABULARY)


def test_whole_words_are_asked_and_special_tokens_never():
    blocks = blocks_of(CLS, PAIN, S, HEART, PAIN, FUL, S, A, 1, SEP)
    for seed in range(200):
        ids, labels = blocks.mask_block(0, np.random.default_rng(seed), 0.5)
        asked = labels != IGNORE_INDEX
        assert asked[1] == asked[2] and asked[4] == asked[5] == asked[6]
        assert not asked[[0, 8, 9]].any()
        assert (labels[asked] == blocks.ids[0][asked]).all()
        assert (ids[~asked] == blocks.ids[0][~asked]).all()
        assert not set(ids[asked].tolist()) & {0, 1, CLS, SEP}


def test_a_block_that_begins_inside_a_word():
    _, labels = blocks_of(CLS, S, A, SEP).mask_block(0, np.random.default_rng(0), 0.999)
    assert labels.tolist() == [IGNORE_INDEX, S, A, IGNORE_INDEX]


def test_eighty_ten_ten():
    ids, labels = blocks_of(CLS, *[HEART] * 20_000, SEP).mask_block(
        0, np.random.default_rng(1), 0.999
    )
    asked = labels != IGNORE_INDEX
    share = {name: float((ids[asked] == i).mean()) for name, i in (("mask", MASK), ("same", HEART))}
    assert share["mask"] == pytest.approx(0.8, abs=0.02)
    assert share["same"] == pytest.approx(
        0.1 + 0.1 / 5, abs=0.02
    )  # one in five ordinary tokens is the word itself


def test_a_place_is_always_read_alike_and_every_pass_holds_every_block():
    ids = np.array([[CLS, HEART, PAIN, i, SEP] for i in (S, FUL, A)], dtype=np.int32)
    blocks = Blocks(ids, VOCABULARY)
    reading = MaskedBlockDataset(blocks, 6, 0.5, seed=3)
    forward = [reading[place]["input_ids"].tolist() for place in range(6)]
    backward = [reading[place]["input_ids"].tolist() for place in reversed(range(6))]
    assert forward == backward[::-1]
    whole = MaskedBlockDataset(blocks, 6, 0.0, seed=3)
    for start in (0, 3):
        assert sorted(
            whole[place]["input_ids"].tolist() for place in range(start, start + 3)
        ) == sorted(ids.tolist())
    other = [
        MaskedBlockDataset(blocks, 6, 0.5, seed=4)[place]["input_ids"].tolist()
        for place in range(6)
    ]
    assert other != forward
