"""t-SNE of a model's embeddings at several sizes: time and quality.

    python benchmarks/projection.py [MODEL] [--sizes 4000 8000] [--wide 2]

One run each: wall and CPU seconds, iterations, trustworthiness@15 and neighbors kept@15 (cosine,
all tokens evaluated). --wide 2 concatenates the embeddings with themselves: a space of twice the
dimension with the same projection. OMP_WAIT_POLICY=passive keeps waiting threads from counting as
work.
"""

import argparse
import os
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np

from vocadapt.lab.demo import DEMO as DEMO_WORKSPACE
from vocadapt.lab.inputs.open_space import open_space
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.projection import project
from vocadapt.spaces.projection.quality import measure_projection_quality

DEMO = DEMO_WORKSPACE / "models" / "demo-bert"


def time_projection(space, settings):
    """Return the projection and its wall and CPU seconds; print the time of each iteration to stderr."""
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
    parser.add_argument("--iterations", type=int, default=0)
    options = parser.parse_args()
    space = open_space(options.model).space
    space = space.with_matrix(np.hstack([space.matrix] * options.wide))
    for size in options.sizes:
        shown = space.take(range(min(size, len(space))))
        settings = ProjectionSettings("tsne", iterations=options.iterations)
        projection, wall, cpu = time_projection(shown, settings)
        quality = measure_projection_quality(shown, projection.xy)
        scores = f"trust {quality.trustworthiness:.4f}  kept {quality.preservation:.4f}"
        print(
            f"{len(shown):6} x {shown.dim}  {wall:7.1f} s  {cpu:7.1f} CPU s  {scores}  load"
            f" {os.getloadavg()[0]:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
