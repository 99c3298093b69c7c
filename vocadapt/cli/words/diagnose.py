"""diagnose, relations, vectors evaluate."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command, Options, option, read_settings, setting_options
from vocadapt.cli.options import OFFLINE
from vocadapt.errors import InputError
from vocadapt.lab.inputs.open_space import open_space
from vocadapt.lab.reports.diagnostics import (
    PAIR_COSINES,
    TOKENS,
    Diagnostics,
    ListScores,
    PairRow,
    build_relation_tables,
    diagnose_spaces,
    join_scores,
    list_pair_cosines,
    score_lists,
    select_tokens,
    shorten_names,
)
from vocadapt.progress import part
from vocadapt.report.formats import format_precise
from vocadapt.report.table import Column, Table
from vocadapt.report.terminal import write_terminal
from vocadapt.spaces.diagnostics.diagnosis import GEOMETRY, build_cosine_table
from vocadapt.spaces.diagnostics.evaluation import (
    AnalogyScore,
    PairScore,
    detect_casing,
    score_analogies,
    score_pairs,
)
from vocadapt.spaces.diagnostics.relations import PermutationSettings
from vocadapt.spaces.diagnostics.statistics import compute_mean_cosine
from vocadapt.spaces.diagnostics.word_lists import (
    PairList,
    load_bundled_analogies,
    load_bundled_pairs,
    load_bundled_relations,
    read_analogies,
    read_pairs,
    read_relations,
)
from vocadapt.spaces.io.storage import load_space

SPACE = "hub name or model folder, or a folder of word vectors"
BUNDLED = "bundled"
COVERAGE = (Column("covered", "Covered", format="number"), Column("of", "Of", format="number"))
PAIRS = (
    "files of word pairs, with or without relations or scores; of analogy questions; or of"
    " paradigms, under a header that begins with lemma (default: the pairs of Fast 2023, Google's"
    " analogies, SimLex-999, WordSim-353)"
)
TOKENS_OPTION = option(
    "--tokens",
    default="all",
    choices=TOKENS,
    help="tokens to include (default all). "
    + "; ".join(f"{name}: {meaning}" for name, meaning in TOKENS.items()),
)


@dataclass(frozen=True)
class RelationsAnswer(ListScores):
    """How similar related words are; `corrected` is minus the mean cosine of the space.

    mean_cosine: of each space. null: the random pairings. pairs: with --each.
    """

    tokens: str
    mean_cosine: Mapping[str, float | None]
    null: PermutationSettings
    pairs: tuple[PairRow, ...]


@dataclass(frozen=True)
class EvaluateAnswer:
    """Agreement with human judgments by list, and accuracy on analogies by category."""

    pairs: Mapping[str, PairScore]
    analogies: Mapping[str, AnalogyScore] | None


def _diagnose(options: Options) -> Answer[Diagnostics]:
    names = shorten_names(options.spaces)
    opened = [open_space(name, options.offline or None) for name in options.spaces]
    found = diagnose_spaces(opened, names, options.tokens, not options.no_hubness, options.progress)
    notes = [f"{one.space}: {finding}" for one in found.spaces for finding in one.findings]
    notes.append(f"Tokens included: {TOKENS[found.tokens]}.")
    tables = (
        build_cosine_table(names, found),
        Table("Geometry", GEOMETRY, found.spaces, tuple(notes)),
    )
    return Answer(found, "\n\n".join(map(write_terminal, tables)))


def _score_relations(options: Options) -> Answer[RelationsAnswer]:
    given = [*options.model, *options.vectors]
    if not given:
        raise InputError(
            "relations needs at least one space.",
            "Give --model M or --vectors DIR, one or more.",
        )
    lists = [read_relations(Path(file)) for file in options.pairs] or load_bundled_relations()
    # 1. Score every list in every space, each corrected by the space's own mean cosine.
    names = shorten_names(given)
    permutations = read_settings(options, PermutationSettings)
    spaces = [open_space(name, options.offline or None) for name in given]
    means = [compute_mean_cosine(select_tokens(one, options.tokens)) for one in spaces]
    scores = []
    pairs = list[PairRow]()
    for i, (name, opened) in enumerate(zip(names, spaces, strict=True)):
        own = part(options.progress, i / len(spaces), (i + 1) / len(spaces), name)
        scores.append(score_lists(opened, lists, means[i], permutations, own, name))
        if options.each:
            pairs += list_pair_cosines(opened, lists, means[i], name)
    # 2. The answer; single pairs only if requested.
    found = RelationsAnswer(
        **vars(join_scores(scores)),
        tokens=options.tokens,
        mean_cosine=dict(zip(names, means, strict=True)),
        null=permutations,
        pairs=tuple(pairs),
    )
    tables = build_relation_tables(found)
    if pairs:
        tables.append(Table("Pairs", PAIR_COSINES, pairs))
    own_means = [f"{name} {format_precise(mean, 4)}" for name, mean in found.mean_cosine.items()]
    note = (
        f"Corrected: minus the space's own mean cosine ({', '.join(own_means)};"
        f" {TOKENS[found.tokens]}).\n"
        f"Random: the same words paired at random, mean of {permutations.draws} draws."
    )
    return Answer(found, "\n\n".join([*map(write_terminal, tables), note]))


DIAGNOSE = Command(
    _diagnose,
    (
        option("spaces", nargs="+", metavar="A", help=SPACE),
        TOKENS_OPTION,
        option("--no-hubness", action="store_true", help="skip hubness, which takes seconds"),
        OFFLINE,
    ),
)
SEVERAL: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
RELATIONS = Command(
    _score_relations,
    (
        option("--model", metavar="M", help="hub names or model folders", **SEVERAL),
        option("--vectors", metavar="DIR", help="folders of word vectors", **SEVERAL),
        option("--pairs", metavar="FILE", help=PAIRS, **SEVERAL),
        setting_options(PermutationSettings),
        option("--each", action="store_true", help="also list every pair with its cosine"),
        TOKENS_OPTION,
        OFFLINE,
    ),
)


def _evaluate(options: Options) -> Answer[EvaluateAnswer]:
    space = load_space(Path(options.vectors))
    # Words are looked up in lower case if all words of the vectors are.
    splitter = detect_casing(space)
    lists = {pairs.name: pairs for pairs in load_bundled_pairs()}
    if options.pairs:
        lists = _read_lists(options.pairs)
    pairs = {name: score_pairs(space, pairs, splitter) for name, pairs in lists.items()}
    spearman = Column("spearman", "Spearman", format="precise")
    parts = [_render_scores("Pairs", spearman, pairs)]
    analogies = None
    if options.analogies:
        if options.analogies == BUNDLED:
            questions = load_bundled_analogies()
        else:
            questions = read_analogies(Path(options.analogies))
        analogies = score_analogies(space, questions, splitter, options.progress)
        accuracy = Column("accuracy", "Accuracy", format="precise")
        parts.append(_render_scores("Analogies", accuracy, analogies))
    spelled = (
        "as they are spelled" if splitter is None else "in lower case, as the vectors have them"
    )
    parts.append(f"Words were looked up {spelled}.")
    return Answer(EvaluateAnswer(pairs, analogies), "\n\n".join(parts))


def _read_lists(files: list[str]) -> dict[str, PairList]:
    stems = Counter(Path(file).stem for file in files)
    found = {}
    for file in files:
        name = Path(file).stem
        if stems[name] > 1:
            name = file
        found[name] = read_pairs(Path(file))
    return found


def _render_scores(
    title: str, figure: Column, scores: Mapping[str, PairScore] | Mapping[str, AnalogyScore]
) -> str:
    """Render one figure of each list, and how many of its entries the vectors cover."""
    rows = [{"list": name, **vars(score)} for name, score in scores.items()]
    return write_terminal(Table("", (Column("list", title), figure, *COVERAGE), rows))


EVALUATE = Command(
    _evaluate,
    (
        option(
            "vectors", metavar="DIR", help="word vectors, as vectors train or import wrote them"
        ),
        option(
            "--pairs",
            nargs="+",
            metavar="FILE",
            help="word pairs with scores (default: WordSim-353, SimLex-999)",
        ),
        option(
            "--analogies",
            nargs="?",
            const=BUNDLED,
            metavar="FILE",
            help="file of analogy questions (without FILE: Google's)",
        ),
    ),
)
