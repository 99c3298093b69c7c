"""Sentence pairs: packing worked by hand, and training with both heads, with separately reported
losses."""

import json

import numpy as np
import pytest
import torch

from tests.material.blocks import CLS, FUL, HEART, PAIN, SEP, VOCABULARY, A, S
from tests.material.exbert import made
from tests.material.input_errors import raises_input_error
from tests.material.pretraining import QUICK_PAIRS
from vocadapt.cli import main
from vocadapt.errors import Canceled
from vocadapt.models.add_extension import add_extension
from vocadapt.models.extension_size import ModuleSettings, is_extension_tensor
from vocadapt.models.language_model import open_model
from vocadapt.text.corpus import open_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.training.masked.blocks import MaskedBlockDataset
from vocadapt.training.masked.continued import ContinuedSettings, continue_pretraining
from vocadapt.training.masked.losses import compute_losses
from vocadapt.training.masked.sentence_pairs import (
    NEXT,
    OTHER,
    _replace_second_segments,
    pack_pairs,
)
from vocadapt.training.training_text import write_training_text
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary

pytestmark = pytest.mark.usefixtures("one_thread")


def packed(tmp_path, text, length=9, **more):
    file = tmp_path / "words.txt"
    file.write_text(text, encoding="utf-8")
    return pack_pairs(file, VOCABULARY, length, **more)


def test_what_follows_is_cut_in_the_middle_and_half_of_it_swapped(tmp_path):
    pairs = packed(tmp_path, "a a\nheart\n\npains\npainful\n")
    assert len(pairs) == pairs.documents == 2 and sorted(pairs.next.tolist()) == [NEXT, OTHER]
    own = {0: ([A, A], [HEART]), 1: ([PAIN, S], [PAIN, FUL])}
    for row, following in enumerate(pairs.next.tolist()):
        first, second = own[row][0], own[row if following == NEXT else 1 - row][1]
        whole = [CLS, *first, SEP, *second, SEP]
        assert pairs.ids[row].tolist() == whole + [0] * (9 - len(whole))
        assert pairs.segments[row].tolist() == [0] * (len(first) + 2) + [1] * (len(second) + 1) + [
            0
        ] * (9 - len(whole))
    assert pairs.counts[0] == 0 and pairs.counts.sum() == int((pairs.ids != 0).sum())
    assert pairs.to_dict()["true_next"] == 0.5
    assert pairs.to_dict()["padding"] == pytest.approx((pairs.ids == 0).mean())


def test_blocks_hold_as_many_sentences_as_fit_and_too_long_ones_are_cut_at_their_ends(tmp_path):
    many = packed(tmp_path, "a\n" * 9 + "\n" + "heart\nheart\n", length=9)  # six wordpieces of text
    mine = [row for row in range(len(many)) if many.ids[row, 1] == A]
    assert len(mine) == 2 and many.ids[mine[0]].tolist()[1:4] == [A, A, A]
    long = packed(tmp_path, "a " * 50 + "\nheart\n\n" + "heart\n" + "a " * 50 + "\n", length=9)
    assert ((long.ids == SEP).sum(axis=1) == 2).all() and (long.ids[:, 0] == CLS).all()
    assert all(HEART in row or list(row).count(A) == 6 for row in long.ids.tolist())


def test_half_of_the_pairs_are_true_and_the_seed_decides_which(tmp_path):
    text = "\n\n".join("heart\npain\na\na" for _ in range(51))
    pairs, again, other = (packed(tmp_path, text, seed=seed) for seed in (1, 1, 2))
    assert len(pairs) == 51 and int((pairs.next == NEXT).sum()) == 26
    assert np.array_equal(pairs.next, again.next) and not np.array_equal(pairs.next, other.next)


def test_a_document_of_many_sentences_is_read_in_one_go_and_reported(tmp_path):
    """Its sentences come into one list, not into a new one for each, and the lines that were read
    are told.
    """
    seen = []
    text = "heart ?\n" * 20_000 + "\n" + "pain ?\n" * 20_000
    vocabulary = WordPieceVocabulary((*VOCABULARY.tokens, "?"), VOCABULARY.special)
    file = tmp_path / "words.txt"
    file.write_text(text, encoding="utf-8")
    made = pack_pairs(
        file, vocabulary, 11, progress=lambda fraction, message="": seen.append((fraction, message))
    )
    assert (len(made), made.documents) == (10_000, 2)  # four sentences of two wordpieces a pair
    assert len(seen) == 4
    assert seen == sorted(seen)
    assert 0.99 < seen[-1][0] <= 1
    assert "40,000 lines" in seen[-1][1]


