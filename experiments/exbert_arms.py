"""exBERT against continued pretraining: five arms on the demo model and the shared biomedical text.

    OMP_NUM_THREADS=1 python experiments/exbert_arms.py DIR [--hours .36] [--tokens-added 4000]
    [--seeds 1 2 3] [--windows 4000]

The arms:

- `continued`: the original model, all parameters are trained.
- `exbert`: new tokens and extension modules; only these are trained.
- `module`: extension modules without new tokens; only the modules are trained.
- `embeddings`: new tokens without modules; only the new embeddings are trained.
- `whole`: new tokens without modules, all parameters are trained, as published.

Each arm is trained for the same time on the same sample of the same text, with the same learning
rate. The rate is constant after the warm-up, because a falling one would favor the arm that ends at
the compared point; so the curves of held-out loss per character are comparable at equal wordpieces
and at equal seconds. They use the same 256 windows of the held-out lines. They are printed, and
drawn with --curves.

At the end, each arm is evaluated on 4 000 windows of Covid-QA's articles, which are not in the
training text. Windows of one article are similar, so the standard error of the difference from
`continued` is computed over articles. Then each arm, and the original model, is fine-tuned on a
sample of NCBI-disease and of GAD.

Every step is a command of vocadapt; a step whose result exists in DIR is skipped. Needs ../shared,
and about four hours of one core.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from experiments._curves import draw_curves
from vocadapt.models.contextual.masked_loss import (
    WindowSettings,
    build_loss_windows,
    compute_masked_loss,
)
from vocadapt.models.language_model import open_model
from vocadapt.training.masked.validation import select_evenly

HERE = Path(__file__).resolve().parents[1]
SHARED, DEMO = HERE.parent / "shared" / "data", HERE / "assets" / "demo" / "models" / "demo-bert"
TEXT = [str(SHARED / "text" / f"biomedical-{name}.txt.gz") for name in ("fulltext", "abstracts")]
ARMS = {  # name → preset of the initial model (None: the original model), stage
    "continued": (None, "continued"),
    "exbert": ("exbert-s3", "extension"),
    "embeddings": ("exbert-no-module", "embeddings"),
    "whole": ("exbert-no-module", "whole"),
    "module": ("exbert-no-vocabulary", "extension"),
}
WITHOUT_WORDS = "exbert-no-vocabulary"
TASKS = {
    "ncbi": ("ner", "ner/NCBI-disease", 800),
    "gad": ("relations", "relations/GAD", 400),
}  # kind, folder, examples per split
SCORES = {"ncbi": ("entity-strict", "wordpiece-macro"), "gad": ("micro-f1",)}
EVERY = 500_000  # wordpieces between lines of the printed curves
ENOUGH = 0.1  # fraction by which continued pretraining must lower its loss, to compare arms


@dataclass(frozen=True)
class Trained:
    """A trained arm: the points of its curve (step, wordpieces, seconds, loss), and its loss on all
    held-out words before and after training.
    """

    curve: list[list[float]]
    before: float
    after: float
    words: int


def vocadapt(out: Path, *arguments: object) -> None:
    """Run a command unless its output folder exists: commands write it completely or not at all."""
    if not out.is_dir():
        command = [sys.executable, "-m", "vocadapt", *map(str, arguments), "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=HERE)


def train_arm(folder: Path, name: str, options: argparse.Namespace) -> Trained:
    """Train one arm."""
    preset, stage = ARMS[name]
    start: Path = DEMO
    if preset is not None:
        start = folder / f"{preset}-start"
        words = (
            ()
            if preset == WITHOUT_WORDS
            else ("--max-added", options.tokens_added, "--corpus", *TEXT)
        )
        vocadapt(start, "adapt", "--preset", preset, "--model", DEMO, *words, "--no-certificate")
    how = (
        "--sample",
        ".2",
        "--learning-rate",
        "5e-4",
        "--lr-scheduler",
        "constant",
        "--hours",
        options.hours,
    )
    vocadapt(folder / name, "pretrain", "--model", start, "--stage", stage, "--corpus", *TEXT, *how)
    numbers = json.loads((folder / name / "manifest.json").read_text(encoding="utf-8"))["numbers"]
    losses = numbers["loss_per_character"]
    return Trained(
        numbers["held_out_curve"]["points"],
        losses["before"],
        losses["after"],
        numbers["held_out_words"],
    )


def at(points: list[list[float]], column: int, value: float) -> float:
    """Interpolate the loss linearly at a value of a column (1: wordpieces, 2: seconds)."""
    for before, after in pairwise(points):
        if before[column] <= value <= after[column]:
            fraction = (value - before[column]) / (after[column] - before[column])
            return before[3] + fraction * (after[3] - before[3])
    raise ValueError(f"{value} is outside the curve")


def report_losses(arms: dict[str, Trained]) -> None:
    """Print the loss of every arm at the wordpieces and at the seconds where the first arm ends, and
    its loss on all words at its own end.
    """
    ends = [min(arm.curve[-1][column] for arm in arms.values()) for column in (1, 2)]
    print(
        f"held-out loss, nats per character; at {ends[0]:,.0f} wordpieces and at {ends[1]:,.0f} s,"
        " where the first arm ends"
    )
    header = f"{'arm':<11}{'before':>9}{'wordpieces':>12}{'seconds':>9}{'all: before':>13}{'at the end':>12}{'words':>7}"
    print(f"{header}{'wordpieces':>12}{'s':>7}")
    for name, arm in arms.items():
        losses = [at(arm.curve, column, end) for column, end in zip((1, 2), ends, strict=True)]
        cells = f"{arm.curve[0][3]:>9.4f}{losses[0]:>12.4f}{losses[1]:>9.4f}{arm.before:>13.4f}{arm.after:>12.4f}"
        print(f"{name:<11}{cells}{arm.words:>7,}{arm.curve[-1][1]:>12,.0f}{arm.curve[-1][2]:>7.0f}")
    fall = 1 - arms["continued"].after / arms["continued"].before
    verdict = "enough to compare arms" if fall >= ENOUGH else "the budget is too small"
    print(
        f"continued pretraining lowers its loss on all words by {fall:.1%}: {verdict}", flush=True
    )


def report_curves(arms: dict[str, Trained]) -> None:
    """Print the loss of every arm every half million wordpieces, until its end."""
    print(f"{'wordpieces':>10}" + "".join(f"{name:>11}" for name in arms))
    for read in range(0, int(max(arm.curve[-1][1] for arm in arms.values())) + 1, EVERY):
        losses = [
            f"{at(arm.curve, 1, read):>11.3f}" if read <= arm.curve[-1][1] else f"{'':>11}"
            for arm in arms.values()
        ]
        print(f"{read:>10,}{''.join(losses)}")


def draw_losses(arms: dict[str, Trained]) -> str:
    """Draw the curves as an SVG: held-out loss per character against wordpieces."""
    curves = {name: [(point[1], point[3]) for point in arm.curve] for name, arm in arms.items()}
    most = max(curve[-1][0] for curve in curves.values())
    ticks = {f"{n} M": n * 1e6 for n in range(int(most // 1_000_000) + 1)}
    return draw_curves(curves, ticks, 0.1, "wordpieces; nats per character of masked words")


def compute_losses(
    model: Path, articles: list[list[str]], most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss in nats and the number of masked characters of each article, (articles,).

    most: number of windows of all articles together.
    """
    opened = open_model(model)
    network, settings = opened.reader, WindowSettings().within(128)
    by_article = [
        tuple(build_loss_windows(lines, opened.splitter, opened.vocabulary, settings))
        for lines in articles
    ]
    fraction = most / sum(map(len, by_article))
    nats, characters = np.zeros(len(articles)), np.zeros(len(articles))
    for place, windows in enumerate(by_article):
        for window in select_evenly(windows, max(1, round(fraction * len(windows)))):
            if window.hidden.any():
                lost = compute_masked_loss(network, opened.vocabulary, [window])
                nats[place], characters[place] = (
                    nats[place] + lost.nats,
                    characters[place] + lost.characters,
                )
    return nats, characters


