"""Do new words help a task with all of its training sentences? NCBI-disease, whole, several seeds.

    python -m experiments.full_task DIR       (three minutes on two cores; needs ../shared/data)
    python -m vocadapt study run DIR/full-task.toml --workers 1 --out DIR/out
    python -m experiments.full_task DIR --report

Baseline: the model as it is, in the same study. The text is all of the biomedical articles without
the lines that share ten consecutive words with a test sentence (`experiments.evidence`). Word vectors
are counted, the default; two ways to make embeddings of them are compared: stacked, which is the
default for embeddings that are read as they are, and an alignment by ridge regression. Both have the
norms that the model's own words of equal frequency have, and the same words.

The report adds finished cells to experiments/full_task.json: F1 by tokenization, and for each test
sentence the numbers of correct, predicted and gold entities, with pooled tokenization (base
tokenization for the baseline). The study omits seeds for which all variants are measured. Differences
have 95 % intervals from bootstrap samples of the test sentences.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments._results import Cell, read_cells, write_cells
from experiments.evidence import DATA, minilm, read_blocks, vocadapt, write_texts
from experiments.frozen_tasks import bootstrap_difference
from vocadapt.training.examples.tags import decode_spans

RESULTS = Path(__file__).with_suffix(".json")
TASK = "NCBI-disease"
SEEDS = (1, 2, 3)
SETTINGS = "num_epochs = 8\nbatch_size = 16\nlearning_rate = 2e-4\nmax_length = 128"
VARIANTS = {
    "none": "",
    "context": 'preset = "new-words"\ninitializer = "aligned"',
    "stacked": 'preset = "new-words"',
}


def prepare(folder: Path) -> None:
    """Make everything that the study reads, and its file."""
    folder.mkdir(parents=True, exist_ok=True)
    # 1. The text, and its vectors.
    if not (folder / "text-15m.txt").is_file():
        write_texts(folder)
    common = ("--model", minilm(), "--seed", 1)
    vectors = folder / "vectors"
    if not vectors.is_dir():
        counted = ("--trainer", "counts", "--out", vectors)
        vocadapt("vectors", "train", folder / "text-15m.txt", *common, *counted)

    # 2. The task, all of it.
    (folder / TASK).mkdir(exist_ok=True)
    for source, name in (("train", "train"), ("devel", "dev"), ("test", "test")):
        blocks = read_blocks(DATA / "ner" / TASK / f"{source}.tsv")
        (folder / TASK / f"{name}.tsv").write_text("\n\n".join(blocks) + "\n")

    # 3. The study, of the seeds that are not complete.
    done = [cell["seed"] for cell in read_cells(RESULTS)]
    seeds = [seed for seed in SEEDS if done.count(seed) < len(VARIANTS)]
    if not seeds:
        print("all seeds are measured")
        return
    parts = [f'name = "full-task"\nseeds = {seeds}\n[settings]\n{SETTINGS}']
    for name, changes in VARIANTS.items():
        about = f'name = "{name}"\nmodel = "{minilm()}"'
        if changes:
            about += f'\nvectors = "vectors"\n{changes}'
        parts.append(f"[[variants]]\n{about}")
    files = "\n".join(f'{split} = "{TASK}/{split}.tsv"' for split in ("train", "dev", "test"))
    parts.append(f'[[tasks]]\nname = "{TASK}"\nkind = "ner"\n{files}')
    (folder / "full-task.toml").write_text("\n".join(parts) + "\n")


def collect(folder: Path) -> list[Cell]:
    """Return the known cells and those that the study has finished."""
    cells = {(cell["variant"], cell["seed"]): cell for cell in read_cells(RESULTS)}
    for variant in VARIANTS:
        for seed in SEEDS:
            for run in (folder / "out/runs").glob(f"{variant}-{TASK}-seed-{seed}-*"):
                if (run / "manifest.json").is_file():
                    cells[variant, seed] = read_cell(run, variant, seed)
    return [cells[key] for key in sorted(cells)]


def read_cell(run: Path, variant: str, seed: int) -> Cell:
    """Read the scores of a run, and its counts of entities by sentence."""
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    [one] = manifest["numbers"]["seeds"]
    tokenization = "pooled" if "pooled" in one["scores"] else "base"
    counts = []
    with (run / "predictions.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            sentence = json.loads(line)
            true = set(decode_spans(sentence["tags"]))
            predicted = set(decode_spans(sentence["said"][tokenization]))
            counts.append([len(true & predicted), len(predicted), len(true)])
    return {
        "variant": variant,
        "seed": seed,
        "f1": {name: round(values["f1"], 4) for name, values in one["scores"].items()},
        "counts": counts,
    }


def compare(cells: list[Cell], variant: str, other: str) -> list[float]:
    """Return the difference of F1 over the seeds that two variants share, with its 95 % interval;
    nothing if they share none.
    """
    counts = {
        name: {cell["seed"]: cell["counts"] for cell in cells if cell["variant"] == name}
        for name in (variant, other)
    }
    seeds = sorted(counts[variant].keys() & counts[other].keys())
    if not seeds:
        return []
    own, others = (np.array([counts[name][seed] for seed in seeds]) for name in (variant, other))
    return [round(value, 4) for value in bootstrap_difference(own, others)]


def summarize(cells: list[Cell]) -> dict[str, Any]:
    """Return for each variant: its seeds, mean F1 by tokenization, and the difference of pooled F1
    (base F1 for the baseline) to the other variants with its 95 % interval.
    """
    table: dict[str, Any] = {}
    measured = [name for name in VARIANTS if any(cell["variant"] == name for cell in cells)]
    for variant in measured:
        found = [cell for cell in cells if cell["variant"] == variant]
        f1 = {name: np.mean([cell["f1"][name] for cell in found]) for name in found[0]["f1"]}
        table[variant] = {
            "seeds": [cell["seed"] for cell in found],
            "f1": {name: round(float(value), 4) for name, value in f1.items()},
            "difference to": {
                other: compare(cells, variant, other) for other in measured if other != variant
            },
        }
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR")
    parser.add_argument("--report", action="store_true", help="collect and print what was measured")
    options = parser.parse_args()
    if options.folder is None:
        print(json.dumps(summarize(read_cells(RESULTS)), indent=1))
        return
    if not options.report:
        prepare(options.folder)
        return
    cells = collect(options.folder)
    write_cells(RESULTS, __doc__, cells)
    print(json.dumps(summarize(cells), indent=1))


if __name__ == "__main__":
    main()