def test_without_an_empty_line_every_line_is_a_document_of_sentences(tmp_path):
    pairs = packed(tmp_path, "heart . heart .\npain . pain .\n".replace(".", "?"))
    assert pairs.documents == 2 and len(pairs) == 2


@pytest.mark.parametrize(
    "text", ["heart\npain\n", "heart\npain\n\n", "\n\n", "heart\n\npain\n\na\n"]
)
def test_too_few_documents_are_reported(text, tmp_path):
    with raises_input_error("few-documents"):
        packed(tmp_path, text)


def test_padding_is_never_masked_and_segments_are_marked(tmp_path):
    pairs = packed(tmp_path, "\n\n".join("heart\npain" for _ in range(10)), length=12)
    reading = MaskedBlockDataset(pairs, 20, 0.5, 1)
    for place in range(20):
        found = reading[place]
        padding = found["attention_mask"] == 0
        assert padding.sum() == 7 and (found["labels"][padding] == IGNORE_INDEX).all()
        assert found["token_type_ids"].sum() == 2 and int(found["next"]) in (NEXT, OTHER)


def test_files_are_documents_and_empty_lines_part_them(tmp_path):
    for name, text in (("a.txt", "heart pain\n\nacid trial\n"), ("b.txt", "drug drug\n" * 300)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = write_training_text(
        open_corpus([tmp_path / "a.txt", tmp_path / "b.txt"]),
        Splitter.bert(True),
        tmp_path,
        documents=True,
    )
    lines = made.sentences.read_text().split("\n")
    assert lines[:5] == ["heart pain", "", "acid trial", "", "drug drug"] and all(made.held_out)


def test_the_search_for_empty_lines_reports_progress_and_can_be_stopped(tmp_path):
    (tmp_path / "a.txt").write_text("heart . pain .\n" * 400, encoding="utf-8")
    corpus, splitter, seen = open_corpus([tmp_path / "a.txt"]), Splitter.bert(True), []
    write_training_text(
        corpus,
        splitter,
        tmp_path,
        1,
        lambda fraction, message="": seen.append((fraction, message)),
        documents=True,
    )
    assert seen == sorted(seen, key=lambda told: told[0])
    assert seen[0][0] == 0.3 and "empty lines" in seen[0][1]
    assert seen[-1][0] == 1

    def stop(fraction, message=""):
        raise Canceled

    (tmp_path / "sentences.txt").unlink()
    with pytest.raises(Canceled):
        write_training_text(corpus, splitter, tmp_path, 1, stop, documents=True)
    assert not (tmp_path / "sentences.txt").exists()


@pytest.mark.parametrize("end", ["", "\n\n"])
def test_several_files_of_a_document_a_line_stay_a_document_a_line(end, tmp_path):
    """Between files nothing is parted where the text has no empty line between lines: one at the
    end of a file is none.
    """
    line = "heart . pain ."
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"{line}\n" * 200 + end, encoding="utf-8")
    made = write_training_text(
        open_corpus([tmp_path / "a.txt", tmp_path / "b.txt"]),
        Splitter.bert(True),
        tmp_path,
        documents=True,
    )
    written = made.sentences.read_text().splitlines()
    assert len(written) == 400 - len(made.held_out) and set(written) == {line}
    vocabulary = WordPieceVocabulary((*VOCABULARY.tokens, "."), VOCABULARY.special)
    assert pack_pairs(made.sentences, vocabulary, 12).documents == len(written)


