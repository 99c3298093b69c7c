"""Comparison of initializers before any training.

*Held-out recovery.* Some common tokens are hidden: they and their embeddings are removed from the
model, so neither an alignment, a donor list nor a tokenization contains them. They are initialized
as if they were new and compared with their true embeddings by cosine (both centered at the mean of
the remaining embeddings) and by the rank of the true embedding among all old ones. Baselines: the
global mean (centered cosine 0), random embeddings, and the mean of the common tokens, which any
mixture of many of them approximates.

*New embeddings.* Reported are their norm relative to the old ones, the fraction of a token's
nearest neighbors in the target space that are also its nearest in the model, and, if the model has
a masked-language-model head and there is text, the loss per character on masked words.
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
    hide_tokens,
    sample_materials,
)
from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, parts, silent
from vocadapt.settings import MAX_SEED, CheckedSettings, setting, show_only
from vocadapt.spaces.alignment.alignment import Alignment, AlignmentSettings, fit_alignment
from vocadapt.spaces.space import Matrix
from vocadapt.text.summary import MANY, Summarized, Summary, Table
from vocadapt.vocabulary.initializers.initialize import (
    INITIALIZERS,
    InitializerSettings,
    Materials,
    NewEmbeddings,
    compute_mean_embedding,
    initialize,
    match_norms,
)
from vocadapt.vocabulary.initializers.materials import JoinSettings, list_trained_tokens
from vocadapt.vocabulary.plan.plan import AddedWord

BASELINES = {  # initializers that use no information about a token
    "global-mean": "the global mean",
    "common-mean": "the mean of the common tokens",
    "random-normal": "random embeddings",
    "random-uniform": "random embeddings",
}
# Cost of an initializer that trains embeddings through the network, in multiples of the others.
TRAINED_COST = 100.0
TRAINED = ("text", "glossary")  # needs of initializers that are trained through the network
MATCHED = ", norm-matched"
FLOPS = 4e10  # floating-point operations per second of two cores
PURSUIT = 0.006  # seconds per token of orthogonal matching pursuit
# Wordpieces of a divided word with its special tokens; the layers of BERT are width / 64.
PIECES, HEAD_WIDTH = 6, 64

Loss = Callable[[NewEmbeddings], float]


@dataclass(frozen=True)
class LeaderboardSettings(CheckedSettings):
    """Settings of the comparison of initializers.

    `norm_matched`: also evaluate each one with its embeddings rescaled. `rows`: settings of the
    initializers.
    """

    methods: tuple[str, ...] = setting(
        (),
        "initializers to compare",
        choices=lambda: INITIALIZERS,
        label="Initializers",
        empty="all but those that are trained on a text or a glossary",
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
    def methods_to_compare(self) -> tuple[str, ...]:
        """The initializers to compare; by default all but those that are trained."""
        return self.methods or tuple(
            name for name, known in INITIALIZERS.items() if known.needs not in TRAINED
        )


@dataclass(frozen=True)
class InitializerStanding:
    """Scores of one initializer.

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
        """As JSON values, under the names that the command line prints."""
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


