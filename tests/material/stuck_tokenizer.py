"""The worker of a job whose tokenizer never returns and blocks every thread of the process, as
the library may."""

import sys
from collections.abc import Iterator

from vocadapt.cli import main
from vocadapt.lab.jobs import worker
from vocadapt.text.counting import ChunkCounter


def never_ends(tally: ChunkCounter, text: str) -> Iterator[str]:
    """One instruction of Python that takes hours."""
    yield str(sum(range(10**15)))


if __name__ == "__main__":
    ChunkCounter.sentences = never_ends  # type: ignore[method-assign]
    worker.BLOCK_SECONDS = 0.3
    sys.exit(main(["job", sys.argv[1]]))
