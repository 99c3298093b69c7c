"""The step that compares initializers before any training; the table is saved and read again."""

import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from vocadapt.analysis.leaderboard.inputs import (
    HeldOutLoss,
    materials_from_target,
    materials_from_vectors,
)
from vocadapt.analysis.leaderboard.leaderboard import (
    InitializerStanding,
    Leaderboard,
    LeaderboardSettings,
    compare_initializers,
)
from vocadapt.errors import InputError
from vocadapt.files import temporary_folder
from vocadapt.lab.artifacts.corpora import find_training_text, read_corpus
from vocadapt.lab.steps.context import StepContext
from vocadapt.lab.steps.step import MODEL, TARGET, TEXT, VECTORS, Numbers, Role, Step
from vocadapt.lab.workspace import strict_json
from vocadapt.progress import Progress, parts
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.text.corpus import CorpusSettings
from vocadapt.text.words import write_sentences
from vocadapt.training.distillation import Distiller
from vocadapt.training.masked.training_text import write_training_text
from vocadapt.training.word_vectors import train_token_vectors
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS, Materials

BOARD = "leaderboard.json"
MAX_HELD_OUT_LINES = 200  # held-out lines that are asked, at most


@dataclass(frozen=True)
class LeaderboardStep:
    """How initializers are compared, and which lines of the texts are read."""

    leaderboard: LeaderboardSettings = field(default_factory=LeaderboardSettings)
    corpus: CorpusSettings = field(default_factory=CorpusSettings)


@dataclass(frozen=True)
class InitializerComparison:
    """A leaderboard of initializers, and the held-out loss of the unchanged model.

    `masked`: "before" (nats per character), "words", "characters", and "lines" of "of" held-out
    lines; None if the loss was not measured, with the reason in `why_not`.
    """

    board: Leaderboard
    masked: dict[str, float] | None
    why_not: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        return {**self.board.to_dict(), "masked": self.masked, "masked_why_not": self.why_not}


def rank_initializers(context: StepContext, settings: LeaderboardStep) -> Numbers:
    """Compare initializers: model and target → table of initializers."""
    compared = compare_for_step(context, settings)
    strict_json.write(context.draft / BOARD, asdict(compared))
    board = compared.board
    best = next((row for row in board.rows if not row.is_baseline), board.rows[0])
    return {
        "best": best.initializer,
        "centered_cosine": best.centered_cosine,
        "held_out": len(board.hidden),
        "of": board.of,
        "added": board.added,
        "verdict": board.verdict,
    }


def compare_for_step(context: StepContext, settings: LeaderboardStep) -> InitializerComparison:
    """Compare the initializers; raises InputError unless there is one target, or for an unused
    text.
    """
    _check_held_out(context, settings)
    stages = parts(context.progress, _stage_weights(context, settings))
    materials, lines = load_materials(context, settings, stages["materials"])
    with _with_distiller(context, settings, materials, bool(lines), stages["text"]) as ready:
        return _run_comparison(context, settings, ready, lines, stages["judging"])


def _stage_weights(context: StepContext, settings: LeaderboardStep) -> dict[str, float]:
    """Return the relative cost of each stage, for the progress bar."""
    trained, fitted = (
        context.target is not None and context.target.path.is_file(),
        _needs_distillation(settings),
    )
    return {
        "materials": 40.0 if trained else 0.0,
        "text": 10.0 if fitted else 0.0,
        "judging": 300.0 if fitted else 60.0,
    }


@contextmanager
def _with_distiller(
    context: StepContext,
    settings: LeaderboardStep,
    materials: Materials,
    held_out: bool,
    progress: Progress,
) -> Iterator[Materials]:
    """Yield the materials, with a distiller if an initializer that needs one was requested by name.

    held_out: keep the held-out lines of the text out of the distillation; the same seed selects
    them.
    """
    if not _needs_distillation(settings) or "text" not in context.spec.inputs:
        yield materials
        return
    with temporary_folder() as folder:
        sentences = Path(folder) / "sentences.txt"
        corpus = read_corpus(context.spec.inputs["text"], settings.corpus)
        if held_out:
            sentences = write_training_text(
                corpus, context.model.splitter, Path(folder), settings.leaderboard.seed, progress
            ).sentences
        else:
            write_sentences(corpus, context.model.splitter, sentences, progress)
        yield replace(
            materials, distiller=Distiller(context.model, sentences, materials.plan.order is None)
        )


def _needs_distillation(settings: LeaderboardStep) -> bool:
    return any(INITIALIZERS[name].needs == "text" for name in settings.leaderboard.methods)


def _run_comparison(
    context: StepContext,
    settings: LeaderboardStep,
    materials: Materials,
    lines: Sequence[str],
    progress: Progress,
) -> InitializerComparison:
    lines = _read_held_out_lines(context, settings) if "held_out" in context.spec.inputs else lines
    question, why = _build_held_out_loss(context, settings, materials, lines)
    loss = question.loss if question else None
    board = compare_initializers(materials, settings.leaderboard, loss, progress)
    before = question.before if question else None
    asked = {"lines": len(question.lines), "of": len(lines)} if question else {}
    masked = (
        {"before": before.per_character, "words": before.words, "characters": before.characters}
        if before
        else None
    )
    return InitializerComparison(board, masked and {**masked, **asked}, why)


