"""Held-out words found, by frequency: worked by hand."""

import numpy as np

from vocadapt.spaces.alignment.frequency_bands import FrequencyBand, measure_frequency_bands


def test_the_bands_are_thirds_by_frequency():
    counts = np.arange(1, 32)  # the last word is the most frequent
    ranks = np.full(31, 9)
    ranks[-4:] = [0, 4, 5, 4]  # three of the frequent words are found, one just not
    ranks[0] = 1
    assert measure_frequency_bands(ranks, counts) == (
        FrequencyBand("frequent", 21, 31, 11, 3),
        FrequencyBand("middle", 11, 20, 10, 0),
        FrequencyBand("rare", 1, 10, 10, 1),
    )
    assert measure_frequency_bands(ranks, counts, k=1)[0].found == 1


def test_few_words_have_no_bands():
    assert measure_frequency_bands(np.zeros(29), np.arange(29)) == ()
