import logging
import os
import random
import threading
import time

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.sentences import chain, near_hits, two_topics, words_file
from tests.material.stated_numbers import list_numbers
from vocadapt.errors import Canceled
from vocadapt.progress import silent
from vocadapt.spaces.word2vec import slices as slices_module
from vocadapt.spaces.word2vec import trainer
from vocadapt.spaces.word2vec.gensim_trainer import split_into_slices
from vocadapt.spaces.word2vec.slices import TextSlice, interleave_slices, train_in_threads
from vocadapt.spaces.word2vec.trainer import (
    Word2VecSettings,
    measure_word2vec,
    train_word2vec,
)
from vocadapt.text.words import WordCounts


def train(*given):
    return train_word2vec(*given).space


SMALL = Word2VecSettings(dim=16, min_count=1, epochs=3, workers=1, sample=0)


def test_words_that_occur_together_get_similar_vectors(tmp_path):
    for settings in (
        SMALL,
        Word2VecSettings(dim=16, epochs=3, workers=1, skip_gram=True, sample=0),
    ):
        space = train(*words_file(tmp_path, two_topics()), settings)
        heart, tax = (
            space.unit[space.rows(f"{topic}{n}" for n in range(10))] for topic in ("heart", "tax")
        )
        assert (heart @ heart.T).min() > (heart @ tax.T).max()


def test_the_space_has_every_frequent_word_in_order_with_its_count(tmp_path):
    sentences = [["b", "a", "é"], ["b", "a", "rare"], ["c", "b"], ["c", "é"], ["c"]]
    path, counts = words_file(tmp_path, sentences * 3)
    space = train(path, counts, Word2VecSettings(dim=4, min_count=4, workers=1))
    assert space.words == ("b", "c", "a", "é")
    assert space.counts.tolist() == [9, 9, 6, 6]
    assert space.matrix.dtype == np.float32 and space.matrix.shape == (4, 4)


def test_one_worker_gives_the_same_bits_whatever_the_global_seeds(tmp_path):
    path, counts = words_file(tmp_path, two_topics())
    first = train(path, counts, SMALL)
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    second = train(path, counts, SMALL)
    assert first.words == second.words
    np.testing.assert_array_equal(first.matrix, second.matrix)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    other = train(
        path, counts, Word2VecSettings(dim=16, min_count=1, epochs=3, workers=1, sample=0, seed=2)
    )
    assert not np.array_equal(first.matrix, other.matrix)


def test_several_threads_learn_as_well(tmp_path):
    space = train(
        *words_file(tmp_path, two_topics(20_000)),
        Word2VecSettings(dim=16, epochs=3, workers=4, sample=0),
    )
    heart, tax = (
        space.unit[space.rows(f"{topic}{n}" for n in range(10))] for topic in ("heart", "tax")
    )
    assert (heart @ heart.T).min() > (heart @ tax.T).max()


@pytest.mark.slow
def test_what_is_learned_is_as_good_as_gensims_own(tmp_path):
    """Words drawn from a planted geometry: both trainers must find the same neighbors, ours no
    fewer.
    """
    from gensim.models import Word2Vec

    path, counts = words_file(tmp_path, chain(60_000))
    ours = train(path, counts, Word2VecSettings(dim=32, window=2, workers=1, epochs=2, sample=0))
    model = Word2Vec(
        corpus_file=str(path), vector_size=32, window=2, workers=1, epochs=2, sample=0, seed=1
    )
    assert set(ours.words) == set(model.wv.index_to_key)
    theirs = ours.with_matrix(np.array([model.wv[word] for word in ours.words]))
    assert near_hits(ours) > near_hits(theirs) - 0.05
    assert near_hits(ours) > 0.5


