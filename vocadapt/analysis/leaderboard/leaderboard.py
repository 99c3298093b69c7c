"""Comparison of initializers before any training.

*Held-out recovery.* Some common tokens are hidden: the model is used without them and their
embeddings, so that no fit, no donor list and no tokenization can know them. They are initialized as
if they were new and compared with their true embeddings, both centered at the mean of the remaining
ones: cosine, and the rank of the true embedding among all old ones. Baselines: the global mean
(centered cosine 0), random embeddings, and the mean of the common tokens, which is about what
mixing any of them gives.

*New embeddings.* Their norm relative to the old ones; how many nearest neighbors of a token in the
target space are also its nearest in the model; and, if the model has a masked-language-model head
and there is text, the loss per character on masked words.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from vocadapt.analysis.leaderboard.judges import (
    HELD_OUT,
    NewTokenJudge,
    TrueEmbeddings,
    choose_hidden_tokens,
    materials_without,
    sample_materials,
)
from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, parts, silent
from vocadapt.settings import MAX_SEED, CheckedSettings, setting, show_only
from vocadapt.spaces.alignment.alignment import AlignmentSettings, fit_alignment
from vocadapt.spaces.space import Matrix
from vocadapt.vocabulary.initializers.initialize import (
    INITIALIZERS,
    InitializerSettings,
    Materials,
    NewEmbeddings,
    compute_mean_embedding,
    initialize,
    match_norms,
)
from vocadapt.vocabulary.initializers.materials import list_trained_tokens
from vocadapt.vocabulary.plan.plan import AddedWord

BASELINES = {  # initializers that use nothing that is known of a token
    "global-mean": "the global mean",
    "common-mean": "the mean of the common tokens",
    "random-normal": "random rows",
    "random-uniform": "random rows",
}
# Cost of an initializer that trains embeddings through the network, in multiples of the others.
TRAINED_COST = 100.0
MATCHED = ", norm-matched"
FLOPS = 4e10  # floating-point operations per second of two cores
PURSUIT = 0.006  # seconds per token of orthogonal matching pursuit

Loss = Callable[[NewEmbeddings], float]


@dataclass(frozen=True)
class LeaderboardSettings(CheckedSettings):
    """Settings of the comparison of initializers.

    `norm_matched`: judge each one again with its embeddings rescaled. `rows`: settings of the
    initializers.
    """

    methods: tuple[str, ...] = setting(
        (),
        "initializers to compare",
        choices=lambda: INITIALIZERS,
        label="Initializers",
        empty="all but those that are fitted to a text",
    )
    held_out: int = setting(
        0,
        "number of common tokens to hide",
        high=1_000_000,
        label="Held-out tokens",
        empty="500, or a quarter of the common ones",
    )
    judged: int = setting(1000, "number of new tokens to evaluate", low=1, high=1_000_000)
    neighbors: int = setting(10, "number of neighbors to compare", low=1, high=10_000, flag="")
    seed: int = setting(1, "random seed of hidden tokens and random embeddings", high=MAX_SEED)
    norm_matched: bool = setting(
        False,
        "also evaluate with embeddings scaled to the median norm of the old ones",
        label="Norm-matched",
    )
    rows: InitializerSettings = field(
        default_factory=InitializerSettings, metadata=show_only("neighbors", "options")
    )
    alignment: AlignmentSettings = field(default_factory=AlignmentSettings, metadata=show_only())

    @property
    def named(self) -> tuple[str, ...]:
        """The initializers to compare; by default all but those that are fitted to a text."""
        return self.methods or tuple(
            name for name, known in INITIALIZERS.items() if known.needs != "text"
        )


@dataclass(frozen=True)
class InitializerStanding:
    """Figures of one initializer.

    Hidden tokens: `centered_cosine` ± `standard_error`, `p1`, `mrr`, `median_rank` (0 is the true
    embedding). New tokens: `norm_ratio` (mean norm relative to the old ones), `neighbor_overlap`,
    `masked_loss` (nats per character), `fallbacks` (embeddings made by another initializer).
    `seconds`: time to make the new embeddings.
    """

    initializer: str
    centered_cosine: float
    standard_error: float
    p1: float
    mrr: float
    median_rank: float
    norm_ratio: float
    neighbor_overlap: float | None
    masked_loss: float | None
    fallbacks: int
    seconds: float

    @property
    def is_baseline(self) -> bool:
        """Whether it is one of the baselines."""
        return self.initializer in BASELINES

    def to_dict(self) -> dict[str, object]:
        """The numbers by the names that the command line prints."""
        return {
            "initializer": self.initializer,
            "centered_cosine": self.centered_cosine,
            "standard_error": self.standard_error,
            "p@1": self.p1,
            "mrr": self.mrr,
            "median_rank": self.median_rank,
            "norm_ratio": self.norm_ratio,
            "neighbor_overlap": self.neighbor_overlap,
            "masked_loss": self.masked_loss,
            "fallbacks": self.fallbacks,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Leaderboard:
    """All standings, best centered cosine first, baselines included; `skipped`: reasons of those that
    failed.

    `hidden` tokens `of` the common ones; `candidates`: old embeddings among which the true one is
    ranked. Of the `added` new tokens `judged` were compared: norms, and `k` neighbors among
    `neighbor_candidates` tokens. `p`: paired t-test over the hidden tokens between the best two
    methods that are no baselines; None without two.
    """

    rows: tuple[InitializerStanding, ...]
    skipped: dict[str, str]
    hidden: tuple[str, ...]
    of: int
    candidates: int
    added: int
    judged: int
    k: int
    neighbor_candidates: int
    p: float | None

    @property
    def chance(self) -> dict[str, float]:
        """P@1 and MRR of a random rank."""
        return {
            "p@1": 1 / self.candidates,
            "mrr": float((1 / np.arange(1, self.candidates + 1)).sum()) / self.candidates,
        }

    @property
    def verdict(self) -> str:
        """Result on the held-out tokens, in one sentence."""
        # 1. Whether the best method is better than every baseline, by two standard errors.
        judged = [row for row in self.rows if not row.is_baseline]
        baseline = next(row for row in self.rows if row.is_baseline)
        n = f"{len(self.hidden):,} held-out tokens"
        sure = judged[0].centered_cosine - 2 * judged[0].standard_error if judged else 0.0
        # Centered at the global mean, that baseline has a cosine of 0.
        if sure <= 0:
            return f"None beats {BASELINES['global-mean']} on {n}."
        if sure <= baseline.centered_cosine:
            return f"None beats {BASELINES[baseline.initializer]} on {n}."
        against = f"{baseline.centered_cosine:.3f} of {BASELINES[baseline.initializer]}"
        best = (
            f"Best on {n}: {judged[0].initializer}, centered cosine {judged[0].centered_cosine:.3f}"
            f" against {against}"
        )
        if self.p is None:
            return f"{best}."
        # 2. The best of the other methods; the same one norm-matched is no other.
        other = next(
            row
            for row in judged
            if _base_method(row.initializer) != _base_method(judged[0].initializer)
        )
        return (
            f"{best}; to {other.initializer}, {other.centered_cosine:.3f}, p = {self.p:.2g} (paired"
            " t-test)."
        )

    def to_dict(self) -> dict[str, object]:
        """The comparison as JSON values."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "floors": {row.initializer: row.to_dict() for row in self.rows if row.is_baseline},
            "skipped": self.skipped,
            "held_out": len(self.hidden),
            "of": self.of,
            "candidates": self.candidates,
            "chance": self.chance,
            "added": self.added,
            "neighbors": {
                "k": self.k,
                "judged": self.judged,
                "of": self.added,
                "candidates": self.neighbor_candidates,
            },
            "verdict": self.verdict,
            "p": self.p,
        }


