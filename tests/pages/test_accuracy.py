"""The sentence under the lists of an alignment, and its frequency bands, by hand."""

import numpy as np
import pytest

from tests.material.evaluations import build_evaluated
from vocadapt.lab.inputs.alignments import Ranking
from vocadapt.lab.steps.alignment import AnchorScore
from vocadapt.spaces.alignment.frequency_bands import FrequencyBand
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.parts.alignment import accuracy, methods
from vocadapt.ui.text.number_formats import count

ROW = build_evaluated(
    AlignmentSettings(),
    5933,
    {"": (0.33, 5933), "csls": (0.0, 5933), "pieces": (0.31, 16000), "csls pieces": (1.0, 16000)},
)


@pytest.mark.parametrize(
    ("ranking", "rate", "level", "column"),
    [
        (Ranking(False, False), "33 %", "1 in 1\u202f190", "rank"),
        (Ranking(False, True), "31 %", "1 in 3\u202f200", "all_rank"),
        (Ranking(True, False), "0 %", "1 in 1\u202f190", "csls_rank"),
        (Ranking(True, True), "100 %", "1 in 3\u202f200", "csls_all_rank"),
    ],
)
def test_the_sentence_fits_the_ranking_of_the_lists(ranking, rate, level, column):
    said = accuracy.describe_accuracy(ROW, ranking)
    assert f"**{rate} " in said and f"chance {level};" in said and count(5933) in said
    assert ranking.column == column and hasattr(AnchorScore("w", 0, 0.0, 0.0, 1, 1, 1, 1), column)
    assert (" by CSLS" in said) is ranking.csls


def anchors(n):
    return tuple(AnchorScore(f"w{i}", 0, 0.5, 0.1, *4 * [i % 10]) for i in range(n))


def test_bands_need_counts_and_the_ranks_of_the_lists():
    words = EmbeddingSpace(
        tuple(f"w{i}" for i in range(30)), np.ones((30, 1), np.float32), np.arange(30, 0, -1)
    )
    bands = accuracy.compute_bands(anchors(30), words, "rank")
    assert [(band.found, band.words) for band in bands] == [(5, 10)] * 3
    uncounted = EmbeddingSpace(words.words, words.matrix)
    assert accuracy.compute_bands(anchors(30), uncounted, "rank") == ()
    assert accuracy.compute_bands(anchors(31), words, "rank") == ()  # w30 has no vector
    assert accuracy.describe_counts(FrequencyBand("rare", 5, 5, 10, 1)).startswith("5 times")


def test_the_best_evaluated_method_that_can_be_shown_is_the_default():
    def row(method, csls):
        return build_evaluated(AlignmentSettings(method), 9, {"csls": (csls, 9)})

    offered = {name: AlignmentSettings(name) for name in ("least-squares", "ridge", "kernel-ridge")}
    evaluated = {
        name: row(name, score) for name, score in zip(offered, (0.1, 0.3, 0.5), strict=True)
    }
    # Kernel ridge is the best, but slow to fit and not saved: its lists could not be shown.
    assert methods.choose_default(offered, evaluated, []) == "ridge"
    assert methods.choose_default(offered, {}, []) == "least-squares"
    assert methods.choose_default(offered, {"other": row("ridge", 0.9)}, []) == "least-squares"
