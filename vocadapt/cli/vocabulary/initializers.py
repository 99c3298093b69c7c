"""initializers, and the options of initializers that have settings of their own."""

import time
from argparse import _ActionsContainer
from dataclasses import replace
from typing import Annotated, NotRequired, TypedDict, cast

from vocadapt.analysis.leaderboard.leaderboard import (
    LeaderboardSettings,
    PiecesRead,
)
from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    option,
    read_settings,
    setting_options,
)
from vocadapt.cli.options import (
    CASING,
    CORPUS_SETTINGS_WITHOUT_SEED,
    TEXT,
    WITH_WEIGHTS,
    M,
    build_answer,
    choose_destination,
    destination_options,
    model_options,
)
from vocadapt.cli.tables import format_table
from vocadapt.lab.steps.initializers import (
    InitializerComparison,
    InitializersStep,
    LeaderboardNumbers,
    compare_for_step,
    load_comparison,
)
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.progress import percent
from vocadapt.recipe_changes import read_initializer_settings
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS

GLOSSARY = option(
    "--glossary",
    nargs="+",
    metavar="TEXT",
    help="text with a word and its description on each line, separated by a tab or a colon, for the"
    " initializer grounded",
)
Standing = TypedDict(
    "Standing",
    {
        "initializer": str,
        "centered_cosine": Annotated[float, "mean over hidden tokens; 0: the global mean"],
        "standard_error": float,
        "p@1": float,
        "p@5": float,
        "reweighted_p@1": Annotated[float | None, "as if hidden tokens were like the new ones"],
        "reweighted_p@5": float | None,
        "stems_p@1": Annotated[float | None, "with all words of the same stem hidden"],
        "stems_p@5": float | None,
        "mrr": float,
        "median_rank": Annotated[float, "0 is the true embedding"],
        "word_state": Annotated[float | None, "cosine of the last hidden state to the true one"],
        "word_state_error": float | None,
        "sentence_state": float | None,
        "beats_pieces": Annotated[float | None, "fraction read better than as pieces"],
        "norm_ratio": float,
        "neighbor_overlap": float | None,
        "masked_loss": Annotated[float | None, "nats per character"],
        "fallbacks": int,
        "seconds": float,
    },
)
Chance = TypedDict("Chance", {"p@1": float, "mrr": float})


class JudgedNeighbors(TypedDict):
    """On how many new tokens neighbors were compared, and among how many."""

    k: int
    judged: int
    of: int
    candidates: int


class MaskedBefore(TypedDict):
    """Masked-language-model loss of the unchanged model, and on how much text."""

    before: float
    words: int
    characters: int
    lines: int
    of: int


class CompareAnswer(TypedDict):
    """All initializers, best first; `floors` are the baselines."""

    rows: list[Standing]
    floors: dict[str, Standing]
    skipped: Annotated[dict[str, str], "initializers that failed, with the reason"]
    held_out: int
    of: int
    candidates: int
    chance: Chance
    added: int
    matched: Annotated[
        float, "fraction of the new tokens that have a hidden token of similar count and pieces"
    ]
    stems: Annotated[int, "tokens that were held out with their stems"]
    pieces: Annotated[PiecesRead | None, "how the network reads hidden tokens as pieces"]
    why_not_read: Annotated[str, "why the network read no text"]
    neighbors: JudgedNeighbors
    verdict: str
    reading: Annotated[str, "result of the replacement test"]
    p: float | None
    masked: MaskedBefore | None
    masked_why_not: str
    seconds: float
    out: NotRequired[str]
    manifest: NotRequired[str]
    numbers: NotRequired[LeaderboardNumbers]


def _compare(options: Options) -> Answer[CompareAnswer]:
    start = time.perf_counter()

    # 1. The step: seed and settings of the initializers that are compared.
    step = read_settings(options, InitializersStep)
    board = step.leaderboard
    initializer = read_initializer_settings(
        vars(options), replace(board.initializer, seed=board.seed), board.methods_to_compare
    )
    step = replace(step, leaderboard=replace(board, initializer=initializer))
    inputs = {
        "model": options.model,
        "vectors": options.vectors,
        "target": options.target,
        "text": options.corpus,
        "held_out": options.text,
        "glossary": options.glossary,
    }
    spec = Spec(step, inputs, options.offline, options.casing)

    # 2. The comparison, written to a folder if one was named.
    folder = choose_destination(options, spec.kind)
    if folder is None:
        compared = compare_for_step(spec.open_inputs(), spec.settings, options.progress)
        answer = {**compared.to_dict(), "seconds": time.perf_counter() - start}
        return Answer(cast(CompareAnswer, answer), _render(compared))
    written = build_answer(run_step(spec.absolute(), folder, options.progress, options.overwrite))
    compared = load_comparison(folder)
    return Answer(
        cast(CompareAnswer, {**compared.to_dict(), **written.json}),
        f"{_render(compared)}\nWritten to {folder}.",
    )


def _render(compared: InitializerComparison) -> str:
    """Render the comparison: the scores, their candidates and chance, skipped initializers, verdict."""
    # 1. A row for each initializer.
    board, masked = compared.board, compared.masked
    table = board.build_table()
    # 2. What the figures are computed on, and their values by chance.
    loss = f"Masked-token loss: not computed ({compared.why_not})."
    if masked:
        read = (
            f"{masked['words']:,.0f} words of {masked['lines']:,.0f} of {masked['of']:,.0f} lines"
        )
        loss = (
            f"Masked-token loss over {read}; before any change {masked['before']:.3f} nats per"
            " character."
        )
    lines = [
        format_table(tuple(table), list(zip(*table.values(), strict=True))),
        "",
        f"{len(board.hidden):,} of {board.of:,} common tokens held out; their true embeddings ranked"
        f" among {board.candidates:,} embeddings; chance P@1 {board.chance['p@1']:.2g}, MRR"
        f" {board.chance['mrr']:.2g}.",
        f"{board.stems:,} common tokens held out with their stems; {percent(board.matched)} of the new"
        " tokens have a held-out token of similar count and pieces.",
        board.describe_reading(),
        f"Neighbors kept, of {board.k}, and norms: {board.judged:,} of {board.added:,} new tokens, among"
        f" {board.neighbor_candidates:,}.",
        loss,
    ]
    lines += [
        f"Not in the table: {name} ({' '.join(reason.split())})"
        for name, reason in board.skipped.items()
    ]
    return "\n".join([*lines, *filter(None, [board.reading]), board.verdict])


def add_initializer_settings(parser: _ActionsContainer) -> None:
    """Add an option for each setting that only one initializer has: --NAME-SETTING."""
    for name, initializer in INITIALIZERS.items():
        if initializer.settings is not None:
            setting_options(initializer.settings, prefix=f"{name}-")(parser)


COMPARE = Command(
    _compare,
    (
        *model_options(help=WITH_WEIGHTS),
        option("--target", metavar="B", help=f"model whose vocabulary is taken over: {M}"),
        option(
            "--vectors", metavar="DIR", help="word vectors; words that the model lacks are added"
        ),
        option(
            "--corpus",
            nargs="+",
            metavar="TEXT",
            help=f"text to train the vectors of a bare vocab.txt's tokens on: {TEXT}",
        ),
        option(
            "--text",
            nargs="+",
            metavar="TEXT",
            help="held-out text for the masked-token loss and for the sentences that are read; without"
            " it, sentences are those of the text of the word vectors",
        ),
        GLOSSARY,
        setting_options(LeaderboardSettings),
        add_initializer_settings,
        CASING,
        CORPUS_SETTINGS_WITHOUT_SEED,
        *destination_options(),
    ),
)
