"""Initial embeddings and their provenance."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.plans import plan
from vocadapt.progress import Progress
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.space import EmbeddingSpace, TokenKinds, normalize_rows
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.initializers.initialize import (
    INITIALIZERS,
    InitializerSettings,
    Materials,
    NewEmbeddings,
    Provenance,
    format_provenance,
    initialize,
)
from vocadapt.vocabulary.initializers.materials import NO_VECTOR, JoinedEmbeddings, JoinSettings
from vocadapt.vocabulary.initializers.methods import sparsemax
from vocadapt.vocabulary.initializers.sparse import decompose
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

PLAN = plan()
RNG = np.random.default_rng(3)
PLANTED = RNG.normal(size=(4, 4)).astype(np.float32)
WORDS = (*(token for token in PLAN.base.tokens if token.isalpha()), *PLAN.added_tokens)
DOMAIN = EmbeddingSpace(WORDS, RNG.normal(size=(len(WORDS), 4)).astype(np.float32))
MODEL = EmbeddingSpace(
    PLAN.base.tokens,
    np.stack(
        [DOMAIN[t] @ PLANTED if t in DOMAIN else np.ones(4, np.float32) for t in PLAN.base.tokens]
    ),
)


def distiller(
    plan: VocabularyPlan, start: np.ndarray, settings: object, progress: Progress
) -> tuple[np.ndarray, np.ndarray]:
    """Stands for the network, which tests/training/test_distillation.py asks: half of the tokens have contexts."""
    return start + 1, np.arange(len(start)) % 2


class Joiner:
    """Stands for the network, which tests/training/test_joined_states.py asks."""

    def join(self, materials: Materials, settings: JoinSettings) -> JoinedEmbeddings:
        n = len(materials.plan.new_embeddings)
        matrix = np.ones((n, 4), np.float32)
        return JoinedEmbeddings(matrix, np.arange(n) % 2 == 0, matrix[:, 0], "joined")

    def compute_states(self, words: Sequence[Sequence[str]], layer: int) -> np.ndarray:
        return np.ones((len(words), 4), np.float32)


MATERIALS = Materials(
    PLAN,
    MODEL,
    DOMAIN,
    fit_alignment(DOMAIN, MODEL),
    DOMAIN,
    distiller,
    joiner=Joiner(),
    grounder=distiller,
)


def test_aligned_embeddings_are_mapped_word_vectors() -> None:
    rows = initialize(MATERIALS, InitializerSettings("aligned"))
    assert rows.tokens == PLAN.added_tokens
    assert np.allclose(rows.matrix[0], DOMAIN["tachycardia"] @ PLANTED, atol=1e-4)
    assert rows.provenance[0].donors == (("tachycardia", 1.0),)


def test_identity_embeddings_are_the_word_vectors() -> None:
    rows = initialize(MATERIALS, InitializerSettings("identity"))
    assert np.array_equal(rows.matrix[1], DOMAIN["hypertension"])


def test_random_embeddings_have_the_given_deviation_and_ignore_the_global_seed() -> None:
    np.random.seed(1)  # noqa: NPY002
    first = initialize(MATERIALS, InitializerSettings("random-normal", seed=5))
    np.random.seed(2)  # noqa: NPY002
    again, other = (
        initialize(MATERIALS, InitializerSettings("random-normal", seed=seed)) for seed in (5, 6)
    )
    assert np.array_equal(first.matrix, again.matrix)
    assert not np.array_equal(first.matrix, other.matrix)
    assert not np.array_equal(
        first.matrix[0], first.matrix[1]
    )  # not the same vector for every word
    assert "seed 5" in first.provenance[0].how


@pytest.mark.parametrize("name", INITIALIZERS)
def test_every_initializer_gives_one_finite_row_with_provenance_per_token(name: str) -> None:
    rows = initialize(MATERIALS, InitializerSettings(name))
    assert rows.matrix.shape == (len(PLAN.new_embeddings), MODEL.dim)
    assert rows.matrix.dtype == np.float32
    assert np.isfinite(rows.matrix).all()
    assert len(rows.provenance) == len(rows.tokens)
    assert all(source.how for source in rows.provenance)


def test_what_is_missing_is_reported() -> None:
    with raises_input_error("no-vectors"):
        initialize(Materials(PLAN, MODEL), InitializerSettings("identity"))
    with raises_input_error("no-alignment"):
        initialize(Materials(PLAN, MODEL, DOMAIN), InitializerSettings("aligned"))
    narrow = DOMAIN.with_matrix(DOMAIN.matrix[:, :3].copy())
    with raises_input_error("wrong-dimensions", "4", "3"):
        initialize(Materials(PLAN, MODEL, narrow), InitializerSettings("identity"))
    with raises_input_error("unknown-choice", "random-normal, random-uniform"):
        InitializerSettings("magic")


# A base model, a target space and what comes out, worked by hand.
BASE = WordPieceVocabulary(
    (
        "[UNK]",
        "[unused1]",
        "a",
        "b",
        "c",
        "d",
        "hyper",
        "##tension",
        "##oma",
        "oma",
        "##o",
        "##ma",
        "##t",
        "x",
    ),
    frozenset({"[UNK]"}),
)
ROWS = EmbeddingSpace(
    BASE.tokens, np.arange(2 * len(BASE), dtype=np.float32).reshape(-1, 2) ** 1.5 + 1
)
ANGLES = {
    "a": 0,
    "b": 20,
    "c": 50,
    "d": 180,
    "[unused1]": 0,
    "new": 8,
    "hypertension": 30,
    "##toma": 100,
    "[UNK]": 8,
}
TARGET = EmbeddingSpace(
    tuple(ANGLES),
    np.array(
        [[3 * np.cos(np.radians(x)), 3 * np.sin(np.radians(x))] for x in ANGLES.values()],
        np.float32,
    ),
)


def made(
    method: str, *tokens: str, target: EmbeddingSpace | None = TARGET, **settings: object
) -> NewEmbeddings:
    new = VocabularyPlan(BASE, tuple(AddedWord(token, ()) for token in tokens))
    return initialize(Materials(new, ROWS, target=target), InitializerSettings(method, **settings))  # type: ignore[arg-type]


def test_syntactic_embeddings_are_means_of_tokens_and_continuations_are_tokenized_as_such() -> None:
    rows = made("syntactic", "hypertension", "##toma", "oma", "##omat")
    assert np.allclose(rows.matrix[0], (ROWS["hyper"] + ROWS["##tension"]) / 2)
    assert rows.provenance[1].donors == (("##t", 0.5), ("##oma", 0.5))
    assert rows.provenance[2].donors == (("oma", 1.0),)
    assert np.array_equal(rows.matrix[2], ROWS["oma"])
    assert [name for name, _ in rows.provenance[3].donors] == [
        "##oma",
        "##t",
    ]  # not "oma" as a word start


def test_what_cannot_be_spelled_gets_the_global_mean_and_says_so() -> None:
    rows = made("syntactic", "zzz", "##zzz", "hypertension")
    assert np.allclose(rows.matrix[:2], ROWS.matrix.mean(axis=0)) and rows.fallbacks == 2
    assert "cannot spell" in format_provenance("zzz", rows.provenance[0])


def test_semantic_embeddings_are_means_of_the_nearest_common_tokens() -> None:
    rows = made("semantic", "new", "hypertension", neighbors=2)
    assert [dict(source.donors) for source in rows.provenance] == [
        {"a": 0.5, "b": 0.5},
        {"b": 0.5, "c": 0.5},
    ]
    assert np.allclose(rows.matrix[0], (ROWS["a"] + ROWS["b"]) / 2)
    assert len(made("semantic", "new").provenance[0].donors) == 3
    assert (
        len(made("semantic", "new", neighbors=50).provenance[0].donors) == 4
    )  # all there are: no special, no [unused]


def test_wechsel_weights_are_a_softmax_over_a_temperature() -> None:
    (source,) = made("wechsel", "new", neighbors=2).provenance
    near, far = np.exp(np.cos(np.radians(8)) / 0.1), np.exp(np.cos(np.radians(12)) / 0.1)
    assert dict(source.donors) == pytest.approx(
        {"a": near / (near + far), "b": far / (near + far)}, rel=1e-4
    )


def test_focus_weights_are_the_sparsemax_of_the_cosines() -> None:
    (source,) = made("focus", "new").provenance
    a, b, c = (np.cos(np.radians(angle)) for angle in (8, 12, 42))
    tau = (a + b + c - 1) / 3
    assert dict(source.donors) == pytest.approx(
        {"a": a - tau, "b": b - tau, "c": c - tau}, abs=1e-5
    )
    assert sum(dict(source.donors).values()) == pytest.approx(1)


def test_sparsemax_is_the_nearest_point_of_the_simplex() -> None:
    assert np.allclose(
        sparsemax(np.array([[0.5, 0.3, -1.0], [9.0, 0.0, 0.0]], np.float32)),
        [[0.6, 0.4, 0], [1, 0, 0]],
    )
    scores = np.random.default_rng(1).normal(size=(50, 700)).astype(np.float32) * 0.3
    weights = sparsemax(scores)
    assert np.allclose(weights.sum(axis=1), 1, atol=1e-5) and (weights >= 0).all()


def test_a_search_block_by_block_equals_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    tokens = tuple(f"t{i}" for i in range(300))
    base = WordPieceVocabulary(tokens[:200], frozenset())
    space = EmbeddingSpace(tokens, rng.normal(size=(300, 8)).astype(np.float32))
    old = EmbeddingSpace(base.tokens, rng.normal(size=(200, 5)).astype(np.float32))
    materials = Materials(
        VocabularyPlan(base, tuple(AddedWord(token, ()) for token in tokens[200:])),
        old,
        target=space,
    )
    monkeypatch.setattr("vocadapt.spaces.neighbors.search.BLOCK", 1000)  # five tokens at a time
    cosines = space.unit[200:] @ space.unit[:200].T
    weights = sparsemax(cosines)
    assert np.allclose(
        initialize(materials, InitializerSettings("focus")).matrix, weights @ old.matrix, atol=1e-4
    )
    best = np.argsort(-cosines, axis=1)[:, :5]
    rows = initialize(materials, InitializerSettings("semantic", neighbors=5))
    assert np.allclose(rows.matrix, old.matrix[best].mean(axis=1), atol=1e-5)


def test_omp_finds_a_sum_of_two_and_carries_it_over() -> None:
    rng = np.random.default_rng(2)
    tokens = (*BASE.tokens[2:], "sum")
    atoms = rng.normal(size=(len(tokens), 40)).astype(np.float32)
    atoms[-1] = 2 * atoms[1] - 0.5 * atoms[4]
    rows = made("omp", "sum", target=EmbeddingSpace(tokens, atoms))
    assert dict(rows.provenance[0].donors) == pytest.approx({"b": 2, "hyper": -0.5}, rel=1e-4)
    assert np.allclose(rows.matrix[0], 2 * ROWS["b"] - 0.5 * ROWS["hyper"], rtol=1e-4)


@pytest.mark.parametrize("most", [0, 10**9])
def test_omp_equals_the_textbook(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "vocadapt.vocabulary.initializers.sparse.MAX_GRAM_BYTES", most
    )  # products made as asked for, and all at once
    rng = np.random.default_rng(5)
    atoms, vectors = (rng.normal(size=(n, 30)).astype(np.float32) for n in (60, 7))
    atoms[11] = atoms[3]  # twins: the second adds nothing and is left out
    mix = decompose(vectors, atoms, 9)
    for vector, donors, weights in zip(vectors, mix.donors, mix.weights, strict=True):
        left, chosen = vector.astype(np.float64), list[int]()
        for _ in range(9):
            products = np.abs(atoms @ left)
            products[chosen] = 0
            chosen.append(int(products.argmax()))
            found = np.linalg.lstsq(atoms[chosen].T.astype(np.float64), vector, rcond=None)[0]
            left = vector - atoms[chosen].T @ found
        assert list(donors) == chosen and np.allclose(weights, found, atol=1e-4)
    assert (decompose(vectors, atoms[:3], 9 // 3).weights != 0).sum() == 21


def test_targets_own_rows_need_the_models_width() -> None:
    assert np.array_equal(made("target", "new").matrix[0], TARGET["new"])
    with raises_input_error("wrong-dimensions", "4", "2"):
        made("target", "new", target=EmbeddingSpace(("new",), np.ones((1, 4), np.float32)))


def test_aligned_goes_from_the_target_space_where_there_are_no_word_vectors() -> None:
    kinds = TokenKinds(special=frozenset({"[UNK]", "[unused1]"}))
    alignment = fit_alignment(TARGET, replace(ROWS, kinds=kinds))
    new = VocabularyPlan(BASE, (AddedWord("new", ()),))
    rows = initialize(
        Materials(new, ROWS, target=TARGET, alignment=alignment), InitializerSettings("aligned")
    )
    assert np.allclose(rows.matrix[0], TARGET["new"] @ alignment.matrix, atol=1e-4)


@pytest.mark.parametrize("method", ["semantic", "focus", "wechsel", "omp", "target"])
def test_a_token_without_a_target_vector_falls_back_to_its_pieces_and_says_so(method: str) -> None:
    zero = EmbeddingSpace(
        (*TARGET.words, "x"), np.vstack([TARGET.matrix, np.zeros((1, 2), np.float32)])
    )
    rows = made(method, "hypertension", "hyperoma", "new", target=zero)
    assert rows.fallbacks == 1 and rows.provenance[1].how.startswith(f"{NO_VECTOR}:")
    assert dict(rows.provenance[1].donors) == {"hyper": 0.5, "##oma": 0.5}
    assert np.allclose(rows.matrix[1], (ROWS["hyper"] + ROWS["##oma"]) / 2)
    assert not rows.provenance[2].fallback and "x" not in dict(rows.provenance[2].donors)


@pytest.mark.parametrize("method", ["random-normal", "random-uniform"])
def test_random_rows_have_the_deviation_and_renew_everything(method: str) -> None:
    everything = VocabularyPlan(BASE, (), BASE.tokens)
    rows = initialize(Materials(everything, ROWS), InitializerSettings(method, sd=0.1))
    assert rows.tokens == BASE.tokens and rows.matrix.shape == ROWS.matrix.shape
    many = made(method, *(f"w{i}" for i in range(3000)), sd=0.1)
    assert many.matrix.std() == pytest.approx(0.1, rel=0.05)
    assert np.abs(many.matrix).max() < 0.1 * 3**0.5 + 1e-6 or method == "random-normal"


def test_norm_matched_rows_have_the_median_length_of_their_class() -> None:
    rows = made("semantic", "new", "##toma", norm_matched=True)
    lengths = np.linalg.norm(ROWS.matrix, axis=1)
    groups = (
        [t for t in BASE.tokens[2:] if t.startswith("##") is goes_on] for goes_on in (False, True)
    )
    starts, within = (lengths[ROWS.rows(group)] for group in groups)
    assert np.allclose(np.linalg.norm(rows.matrix, axis=1), [np.median(starts), np.median(within)])
    assert "continuations" in rows.provenance[1].how
    plain = made("semantic", "new", "##toma")
    assert np.allclose(
        plain.matrix / np.linalg.norm(plain.matrix, axis=1)[:, None], normalize_rows(rows.matrix)
    )


def test_nothing_in_common_is_reported() -> None:
    with raises_input_error("no-common-token"):
        made(
            "semantic", "new", target=EmbeddingSpace(("new", "other"), np.ones((2, 2), np.float32))
        )
    with raises_input_error("no-target-space"):
        made("focus", "new", target=None)
    with raises_input_error("out-of-range", "temperature"):
        InitializerSettings("wechsel", temperature=0)
    with raises_input_error("out-of-range", "(atoms)"):
        InitializerSettings("omp", atoms=0)


@pytest.mark.parametrize(
    "token", ["##", "####", "[MASK]", "", "\0", "##\0", "\u202eab", "a" * 300, "## b", "與"]
)
def test_hostile_tokens_get_a_row_and_a_line(token: str) -> None:
    rows = made("syntactic", token)
    assert np.isfinite(rows.matrix).all()
    assert format_provenance(token, rows.provenance[0]).startswith(f"{token} = ")


def test_a_line_shows_the_heaviest_donors_and_how_many_more() -> None:
    source = Provenance(
        "how", tuple(zip("abcdefg", (0.1, 0.3, -0.2, 0.05, 0.001, 0.02, 0.4), strict=True))
    )
    assert format_provenance("w", source, 3) == "w = .40 g + .30 b − .20 c + … (4 more)"
    halves = Provenance("mean", (("##t", 0.5), ("##oma", 0.5)))
    assert format_provenance("##toma", halves) == "##toma = 1/2 ##t + 1/2 ##oma"
    assert format_provenance("w", Provenance("random")) == "w = random"
    assert format_provenance("w", Provenance("taken over", (("v", 1.0),))) == "w = v"
