"""Vocabulary reduction: the growth under the heuristic `cost` compared with the published heuristics.

    python -m experiments.reduction [--growth] [--choose]      (default: both; seeds 1 2 3 for random)

Needs ../shared/data.

--growth: the removal order is chosen on the first half of biomedical-fulltext; growth is measured on
its second half and on the second halves of three other domains. A * marks values where `cost` is not
the best heuristic. The column for a quarter of PubMedBERT's vocabulary is measured with
--count-marks: if ## does not count in lengths, 8 512 tokens must be kept, more than a quarter.

--choose: how `power` and `belief` of `cost` were chosen, on the first half of biomedical-fulltext only.

1. Split its paragraphs by topic into two groups (2-means on 50 components of TF-IDF), so that the two
   texts differ.
2. Compute removal orders on one group and their growth on the other, in both directions, with both
   vocabularies and the three fractions: 12 cells for each pair of power and belief.
3. Divide the growth of each cell by that of the best published heuristic, and take the geometric mean
   over the cells.
4. Among the pairs within one standard error of the best (one-standard-error rule, Breiman et al.
   1984), choose the one that relies least on the counts of the text: the smallest power, then the
   largest belief.
"""

import argparse
import gzip
import sys
from dataclasses import replace
from itertools import groupby, product
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vocadapt.text.splitter import Splitter  # noqa: E402
from vocadapt.vocabulary.families import read_tokenizer, vocabulary_of  # noqa: E402
from vocadapt.vocabulary.growth.growth import KEEPS, SEEDS, Reducer  # noqa: E402
from vocadapt.vocabulary.lens import count_text  # noqa: E402
from vocadapt.vocabulary.plan.reduction import (  # noqa: E402
    BELIEF,
    POWER,
    PUBLISHED,
    REDUCTIONS,
    ReductionSettings,
    count_removed,
    list_removable_ids,
    rank_by_cost,
)

DATA = ROOT.parent / "shared" / "data"
CHOSEN = "biomedical-fulltext"
OTHERS = ("legal-contracts", "general-wikipedia", "general-reviews")
VOCABULARIES = ("bert-base-uncased", "pubmedbert-abstract-fulltext")
POWERS, BELIEFS = (0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0), (0.01, 0.02, 0.04, 0.08, 0.16)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--choose", action="store_true")
    options = parser.parse_args()
    everything = not (options.growth or options.choose)
    if options.choose or everything:
        choose()
    if options.growth or everything:
        for name in VOCABULARIES:
            growth(name)


def text_of(name: str) -> str:
    return gzip.open(DATA / f"text/{name}.txt.gz", "rt", encoding="utf-8").read()


def halves(name: str) -> tuple[dict[str, int], dict[str, int]]:
    lines = text_of(name).split("\n")
    middle = len(lines) // 2
    return tuple(
        count_text("\n".join(part), Splitter.bert()) for part in (lines[:middle], lines[middle:])
    )  # type: ignore[return-value]


