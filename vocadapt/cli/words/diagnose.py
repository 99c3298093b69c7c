"""diagnose, relations, vectors evaluate."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict, cast

from vocadapt.cli.command import Answer, Command, Options, option, read_settings, setting_options
from vocadapt.cli.options import OFFLINE
from vocadapt.cli.tables import format_number, format_table
from vocadapt.errors import InputError
from vocadapt.lab.inputs.open_space import open_space
from vocadapt.lab.reports.diagnostics import (
    TOKENS,
    Diagnosis,
    ListScores,
    diagnose,
    score_lists,
    select_tokens,
    shorten_names,
)
from vocadapt.progress import part
from vocadapt.spaces.diagnostics.evaluation import (
    AnalogyScore,
    PairScore,
    detect_casing,
    score_analogies,
    score_pairs,
)
from vocadapt.spaces.diagnostics.geometry import AddedNorms, FrequencyBias, Hubness, Norms
from vocadapt.spaces.diagnostics.relations import (
    PermutationSettings,
    compute_pair_cosines,
    summarize_words,
)
from vocadapt.spaces.diagnostics.statistics import (
    CosineTables,
    build_cosine_tables,
    compute_mean_cosine,
)
from vocadapt.spaces.diagnostics.word_lists import (
    PairList,
    RelationList,
    load_bundled_analogies,
    load_bundled_pairs,
    load_bundled_relations,
    read_analogies,
    read_pairs,
    read_relations,
)
from vocadapt.spaces.io.storage import load_space

SPACE = "hub name or model folder, or a folder of word vectors"
MEASURES = {
    "mean_cosine": (
        "mean cosine over all pairs of different tokens (Fast 2023, table 3.2); null: different"
        " dimensions"
    ),
    "mean_cosine_common": (
        "mean cosine of the two embeddings of each common token (Fast 2023, table 3.3)"
    ),
    "isotropy": (
        "I(W) = min Z / max Z over the eigenvectors of WᵀW, both signs, on vectors of length 1 (Mu and"
        " Viswanath 2018)"
    ),
    "isotropy_as_published": "the same on the original vectors",
    "isoscore": "IsoScore (Rudman et al. 2022)",
    "first_direction": (
        "fraction of the squared norm of the unit vectors along their first principal direction;"
        " 1/dim for evenly spread vectors"
    ),
    "hubness": (
        "skewness of N_k: how often each embedding is among the k nearest neighbors of others"
        " (Radovanović et al. 2010)"
    ),
    "frequency_bias": (
        "Spearman correlation of frequency with the norm of an embedding and with its cosine to the"
        " mean direction, over the original tokens"
    ),
    "added_norms": (
        "median norm of the embeddings of added and of original tokens; null: no added tokens"
    ),
}
GEOMETRY = (
    "space",
    "zero vectors",
    "isotropy",
    "IsoScore",
    "first direction",
    "hubness",
    "norm",
    "sd",
    "norm ~ frequency",
    "mean direction ~ frequency",
    "frequency by",
)
RELATION_COLUMNS = (
    "list",
    "relation",
    "space",
    "corrected",
    "sd",
    "cosine",
    "random",
    "z",
    "p",
    "pairs",
    "of",
    "missing words",
)
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


class Tokens(TypedDict):
    """The tokens that are included."""

    choice: str
    meaning: str


class DiagnoseAnswer(TypedDict):
    """The geometry of each space, in the order of the spaces; `measures` defines the figures."""

    models: list[str]
    tokens: Tokens
    dim: list[int]
    mean_cosine: Annotated[list[list[float | None]], "for each pair of spaces"]
    mean_cosine_common: Annotated[list[list[float | None]], "of common tokens"]
    common: list[list[int]]
    counted: list[int]
    zero_rows: list[int]
    isotropy: list[float | None]
    isotropy_as_published: list[float | None]
    isoscore: list[float | None]
    first_direction: list[float | None]
    hubness: list[float | None]
    hubs: list[Hubness | None]
    norms: list[Norms]
    frequency_bias: list[FrequencyBias]
    added_norms: list[AddedNorms | None]
    measures: dict[str, str]


class RelationResult(TypedDict):
    """A relation in one space; null if too few pairs are usable."""

    model: str
    usable: int
    of: int
    mean: float | None
    sd: float | None
    corrected: float | None
    null_mean: float | None
    null_sd: float | None
    z: float | None
    p: float | None
    lacking: list[str]


class RelationAnswer(TypedDict):
    """A relation of a list, in each space."""

    list: str
    relation: str
    of: int
    results: Sequence[RelationResult]


class SimilarityResult(TypedDict):
    """Rank correlation with human scores in one space."""

    model: str
    spearman: float | None
    covered: int
    of: int


class SimilarityAnswer(TypedDict):
    """A list that people rated, in each space."""

    list: str
    of: int
    results: Sequence[SimilarityResult]


class PairAnswer(TypedDict):
    """A pair in one space."""

    model: str
    list: str
    relation: str
    first: str
    second: str
    cosine: float | None
    corrected: float | None


class RelationsAnswer(TypedDict):
    """How similar related words are; `corrected` is minus the mean cosine of the space."""

    models: list[str]
    tokens: Tokens
    mean_cosine: list[float | None]
    null: Annotated[PermutationSettings, "the random pairings"]
    relations: list[RelationAnswer]
    similarity: list[SimilarityAnswer]
    pairs: NotRequired[list[PairAnswer]]


class EvaluateAnswer(TypedDict):
    """Agreement with human judgments by list, and accuracy on analogies by category."""

    pairs: dict[str, PairScore]
    analogies: dict[str, AnalogyScore] | None


def _diagnose(options: Options) -> Answer[DiagnoseAnswer]:
    names = shorten_names(options.spaces)
    opened = [open_space(name, options.offline or None) for name in options.spaces]
    spaces = [select_tokens(one, options.tokens) for one in opened]
    tables = build_cosine_tables(spaces)
    found = []
    for i, space in enumerate(spaces):
        own = part(options.progress, i / len(spaces), (i + 1) / len(spaces), names[i])
        found.append(diagnose(space, not options.no_hubness, own, opened[i].added))
    return Answer(
        {
            "models": list(names),
            "tokens": {"choice": options.tokens, "meaning": TOKENS[options.tokens]},
            "dim": [space.dim for space in spaces],
            "mean_cosine": [list(row) for row in tables.mean_cosine],
            "mean_cosine_common": [list(row) for row in tables.mean_cosine_common],
            "common": [list(row) for row in tables.common],
            "counted": list(tables.counted),
            "zero_rows": list(tables.zero_rows),
            "isotropy": [one.isotropy.partition for one in found],
            "isotropy_as_published": [one.isotropy.partition_as_published for one in found],
            "isoscore": [one.isotropy.isoscore for one in found],
            "first_direction": [one.isotropy.first_direction for one in found],
            "hubness": [one.hubness.skewness if one.hubness else None for one in found],
            "hubs": [one.hubness for one in found],
            "norms": [one.norms for one in found],
            "frequency_bias": [one.frequency_bias for one in found],
            "added_norms": [one.added for one in found],
            "measures": MEASURES,
        },
        _render_diagnosis(names, tables, found, options.tokens),
    )


def _render_diagnosis(
    names: Sequence[str], tables: CosineTables, found: Sequence[Diagnosis], tokens: str
) -> str:
    # 1. The mean cosines of each pair of spaces.
    counted = [
        f"{name} (n = {format_number(n)})" for name, n in zip(names, tables.counted, strict=True)
    ]
    all_pairs, common = [], []
    for i, name in enumerate(names):
        shown = list(map(_format_cosine, tables.mean_cosine_common[i]))
        for j, n in enumerate(tables.common[i]):
            shown[j] += f" (n = {format_number(n)})"
        all_pairs.append((counted[i], *map(_format_cosine, tables.mean_cosine[i])))
        common.append((name, *shown))
    parts = [
        format_table(("mean cosine of all pairs", *counted), all_pairs),
        format_table(("mean cosine of common tokens", *names), common),
    ]

    # 2. The geometry of each space.
    rows, notes = [], []
    for name, one in zip(names, found, strict=True):
        isotropy, norms, bias, added = one.isotropy, one.norms, one.frequency_bias, one.added
        rows.append(
            (
                name,
                norms.zero_rows,
                isotropy.partition,
                isotropy.isoscore,
                isotropy.first_direction,
                one.hubness and one.hubness.skewness,
                norms.mean,
                norms.sd,
                bias.norm,
                bias.mean_direction,
                bias.by,
            )
        )
        if added:
            notes.append(
                f"{name}: median norm of its {added.n:,} added tokens {added.median:.3f}, of its"
                f" {added.original_n:,} original ones {added.original_median:.3f}. Correlations"
                " with frequency are over the original tokens."
            )
    note = f"Tokens included: {TOKENS[tokens]}. –: different dimensions, or too few tokens."
    return "\n\n".join([*parts, format_table(GEOMETRY, rows), *notes, note])


def _format_cosine(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


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
    scores = {}
    for i, (name, opened) in enumerate(zip(names, spaces, strict=True)):
        own = part(options.progress, i / len(spaces), (i + 1) / len(spaces), name)
        scores[name] = score_lists(opened, lists, means[i], permutations, own)
    # 2. The answer; single pairs only if requested.
    answer: dict[str, Any] = {
        "models": list(names),
        "tokens": {"choice": options.tokens, "meaning": TOKENS[options.tokens]},
        "mean_cosine": means,
        "null": asdict(permutations),
        **_scores_to_json(lists, scores),
    }
    if options.each:
        answer["pairs"] = [
            {"model": name, "list": one.name, "relation": relation.name, **asdict(pair)}
            for name, opened, mean in zip(names, spaces, means, strict=True)
            for one in lists
            for relation in one.relations
            for pair in compute_pair_cosines(opened.space, relation, opened.splitter, mean)
        ]
    return Answer(cast(RelationsAnswer, answer), _render_relations(answer))


def _scores_to_json(
    lists: Sequence[RelationList], scores: Mapping[str, Sequence[ListScores]]
) -> dict[str, list[dict[str, Any]]]:
    """Convert scores to JSON: an entry for each relation, and for each list that people rated.

    scores: of the lists, by the name of the space.
    """
    relations, similarity = [], []
    for i, one in enumerate(lists):
        for j, relation in enumerate(one.relations):
            results = [
                {"model": name, **asdict(own[i].relations[j])} for name, own in scores.items()
            ]
            relations.append(
                {
                    "list": one.name,
                    "relation": relation.name,
                    "of": len(relation.pairs),
                    "results": results,
                }
            )
        if one.judged:
            results = []
            for name, own in scores.items():
                if score := own[i].similarity:
                    results.append({"model": name, **asdict(score)})
            similarity.append({"list": one.name, "of": len(one.judged.pairs), "results": results})
    return {"relations": relations, "similarity": similarity}


def _render_relations(answer: dict[str, Any]) -> str:
    # 1. A row for each relation in each space.
    keys = ("model", "corrected", "sd", "mean", "null_mean", "z", "p", "usable", "of")
    rows = [
        (one["list"], one["relation"], *(got[key] for key in keys), summarize_words(got["lacking"]))
        for one in answer["relations"]
        for got in one["results"]
    ]
    parts = [_render_table(RELATION_COLUMNS, rows)]
    # 2. Agreement with human judgments, and single pairs, if there are any.
    judged = [
        (one["list"], got["model"], got["spearman"], got["covered"], got["of"])
        for one in answer["similarity"]
        for got in one["results"]
    ]
    if judged:
        parts.append(_render_table(("similarity set", "space", "Spearman", "pairs", "of"), judged))
    if "pairs" in answer:
        columns = ("relation", "first", "second", "model", "cosine", "corrected")
        parts.append(_render_table(columns, map(itemgetter(*columns), answer["pairs"])))
    # 3. The definitions of the figures.
    means = [
        f"{name} {_format_cosine(mean)}"
        for name, mean in zip(answer["models"], answer["mean_cosine"], strict=True)
    ]
    parts.append(
        f"Corrected: minus the space's own mean cosine ({', '.join(means)};"
        f" {answer['tokens']['meaning']}).\n"
        f"random: the same words paired at random, mean of {answer['null']['draws']} draws."
    )
    return "\n\n".join(parts)


def _render_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Format a table, with cells from files shortened to a readable length."""
    shown = []
    for row in rows:
        cells = list(row)
        for i, cell in enumerate(cells):
            if isinstance(cell, str):
                cells[i] = cell[:40]
        shown.append(cells)
    return format_table(header, shown)


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