def compare_initializers(
    materials: Materials,
    settings: LeaderboardSettings | None = None,
    loss: Loss | None = None,
    progress: Progress = silent,
) -> Leaderboard:
    """Compare initializers on the new embeddings of a plan; alignments are fitted here.

    `loss`: masked-language-model loss of a model with given embeddings. Raises InputError if no
    token is new, or none can be hidden.
    """
    settings = settings or LeaderboardSettings()
    if not materials.plan.new_embeddings:
        raise InputError(
            "There is nothing to initialize: the model has all tokens of the target.",
            "Give another target.",
        )

    # 1. Expected duration of each initializer; the baselines are always compared.
    judges = _InitializerJudge(materials, settings, loss)
    standings: dict[str, InitializerStanding] = {}
    cosines: dict[str, Matrix] = {}
    skipped: dict[str, str] = {}
    costs = dict.fromkeys([*settings.named, *BASELINES], 1.0)
    for method in costs:
        if INITIALIZERS[method].needs == "text":
            costs[method] = TRAINED_COST
    shares = parts(progress, costs)

    # 2. Judge each one; one that fails does not stop the others.
    for method in costs:
        rows = replace(settings.rows, method=method, norm_matched=False)
        share = part(shares[method], 0.0, 1.0, method)
        try:
            for standing, own in judges.judged(rows, share):
                standings[standing.initializer], cosines[standing.initializer] = standing, own
        except InputError as error:
            skipped[method] = str(error)

    # 3. Best first.
    order = sorted(standings, key=lambda name: -standings[name].centered_cosine)
    progress(1.0, "judged")
    return Leaderboard(
        tuple(standings[name] for name in order),
        skipped,
        judges.hidden,
        judges.of,
        len(materials.model),
        len(materials.plan.new_embeddings),
        len(judges.few.plan.new_embeddings),
        judges.around.k,
        len(judges.around.names),
        _paired_p_value(order, cosines),
    )


