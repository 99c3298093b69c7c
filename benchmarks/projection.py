"""t-SNE of a model's embeddings against that of scikit-learn: processor time and quality.

1,000 tokens, with --full 4,000. Quality: trustworthiness and the fraction of neighbors kept, of 15
neighbors by cosine.
"""

import os
import sys
import time
from collections.abc import Iterator

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # waiting threads do not count as work

import numpy as np

from benchmarks._figures import Figure, run
from vocadapt.lab.demo import DEMO
from vocadapt.lab.inputs.open_space import open_space
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.projection import project
from vocadapt.spaces.projection.quality import measure_projection_quality
from vocadapt.spaces.space import EmbeddingSpace

MODEL = DEMO / "models" / "demo-bert"
LEAST_SPEED = 4.5


def measure(full: bool) -> Iterator[Figure]:
    """Project the first tokens in both ways."""
    space = open_space(str(MODEL)).space
    tokens = space.take(range(4000 if full else 1000))
    start = time.process_time()
    ours = project(tokens, ProjectionSettings("tsne")).xy
    seconds = time.process_time() - start
    start = time.process_time()
    theirs = project_with_scikit_learn(tokens)
    baseline = time.process_time() - start
    quality = measure_projection_quality(tokens, ours)
    other = measure_projection_quality(tokens, theirs)
    yield Figure(
        f"{len(tokens):,} tokens of {tokens.dim} dimensions",
        (seconds,),
        "CPU s",
        (baseline,),
        "scikit-learn",
        speed=True,
        target=LEAST_SPEED,
        at_least=True,
    )
    yield Figure(
        "trustworthiness",
        (quality.trustworthiness,),
        "",
        (other.trustworthiness,),
        "scikit-learn",
        target=0.99,
        at_least=True,
    )
    yield Figure(
        "neighbors kept", (quality.preservation,), "", (other.preservation,), "scikit-learn"
    )


def project_with_scikit_learn(space: EmbeddingSpace) -> np.ndarray:
    """Project with the defaults of scikit-learn, by cosine."""
    from sklearn.manifold import TSNE

    result: np.ndarray = TSNE(metric="cosine", init="pca", random_state=0).fit_transform(space.unit)
    return result


if __name__ == "__main__":
    sys.exit(run(measure))
