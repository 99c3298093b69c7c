"""Seconds from text to word vectors as good as those of `auto`: every trainer, texts of four sizes.

    python -m experiments.seconds_to_quality [--megabytes N …] [--print]

The text is the beginning of biomedical-fulltext. Seconds are those of the whole command `vectors train`
in a new process: splitting, counting, training and saving. Quality is P@5 of stacked embeddings as
expected for the new words (reweighted, MiniLM, 5 folds). A trainer is trained for more and more epochs,
until it is within .005 of `auto` or a doubling gains less than .005.

Each cell is written to experiments/seconds_to_quality.json when it ends, and is not measured again. Run
nothing else on the machine: `load` is that at the start of a cell.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.vectors import sample
from experiments._results import Cell, read_cells, write_cells
from experiments.alignments import minilm
from vocadapt.lab.inputs.open_space import open_space
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.vocabulary.initializers.stacked_quality import cross_validate_stacked
from vocadapt.vocabulary.plan.planning import split_addable_words

RESULTS = Path(__file__).with_suffix(".json")
MEGABYTES = (2, 8, 30, 100)
EPOCHS = (5, 15, 30, 60)
MARGIN = 0.005  # of P@5


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, nargs="+", default=list(MEGABYTES), metavar="N")
    parser.add_argument("--print", action="store_true", help="print what was measured, and end")
    options = parser.parse_args()
    if not options.print:
        model = open_model(minilm())
        for megabytes in options.megabytes:
            measure_size(megabytes, model)
    print_table(read_cells(RESULTS))
    return 0


def measure_size(megabytes: int, model: LanguageModel) -> None:
    """Measure every trainer on a text of this size."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        sample(megabytes, text)
        wanted = measure(text, megabytes, "auto", 0, model)["p@5"]
        measure(text, megabytes, "counts", 0, model)
        for trainer in ("blocks", "gensim"):
            before = 0.0
            for epochs in EPOCHS:
                reached = measure(text, megabytes, trainer, epochs, model)["p@5"]
                if reached >= wanted - MARGIN or reached - before < MARGIN:
                    break
                before = reached


def measure(text: Path, megabytes: int, trainer: str, epochs: int, model: LanguageModel) -> Cell:
    """Measure one cell, unless it is known; epochs: 0 leaves them to the trainer."""
    key = {"megabytes": megabytes, "trainer": trainer, "epochs": epochs}
    cells = read_cells(RESULTS)
    for cell in cells:
        if key.items() <= cell.items():
            return cell
    out = text.with_name(f"{trainer}-{epochs}")
    command = [sys.executable, "-m", "vocadapt", "vectors", "train", str(text)]
    command += ["--model", minilm(), "--trainer", trainer, "--out", str(out)]
    if epochs:
        command += ["--epochs", str(epochs)]
    load = os.getloadavg()[0]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.perf_counter() - start
    space = open_space(str(out)).space
    vocabulary = model.vocabulary
    addable, _ = split_addable_words(vocabulary, model.splitter, space.words)
    new = [vocabulary.spell(word) for word in addable]
    quality = cross_validate_stacked(vocabulary, model.space, vocabulary.spell_words(space), new)
    cell = {
        **key,
        "seconds": round(seconds, 1),
        "p@5": round(quality.reweighted_precision(5), 4),
        "vectors": len(space),
        "load": round(load, 1),
    }
    write_cells(RESULTS, __doc__, [*cells, cell])
    print(json.dumps(cell), flush=True)
    return cell


def print_table(cells: list[Cell]) -> None:
    """Print a row for each text and trainer: the last cell of its series."""
    print("| text | trainer | epochs | seconds | P@5 |\n|---|---|--:|--:|--:|")
    last = {(cell["megabytes"], cell["trainer"]): cell for cell in cells}
    for (megabytes, trainer), cell in last.items():
        epochs = cell["epochs"] or ""
        print(f"| {megabytes} MB | {trainer} | {epochs} | {cell['seconds']} | {cell['p@5']:.3f} |")


if __name__ == "__main__":
    sys.exit(main())