@dataclass(frozen=True, repr=False)
class Leaderboard(Summarized):
    """All standings, best centered cosine first, baselines included.

    `skipped`: initializers that failed, with the reason. `hidden`: the hidden tokens, `of`: number
    of common tokens; `candidates`: number of old embeddings among which the true one is ranked.
    `added`: number of new tokens, `judged`: how many of them were evaluated by norm and by `k`
    neighbors among `neighbor_candidates` tokens. `p`: p-value of a paired t-test over the hidden
    tokens between the best two methods that are no baselines; None if there are not two.
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
        # 1. Compare the best method, less two standard errors, with the best baseline.
        judged = [row for row in self.rows if not row.is_baseline]
        baseline = next(row for row in self.rows if row.is_baseline)
        n = f"{len(self.hidden):,} held-out tokens"
        lower_bound = judged[0].centered_cosine - 2 * judged[0].standard_error if judged else 0.0
        # The global mean has a centered cosine of 0.
        if lower_bound <= 0:
            return f"None beats {BASELINES['global-mean']} on {n}."
        if lower_bound <= baseline.centered_cosine:
            return f"None beats {BASELINES[baseline.initializer]} on {n}."
        against = f"{baseline.centered_cosine:.3f} of {BASELINES[baseline.initializer]}"
        best = (
            f"Best on {n}: {judged[0].initializer}, centered cosine {judged[0].centered_cosine:.3f}"
            f" against {against}"
        )
        if self.p is None:
            return f"{best}."
        # 2. Find the second-best method; a norm-matched variant is not another method.
        other = next(
            row
            for row in judged
            if _base_method(row.initializer) != _base_method(judged[0].initializer)
        )
        return (
            f"{best}; to {other.initializer}, {other.centered_cosine:.3f}, p = {self.p:.2g} (paired"
            " t-test)."
        )

    def summarize(self) -> Summary:
        """Return the standings, best first, and the verdict."""
        facts = {
            "initializers": len(self.rows),
            "hidden tokens": f"{len(self.hidden):,} of {self.of:,}",
            "new tokens": self.added,
        }
        rows = [
            (
                f"{row.initializer} (baseline)" if row.is_baseline else row.initializer,
                row.centered_cosine,
                row.standard_error,
                row.p1,
                row.mrr,
                row.median_rank,
                row.norm_ratio,
                row.neighbor_overlap,
            )
            for row in self.rows
        ]
        columns = (
            *("initializer", "centered cosine", "±", "P@1", "MRR"),
            *("median rank", "norm ratio", "overlap"),
        )
        skipped = list(self.skipped.items())
        tables = (
            Table(columns, rows, len(rows), "initializers", shown=MANY),
            Table(("skipped", "because"), skipped, len(skipped), "skipped initializers"),
        )
        return Summary("", facts, tables, self.verdict)

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
    """Compare initializers on the new embeddings of a plan; fits alignments as needed.

    `loss`: masked-language-model loss as a function of the new embeddings. Raises InputError if no
    token is new, or none can be hidden.
    """
    settings = settings or LeaderboardSettings()
    if not materials.plan.new_embeddings:
        raise InputError(
            "There is nothing to initialize: the model has all tokens of the target.",
            "Give another target.",
        )

    # 1. Divide the progress by the cost of each initializer; baselines are always included.
    judge = _InitializerJudge(materials, settings, loss)
    standings: dict[str, InitializerStanding] = {}
    cosines: dict[str, Matrix] = {}
    skipped: dict[str, str] = {}
    costs = dict.fromkeys([*settings.methods_to_compare, *BASELINES], 1.0)
    for method in costs:
        if INITIALIZERS[method].needs in TRAINED:
            costs[method] = TRAINED_COST
    shares = parts(progress, costs)

    # 2. Evaluate each initializer; skip those that fail.
    for method in costs:
        rows = replace(settings.rows, method=method, norm_matched=False)
        share = part(shares[method], 0.0, 1.0, method)
        try:
            for standing, own in judge.evaluate(rows, share):
                standings[standing.initializer], cosines[standing.initializer] = standing, own
        except InputError as error:
            skipped[method] = str(error)

    # 3. Rank them, best first.
    order = sorted(standings, key=lambda name: -standings[name].centered_cosine)
    progress(1.0, "evaluated")
    return Leaderboard(
        tuple(standings[name] for name in order),
        skipped,
        judge.hidden,
        judge.of,
        len(materials.model),
        len(materials.plan.new_embeddings),
        len(judge.sample.plan.new_embeddings),
        judge.new_token_judge.k,
        len(judge.new_token_judge.names),
        _paired_p_value(order, cosines),
    )


def initialize_token(materials: Materials, token: str, rows: InitializerSettings) -> NewEmbeddings:
    """Initialize the embedding of one token; a token of the model is hidden first.

    If the materials have an alignment (`fit_own_alignment`), it is used for a new token. For a token
    of the model one is fitted without that token.
    """
    if token in materials.model:
        materials = hide_tokens(materials, (token,))
    # A plan that adds only this token, after the kept ones.
    added, order = (AddedWord(token, ()),), (*materials.plan.kept, token)
    plan = replace(materials.plan, added=added, replaced=(), order=order)
    return _initialize(replace(materials, plan=plan), rows, LeaderboardSettings())


def fit_own_alignment(materials: Materials, settings: AlignmentSettings) -> Alignment:
    """Fit an alignment of the domain, or else of the target space, to the trained tokens of the
    model.
    """
    space = materials.domain if materials.domain is not None else materials.similarity_space
    trained = materials.model.rows(list_trained_tokens(materials.plan, materials.model))
    return fit_alignment(space, materials.model.take(trained), settings)


def estimate_leaderboard_seconds(materials: Materials, settings: LeaderboardSettings) -> float:
    """Estimate the seconds of `compare_initializers` on two 2.5 GHz cores, without a loss."""
    rows = min(settings.judged, len(materials.plan.new_embeddings)) + (
        settings.held_out or HELD_OUT
    )
    width = materials.model.dim + materials.similarity_space.dim
    # Each method multiplies all vectors once; matching pursuit also multiplies all donors.
    product = 2.0 * rows * len(materials.model) * width / FLOPS
    chosen = settings.methods_to_compare
    pursuit = (
        2.0 * len(materials.donors) * materials.similarity_space.dim * len(materials.donors) / FLOPS
        + rows * PURSUIT
    )
    seconds = len(chosen) * product * (1 + settings.norm_matched)
    if "omp" in chosen:
        seconds += pursuit
    if "joined" in chosen:
        own = settings.rows.options.get("joined", JoinSettings())
        seconds += _estimate_joined_seconds(materials, own, rows)
    return seconds


def _estimate_joined_seconds(materials: Materials, own: JoinSettings, rows: int) -> float:
    """Estimate the seconds of the initializer joined: twice, the network reads the words that the
    map is fitted on, for the hidden and for the new tokens; then it reads these two times.
    """
    dim = materials.model.dim
    per_wordpiece = 2.0 * 12 * dim**2 * (dim / HEAD_WIDTH)
    fitted = min(own.words, len(materials.model) // 4)
    return PIECES * per_wordpiece * 2 * (fitted + rows) / FLOPS


class _InitializerJudge:
    """Evaluates initializers by the true embeddings of hidden tokens, the neighbors of new tokens,
    and a loss if given.
    """

    def __init__(
        self, materials: Materials, settings: LeaderboardSettings, loss: Loss | None
    ) -> None:
        self.materials, self.settings, self.loss = materials, settings, loss
        self.hidden, self.of = choose_hidden_tokens(materials, settings.held_out, settings.seed)
        self.visible_materials = hide_tokens(materials, self.hidden)
        self.truth = TrueEmbeddings(
            materials.model, compute_mean_embedding(self.visible_materials.model), self.hidden
        )
        self.sample = sample_materials(materials, settings.judged, settings.seed)
        self.new_token_judge = NewTokenJudge(self.sample, settings.neighbors)

    def evaluate(
        self, rows: InitializerSettings, progress: Progress
    ) -> Iterator[tuple[InitializerStanding, Matrix]]:
        """Yield the standing of an initializer and its centered cosines; the same for its
        norm-matched variant if requested.
        """
        # 1. Initialize the hidden tokens, then the new ones: all for a loss, else a sample.
        progress(0.0, "initializing hidden tokens")
        recovered = _initialize(
            replace(self.visible_materials, progress=part(progress, 0.0, 0.5)), rows, self.settings
        )
        materials = self.sample if self.loss is None else self.materials
        start = time.perf_counter()
        made = _initialize(
            replace(materials, progress=part(progress, 0.5, 0.9)), rows, self.settings
        )
        seconds = time.perf_counter() - start

        # 2. Evaluate them as they are, and norm-matched if requested.
        progress(0.9, "evaluating")
        variants = [(rows.method, recovered, made)]
        if self.settings.norm_matched and rows.method not in BASELINES:
            back = match_norms(recovered, self.visible_materials.plan, self.visible_materials.model)
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
                    self.new_token_judge.compute_norm_ratio(new),
                    self.new_token_judge.compute_overlap(new),
                    None if self.loss is None else self.loss(new),
                    new.fallbacks,
                    seconds,
                ),
                cosines,
            )


def _initialize(
    materials: Materials, rows: InitializerSettings, settings: LeaderboardSettings
) -> NewEmbeddings:
    """Initialize embeddings; fits an alignment on these materials if the method needs one and they
    have none.
    """
    if INITIALIZERS[rows.method].needs_alignment and materials.alignment is None:
        alignment = fit_own_alignment(materials, settings.alignment)
        materials = replace(materials, alignment=alignment)
    return initialize(materials, rows)


def _paired_p_value(order: list[str], cosines: dict[str, Matrix]) -> float | None:
    """Return the p-value of a paired t-test between the best two methods over the hidden tokens.

    None if there are not two methods, or if all differences are zero.
    """
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
