"""t-SNE of a model's rows: our engine for the size against scikit-learn's run out, in the same
process.

    python benchmarks/maps.py [MODEL] [--sizes 4000 8000] [--wide 2] [--engines scikit-learn
    openTSNE]

One run each: wall and CPU seconds, iterations, trustworthiness@15 and neighbors kept@15 (cosine,
all tokens judged), and the share of scikit-learn's time. --wide 2 puts the rows beside themselves:
a space of twice the width, its map the same. The times of a loaded machine are long;
OMP_WAIT_POLICY=passive keeps waiting threads from counting as work.
"""

import argparse
import os
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np

from vocadapt.lab.artifacts.open_space import open_space
from vocadapt.lab.demo import DEMO as DEMO_WORKSPACE
from vocadapt.spaces.projection.projection import ProjectionSettings, project
from vocadapt.spaces.projection.quality import measure_projection_quality
from vocadapt.spaces.projection.tsne import ENGINES, engine_for

DEMO = DEMO_WORKSPACE / "models" / "demo-bert"


def watched(space, settings):
    """The projection, wall and CPU seconds; each iteration's time goes to stderr."""
    wall, cpu = time.perf_counter(), time.process_time()

    def report(fraction, message=""):
        spent = f"{time.perf_counter() - wall:7.1f} s {time.process_time() - cpu:7.1f} CPU s"
        print(f"  {spent}  {message}", file=sys.stderr, flush=True)

    projection = project(space, settings, report)
    return projection, time.perf_counter() - wall, time.process_time() - cpu


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?", default=str(DEMO), help="default: the demo's")
    parser.add_argument("--sizes", type=int, nargs="+", default=[4000])
    parser.add_argument("--wide", type=int, default=1)
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--iterations", type=int, default=0)
    options = parser.parse_args()
    space = open_space(options.model).space
    space = space.with_matrix(np.hstack([space.matrix] * options.wide))
    for size in options.sizes:
        shown, first = space.take(range(min(size, len(space)))), None
        for engine in options.engines:
            settings = ProjectionSettings("tsne", engine=engine, iterations=options.iterations)
            projection, wall, cpu = watched(shown, settings)
            first = first or (wall, cpu)
            quality = measure_projection_quality(shown, projection.xy)
            chosen = "  <- taken" if engine == engine_for(len(shown)) else ""
            times = (
                f"{wall:7.1f} s ({wall / first[0]:.2f})  {cpu:7.1f} CPU s ({cpu / first[1]:.2f})"
            )
            judged = f"trust {quality.trustworthiness:.4f}  kept {quality.preservation:.4f}"
            load = os.getloadavg()[0]
            print(
                f"{len(shown):6} x {shown.dim}  {engine:12} {times}  {judged}  load"
                f" {load:.1f}{chosen}",
                flush=True,
            )


if __name__ == "__main__":
    main()