def report_unseen_articles(folder: Path, most: int) -> None:
    """Print the loss of every arm on articles outside the training text."""
    data = json.loads((SHARED / "qa" / "200423_covidQA.json").read_text(encoding="utf-8"))["data"]
    articles = [
        [
            line
            for part in one["paragraphs"]
            for line in part["context"].splitlines()
            if line.strip()
        ]
        for one in data
    ]
    nats, characters = compute_losses(folder / "continued", articles, most)
    print(
        f"loss on {characters.sum():,.0f} masked characters of about {most:,} windows of"
        f" {len(articles)} articles"
    )
    for name in ("before", *ARMS):
        found, its = compute_losses(DEMO if name == "before" else folder / name, articles, most)
        mean = found.sum() / its.sum() - nats.sum() / characters.sum()
        rest = found - nats - mean * characters  # residuals of the ratio, for its error by article
        error = (len(rest) * rest.var(ddof=1)) ** 0.5 / characters.sum()
        alike = "" if np.array_equal(its, characters) else f"  ({its.sum():,.0f} characters)"
        print(
            f"{name:<11}{found.sum() / its.sum():>9.4f}{mean:>+9.4f} ± {error:.4f}{alike}",
            flush=True,
        )


def compare_finetuned(folder: Path, options: argparse.Namespace) -> None:
    """Fine-tune every arm and the original model on both tasks; print mean ± sd over the seeds and
    the tests against `continued`.
    """
    for task, (kind, place, limit) in TASKS.items():
        files = [
            word
            for split in ("train", "test")
            for word in (f"--{split}", str(SHARED / place / f"{split}.tsv"))
        ]
        how = (
            "--limit",
            limit,
            "--num-epochs",
            4,
            "--learning-rate",
            "5e-4",
            "--seeds",
            *options.seeds,
        )
        runs = []
        for name in ("before", *ARMS):
            model = DEMO if name == "before" else folder / name
            original = ARMS.get(name, (None,))[0] in (None, WITHOUT_WORDS)
            tokenization = "base" if original else "adapted"
            out = folder / f"{task}-{name}"
            vocadapt(
                out,
                "finetune",
                "--model",
                model,
                "--task",
                kind,
                *files,
                "--tokenization",
                tokenization,
                *how,
            )
            runs.append(str(out))
        for scorer in SCORES[task]:
            compared = (
                "results",
                *runs,
                "--baseline",
                str(folder / f"{task}-continued"),
                "--scorer",
                scorer,
            )
            subprocess.run([sys.executable, "-m", "vocadapt", *compared], check=True, cwd=HERE)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--hours", type=float, default=0.36)
    parser.add_argument("--tokens-added", type=int, default=4000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--windows", type=int, default=4000)
    parser.add_argument("--curves", type=Path, metavar="FILE", help="SVG file for the curves")
    options = parser.parse_args()
    if options.folder is None:
        print("not run (it takes four hours): name an output folder")
        return
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    arms = {name: train_arm(folder, name, options) for name in ARMS}
    report_losses(arms)
    report_curves(arms)
    if options.curves is not None:
        options.curves.write_text(draw_losses(arms), encoding="utf-8")
    report_unseen_articles(folder, options.windows)
    compare_finetuned(folder, options)


if __name__ == "__main__":
    main()
