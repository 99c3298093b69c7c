"""diagnose, relations."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import add_offline
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.cli.tables import format_table, number
from vocadapt.errors import InputError
from vocadapt.lab.artifacts.open_space import OpenedSpace, open_space
from vocadapt.lab.reports.diagnostics import (
    TOKENS,
    Diagnosis,
    ListScores,
    diagnose,
    score_lists,
    select_tokens,
    shorten_names,
)
from vocadapt.progress import Progress, part
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
    RelationList,
    load_bundled_relations,
    read_relations,
)

SPACE = "hub name or model folder, or a folder of word vectors"
MEASURES = {
    "mean_cosine": (
        "mean cosine over all pairs of tokens, none with itself (Fast 2023, table 3.2); null:"
        " different widths"
    ),
    "mean_cosine_common": "mean cosine of the two rows of each common token (Fast 2023, table 3.3)",
    "isotropy": (
        "I(W) = min Z / max Z over the eigenvectors of WᵀW, both signs, on vectors of length 1 (Mu and"
        " Viswanath 2018)"
    ),
    "isotropy_as_published": "the same on the original vectors",
    "isoscore": "IsoScore (Rudman et al. 2022)",
    "first_direction": (
        "fraction of the squared norm of the unit vectors along their first principal direction; even: 1/dim"
    ),
    "hubness": (
        "skewness of N_k, of how many rows each row is among the k nearest (Radovanović et al."
        " 2010)"
    ),
    "frequency_bias": (
        "Spearman correlation of frequency with the norm of an embedding and with its cosine to the"
        " mean direction, over the original tokens"
    ),
    "added_norms": (
        "median norm of the embeddings of added and of original tokens; null: no added tokens"
    ),
}


def _add_tokens_option(parser: Parser) -> None:
    said = "; ".join(f"{name}: {meaning}" for name, meaning in TOKENS.items())
    parser.add_argument(
        "--tokens",
        default="all",
        choices=tuple(TOKENS),
        help=f"tokens to include (default all). {said}",
    )


def _add_diagnose_options(parser: Parser) -> None:
    parser.add_argument("spaces", nargs="+", metavar="A", help=SPACE)
    _add_tokens_option(parser)
    parser.add_argument(
        "--no-hubness", action="store_true", help="skip hubness, which takes seconds"
    )
    add_offline(parser)


def _diagnose(options: Namespace, progress: Progress) -> Answer:
    names = shorten_names(options.spaces)
    opened = [open_space(name, options.offline or None) for name in options.spaces]
    spaces = [select_tokens(one, options.tokens) for one in opened]
    tables, many = build_cosine_tables(spaces), len(spaces)
    found = [
        diagnose(
            space,
            not options.no_hubness,
            part(progress, i / many, (i + 1) / many, names[i]),
            opened[i].added,
        )
        for i, space in enumerate(spaces)
    ]
    answer = {
        "models": list(names),
        "tokens": {"choice": options.tokens, "meaning": TOKENS[options.tokens]},
        "dim": [space.dim for space in spaces],
        **asdict(tables),
        "isotropy": [one.isotropy.partition for one in found],
        "isotropy_as_published": [one.isotropy.partition_as_published for one in found],
        "isoscore": [one.isotropy.isoscore for one in found],
        "first_direction": [one.isotropy.first_direction for one in found],
        "hubness": [one.hubness.skewness if one.hubness else None for one in found],
        "hubs": [asdict(one.hubness) if one.hubness else None for one in found],
        "norms": [asdict(one.norms) for one in found],
        "frequency_bias": [asdict(one.frequency_bias) for one in found],
        "added_norms": [asdict(one.added) if one.added else None for one in found],
        "measures": MEASURES,
    }
    return Answer(answer, _render_diagnosis(names, tables, found, options.tokens))


def _render_diagnosis(
    names: Sequence[str], tables: CosineTables, found: Sequence[Diagnosis], tokens: str
) -> str:
    counted = [f"{name} (n = {number(n)})" for name, n in zip(names, tables.counted, strict=True)]
    common = [
        [f"{_format_cosine(value)} (n = {number(n)})" for value, n in zip(values, row, strict=True)]
        for values, row in zip(tables.mean_cosine_common, tables.common, strict=True)
    ]
    header = (
        "space",
        "zero rows",
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
    rows = [(name, *_build_row(one)) for name, one in zip(names, found, strict=True)]
    parts = [
        _render_square(
            "mean cosine of all pairs",
            counted,
            [[_format_cosine(value) for value in row] for row in tables.mean_cosine],
        ),
        _render_square("mean cosine of common tokens", names, common),
        format_table(header, rows),
        *(
            _describe_added_norms(name, one)
            for name, one in zip(names, found, strict=True)
            if one.added
        ),
        f"Tokens that count: {TOKENS[tokens]}. –: different widths, or too few rows.",
    ]
    return "\n\n".join(parts)


def _describe_added_norms(name: str, one: Diagnosis) -> str:
    """Describe the norms of the embeddings of added tokens in one line."""
    added = one.added
    assert added is not None
    return (
        f"{name}: median norm of its {added.n:,} added tokens {added.median:.3f}, of its"
        f" {added.original_n:,} original ones {added.original_median:.3f}. Correlations with"
        " frequency are over the original tokens."
    )


def _build_row(one: Diagnosis) -> tuple[Any, ...]:
    even, lengths, bias = one.isotropy, one.norms, one.frequency_bias
    hubs = one.hubness.skewness if one.hubness else None
    measured = (even.partition, even.isoscore, even.first_direction, hubs, lengths.mean, lengths.sd)
    return (lengths.zero_rows, *measured, bias.norm, bias.mean_direction, bias.by)


def _render_square(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return format_table(
        (title, *names), [(name, *row) for name, row in zip(names, rows, strict=True)]
    )


def _format_cosine(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _add_relations_options(parser: Parser) -> None:
    parser.add_argument(
        "--model",
        metavar="M",
        nargs="+",
        action="extend",
        default=[],
        help="hub names or model folders",
    )
    parser.add_argument(
        "--vectors",
        metavar="DIR",
        nargs="+",
        action="extend",
        default=[],
        help="folders of word vectors",
    )
    parser.add_argument(
        "--pairs", metavar="FILE", nargs="+", action="extend", default=[], help=PAIRS
    )
    add_settings(parser, PermutationSettings)
    parser.add_argument("--each", action="store_true", help="also list every pair with its cosine")
    _add_tokens_option(parser)
    add_offline(parser)


PAIRS = (
    "files of word pairs, with or without relations or scores; of analogy questions; or of"
    " paradigms, under a header that begins with lemma (default: the pairs of Fast 2023, Google's"
    " analogies, SimLex-999, WordSim-353)"
)


def _score_relations(options: Namespace, progress: Progress) -> Answer:
    given = [*options.model, *options.vectors]
    if not given:
        raise InputError(
            "relations needs a space to look in.",
            "Give --model M, or --vectors DIR, as many as you like.",
        )
    lists = (
        [read_relations(Path(file)) for file in options.pairs]
        if options.pairs
        else list(load_bundled_relations())
    )
    names, permutations = shorten_names(given), read_settings(options, PermutationSettings)
    spaces = [open_space(name, options.offline or None) for name in given]
    means = [compute_mean_cosine(select_tokens(one, options.tokens)) for one in spaces]
    scores = [
        score_lists(
            one,
            lists,
            mean,
            permutations,
            part(progress, i / len(spaces), (i + 1) / len(spaces), names[i]),
        )
        for i, (one, mean) in enumerate(zip(spaces, means, strict=True))
    ]
    answer = {
        "models": list(names),
        "tokens": {"choice": options.tokens, "meaning": TOKENS[options.tokens]},
        "mean_cosine": means,
        "null": asdict(permutations),
        "relations": _relations_to_json(names, lists, scores),
        "similarity": _similarity_to_json(names, lists, scores),
        **({"pairs": _list_pairs(names, spaces, lists, means)} if options.each else {}),
    }
    return Answer(answer, _render_relations(answer))


def _relations_to_json(
    names: Sequence[str], lists: Sequence[RelationList], scores: Sequence[Sequence[ListScores]]
) -> list[dict[str, Any]]:
    """One entry a relation: its list, its name, and its score in each space."""
    return [
        {
            "list": one.name,
            "relation": relation.name,
            "of": len(relation.pairs),
            "results": [
                {"model": name, **asdict(scored[i].relations[j])}
                for name, scored in zip(names, scores, strict=True)
            ],
        }
        for i, one in enumerate(lists)
        for j, relation in enumerate(one.relations)
    ]


def _similarity_to_json(
    names: Sequence[str], lists: Sequence[RelationList], scores: Sequence[Sequence[ListScores]]
) -> list[dict[str, Any]]:
    """Convert the agreement with human judgments to JSON: one entry per judged list."""
    found = []
    for i, one in enumerate(lists):
        if one.judged:
            judged = [
                (name, scored[i].similarity) for name, scored in zip(names, scores, strict=True)
            ]
            results = [{"model": name, **asdict(score)} for name, score in judged if score]
            found.append({"list": one.name, "of": len(one.judged.pairs), "results": results})
    return found


def _list_pairs(
    names: Sequence[str],
    spaces: Sequence[OpenedSpace],
    lists: Sequence[RelationList],
    means: Sequence[float | None],
) -> list[dict[str, Any]]:
    return [
        {"model": name, "list": one.name, "relation": relation.name, **asdict(pair)}
        for name, opened, mean in zip(names, spaces, means, strict=True)
        for one in lists
        for relation in one.relations
        for pair in compute_pair_cosines(opened.space, relation, opened.splitter, mean)
    ]


def _render_relations(answer: dict[str, Any]) -> str:
    header = (
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
        "words it lacks",
    )
    keys = ("model", "corrected", "sd", "mean", "null_mean", "z", "p", "usable", "of")
    rows = [
        (one["list"], one["relation"], *(got[key] for key in keys), summarize_words(got["lacking"]))
        for one in answer["relations"]
        for got in one["results"]
    ]
    parts = [_render_table(header, rows)]
    judged = [
        (one["list"], got["model"], got["spearman"], got["covered"], got["of"])
        for one in answer["similarity"]
        for got in one["results"]
    ]
    if judged:
        parts.append(_render_table(("similarity set", "space", "Spearman", "pairs", "of"), judged))
    if "pairs" in answer:
        columns = ("relation", "first", "second", "model", "cosine", "corrected")
        parts.append(
            _render_table(columns, [[one[key] for key in columns] for one in answer["pairs"]])
        )
    means = ", ".join(
        f"{name} {_format_cosine(mean)}"
        for name, mean in zip(answer["models"], answer["mean_cosine"], strict=True)
    )
    parts.append(
        f"Corrected: minus the space's own mean cosine ({means}; {answer['tokens']['meaning']}).\n"
        f"random: the same words paired at random, mean of {answer['null']['draws']} draws."
    )
    return "\n\n".join(parts)


def _render_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Format a table, with cells from files shortened to a readable length."""
    return format_table(
        header, [[cell[:40] if isinstance(cell, str) else cell for cell in row] for row in rows]
    )


DIAGNOSE = Command(_add_diagnose_options, _diagnose)
RELATIONS = Command(_add_relations_options, _score_relations)
