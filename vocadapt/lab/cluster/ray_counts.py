"""Counting the words of a large text, and their pairs, on a Ray cluster, one task for each part."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.cluster import ray_cluster
from vocadapt.progress import Progress, silent
from vocadapt.spaces.word2vec.counted_trainer import SparseMatrix, count_pairs_of_corpus
from vocadapt.text.corpus import Corpus
from vocadapt.text.shards import SMALLEST, add_counts, divide_corpus, tally_part
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts, add_sizes, count_words, describe_size

PARTS_OF_A_CPU = 2  # parts are small enough that no CPU waits long for the last one


def count_words_on_ray(
    corpus: Corpus,
    splitter: Splitter,
    place: str,
    progress: Progress = silent,
    smallest: int = SMALLEST,
) -> WordCounts:
    """Count the words of a corpus on a Ray cluster; the result is that of `count_words`.

    place: ray, or ray://HOST:PORT. All nodes must see the files at the same paths. smallest: bytes
    of a part. Raises what `count_words` and `ray_cluster.connect` raise.
    """
    found: list[WordCounts] = []
    with closing(_count_parts(corpus, place, smallest, tally_part, splitter)) as parts:
        for counts, fraction in parts:
            if counts is None:  # invalid text: count in one process, whose error names the line
                return count_words(corpus, splitter, progress)
            found.append(counts)
            progress(fraction, describe_size(add_sizes(found)))
    return add_counts(found, corpus)


def count_pairs_on_ray(
    corpus: Corpus,
    splitter: Splitter,
    place: str,
    words: dict[str, int],
    window: int,
    progress: Progress = silent,
    smallest: int = SMALLEST,
) -> SparseMatrix:
    """Count the pairs of words of a corpus on a Ray cluster, (words, words) int64; the result is
    that of `count_pairs`, because counts are integers.

    place, smallest: as in `count_words_on_ray`. words: with their counts, most frequent first.
    """
    given = (splitter, words, window)
    total: SparseMatrix = 0
    with closing(_count_parts(corpus, place, smallest, count_pairs_of_corpus, *given)) as parts:
        for pairs, fraction in parts:
            total = total + pairs
            progress(fraction, "counting pairs of words on the cluster")
    return total.tocsr()


def _count_parts(
    corpus: Corpus, place: str, smallest: int, count: Callable[..., Any], *given: object
) -> Generator[tuple[Any, float]]:
    """Count each part of a corpus in a task, and yield the results as they end, with the fraction
    of the parts that have ended.

    count: called with the part and `given`, which is sent once.
    """
    connected = ray_cluster.connect(place)
    ray = ray_cluster.import_ray()
    try:
        # 1. Send a task for each part.
        cpus = sum(node.cpus for node in ray_cluster.list_nodes())
        files = tuple(Path(file).resolve() for file in corpus.files)
        parts = divide_corpus(
            replace(corpus, files=files), max(1, int(PARTS_OF_A_CPU * cpus)), smallest
        )
        task = ray.remote(count)
        shared = [ray.put(one) for one in given]
        waiting = [task.remote(part, *shared) for part in parts]

        # 2. Collect them as they end.
        n_ended = 0
        while waiting:
            ended, waiting = ray.wait(waiting, num_returns=1, timeout=1.0)
            for found in ray.get(ended):
                n_ended += 1
                yield found, n_ended / len(parts)
    except ray.exceptions.RayError as error:
        raise InputError(
            f"The Ray cluster could not finish counting: {' '.join(str(error).split()):.300}",
            "Check the cluster with the command ray status.",
        ) from None
    finally:
        if connected:
            ray.shutdown()
