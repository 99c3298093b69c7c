"""Comparison of initializers before any training.

*Held-out recovery.* Some common tokens are hidden: they and their embeddings are removed from the
model, so neither an alignment, a donor list nor a tokenization contains them. They are initialized
as if they were new and compared with their true embeddings by cosine (both centered at the mean of
the remaining embeddings) and by the rank of the true embedding among all old ones. Baselines: the
global mean (centered cosine 0), random embeddings, and the mean of the common tokens, which any
mixture of many of them approximates.

Hidden tokens are not like new ones: P@k is also reweighted, as if their counts and pieces were
those of the new tokens, and measured once more with all words of the same stem hidden.

*Replacement test.* With a text, the network reads the hidden tokens in sentences (`replacement`).

*New embeddings.* Reported are their norm relative to the old ones, the fraction of a token's
nearest neighbors in the target space that are also its nearest in the model, and, if the model has
a masked-language-model head and there is a held-out text, the loss per character on masked words.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vocadapt.analysis.leaderboard.judges import (
    HELD_OUT,
    NewTokenJudge,
    TrueEmbeddings,
    choose_hidden_stems,
    choose_hidden_tokens,
    hide_tokens,
    sample_materials,
    weight_like_new_tokens,
)
from vocadapt.analysis.leaderboard.replacement import (
    ReadableText,
    ReadingScores,
    ReplacementTest,
    find_sentences,
)
from vocadapt.errors import InputError
from vocadapt.progress import Progress, part, parts, percent, silent
from vocadapt.report.formats import format_chance
from vocadapt.report.table import Column, Finding, Table
from vocadapt.settings import MAX_SEED, CheckedSettings, read_options, setting, show_only
from vocadapt.spaces.alignment.alignment import Alignment, AlignmentSettings, fit_alignment
from vocadapt.spaces.space import EmbeddingSpace, FloatArray, Matrix
from vocadapt.system.forecasts import Work
from vocadapt.text.summary import MANY, Summarized, Summary
from vocadapt.text.summary import Table as ShortTable
from vocadapt.vocabulary.initializers.initialize import (
    INITIALIZERS,
    InitializerSettings,
    Materials,
    NewEmbeddings,
    compute_mean_embedding,
    initialize,
    match_norms,
)
from vocadapt.vocabulary.initializers.materials import (
    JoinSettings,
    list_trained_tokens,
)
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
SMALLEST_P = 1e-6  # a smaller p-value is not written out
FLOPS = 4e10  # floating-point operations per second of two cores
PURSUIT = 0.006  # seconds per token of orthogonal matching pursuit
STACKED_SECONDS = 6e-4  # seconds per token of the model to fit stacked embeddings
SENTENCE_LENGTH = 40  # tokens of a sentence of the replacement test
# Wordpieces of a divided word with its special tokens; the layers of BERT are width / 64.
PIECES, HEAD_WIDTH = 6, 64

Loss = Callable[[NewEmbeddings], float]


@dataclass(frozen=True)
class LeaderboardSettings(CheckedSettings):
    """Settings of the comparison of initializers.

    `norm_matched`: also evaluate each one with its embeddings rescaled. `options`: the own settings
    of initializers, by name.
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
    sentences: int = setting(
        2,
        "sentences of each hidden token that the network reads; 0 reads none",
        high=1000,
        label="Sentences",
    )
    judged: int = setting(1000, "number of new tokens to evaluate", low=1, high=1_000_000)
    neighbors: int = setting(10, "number of neighbors to compare", low=1, high=10_000, flag="")
    seed: int = setting(1, "random seed of hidden tokens and random embeddings", high=MAX_SEED)
    norm_matched: bool = setting(
        False,
        "also evaluate with embeddings scaled to the median norm of the old ones",
        label="Norm-matched",
    )
    donors: int = setting(
        0,
        "neighbors used by semantic and wechsel",
        high=10_000,
        empty="3 and 10",
        label="Neighbors",
        flag="--neighbors",
    )
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    alignment: AlignmentSettings = field(default_factory=AlignmentSettings, metadata=show_only())

    def __post_init__(self) -> None:
        super().__post_init__()
        used = self.methods_to_compare
        options = read_options(self.options, INITIALIZERS, used, "initializer")
        object.__setattr__(self, "options", options)

    @property
    def methods_to_compare(self) -> tuple[str, ...]:
        """The initializers to compare; by default all but those that are trained."""
        return self.methods or tuple(
            name for name, known in INITIALIZERS.items() if known.needs not in TRAINED
        )

    def choose_initializer(self, method: str) -> InitializerSettings:
        """Return the settings of one initializer, of those that are compared."""
        given = {"seed": self.seed, "neighbors": self.donors}
        changes: dict[str, Any] = {
            name: value for name, value in given.items() if name in INITIALIZERS[method].settings
        }
        if method in self.options:
            changes["options"] = {method: self.options[method]}
        return InitializerSettings(method, **changes)