@pytest.mark.parametrize("length", [1, 7, 999, 1000, 3334, 9999, 10_000])
@pytest.mark.parametrize("lines", [1, 30, 131])
def test_slices_hold_every_word_once_and_whole_lines(tmp_path, length, lines):
    path, counts = words_file(tmp_path, [["é"] * length] * lines)
    slices = split_into_slices(path)
    assert sum(part.words for part in slices) == counts.words == length * lines
    assert all(50_000 < part.words <= 50_000 + 10_000 + length for part in slices[:-1])
    content = path.read_bytes()
    ends = [part.offset for part in slices[1:]] + [len(content)]
    for part, end in zip(slices, ends, strict=True):
        assert len(content[part.offset : end].split()) == part.words
        assert part.offset == 0 or content[part.offset - 1 : part.offset] == b"\n"


def test_gensim_stops_where_the_slice_ends(tmp_path, monkeypatch):
    """The compiled trainer counts in batches; a slice that ends elsewhere would have words trained
    twice.
    """
    import gensim.models.word2vec_corpusfile as compiled

    rng = np.random.default_rng(0)
    sentences = [["w"] * int(n) for n in rng.integers(1, 2000, 300)] + [
        ["w"] * 10_000,
        ["w"] * 9_998,
        ["w"],
        ["w"] * 10_000,
    ]
    path, counts = words_file(tmp_path, sentences)
    seen = []
    original = compiled.train_epoch_cbow

    def counting(*args):
        result = original(*args)
        seen.append(result[2])
        return result

    monkeypatch.setattr(compiled, "train_epoch_cbow", counting)
    train(path, counts, Word2VecSettings(dim=4, workers=1, epochs=2))
    assert seen == [part.words for part in split_into_slices(path)] * 2
    assert len(seen) > 10


def test_a_line_over_the_limit_and_blank_lines_do_not_break_the_training(tmp_path):
    path = tmp_path / "s.txt"
    path.write_text("\n\n" + "a b " * 30_000 + "\n\n \nb a\n\n")
    counts = WordCounts({"a": 30_001, "b": 30_001}, 2, 0)
    assert sum(part.words for part in split_into_slices(path)) == 60_002
    assert train(path, counts, Word2VecSettings(dim=4, workers=2)).words == ("a", "b")


def test_the_learning_rate_falls_evenly(tmp_path, monkeypatch):
    """What gensim takes for epochs are the slices: their number and the total must fit."""
    import gensim.models.word2vec_corpusfile as compiled

    calls = []
    monkeypatch.setattr(
        compiled, "train_epoch_cbow", lambda *args: calls.append((args[0].epochs, args[4]))
    )
    path, counts = words_file(tmp_path, [["a"] * 1000] * 220)
    train(path, counts, Word2VecSettings(dim=4, workers=1, epochs=3))
    assert calls == [(3 * len(split_into_slices(path)), number) for number in range(12)]


def test_progress_within_epochs_with_speed_and_time_left(tmp_path, monkeypatch):
    monkeypatch.setattr(slices_module, "REPORT", 0.0)
    told = []
    path, counts = words_file(tmp_path, [["a", "b"] * 500] * 200)
    train(path, counts, SMALL, lambda fraction, message="": told.append((fraction, message)))
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0 and len(fractions) >= 6
    assert any(0 < fraction < 1 / 3 for fraction in fractions)
    assert list_numbers(told[0][1])[:2] == ["1", "3"]
    assert list_numbers(told[-1][1])[:2] == ["3", "3"] and "words/s" in told[-1][1]


@pytest.mark.parametrize("workers", [1, 3])
def test_canceling_ends_the_training_at_once(tmp_path, workers):
    path, counts = words_file(tmp_path, two_topics(10_000))
    before = threading.active_count()

    def stop(fraction, message=""):
        if fraction > 0:
            raise Canceled

    start = time.perf_counter()
    with pytest.raises(Canceled):
        train(path, counts, Word2VecSettings(dim=300, epochs=2000, workers=workers), stop)
    assert time.perf_counter() - start < 10  # the whole would take minutes
    assert threading.active_count() == before


