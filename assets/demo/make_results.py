"""Make what the demo ships beside its models and vectors: the best alignment, texts, task and runs.

python assets/demo/make_results.py
"""

import os
import shutil
from pathlib import Path

from vocadapt.lab.demo import BEST, DEMO, MAP, MODEL, VECTORS
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.settings import build_settings
from vocadapt.spaces.alignment.methods import AlignmentSettings

INPUTS = {"vectors": (str(Path(*VECTORS)),), "model": (str(Path(*MODEL)),)}


def main() -> None:
    """Make everything in this order; each replaces what is there."""
    os.chdir(DEMO)  # so that the commands in the manifests name paths inside the demo
    fit_best_alignment()


def fit_best_alignment() -> None:
    """Fit the alignment with the best held-out P@5 of those that `demo-map` was compared with."""
    best = Workspace(DEMO).artifact(*MAP).manifest.numbers["best"]
    settings = build_settings(AlignmentSettings, best, "demo-map")
    shutil.rmtree(Path(*BEST), ignore_errors=True)
    run_step(Spec("alignment", AlignmentStep(settings), INPUTS), Path(*BEST))


if __name__ == "__main__":
    main()