def initialize_token(materials: Materials, token: str, rows: InitializerSettings) -> NewEmbeddings:
    """Initialize the embedding of one token; a token of the model is hidden first."""
    if token in materials.model:
        materials = materials_without(materials, (token,))
    # A plan that adds this token alone, behind the kept ones.
    added, order = (AddedWord(token, ()),), (*materials.plan.kept, token)
    plan = replace(materials.plan, added=added, replaced=(), order=order)
    return _initialize(replace(materials, plan=plan), rows, LeaderboardSettings())


def estimate_leaderboard_seconds(materials: Materials, settings: LeaderboardSettings) -> float:
    """Estimate the seconds of `compare_initializers` on two 2.5 GHz cores, without a loss."""
    rows = min(settings.judged, len(materials.plan.new_embeddings)) + (
        settings.held_out or HELD_OUT
    )
    width = materials.model.dim + materials.similarity_space.dim
    # A product of all vectors each; matching pursuit also the products of all donors.
    product = 2.0 * rows * len(materials.model) * width / FLOPS
    chosen = settings.named
    pursuit = (
        2.0 * len(materials.donors) * materials.similarity_space.dim * len(materials.donors) / FLOPS
        + rows * PURSUIT
    )
    return len(chosen) * product * (1 + settings.norm_matched) + pursuit * ("omp" in chosen)


class _InitializerJudge:
    """Judges initializers on true embeddings of hidden tokens, neighbors of new ones, and a loss if
    given.
    """

    def __init__(
        self, materials: Materials, settings: LeaderboardSettings, loss: Loss | None
    ) -> None:
        self.materials, self.settings, self.loss = materials, settings, loss
        self.hidden, self.of = choose_hidden_tokens(materials, settings.held_out, settings.seed)
        self.without = materials_without(materials, self.hidden)
        self.truth = TrueEmbeddings(
            materials.model, compute_mean_embedding(self.without.model), self.hidden
        )
        self.few = sample_materials(materials, settings.judged, settings.seed)
        self.around = NewTokenJudge(self.few, settings.neighbors)

    def judged(
        self, rows: InitializerSettings, progress: Progress
    ) -> Iterator[tuple[InitializerStanding, Matrix]]:
        """Yield the standing of an initializer with its centered cosines, also norm-matched if
        requested.
        """
        # 1. Initialize the hidden tokens, then the new ones, a sample of them where no loss needs all.
        progress(0.0, "giving the hidden tokens back")
        given_back = _initialize(
            replace(self.without, progress=part(progress, 0.0, 0.5)), rows, self.settings
        )
        start, few = time.perf_counter(), self.few if self.loss is None else self.materials
        made = _initialize(replace(few, progress=part(progress, 0.5, 0.9)), rows, self.settings)
        seconds = time.perf_counter() - start

        # 2. Judge them as they are, and norm-matched if requested.
        progress(0.9, "judging")
        variants = [(rows.method, given_back, made)]
        if self.settings.norm_matched and rows.method not in BASELINES:
            back = match_norms(given_back, self.without.plan, self.without.model)
            new = match_norms(made, self.materials.plan, self.materials.model)
            variants.append((rows.method + MATCHED, back, new))
        for name, back, new in variants:
            cosines, ranks = self.truth.judge(back.matrix)
            yield (
                InitializerStanding(
                    name,
                    float(cosines.mean()),
                    float(cosines.std() / len(self.hidden) ** 0.5),
                    float((ranks == 0).mean()),
                    float((1 / (1 + ranks)).mean()),
                    float(np.median(ranks)),
                    self.around.norm_ratio(new),
                    self.around.overlap(new),
                    None if self.loss is None else self.loss(new),
                    new.fallbacks,
                    seconds,
                ),
                cosines,
            )


def _initialize(
    materials: Materials, rows: InitializerSettings, settings: LeaderboardSettings
) -> NewEmbeddings:
    """Initialize embeddings, through an alignment fitted on these materials if needed."""
    if INITIALIZERS[rows.method].needs_alignment:
        space = materials.domain if materials.domain is not None else materials.similarity_space
        trained = materials.model.rows(list_trained_tokens(materials.plan, materials.model))
        target = materials.model.take(trained)
        materials = replace(materials, alignment=fit_alignment(space, target, settings.alignment))
    return initialize(materials, rows)


def _paired_p_value(order: list[str], cosines: dict[str, Matrix]) -> float | None:
    """Return the p-value of a paired t-test between the best two methods over the hidden tokens."""
    # The test needs two methods, and differences that are not all zero.
    ranked = [name for name in order if name not in BASELINES]
    other = next((name for name in ranked if _base_method(name) != _base_method(ranked[0])), None)
    if other is None or np.array_equal(cosines[ranked[0]], cosines[other]):
        return None
    from scipy.stats import ttest_rel

    p = float(ttest_rel(cosines[ranked[0]], cosines[other]).pvalue)
    if not np.isfinite(p):
        return None
    return p


def _base_method(name: str) -> str:
    return name.removesuffix(MATCHED)
