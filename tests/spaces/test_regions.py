"""Regions of a projection: clusters are found and named by their central words."""

import numpy as np
import pytest

from vocadapt.spaces.projection.regions import Region, Regions, choose_region_count, find_regions

RANDOM = np.random.default_rng(2)
XY = np.concatenate(
    [RANDOM.normal(size=(60, 2)) + center for center in ([0, 0], [40, 0], [0, 40])]
).astype(np.float32)[:150]
WORDS = tuple(f"{'abc'[i // 60]}{i}" for i in range(150))


def test_clusters_are_regions_with_the_largest_first():
    found = find_regions(WORDS, XY, 3)
    assert [region.size for region in found.regions] == [60, 60, 30]
    for number, region in enumerate(found.regions):
        inside = {WORDS[row][0] for row in np.flatnonzero(found.numbers == number)}
        assert len(inside) == 1
        assert {word[0] for word in region.words} == inside
        assert len(region.words) == 3
        assert region.label == " · ".join(region.words)


def test_the_words_are_the_nearest_to_the_center_or_the_most_frequent_near_it():
    plain, counts = find_regions(WORDS, XY, 3), np.zeros(150, dtype=np.int64)
    region = next(region for region in plain.regions if region.words[0][0] == "c")
    distance = np.linalg.norm(XY - (region.x, region.y), axis=1)
    assert region.words == tuple(WORDS[row] for row in np.argsort(distance)[:3])
    core, far = np.argsort(distance)[8], 120 + np.argmax(distance[120:])
    counts[core], counts[far] = 5, 50  # frequent, but at the edge: does not name the region
    named = find_regions(WORDS, XY, 3, counts).regions
    assert next(region for region in named if region.words[0][0] == "c").words[0] == WORDS[core]


def test_the_same_seed_gives_the_same_regions():
    one, again = find_regions(WORDS, XY, seed=3), find_regions(WORDS, XY, seed=3)
    assert np.array_equal(one.numbers, again.numbers) and one.regions == again.regions
    assert len(one.regions) == choose_region_count(150)


@pytest.mark.parametrize("places", [1, 2])
def test_points_in_few_places_have_few_regions(places):
    xy = np.repeat(np.arange(places, dtype=np.float32)[:, None], 2, axis=1)[np.arange(9) % places]
    assert len(find_regions(WORDS[:9], xy).regions) == places


def test_labels_follow_their_tokens_into_another_layout():
    named, alone = Region(("a", "b"), 9, 9, 3), Region(("c",), 9, 9, 1)
    found = Regions(np.array([0, 0, 0, 1]), (named, alone))
    xy = np.array([[0, 0], [1, 5], [8, 2], [4, 4]], dtype=np.float32)
    assert found.labels_in(xy) == [(1, 2, named.label), (4, 4, alone.label)]