@dataclass(frozen=True, kw_only=True)
class InitializerStanding:
    """Scores of one initializer, None if they cannot be computed; SCORES says what each is.

    new_p1, new_p5: P@k as if hidden tokens were like the new ones. stem_p1, stem_p5: with all words
    of the same stem hidden. mrr: mean reciprocal rank. median_rank: 0 is the true embedding.
    word_state_error: of the difference between the word as read and its pieces as read.
    """

    initializer: str
    centered_cosine: float
    standard_error: float
    p1: float
    p5: float
    new_p1: float | None = None
    new_p5: float | None = None
    stem_p1: float | None = None
    stem_p5: float | None = None
    mrr: float
    median_rank: float
    word_state: float | None = None
    word_state_error: float | None = None
    sentence_state: float | None = None
    beats_pieces: float | None = None
    norm_ratio: float
    neighbor_overlap: float | None = None
    masked_loss: float | None = None
    fallbacks: int
    seconds: float

    @property
    def is_baseline(self) -> bool:
        """Whether it is one of the baselines."""
        return self.initializer in BASELINES

    @property
    def label(self) -> str:
        """The initializer, marked if it is a baseline."""
        return f"{self.initializer} (baseline)" if self.is_baseline else self.initializer


SCORES = (
    Column("label", "Initializer"),
    Column(
        "centered_cosine",
        "Centered cosine",
        "Cosine of the initialized and the true embedding of held-out tokens, both mean-centered, ±"
        " standard error. 1: same direction; 0: the global mean.",
        "fraction",
        beside="standard_error",
    ),
    Column(
        "p1",
        "P@1",
        "Fraction of held-out tokens whose true embedding is the nearest to the initialized one.",
        "fraction",
    ),
    Column(
        "p5",
        "P@5",
        "Fraction of held-out tokens whose true embedding is among the five nearest to the"
        " initialized one.",
        "fraction",
    ),
    Column(
        "new_p5",
        "P@5, new words",
        "P@5 weighted so that counts, numbers of pieces and lengths of the first piece are those"
        " of new tokens.",
        "fraction",
    ),
    Column(
        "stem_p5",
        "P@5, stems held out",
        "P@5 if all tokens that begin with the same five letters, or that are the first three or"
        " four of these letters, are held out, too.",
        "fraction",
    ),
    Column(
        "word_state",
        "Word as read",
        "Cosine of the last hidden state of a held-out token in sentences, with the initialized"
        " embedding and with the true one. 1: the network reads no difference.",
        "fraction",
    ),
    Column(
        "sentence_state",
        "Sentence as read",
        "The same cosine for the mean of all last hidden states of a sentence.",
        "four digits",
    ),
    Column(
        "beats_pieces",
        "Better than pieces",
        "Fraction of held-out tokens that the network reads better with the initialized embedding"
        " than as pieces.",
        "fraction",
    ),
    Column(
        "norm_ratio",
        "Norm ratio",
        "Norm of the new embeddings relative to the model's own.",
        "fraction",
    ),
    Column(
        "neighbor_overlap",
        "Neighbors kept",
        "Fraction of a token's nearest neighbors in the target that are also neighbors of its new"
        " embedding in the model.",
        "fraction",
    ),
    Column(
        "masked_loss",
        "Masked loss",
        "Masked-language-model loss in nats per character on an unseen text; lower is better."
        " Requires a model with a masked-language-model head.",
        "fraction",
    ),
    Column(
        "fallbacks",
        "Fallbacks",
        "Number of new tokens that the initializer could not handle; a fallback initialized them.",
        "number",
    ),
    Column("seconds", "Seconds", "Time to make the new embeddings.", "number"),
    *map(Column, ("initializer", "new_p1", "stem_p1", "mrr", "median_rank", "word_state_error")),
)