def split_by_topic(lines: list[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Count the words of two groups of paragraphs on different topics, found by 2-means."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    lines = [line for line in lines if line.strip()]
    weights = TfidfVectorizer(stop_words="english", min_df=20, sublinear_tf=True).fit_transform(
        lines
    )
    places = TruncatedSVD(50, random_state=1).fit_transform(weights)
    group = KMeans(2, n_init=5, random_state=1).fit_predict(places)
    parts = [
        [line for line, its in zip(lines, group, strict=True) if its == wanted] for wanted in (0, 1)
    ]
    print(f"two groups of {len(parts[0]):,} and {len(parts[1]):,} paragraphs")
    return tuple(count_text("\n".join(part), Splitter.bert()) for part in parts)  # type: ignore[return-value]


def choose() -> None:
    lines = text_of(CHOSEN).split("\n")
    groups = split_by_topic(lines[: len(lines) // 2])
    ratios: dict[tuple[float, float], list[float]] = {pair: [] for pair in product(POWERS, BELIEFS)}
    for name in VOCABULARIES:
        vocabulary = vocabulary_of(read_tokenizer(DATA / f"vocab/{name}.txt"))
        reducers = [Reducer(vocabulary, counts) for counts in groups]
        for chooser, judge in (reducers, reducers[::-1]):
            for pair, cells in cells_of(name, chooser, judge).items():
                ratios[pair] += cells
    report({pair: np.array(cells) for pair, cells in ratios.items()})


def cells_of(name: str, chooser: Reducer, judge: Reducer) -> dict[tuple[float, float], list[float]]:
    """Return, for each power and belief, the growth at every fraction divided by that of the best
    published heuristic.
    """
    vocabulary = chooser.vocabulary
    found: dict[tuple[float, float], list[float]] = {pair: [] for pair in product(POWERS, BELIEFS)}
    for marks, keeps in groupby(KEEPS, key=lambda keep: needs_marks(name, keep)):
        shares = [ReductionSettings("cost", keep, count_marks=marks) for keep in keeps]
        best = [
            min(grown(chooser, judge, replace(one, heuristic=rival)) for rival in PUBLISHED)
            for one in shares
        ]
        free = list_removable_ids(vocabulary, marks)
        for power, belief in found:
            order = rank_by_cost(vocabulary, free, chooser.table, power, belief)
            masks = [
                np.isin(np.arange(len(vocabulary)), order[: count_removed(vocabulary, one)])
                for one in shares
            ]
            found[power, belief] += [
                (judge.table.count_tokens(mask) / judge.tokens - 1) / rival
                for mask, rival in zip(masks, best, strict=True)
            ]
    return found


def report(ratios: dict[tuple[float, float], np.ndarray]) -> None:
    logs = {pair: np.log(cells) for pair, cells in ratios.items()}
    best = min(logs.values(), key=lambda cells: float(cells.mean()))
    print("growth as a ratio to the best published heuristic's, over 12 cells")
    print(f"{'power':>6}{'belief':>8}{'mean':>8}{'worst':>8}{'behind the best':>18}{'s.e.':>8}")
    near = []
    for (power, belief), cells in logs.items():
        behind = cells - best
        error = behind.std(ddof=1) / len(behind) ** 0.5
        near += [(power, -belief)] if behind.mean() <= error else []
        figures = f"{np.exp(cells.mean()):>8.4f}{np.exp(cells.max()):>8.4f}{behind.mean():>18.4f}{error:>8.4f}"
        print(f"{power:>6g}{belief:>8g}{figures}{'  *' if behind.mean() <= error else ''}")
    power, belief = min(near)
    print(
        f"chosen: power {power:g}, belief {-belief:g}; defaults of vocadapt:"
        f" {POWER:g} and {BELIEF:g}"
    )


def needs_marks(name: str, keep: float) -> bool:
    return name.startswith("pubmed") and keep == 0.25


def grown(chooser: Reducer, judge: Reducer, settings: ReductionSettings) -> float:
    """Compute the growth of one text if another one determined which tokens are removed."""
    return judge.table.count_tokens(chooser.build_removed_mask(settings)) / judge.tokens - 1


def growth(name: str) -> None:
    vocabulary = vocabulary_of(read_tokenizer(DATA / f"vocab/{name}.txt"))
    first, second = halves(CHOSEN)
    judged = {f"{CHOSEN}, 2nd half": second} | {other: halves(other)[1] for other in OTHERS}
    chooser, judges = (
        Reducer(vocabulary, first),
        {text: Reducer(vocabulary, counts) for text, counts in judged.items()},
    )
    print(
        f"\n{name}: chosen on the first half of {CHOSEN}; growth in percent at"
        f" {', '.join(f'{keep:.0%}' for keep in KEEPS)}"
    )
    table: dict[tuple[str, str], list[float]] = {}
    for heuristic in REDUCTIONS:
        for keep in KEEPS:
            seeds = SEEDS if heuristic == "random" else SEEDS[:1]
            gone = [
                chooser.build_removed_mask(
                    ReductionSettings(heuristic, keep, seed, needs_marks(name, keep))
                )
                for seed in seeds
            ]
            for text, judge in judges.items():
                mean = sum(judge.table.count_tokens(mask) for mask in gone) / len(gone)
                table.setdefault((heuristic, text), []).append(100 * (mean / judge.tokens - 1))
    for text in judges:
        print(f"  {text}")
        for heuristic in REDUCTIONS:
            cells = table[heuristic, text]
            best = [min(table[rival, text][k] for rival in PUBLISHED) for k in range(len(KEEPS))]
            marks = [
                "*" if heuristic == "cost" and cell >= rival else " "
                for cell, rival in zip(cells, best, strict=True)
            ]
            print(
                f"    {heuristic:8s}"
                + "".join(f"{cell:9.3f}{mark}" for cell, mark in zip(cells, marks, strict=True))
            )


if __name__ == "__main__":
    main()
