"""initialisers."""

import random
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vocadapt.analysis.leaderboard import Leaderboard, LeaderboardSettings, compare_initialisers
from vocadapt.analysis.transfer import MaskedQuestion, materials_from_target, materials_from_vectors
from vocadapt.cli.options import TEXT, M, add_casing, add_model, add_text, corpus_settings, lowercase
from vocadapt.cli.parser import Parser, whole
from vocadapt.cli.run import Answer, Command
from vocadapt.cli.tables import table
from vocadapt.errors import InputError
from vocadapt.lab.corpora import read_corpus
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.progress import Progress, part
from vocadapt.spaces.files import load_space
from vocadapt.spaces.word2vec import Word2VecSettings
from vocadapt.training.token_space import token_space
from vocadapt.vocabulary.initialise import INITIALISERS, Materials, RowSettings

ASKED = 200  # lines of text that are asked, at most
COLUMNS = (
    "initialiser", "centred cosine", "±", "P@1", "MRR", "median rank", "norm ratio", "overlap", "loss/char", "fallbacks", "s",
)  # fmt: skip


def _options(parser: Parser) -> None:
    default = LeaderboardSettings()
    add_model(parser, help="hub name or model folder")
    parser.add_argument("--target", metavar="B", help=f"whose vocabulary is taken over: {M}")
    parser.add_argument("--vectors", metavar="DIR", help="or word vectors: the words that the model lacks are added")
    trained = f"what vectors of a bare vocab.txt's tokens are trained on: {TEXT}"
    parser.add_argument("--corpus", nargs="+", metavar="TEXT", help=trained)
    parser.add_argument("--text", nargs="+", metavar="TEXT", help="text that nothing was trained on, for the masked-word loss")
    methods = f"these only, of {', '.join(INITIALISERS)}"
    parser.add_argument("--methods", nargs="+", default=[], choices=INITIALISERS, metavar="NAME", help=methods)
    parser.add_argument("--held-out", type=whole, default=default.held_out, metavar="N", help="common tokens to hide (500, or ¼)")
    parser.add_argument("--judged", type=whole, default=default.judged, metavar="N", help="new tokens to look at (1000)")
    parser.add_argument("--neighbours", type=whole, default=0, metavar="M", help="of semantic and wechsel (default 3 and 10)")
    parser.add_argument("--norm-matched", action="store_true", help="judge each with its rows at the old rows' length, too")
    parser.add_argument("--seed", type=whole, default=default.seed, help="of what is hidden, and of random rows (default 1)")
    add_casing(parser)
    add_text(parser, own_seed=False)


def _initialisers(options: Namespace, progress: Progress) -> Answer:
    start = time.perf_counter()
    settings = _settings(options)
    model = open_model(options.model, options.offline or None)
    materials, lines = _materials(options, model, part(progress, 0.0, 0.4))
    question, why = _question(options, model, materials, lines)
    board = compare_initialisers(materials, settings, question.loss if question else None, part(progress, 0.4, 1.0))
    before = question.before if question else None
    masked = {"before": before.per_character, "words": before.words, "characters": before.characters} if before else None
    answer = {**board.to_dict(), "masked": masked, "masked_why_not": why, "seconds": time.perf_counter() - start}
    return Answer(answer, _shown(board, masked, why))


def _settings(options: Namespace) -> LeaderboardSettings:
    rows = RowSettings(seed=options.seed, neighbours=options.neighbours)
    return LeaderboardSettings(
        tuple(options.methods), options.held_out, options.judged, seed=options.seed, norm_matched=options.norm_matched, rows=rows
    )


def _materials(options: Namespace, model: LanguageModel, progress: Progress) -> tuple[Materials, Sequence[str]]:
    """The materials, and lines that were held out while vectors were trained."""
    if (options.target is None) == (options.vectors is None):
        got = "neither" if options.target is None else "both"
        raise InputError(f"Initialisers need a target model or word vectors, and got {got}.", "Give --target B or --vectors DIR.")
    if options.vectors is not None:
        _no_corpus(options, "word vectors are there")
        return materials_from_vectors(model, load_space(Path(options.vectors))), ()
    target = open_model(options.target, options.offline or None, lowercase(options))
    if target.path.is_dir():
        _no_corpus(options, "the target has rows of its own")
        return materials_from_target(model, target.vocabulary, target.space), ()
    if options.corpus is None:
        problem = f"{target.path} is a bare vocabulary: it has no rows, and no text is there to train vectors of its tokens on."
        raise InputError(problem, "Give --corpus TEXT, or the target model itself.")
    corpus, word2vec = read_corpus(options.corpus, corpus_settings(options)), Word2VecSettings(dim=model.dim, seed=options.seed)
    space, held_out = token_space(corpus, target.splitter, target.vocabulary, word2vec, progress)
    return materials_from_target(model, target.vocabulary, space), held_out


def _no_corpus(options: Namespace, why: str) -> None:
    if options.corpus is not None:
        raise InputError(f"--corpus trains vectors of a bare vocabulary's tokens, and {why}.", "For the loss give --text TEXT.")


def _question(
    options: Namespace, model: LanguageModel, materials: Materials, held_out: Sequence[str]
) -> tuple[MaskedQuestion | None, str]:
    """What the masked-word loss is asked on, else why it is not."""
    lines = list(held_out)
    if options.text is not None:
        passages = read_corpus(options.text, corpus_settings(options)).passages()
        lines = [line for passage in passages for line in passage.text.splitlines()]
    if not lines:
        return None, "no held-out text: give --text TEXT"
    chosen = random.Random(options.seed).sample(lines, min(ASKED, len(lines)))
    try:
        return MaskedQuestion.of(model, materials.plan, chosen), ""
    except InputError as error:
        return None, str(error)


def _shown(board: Leaderboard, masked: dict[str, Any] | None, why: str) -> str:
    """The table, its n, candidates and chance, what could not run, the verdict."""
    rows = [(row.initialiser + (" (floor)" if row.floor else ""), *list(row.to_dict().values())[1:]) for row in board.rows]
    chance = f"chance P@1 {board.chance['p@1']:.2g}, MRR {board.chance['mrr']:.2g}"
    hidden = f"{len(board.hidden):,} of {board.of:,} common tokens hidden; their true rows ranked among {board.candidates:,} rows"
    near = f"overlap@{board.k} and lengths: {board.judged:,} of {board.added:,} new tokens, among {board.neighbour_candidates:,}"
    loss = f"Masked-word loss: not asked ({why})."
    if masked:
        loss = f"Masked-word loss over {masked['words']:,} words; before any change {masked['before']:.3f} nats per character."
    lines = [table(COLUMNS, rows), "", f"{hidden}; {chance}.", f"{near}.", loss]
    lines += [f"Not in the table: {name} ({' '.join(reason.split())})" for name, reason in board.skipped.items()]
    return "\n".join([*lines, board.verdict])


COMPARE = Command(_options, _initialisers)