@pytest.mark.parametrize("kind", ["bert", "exbert"])
def test_the_loss_is_that_of_the_heads_of_transformers(kind, make_bert, tmp_path):
    network = open_model(make_bert(head="BertForPreTraining")).network
    network = add_extension(network, ModuleSettings("s3")) if kind == "exbert" else network
    network.eval()
    pairs = packed(tmp_path, "\n\n".join("heart\npain" for _ in range(4)), length=10)
    reading = MaskedBlockDataset(pairs, 4, 0.5, 1)
    inputs = {key: torch.stack([reading[place][key] for place in range(4)]) for key in reading[0]}
    masked, following = compute_losses(network, inputs)
    named = {
        name: inputs[name] for name in ("input_ids", "attention_mask", "token_type_ids", "labels")
    }
    expected = network(**named, next_sentence_label=inputs["next"]).loss
    assert (masked + following).item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("stage", ["continued", "embeddings"])
def test_training_on_pairs_counts_their_loss_apart(stage, make_bert, documents, tmp_path):
    source = make_bert(head="BertForPreTraining")
    settings = ContinuedSettings(stage, nsp=True, training=QUICK_PAIRS)
    done = continue_pretraining(open_model(source), open_corpus([documents]), settings, tmp_path)
    told = done.report
    assert [step for step, _ in told.next_curve] == [step for step, _ in told.curve]
    assert len(told.curve) == 6
    assert abs(told.next_curve[0][1] - np.log(2)) < 0.5 < told.curve[0][1]
    assert told.of_documents == 40
    assert told.true_next == pytest.approx(0.5, abs=0.02)
    assert 0 < told.padding < 0.5
    head = "cls.seq_relationship.weight"
    before, after = (
        open_model(source).network.state_dict()[head],
        done.loaded.network.state_dict()[head],
    )
    assert torch.equal(before, after) == (stage == "embeddings")


@pytest.mark.parametrize("train_heads", [False, True])
def test_the_stage_extension_on_pairs_trains_no_head_unless_requested(
    train_heads, make_bert, documents, tmp_path
):
    source = made("exbert-s3", tmp_path / "e", make_bert(head="BertForPreTraining"), documents)
    settings = ContinuedSettings("extension", train_heads, nsp=True, training=QUICK_PAIRS)
    (tmp_path / "f").mkdir()
    done = continue_pretraining(
        open_model(source), open_corpus([documents]), settings, tmp_path / "f"
    )
    before, after = open_model(source).network.state_dict(), done.loaded.network.state_dict()
    moved = {
        name
        for name in before
        if not torch.equal(before[name], after[name]) and "decoder" not in name
    }
    kept = {name for name in moved if not is_extension_tensor(name) and not name.startswith("cls.")}
    assert kept == {"bert.embeddings.word_embeddings.weight"}
    assert any(is_extension_tensor(name) for name in moved)
    assert (
        ("cls.seq_relationship.weight" in moved)
        == train_heads
        == ("cls.predictions.transform.dense.weight" in moved)
    )


def test_the_command_and_a_model_without_such_a_head(
    make_bert, tiny_bert, documents, tmp_path, capsys
):
    source = make_bert(head="BertForPreTraining")
    command = (
        f"pretrain --corpus {documents} --stage continued --nsp --length 32 --batch-size 8"
        f" --tokens 512 --json --out {tmp_path}/m --model"
    ).split()
    assert main([*command, str(source)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["of_documents"] == 40 and answer["next_sentence_loss"] > 0
    assert "--nsp" in json.loads((tmp_path / "m" / "manifest.json").read_text())["command"]
    assert type(open_model(tmp_path / "m").network).__name__ == "BertForPreTraining"
    command[-2] = str(tmp_path / "n")
    assert main([*command, str(tiny_bert)]) == 2
    assert "next-sentence" in capsys.readouterr().err


def test_a_strange_second_half_is_drawn_at_once_from_all_other_documents() -> None:
    """Of 5 000 pairs of one document, two of another and one of a third, every strange half is of
    another document.
    """
    documents = [0] * 5_000 + [1, 1, 2]
    found = [(document, ([place], [place])) for place, document in enumerate(documents)]
    drawn = list(_replace_second_segments(found, [False] * len(found), np.random.default_rng(1)))
    assert [first for first, _ in drawn] == [[place] for place in range(5_003)]
    assert {second[0] for _, second in drawn[:5_000]} == {5_000, 5_001, 5_002}
    assert all(
        documents[second[0]] != document
        for document, (_, second) in zip(documents, drawn, strict=True)
    )