def test_gensim_logs_nothing(tmp_path, caplog, capfd):
    logging.getLogger("gensim").setLevel(logging.INFO)
    with caplog.at_level(logging.DEBUG):
        train(*words_file(tmp_path, two_topics(100)), Word2VecSettings(dim=7, workers=1))
    assert not [record for record in caplog.records if record.name.startswith("gensim")]
    assert logging.getLogger("gensim").level == logging.INFO
    logging.getLogger("gensim").setLevel(logging.NOTSET)
    assert capfd.readouterr() == ("", "")


def test_too_little_text(tmp_path):
    path, counts = words_file(tmp_path, [["a", "b", "c"], ["a", "d"]])
    with raises_input_error("too-little-text", "5 words", "5 times", "at most 2") as caught:
        train(path, counts, Word2VecSettings(dim=4))
    assert "min_count" in caught.value.remedy


def test_an_empty_text_and_an_unknown_width(tmp_path):
    path, counts = words_file(tmp_path, [["a"] * 9])
    with raises_input_error("unknown-dimension"):
        train(path, counts, Word2VecSettings())
    with raises_input_error("too-little-text", "0 words"):
        train(path, WordCounts({}, 0, 0), Word2VecSettings(dim=4))


def test_one_word_can_be_trained(tmp_path):
    assert train(*words_file(tmp_path, [["a"] * 9]), Word2VecSettings(dim=4)).words == ("a",)


def test_the_estimate_fits_the_speeds_measured():
    """measurements §3b: thousand words a second, window 5, negative 5; 70 % of that text's words
    are trained on.
    """
    counts = WordCounts({"a": 2_800_000}, 1, 1)  # of 4.0 M
    for dim, workers, speed in ((384, 1, 418), (384, 2, 757), (768, 1, 273), (768, 2, 500)):
        settings = Word2VecSettings(dim=dim, workers=workers, sample=0, trainer="gensim", epochs=5)
        assert measure_word2vec(counts, settings).seconds == pytest.approx(
            5 * 4000 / speed, rel=0.05
        )


def test_the_expected_running_words_are_gensims(tmp_path):
    from gensim.models import Word2Vec

    path, counts = words_file(tmp_path, two_topics(20_000))
    for settings in (
        SMALL,
        Word2VecSettings(dim=4, workers=1),
        Word2VecSettings(dim=4, sample=1e-2, min_count=10_000),
    ):
        model = Word2Vec(
            vector_size=4, min_count=settings.min_count, sample=settings.sample, workers=1, epochs=1
        )
        model.build_vocab_from_freq(dict(counts.counts))
        trained, _ = model.train(corpus_file=str(path), total_words=counts.words, epochs=1)
        occurrences = np.array(
            [n for n in counts.counts.values() if n >= settings.min_count], dtype=np.float64
        )
        expected = trainer.count_trained_words(occurrences, settings.sample)
        assert expected == pytest.approx(trained, rel=0.01)
    assert trainer.count_trained_words(np.zeros(0), 1e-3) == 0


def test_all_usable_cores_by_default():
    assert Word2VecSettings().threads == len(os.sched_getaffinity(0))
    assert Word2VecSettings(workers=3).threads == 3


def test_threads_work_in_different_parts_of_the_text():
    slices = [TextSlice(n, 1) for n in range(7)]
    assert [part.offset for part in interleave_slices(slices, 2)] == [0, 4, 1, 5, 2, 6, 3]
    assert interleave_slices(slices, 1) == slices
    assert sorted(part.offset for part in interleave_slices(slices, 3)) == list(range(7))
    assert interleave_slices(slices[:2], 8) == slices[:2]


def test_an_exception_in_a_thread_ends_the_training():
    def broken(number, part):
        raise RuntimeError(f"slice {number}")

    one_thread = Word2VecSettings(workers=1, epochs=5)
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="slice 0"):
        train_in_threads(broken, [TextSlice(0, 5)] * 3, one_thread, silent)
    assert threading.active_count() == before