BUNDLED = "bundled"


def _evaluate(options: Options) -> Answer[EvaluateAnswer]:
    space = load_space(Path(options.vectors))
    # Words are looked up in lower case if all words of the vectors are.
    splitter = detect_casing(space)
    bundled = {pairs.name: pairs for pairs in load_bundled_pairs()}
    lists = _read_lists(options.pairs) if options.pairs else bundled
    pairs = {name: asdict(score_pairs(space, pairs, splitter)) for name, pairs in lists.items()}
    parts = [_render_lists("pairs", "Spearman", "spearman", pairs)]
    analogies = None
    if options.analogies:
        if options.analogies == BUNDLED:
            questions = load_bundled_analogies()
        else:
            questions = read_analogies(Path(options.analogies))
        analogies = {
            name: asdict(score)
            for name, score in score_analogies(space, questions, splitter, options.progress).items()
        }
        parts.append(_render_lists("analogies", "accuracy", "accuracy", analogies))
    spelled = (
        "as they are spelled" if splitter is None else "in lower case, as the vectors have them"
    )
    parts.append(f"Words were looked up {spelled}.")
    answer = {"pairs": pairs, "analogies": analogies}
    return Answer(cast(EvaluateAnswer, answer), "\n\n".join(parts))


def _read_lists(files: list[str]) -> dict[str, PairList]:
    """Read lists of word pairs by file name; files of the same name are identified by their path."""
    stems = Counter(Path(file).stem for file in files)
    found = {}
    for file in files:
        name = Path(file).stem
        if stems[name] > 1:
            name = file
        found[name] = read_pairs(Path(file))
    return found


def _render_lists(title: str, figure: str, key: str, scores: dict[str, dict[str, Any]]) -> str:
    """Render one figure of each list, and how many of its entries the vectors cover."""
    rows = [(name, score[key], score["covered"], score["of"]) for name, score in scores.items()]
    return format_table((title, figure, "covered", "of"), rows)


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