@dataclass(frozen=True)
class PiecesRead:
    """How the network reads hidden tokens as their pieces: mean cosines of word and sentence to the
    true states, on how many of the hidden tokens and in how many sentences.
    """

    word: float
    sentence: float
    tokens: int
    sentences: int


@dataclass(frozen=True, repr=False)
class Leaderboard(Summarized):
    """All standings, best centered cosine first, baselines included.

    `skipped`: initializers that failed, with the reason. `hidden`: the hidden tokens, `of`: number
    of common tokens; `candidates`: number of old embeddings among which the true one is ranked.
    `added`: number of new tokens, `judged`: how many of them were evaluated by norm and by `k`
    neighbors among `neighbor_candidates` tokens. `p`: p-value of a paired t-test over the hidden
    tokens between the best two methods that are no baselines; None if there are not two. `matched`:
    fraction of the new tokens that have count and pieces in common with a hidden one; `stems`:
    number of tokens that were hidden with their stems. `pieces`: None if the network read no text,
    with the reason in `why_not_read`.
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
    matched: float = 0.0
    stems: int = 0
    pieces: PiecesRead | None = None
    why_not_read: str = ""

    @property
    def verdict(self) -> Finding:
        """Result on the held-out tokens."""
        # 1. Compare the best method, less two standard errors, with the best baseline.
        judged = [row for row in self.rows if not row.is_baseline]
        baseline = next((row for row in self.rows if row.is_baseline), None)
        if baseline is None:
            return Finding("not evaluated", "No initializer could be evaluated.")
        n = f"{len(self.hidden):,} held-out tokens"
        lower_bound = judged[0].centered_cosine - 2 * judged[0].standard_error if judged else 0.0
        # The global mean has a centered cosine of 0.
        better = "global-mean" if lower_bound <= 0 else baseline.initializer
        if lower_bound <= max(0.0, baseline.centered_cosine):
            return Finding("no better", f"None beats {BASELINES[better]} on {n}.")
        against = f"{baseline.centered_cosine:.3f} of {BASELINES[baseline.initializer]}"
        best = (
            f"Best on {n}: {judged[0].initializer}, centered cosine {judged[0].centered_cosine:.3f}"
            f" against {against}"
        )
        if self.p is None:
            return Finding("best", f"{best}.")
        # 2. Find the second-best method; a norm-matched variant is not another method.
        other = next(
            row
            for row in judged
            if _base_method(row.initializer) != _base_method(judged[0].initializer)
        )
        p = f"p = {self.p:.2g}"
        if self.p < SMALLEST_P:
            p = f"p < {SMALLEST_P:g}"
        return Finding(
            "best",
            f"{best}; to {other.initializer}, {other.centered_cosine:.3f}, {p} (paired t-test).",
        )

    @property
    def reading(self) -> Finding | None:
        """Result of the replacement test; None if there is none."""
        read = [row for row in self.rows if row.word_state is not None]
        if self.pieces is None or not read:
            return None
        best = max(read, key=lambda row: row.word_state or 0.0)
        assert best.word_state is not None
        found = (
            f"In sentences, {best.label} comes closest to the true hidden state of a word: cosine"
            f" {best.word_state:.3f}, with its pieces {self.pieces.word:.3f}"
        )
        # The error is that of the difference, over the same tokens.
        if best.word_state - self.pieces.word <= 2 * (best.word_state_error or 0.0):
            return Finding(
                "read as pieces",
                f"{found}; this does not show that it is read better than the pieces.",
            )
        return Finding("read better", f"{found}.")

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Results in sentences, if any were read, and on the held-out tokens."""
        return tuple(filter(None, (self.reading, self.verdict)))

    def describe_reading(self) -> str:
        """Describe what the network read, or why it read nothing."""
        if self.pieces is None:
            return f"No sentences were read: {self.why_not_read}"
        return (
            f"The network read {self.pieces.sentences:,} sentences with {self.pieces.tokens:,} of"
            f" the held-out tokens. With the pieces, the cosine to the true hidden state is"
            f" {self.pieces.word:.3f} for the word and {self.pieces.sentence:.4f} for the sentence."
        )

    def build_table(self) -> Table:
        """Return the standings as a table, with notes on what they are computed on."""
        mrr = float((1 / np.arange(1, self.candidates + 1)).sum()) / self.candidates
        notes = (
            f"{len(self.hidden):,} of {self.of:,} common tokens held out; their true embeddings"
            f" ranked among {self.candidates:,} embeddings; chance P@1"
            f" {format_chance(1 / self.candidates)}; MRR {mrr:.2g}.",
            f"{self.stems:,} common tokens held out with their stems; {percent(self.matched)} of"
            " the new tokens have a held-out token of similar count and pieces.",
            self.describe_reading(),
            f"Neighbors kept, of {self.k}, and norms: {self.judged:,} of {self.added:,} new tokens,"
            f" among {self.neighbor_candidates:,}.",
            *(
                f"Not in the table: {name} ({' '.join(reason.split())})"
                for name, reason in self.skipped.items()
            ),
        )
        return Table("", SCORES, self.rows, notes)

    def summarize(self) -> Summary:
        """Return the standings, best first, and the findings."""
        facts = {
            "initializers": len(self.rows),
            "held-out tokens": f"{len(self.hidden):,} of {self.of:,}",
            "new tokens": self.added,
        }
        table = self.build_table()
        labels = tuple(column.label for column in table.shown)
        cells = list(table.write_cells())
        short = ShortTable(labels, cells, len(cells), "initializers", shown=MANY)
        return Summary("", facts, (short,), " ".join(map(str, self.findings)))


