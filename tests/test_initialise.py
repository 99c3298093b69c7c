"""Rows and where they come from."""

import numpy as np
import pytest

from tests.test_plan import plan
from vocadapt.errors import InputError
from vocadapt.spaces.alignment import fit_alignment
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.initialise import INITIALISERS, Materials, RowSettings, initialise

PLAN = plan()
RNG = np.random.default_rng(3)
PLANTED = RNG.normal(size=(4, 4)).astype(np.float32)
WORDS = (*(token for token in PLAN.base.tokens if token.isalpha()), *PLAN.added_tokens)
DOMAIN = EmbeddingSpace(WORDS, RNG.normal(size=(len(WORDS), 4)).astype(np.float32))
MODEL = EmbeddingSpace(
    PLAN.base.tokens,
    np.stack([DOMAIN[t] @ PLANTED if t in DOMAIN else np.ones(4, np.float32) for t in PLAN.base.tokens]),
)
MATERIALS = Materials(PLAN, MODEL, DOMAIN, fit_alignment(DOMAIN, MODEL))


def test_aligned_rows_go_through_the_map() -> None:
    rows = initialise(MATERIALS, RowSettings("aligned"))
    assert rows.tokens == PLAN.added_tokens
    assert np.allclose(rows.matrix[0], DOMAIN["tachycardia"] @ PLANTED, atol=1e-4)
    assert rows.provenance[0].donors == (("tachycardia", 1.0),)


def test_identity_rows_are_the_word_vectors() -> None:
    rows = initialise(MATERIALS, RowSettings("identity"))
    assert np.array_equal(rows.matrix[1], DOMAIN["hypertension"])


def test_random_rows_have_the_asked_deviation_and_repeat_whatever_the_global_seed() -> None:
    np.random.seed(1)  # noqa: NPY002
    first = initialise(MATERIALS, RowSettings("random", seed=5))
    np.random.seed(2)  # noqa: NPY002
    again, other = initialise(MATERIALS, RowSettings("random", seed=5)), initialise(MATERIALS, RowSettings("random", seed=6))
    assert np.array_equal(first.matrix, again.matrix)
    assert not np.array_equal(first.matrix, other.matrix)
    assert not np.array_equal(first.matrix[0], first.matrix[1])  # not the same vector for every word
    assert "seed 5" in first.provenance[0].how


@pytest.mark.parametrize("name", INITIALISERS)
def test_every_initialiser_gives_one_finite_row_with_provenance_per_token(name: str) -> None:
    rows = initialise(MATERIALS, RowSettings(name))
    assert rows.matrix.shape == (len(PLAN.new_rows), MODEL.dim)
    assert rows.matrix.dtype == np.float32
    assert np.isfinite(rows.matrix).all()
    assert len(rows.provenance) == len(rows.tokens)
    assert all(source.how for source in rows.provenance)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(InputError, match="none were given"):
        initialise(Materials(PLAN, MODEL), RowSettings("identity"))
    with pytest.raises(InputError, match="none was fitted"):
        initialise(Materials(PLAN, MODEL, DOMAIN), RowSettings("aligned"))
    narrow = DOMAIN.with_matrix(DOMAIN.matrix[:, :3].copy())
    with pytest.raises(InputError, match="width 4, these have 3"):
        initialise(Materials(PLAN, MODEL, narrow), RowSettings("identity"))
    with pytest.raises(InputError, match="aligned, identity, random"):
        RowSettings("magic")