def load_materials(
    context: StepContext, settings: LeaderboardStep, progress: Progress
) -> tuple[Materials, Sequence[str]]:
    """What initializers draw on, and the lines that were held out while vectors of a bare
    vocabulary's tokens were trained.
    """
    given = context.spec.inputs
    if ("target" in given) == ("vectors" in given):
        got = "both" if "target" in given else "neither"
        raise InputError(
            f"Initializers need a target model or word vectors, and got {got}.",
            "Give one of them.",
        )
    if context.target is None:
        _check_text_unused(context, settings, "there are word vectors")
        return materials_from_vectors(context.model, context.space), ()
    if context.target.path.is_dir():
        _check_text_unused(context, settings, "the target has embeddings of its own")
        return materials_from_target(
            context.model, context.target.vocabulary, context.target.space
        ), ()
    if "text" not in given:
        problem = "it has no embeddings, and there is no text to train vectors of its tokens on."
        raise InputError(
            f"{context.target.path} is a bare vocabulary: {problem}",
            "Give a text, or the target model itself.",
        )
    corpus = read_corpus(given["text"], settings.corpus)
    word2vec = Word2VecSettings(dim=context.model.dim, seed=settings.leaderboard.seed, workers=1)
    space, held_out = train_token_vectors(
        corpus, context.target.splitter, context.target.vocabulary, word2vec, progress
    )
    return materials_from_target(context.model, context.target.vocabulary, space), held_out


def load_comparison(folder: Path) -> InitializerComparison:
    """Read a saved comparison; raises InputError if the folder has none."""
    if not os.path.isfile(folder / BOARD):
        raise InputError(
            f"{folder}: expected a leaderboard of initializers, found none.", "Compare them again."
        )
    try:
        kept = strict_json.read(folder / BOARD)
        board = dict(kept["board"])
        rows, hidden = (
            tuple(InitializerStanding(**row) for row in board.pop("rows")),
            tuple(board.pop("hidden")),
        )
        return InitializerComparison(
            Leaderboard(rows=rows, hidden=hidden, **board), kept["masked"], kept["why_not"]
        )
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{folder}: expected a leaderboard of initializers, found none.", "Compare them again."
        ) from error


def _check_text_unused(context: StepContext, settings: LeaderboardStep, why: str) -> None:
    if "text" in context.spec.inputs and not _needs_distillation(settings):
        raise InputError(
            f"The text is for training vectors of a bare vocabulary's tokens, and {why}.",
            "Leave it out; for the loss give a held-out text.",
        )


def _check_held_out(context: StepContext, settings: LeaderboardStep) -> None:
    """Raise InputError if the held-out text is the one that vectors or embeddings were trained on."""
    given = context.spec.inputs
    if "held_out" not in given:
        return
    held_out = {path.resolve() for path in read_corpus(given["held_out"], settings.corpus).files}
    behind = find_training_text(Path(given["vectors"][0])) if "vectors" in given else None
    fitted = read_corpus(given["text"], settings.corpus) if "text" in given else None
    fit = (
        "embeddings were fitted to" if _needs_distillation(settings) else "vectors were trained on"
    )
    for text, what in ((behind, "vectors were trained on"), (fitted, fit)):
        if text is not None and held_out & {path.resolve() for path in text.files}:
            raise InputError(
                f"The {what} the held-out text: the loss would be too low.",
                "Give another.",
            )


def _read_held_out_lines(context: StepContext, settings: LeaderboardStep) -> list[str]:
    passages = read_corpus(context.spec.inputs["held_out"], settings.corpus).passages()
    return [line for passage in passages for line in passage.text.splitlines()]


def _build_held_out_loss(
    context: StepContext, settings: LeaderboardStep, materials: Materials, lines: Sequence[str]
) -> tuple[HeldOutLoss | None, str]:
    """Return the held-out loss to measure, or None and the reason."""
    if not lines:
        return None, "there is no held-out text"
    chosen = random.Random(settings.leaderboard.seed).sample(
        list(lines), min(MAX_HELD_OUT_LINES, len(lines))
    )
    try:
        return HeldOutLoss.of(context.model, materials.plan, chosen), ""
    except InputError as error:
        return None, str(error)


STEP = Step(
    "leaderboard",
    "Compare initializers",
    LeaderboardStep,
    rank_initializers,
    makes="leaderboards",
    needs=(MODEL,),
    takes=(VECTORS, TARGET, TEXT, Role("held_out", "--text", "Held-out text", "corpora", True)),
    libraries=("numpy", "scipy", "tokenizers", "gensim", "safetensors"),
    command=("initializers",),
    page="pages/vocabulary/initializers.py",
    selected_by="initializers_board",
    seed="leaderboard.seed",
)