def compare_initializers(
    materials: Materials,
    settings: LeaderboardSettings | None = None,
    loss: Loss | None = None,
    progress: Progress = silent,
    text: ReadableText | None = None,
) -> Leaderboard:
    """Compare initializers on the new embeddings of a plan; fits alignments as needed.

    loss: of the masked-language model. text: for the replacement test. Raises InputError if no
    token is new, or none can be hidden.
    """
    settings = settings or LeaderboardSettings()
    if not materials.plan.new_embeddings:
        raise InputError(
            "There is nothing to initialize: the model has all tokens of the target.",
            "Give another target.",
            code="nothing-to-initialize",
        )

    # 1. Divide the progress by the cost of each initializer; baselines are always included.
    costs = {
        method: TRAINED_COST if INITIALIZERS[method].needs in TRAINED else 1.0
        for method in (*settings.methods_to_compare, *BASELINES)
    }
    shares = parts(progress, {"text": float(text is not None), **costs})
    judge = InitializerJudge(materials, settings, loss, text, shares["text"])

    # 2. Evaluate each initializer; skip those that fail.
    evaluated = list[tuple[InitializerStanding, ScoresByToken]]()
    skipped = dict[str, str]()
    for method in costs:
        initializer = settings.choose_initializer(method)
        try:
            evaluated += judge.evaluate(initializer, part(shares[method], 0.0, 1.0, method))
        except InputError as error:
            skipped[method] = str(error)
    progress(1.0, "evaluated")
    return judge.rank(evaluated, skipped)


