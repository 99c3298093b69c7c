"""The step that compares initializers before any training; the table is saved and read again."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from vocadapt.analysis.leaderboard.inputs import (
    HeldOutLoss,
    build_target_materials,
    build_vector_materials,
)
from vocadapt.analysis.leaderboard.leaderboard import (
    Leaderboard,
    LeaderboardSettings,
    compare_initializers,
    measure_leaderboard,
)
from vocadapt.analysis.leaderboard.replacement import ReadableText
from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import find_training_text, read_corpus
from vocadapt.lab.inputs.opened import OpenedInputs
from vocadapt.lab.steps.step import (
    GLOSSARY,
    MODEL,
    TARGET,
    TEXT,
    VECTORS,
    PlannedStep,
    Role,
    Step,
    StepContext,
)
from vocadapt.lab.workspace import strict_json
from vocadapt.progress import Progress, parts, silent
from vocadapt.report.table import Table
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.system.files import temporary_folder
from vocadapt.system.forecasts import Work
from vocadapt.system.json_values import build_value
from vocadapt.text.corpus import Corpus, CorpusSettings
from vocadapt.text.glossary import read_glossary
from vocadapt.text.words import write_sentences
from vocadapt.training.distillation import Distiller
from vocadapt.training.grounding import build_grounder
from vocadapt.training.joined_states import PieceJoiner
from vocadapt.training.training_text import write_training_text
from vocadapt.training.word_vectors import train_token_vectors
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS, Materials

BOARD = "leaderboard.json"
MAX_HELD_OUT_LINES = 200  # held-out lines that are masked and predicted, at most


@dataclass(frozen=True)
class InitializersStep:
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

    def build_table(self) -> Table:
        """Return the standings as a table, with notes on what they are computed on."""
        table = self.board.build_table()
        return replace(table, notes=(*table.notes, self._describe_loss()))

    def _describe_loss(self) -> str:
        """Describe what the masked loss was computed on, or why it is missing."""
        masked = self.masked
        if masked is None:
            return f"Masked loss: not computed ({self.why_not})."
        return (
            f"Masked loss in nats per character over {masked['words']:,.0f} words of"
            f" {masked['lines']:,.0f} of {masked['of']:,.0f} lines; before any change"
            f" {masked['before']:.3f}."
        )


@dataclass(frozen=True)
class LeaderboardNumbers:
    """The best initializer, on how many of the common tokens, and for how many new tokens."""

    best: str
    centered_cosine: float
    held_out: int
    of: int
    added: int
    verdict: str


def rank_initializers(context: StepContext, settings: InitializersStep) -> LeaderboardNumbers:
    """Compare initializers: model and target → table of initializers."""
    compared = compare_for_step(context.inputs, settings, context.progress)
    strict_json.write(context.draft / BOARD, compared)
    board = compared.board
    best = next((row for row in board.rows if not row.is_baseline), board.rows[0])
    return LeaderboardNumbers(
        best.initializer,
        best.centered_cosine,
        len(board.hidden),
        board.of,
        board.added,
        board.verdict.sentence,
    )


def compare_for_step(
    inputs: OpenedInputs, settings: InitializersStep, progress: Progress = silent
) -> InitializerComparison:
    """Compare the initializers; raises InputError unless exactly one target is given."""
    # 1. Check the held-out text, and divide the progress by what has to be trained.
    _check_held_out(inputs, settings)
    weights = {"materials": 0.0, "text": 0.0, "evaluating": 60.0}
    if inputs.target is not None and inputs.target.path.is_file():
        weights["materials"] = 40.0
    if _needs_distillation(settings):
        weights |= {"text": 10.0, "evaluating": 300.0}
    stages = parts(progress, weights)

    # 2. Load what the initializers draw on; lines that are held out of it serve for the loss,
    #    unless there is a held-out text.
    materials, lines = load_materials(inputs, settings, stages["materials"])
    materials = replace(materials, joiner=PieceJoiner(inputs.model))
    if "glossary" in inputs.paths:
        entries = read_glossary(read_corpus(inputs.paths["glossary"]))
        materials = replace(materials, grounder=build_grounder(inputs.model, entries))
    with _with_distiller(inputs, settings, materials, bool(lines), stages["text"]) as ready:
        if "held_out" in inputs.paths:
            lines = list(read_corpus(inputs.paths["held_out"], settings.corpus))

        # 3. Compare the initializers.
        held_out, why_not = _build_held_out_loss(inputs, settings, ready, lines)
        loss = held_out.loss if held_out else None
        text = _find_readable_text(inputs, lines)
        board = compare_initializers(ready, settings.leaderboard, loss, stages["evaluating"], text)
        if held_out is None:
            return InitializerComparison(board, None, why_not)
        before = held_out.before
        masked: dict[str, float] = {
            "before": before.per_character,
            "words": before.words,
            "characters": before.characters,
            "lines": len(held_out.lines),
            "of": len(lines),
        }
        return InitializerComparison(board, masked)


def _find_readable_text(inputs: OpenedInputs, lines: Sequence[str]) -> ReadableText | None:
    """Return what the network reads in the replacement test: the held-out lines, or else the text
    that the word vectors were trained on; None if there is neither.
    """
    if lines:
        return ReadableText(inputs.model, lines)
    if "vectors" not in inputs.paths:
        return None
    trained_on = find_training_text(Path(inputs.paths["vectors"][0]))
    if trained_on is None or trained_on.counted_by is not None:
        return None
    return ReadableText(inputs.model, trained_on)


@contextmanager
def _with_distiller(
    inputs: OpenedInputs,
    settings: InitializersStep,
    materials: Materials,
    held_out: bool,
    progress: Progress,
) -> Iterator[Materials]:
    """Yield the materials, with a distiller if one is needed; held_out: without held-out lines."""
    if not _needs_distillation(settings) or "text" not in inputs.paths:
        yield materials
        return
    with temporary_folder() as folder:
        sentences = Path(folder) / "sentences.txt"
        if held_out:
            sentences = write_training_text(
                inputs.text,
                inputs.model.splitter,
                Path(folder),
                settings.leaderboard.seed,
                progress,
            ).sentences
        else:
            write_sentences(inputs.text, inputs.model.splitter, sentences, progress, pretokens=True)
        yield replace(
            materials, distiller=Distiller(inputs.model, sentences, materials.plan.order is None)
        )


def _needs_distillation(settings: InitializersStep) -> bool:
    return any(INITIALIZERS[name].needs == "text" for name in settings.leaderboard.methods)


def load_materials(
    inputs: OpenedInputs, settings: InitializersStep, progress: Progress
) -> tuple[Materials, Sequence[str]]:
    """Load what initializers draw on, and the lines that were held out while vectors of a bare
    vocabulary's tokens were trained.
    """
    # 1. Word vectors, or a target model with embeddings of its own: they are compared as they are.
    given = inputs.paths
    if ("target" in given) == ("vectors" in given):
        got = "both" if "target" in given else "neither"
        raise InputError(
            f"Initializers need a target model or word vectors, and got {got}.", "Give one of them."
        )
    if inputs.target is None:
        _check_text_unused(inputs, settings, "there are word vectors")
        return build_vector_materials(inputs.model, inputs.space), ()
    if inputs.target.path.is_dir():
        _check_text_unused(inputs, settings, "the target has embeddings of its own")
        return build_target_materials(
            inputs.model, inputs.target.vocabulary, inputs.target.space
        ), ()

    # 2. A bare vocabulary: vectors of its tokens are trained on the text.
    if "text" not in given:
        problem = "it has no embeddings, and there is no text to train vectors of its tokens on."
        raise InputError(
            f"{inputs.target.path} is a bare vocabulary: {problem}",
            "Give a text, or the target model itself.",
        )
    word2vec = Word2VecSettings(dim=inputs.model.dim, seed=settings.leaderboard.seed, workers=1)
    space, held_out = train_token_vectors(
        inputs.text, inputs.target.splitter, inputs.target.vocabulary, word2vec, progress
    )
    return build_target_materials(inputs.model, inputs.target.vocabulary, space), held_out


def load_comparison(folder: Path) -> InitializerComparison:
    """Read a saved comparison; raises InputError if the folder has none."""
    try:
        values = strict_json.read(folder / BOARD)
        compared: InitializerComparison = build_value(InitializerComparison, values)
        return compared
    except (InputError, KeyError, TypeError) as error:
        raise InputError(
            f"{folder}: expected a leaderboard of initializers, found none.",
            "Compare them again.",
            code="no-leaderboard",
        ) from error


def _check_text_unused(inputs: OpenedInputs, settings: InitializersStep, why: str) -> None:
    if "text" in inputs.paths and not _needs_distillation(settings):
        raise InputError(
            f"The text is for training vectors of a bare vocabulary's tokens, and {why}.",
            "Leave it out; for the loss give a held-out text.",
        )


def _check_held_out(inputs: OpenedInputs, settings: InitializersStep) -> None:
    """Raise InputError if the held-out text is the one that vectors or embeddings were trained on."""
    given = inputs.paths
    if "held_out" not in given:
        return

    # 1. The texts of a training, and what was trained on each.
    trained_on: list[tuple[Corpus | None, str]] = []
    what = "vectors were trained on"
    if "vectors" in given:
        trained_on.append((find_training_text(Path(given["vectors"][0])), what))
    if "text" in given:
        if _needs_distillation(settings):
            what = "embeddings were fitted to"
        trained_on.append((inputs.text, what))

    # 2. None of their files may be held out.
    held_out = {path.resolve() for path in read_corpus(given["held_out"], settings.corpus).files}
    for text, what in trained_on:
        if text is not None and held_out & {path.resolve() for path in text.files}:
            raise InputError(
                f"The {what} the held-out text: the loss would be too low.", "Give another."
            )


def _build_held_out_loss(
    inputs: OpenedInputs, settings: InitializersStep, materials: Materials, lines: Sequence[str]
) -> tuple[HeldOutLoss | None, str]:
    """Return the held-out loss to measure, or None and the reason."""
    if not lines:
        return None, "there is no held-out text"
    chosen = random.Random(settings.leaderboard.seed).sample(
        list(lines), min(MAX_HELD_OUT_LINES, len(lines))
    )
    try:
        return HeldOutLoss.of(inputs.model, materials.plan, chosen), ""
    except InputError as error:
        return None, str(error)


def measure_comparison(planned: PlannedStep) -> Work:
    """Return the work of a comparison, without the loss and without training anything."""
    inputs, settings = planned.inputs, planned.spec.settings.leaderboard
    model = inputs.model.space
    space = model  # of a bare vocabulary, whose vectors have the dimension of the model
    if "vectors" in inputs.paths:
        space = inputs.space
    elif inputs.target is not None and not inputs.target.path.is_file():
        space = inputs.target.space
    donors = sum(word in model for word in space.words)
    reads_text = bool({"held_out", "vectors"} & inputs.paths.keys())
    return measure_leaderboard(settings, model, space.dim, donors, reads_text)


STEP = Step(
    "initializers",
    "Compare initializers",
    InitializersStep,
    rank_initializers,
    makes="initializers",
    needs=(MODEL,),
    takes=(
        VECTORS,
        TARGET,
        TEXT,
        Role("held_out", "--text", "Held-out text", "corpora", True),
        GLOSSARY,
    ),
    libraries=("numpy", "scipy", "tokenizers", "gensim", "safetensors"),
    command=("initializers",),
    seed="leaderboard.seed",
    work=measure_comparison,
)
