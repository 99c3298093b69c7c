"""exBERT against the continued pretraining it must beat: five arms on the demo model and the shared
biomedical text.

    OMP_NUM_THREADS=1 python benchmarks/exbert_arms.py DIR [--hours .36] [--tokens-added 4000]
    [--seeds 1 2 3] [--windows 4000]

Each arm is trained equally long on the same sample of the same text, under the same rate, which
after its warm-up stays as it is (a falling one would favor whichever training ends there): so the
curves of held-out loss per character can be read at equal wordpieces and at equal seconds. Then
each, and the model before, is fine-tuned on a sample of NCBI-disease and of GAD. Curves ask 256
windows of the held-out lines, always the same; they are printed, and drawn where --curves says.
What an arm came to is asked of 4 000 windows of Covid-QA's articles, which no arm read, with the
standard error of its difference to `continued`; windows of one article are alike, so it is the
error over articles. exBERT and `rows` move their new parameters alone, `module` has no new token;
`whole` has new tokens and no module, and all of it is trained, as published; `continued` is the
model as it was, all of it trained. Every step is a command of vocadapt, and one whose result lies
in DIR already is not run again. Needs ../shared; some four hours of one core.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

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
ARMS = {  # name → preset of the model it begins from (none: the model as it is), stage
    "continued": (None, "continued"),
    "exbert": ("exbert-s3", "extension"),
    "rows": ("exbert-no-module", "embeddings"),
    "whole": ("exbert-no-module", "whole"),
    "module": ("exbert-no-vocabulary", "extension"),
}
WITHOUT_WORDS = "exbert-no-vocabulary"
TASKS = {
    "ncbi": ("ner", "ner/NCBI-disease", 800),
    "gad": ("relations", "relations/GAD", 400),
}  # kind, place, examples of a split
SCORES = {"ncbi": ("entity-strict", "wordpiece-macro"), "gad": ("micro-f1",)}
EVERY = 500_000  # wordpieces between two lines of the printed curves
COLORS = ("#E69F00", "#009E73", "#0072B2", "#D55E00", "#CC79A7")  # Okabe and Ito's
ENOUGH = (
    0.1  # share by which continued pretraining must lower its loss before arms can be told apart
)


@dataclass(frozen=True)
class Trained:
    """An arm: the points of its curve (step, wordpieces, seconds, loss), its loss on all held-out
    words before and at its end.
    """

    curve: list[list[float]]
    before: float
    after: float
    words: int


def vocadapt(out: Path, *arguments: object) -> None:
    """Run a command unless its result is there: a command writes its folder whole, or not at
    all.
    """
    if not out.is_dir():
        command = [sys.executable, "-m", "vocadapt", *map(str, arguments), "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=HERE)


def pretrained(folder: Path, options: argparse.Namespace) -> dict[str, Trained]:
    """Train every arm."""
    return {name: trained(folder, name, options) for name in ARMS}


def trained(folder: Path, name: str, options: argparse.Namespace) -> Trained:
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
    """The loss where a column (1: wordpieces, 2: seconds) has a value, on a line between two
    points.
    """
    for before, after in pairwise(points):
        if before[column] <= value <= after[column]:
            share = (value - before[column]) / (after[column] - before[column])
            return before[3] + share * (after[3] - before[3])
    raise ValueError(f"{value} lies outside the curve")


def report_losses(arms: dict[str, Trained]) -> None:
    """Print the loss of every arm where the shortest of them ends, by wordpieces and by seconds; on
    all words, at its own end.
    """
    ends = [min(arm.curve[-1][column] for arm in arms.values()) for column in (1, 2)]
    print(
        f"held-out loss, nats a character; at {ends[0]:,.0f} wordpieces and at {ends[1]:,.0f} s,"
        " where the first arm ends"
    )
    header = f"{'arm':<11}{'before':>9}{'wordpieces':>12}{'seconds':>9}{'all: before':>13}{'at its end':>12}{'words':>7}"
    print(f"{header}{'read':>12}{'s':>7}")
    for name, arm in arms.items():
        losses = [at(arm.curve, column, end) for column, end in zip((1, 2), ends, strict=True)]
        told = f"{arm.curve[0][3]:>9.4f}{losses[0]:>12.4f}{losses[1]:>9.4f}{arm.before:>13.4f}{arm.after:>12.4f}"
        print(f"{name:<11}{told}{arm.words:>7,}{arm.curve[-1][1]:>12,.0f}{arm.curve[-1][2]:>7.0f}")
    fall = 1 - arms["continued"].after / arms["continued"].before
    verdict = "enough to tell" if fall >= ENOUGH else "budget too small to tell"
    print(
        f"continued pretraining lowers its loss on all words by {fall:.1%}: {verdict}", flush=True
    )


def report_curves(arms: dict[str, Trained]) -> None:
    """Print the loss of every arm at every half million wordpieces, as far as it read."""
    print(f"{'wordpieces':>10}" + "".join(f"{name:>11}" for name in arms))
    for read in range(0, int(max(arm.curve[-1][1] for arm in arms.values())) + 1, EVERY):
        losses = [
            f"{at(arm.curve, 1, read):>11.3f}" if read <= arm.curve[-1][1] else f"{'':>11}"
            for arm in arms.values()
        ]
        print(f"{read:>10,}{''.join(losses)}")


def drawn(arms: dict[str, Trained]) -> str:
    """The curves as an SVG: held-out loss per character against wordpieces read."""
    most = max(arm.curve[-1][1] for arm in arms.values())
    losses = [point[3] for arm in arms.values() for point in arm.curve]
    low, high = np.floor(min(losses) * 10) / 10, np.ceil(max(losses) * 10) / 10

    def place(read: float, loss: float) -> tuple[float, float]:
        return 60 + 560 * read / most, 20 + 320 * (high - loss) / (high - low)

    parts = []
    for loss in np.arange(low, high + 0.05, 0.1):
        x, y = place(0, loss)
        parts.append(f'<path d="M{x:.0f} {y:.1f}h560" stroke="#8886"/>')
        parts.append(f'<text x="{x - 8:.0f}" y="{y + 4:.1f}" text-anchor="end">{loss:.1f}</text>')
    for million in range(int(most // 1_000_000) + 1):
        x, _ = place(million * 1_000_000, low)
        parts.append(f'<text x="{x:.1f}" y="360" text-anchor="middle">{million} M</text>')
    told = 0.0
    for (name, arm), color in sorted(
        zip(arms.items(), COLORS, strict=True), key=lambda one: -one[0][1].curve[-1][3]
    ):
        points = " ".join("{:.1f},{:.1f}".format(*place(point[1], point[3])) for point in arm.curve)
        x, y = place(arm.curve[-1][1], arm.curve[-1][3])
        told = y = max(y, told + 14)  # no name on another's
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 6:.1f}" y="{y + 4:.1f}" fill="{color}">{name}</text>')
    parts.append(
        '<text x="340" y="383" text-anchor="middle">wordpieces read; nats per character of hidden'
        " words</text>"
    )
    head = (
        'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 390" font-family="sans-serif"'
        ' font-size="12" fill="#777"'
    )
    return "\n".join([f"<svg {head}>", *parts, "</svg>\n"])


def asked_of(model: Path, articles: list[list[str]], most: int) -> tuple[np.ndarray, np.ndarray]:
    """Of some windows of each article: the nats of their hidden words under a model, and their
    characters.
    """
    opened = open_model(model)
    network, settings = opened.reader, WindowSettings().within(128)
    asked = [
        tuple(build_loss_windows(lines, opened.splitter, opened.vocabulary, settings))
        for lines in articles
    ]
    share = most / sum(map(len, asked))
    nats, characters = np.zeros(len(articles)), np.zeros(len(articles))
    for place, cut in enumerate(asked):
        for window in select_evenly(cut, max(1, round(share * len(cut)))):
            if window.hidden.any():
                lost = compute_masked_loss(network, opened.vocabulary, [window])
                nats[place], characters[place] = (
                    nats[place] + lost.nats,
                    characters[place] + lost.characters,
                )
    return nats, characters


def report_unread(folder: Path, most: int) -> None:
    """Print what every arm makes of articles that none of them read."""
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
    nats, characters = asked_of(folder / "continued", articles, most)
    print(
        f"loss on {characters.sum():,.0f} hidden characters of about {most:,} windows of"
        f" {len(articles)} articles"
    )
    for name in ("before", *ARMS):
        found, its = asked_of(DEMO if name == "before" else folder / name, articles, most)
        mean = found.sum() / its.sum() - nats.sum() / characters.sum()
        rest = found - nats - mean * characters  # a ratio's error, articles being what is drawn
        error = (len(rest) * rest.var(ddof=1)) ** 0.5 / characters.sum()
        alike = "" if np.array_equal(its, characters) else f"  ({its.sum():,.0f} characters)"
        print(
            f"{name:<11}{found.sum() / its.sum():>9.4f}{mean:>+9.4f} ± {error:.4f}{alike}",
            flush=True,
        )


def finetuned(folder: Path, options: argparse.Namespace) -> None:
    """Fine-tune every arm, and the model before, on both tasks; print mean ± sd over the seeds and
    the test to `continued`.
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
            cut = "base" if ARMS.get(name, (None,))[0] in (None, WITHOUT_WORDS) else "adapted"
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
                cut,
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
    parser.add_argument("--curves", type=Path, metavar="FILE", help="draw them there, as an SVG")
    options = parser.parse_args()
    if options.folder is None:
        print("not run: it takes four hours; name a folder for what it makes")
        return
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    arms = pretrained(folder, options)
    report_losses(arms)
    report_curves(arms)
    if options.curves is not None:
        options.curves.write_text(drawn(arms), encoding="utf-8")
    report_unread(folder, options.windows)
    finetuned(folder, options)


if __name__ == "__main__":
    main()