def initialize_token(
    materials: Materials, token: str, initializer: InitializerSettings
) -> NewEmbeddings:
    """Initialize the embedding of one token; a token of the model is hidden first.

    If the materials have an alignment (`fit_own_alignment`), it is used for a new token. For a
    token of the model one is fitted without that token.
    """
    if token in materials.model:
        materials = hide_tokens(materials, (token,))
    # A plan that adds only this token, after the kept ones.
    added = (AddedWord(token, ()),)
    order = (*materials.plan.kept, token)
    plan = replace(materials.plan, added=added, replaced=(), order=order)
    return initialize_with_alignment(
        replace(materials, plan=plan), initializer, LeaderboardSettings()
    )


def fit_own_alignment(materials: Materials, settings: AlignmentSettings) -> Alignment:
    """Fit an alignment of the domain, or else of the target space, to the trained tokens of the
    model.
    """
    space = materials.domain if materials.domain is not None else materials.similarity_space
    trained = materials.model.rows(list_trained_tokens(materials.plan, materials.model))
    return fit_alignment(space, materials.model.take(trained), settings)


def measure_leaderboard(
    settings: LeaderboardSettings,
    model: EmbeddingSpace,
    dim: int,
    donors: int,
    reads_text: bool = False,
) -> Work:
    """Return the work of `compare_initializers`, without a loss.

    dim: of the space of the new tokens. donors: number of tokens of the model in it. reads_text:
    whether there is a text for the replacement test.
    """
    # 1. Each method multiplies all vectors once; matching pursuit also multiplies all donors.
    hidden = settings.held_out or HELD_OUT
    rows = settings.judged + 2 * hidden
    chosen = settings.methods_to_compare
    product = 2.0 * rows * len(model) * (model.dim + dim) / FLOPS
    seconds = len(chosen) * product * (1 + settings.norm_matched)
    if "omp" in chosen:
        seconds += 2.0 * donors * dim * donors / FLOPS + rows * PURSUIT
    if "stacked" in chosen:
        seconds += 3 * len(model) * STACKED_SECONDS

    # 2. A network as deep as BERT at this width reads tokens: `joined` reads the words that its map
    #    is fitted on three times, for both sets of hidden tokens and for the new ones, then these.
    tokens = 0
    if "joined" in chosen:
        own = settings.options.get("joined", JoinSettings())
        tokens += PIECES * (3 * min(own.words, len(model) // 4) + 2 * rows)
    # The sentences are read with the tokens, with their pieces, and once for each initializer.
    if reads_text:
        readings = 2 + len({*chosen, *BASELINES}) * (1 + settings.norm_matched)
        tokens += readings * hidden * settings.sentences * SENTENCE_LENGTH
    seconds += tokens * 2.0 * 12 * model.dim**2 * (model.dim / HEAD_WIDTH) / FLOPS
    return Work(len(chosen), "initializers", seconds)


@dataclass(frozen=True, eq=False)
class ScoresByToken:
    """Scores of the hidden tokens: centered cosine and rank of each, those of tokens hidden with
    their stems (None if there are none), and how the network reads them (None without a text).
    """

    cosines: Matrix
    ranks: FloatArray
    stem_ranks: FloatArray | None
    reading: ReadingScores | None


class InitializerJudge:
    """Evaluates initializers by the true embeddings of hidden tokens, the sentences that contain
    them, the neighbors of new tokens, and a loss if given.
    """

    def __init__(
        self,
        materials: Materials,
        settings: LeaderboardSettings,
        loss: Loss | None = None,
        text: ReadableText | None = None,
        progress: Progress = silent,
    ) -> None:
        self.materials, self.settings, self.loss = materials, settings, loss
        # 1. Hide tokens, and others with their stems.
        self.hidden, self.of = choose_hidden_tokens(materials, settings.held_out, settings.seed)
        self.visible = hide_tokens(materials, self.hidden)
        self.truth = self._build_truth(self.visible, self.hidden)
        self.stems, removed = choose_hidden_stems(materials, len(self.hidden), settings.seed)
        self.without_stems = hide_tokens(materials, self.stems, removed)
        self.truth_of_stems = self._build_truth(self.without_stems, self.stems)
        self.weights, self.matched = weight_like_new_tokens(materials, self.hidden, self.visible)
        # 2. The sentences that the network reads.
        self.test: ReplacementTest | None = None
        self.why_not_read = ""
        try:
            self.test = self._read_sentences(text, progress)
        except InputError as error:
            self.why_not_read = error.problem
        # 3. The new tokens.
        self.sample = sample_materials(materials, settings.judged, settings.seed)
        self.new_token_judge = NewTokenJudge(self.sample, settings.neighbors)

    def _read_sentences(self, text: ReadableText | None, progress: Progress) -> ReplacementTest:
        """Find sentences with hidden tokens and read them; raises InputError if it cannot."""
        settings = self.settings
        if text is None:
            raise InputError("There is no text.", "Give a text.")
        if not settings.sentences:
            raise InputError("The number of sentences is 0.", "Set another.")
        share = part(progress, 0.0, 0.5)
        found = find_sentences(text, self.hidden, settings.sentences, settings.seed, share)
        share = part(progress, 0.5, 1.0)
        return ReplacementTest(text.model, self.hidden, self.visible.plan.base, found, share)

    def evaluate(
        self, initializer: InitializerSettings, progress: Progress
    ) -> Iterator[tuple[InitializerStanding, ScoresByToken]]:
        """Yield the standing of an initializer and its scores by token; the same for its
        norm-matched variant if requested.
        """
        # 1. Initialize the hidden tokens, then the new ones: all for a loss, else a sample.
        progress(0.0, "initializing hidden tokens")
        hidden = self._initialize(self.visible, initializer, part(progress, 0.0, 0.3))
        stems = None
        if self.stems:
            # A method that needs more words than remain has no score here.
            with suppress(InputError):
                stems = self._initialize(self.without_stems, initializer, part(progress, 0.3, 0.5))
        materials = self.sample if self.loss is None else self.materials
        start = time.perf_counter()
        new = self._initialize(materials, initializer, part(progress, 0.5, 0.7))
        seconds = time.perf_counter() - start

        # 2. Evaluate them as they are, and norm-matched if requested. The norm changes no rank.
        progress(0.7, "evaluating")
        stem_ranks = None
        if stems is not None:
            stem_ranks = self.truth_of_stems.judge(stems.matrix)[1]
        variants = [(initializer.method, hidden, new)]
        if self.settings.norm_matched and initializer.method not in BASELINES:
            matched = match_norms(hidden, self.visible.plan, self.visible.model)
            new_matched = match_norms(new, self.materials.plan, self.materials.model)
            variants.append((initializer.method + MATCHED, matched, new_matched))
        for place, (name, made, made_new) in enumerate(variants):
            cosines, ranks = self.truth.judge(made.matrix)
            reading = None
            if self.test is not None:
                share = part(progress, 0.7 + 0.15 * place, 0.85 + 0.15 * place)
                reading = self.test.judge(made.matrix, share)
            by_token = ScoresByToken(cosines, ranks, stem_ranks, reading)
            yield self._sum_up(name, by_token, made_new, seconds), by_token

    def rank(
        self,
        evaluated: Iterable[tuple[InitializerStanding, ScoresByToken]],
        skipped: dict[str, str],
    ) -> Leaderboard:
        """Return the standings, best first, with what they were computed on."""
        ranked = sorted(evaluated, key=lambda pair: -pair[0].centered_cosine)
        pieces = None
        if self.test is not None:
            pieces = PiecesRead(
                float(self.test.pieces.word.mean()),
                float(self.test.pieces.sentence.mean()),
                len(self.test.tokens),
                len(self.test.sentences),
            )
        return Leaderboard(
            tuple(standing for standing, _ in ranked),
            skipped,
            self.hidden,
            self.of,
            len(self.materials.model),
            len(self.materials.plan.new_embeddings),
            len(self.sample.plan.new_embeddings),
            self.new_token_judge.k,
            len(self.new_token_judge.names),
            _compute_p_value({one.initializer: own.cosines for one, own in ranked}),
            self.matched,
            len(self.stems),
            pieces,
            self.why_not_read,
        )

    def _sum_up(
        self, name: str, found: ScoresByToken, new: NewEmbeddings, seconds: float
    ) -> InitializerStanding:
        """Return the means of an initializer over the tokens."""
        ranks = found.ranks
        stem_ranks = found.stem_ranks
        reading = found.reading
        read: dict[str, float | None] = dict.fromkeys(
            ("word_state", "word_state_error", "sentence_state", "beats_pieces")
        )
        if reading is not None and self.test is not None:
            gain = reading.word - self.test.pieces.word
            read = {
                "word_state": float(reading.word.mean()),
                "word_state_error": float(gain.std() / len(gain) ** 0.5),
                "sentence_state": float(reading.sentence.mean()),
                "beats_pieces": reading.compute_win_rate(self.test.pieces),
            }
        new_p1 = new_p5 = None
        if self.matched:
            new_p1 = float((self.weights * (ranks == 0)).mean())
            new_p5 = float((self.weights * (ranks < 5)).mean())
        return InitializerStanding(
            initializer=name,
            centered_cosine=float(found.cosines.mean()),
            standard_error=float(found.cosines.std() / len(self.hidden) ** 0.5),
            p1=float((ranks == 0).mean()),
            p5=float((ranks < 5).mean()),
            new_p1=new_p1,
            new_p5=new_p5,
            stem_p1=None if stem_ranks is None else float((stem_ranks == 0).mean()),
            stem_p5=None if stem_ranks is None else float((stem_ranks < 5).mean()),
            mrr=float((1 / (1 + ranks)).mean()),
            median_rank=float(np.median(ranks)),
            **read,
            norm_ratio=self.new_token_judge.compute_norm_ratio(new),
            neighbor_overlap=self.new_token_judge.compute_overlap(new),
            masked_loss=None if self.loss is None else self.loss(new),
            fallbacks=new.fallbacks,
            seconds=seconds,
        )

    def _build_truth(self, visible: Materials, tokens: tuple[str, ...]) -> TrueEmbeddings:
        """Return the true embeddings of hidden tokens, centered at the mean of the visible ones."""
        mean = compute_mean_embedding(visible.model)
        return TrueEmbeddings(self.materials.model, mean, tokens)

    def _initialize(
        self, materials: Materials, initializer: InitializerSettings, progress: Progress
    ) -> NewEmbeddings:
        return initialize_with_alignment(
            replace(materials, progress=progress), initializer, self.settings
        )


def initialize_with_alignment(
    materials: Materials, initializer: InitializerSettings, settings: LeaderboardSettings
) -> NewEmbeddings:
    """Initialize embeddings; fits an alignment on these materials if the method needs one and they
    have none.
    """
    if INITIALIZERS[initializer.method].needs_alignment and materials.alignment is None:
        alignment = fit_own_alignment(materials, settings.alignment)
        materials = replace(materials, alignment=alignment)
    return initialize(materials, initializer)


def _compute_p_value(cosines: Mapping[str, Matrix]) -> float | None:
    """Return the p-value of a paired t-test between the best two methods over the hidden tokens.

    cosines: of each method, the best first. None if there are not two methods, or if all
    differences are zero.
    """
    ranked = [name for name in cosines if name not in BASELINES]
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
