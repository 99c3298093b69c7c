"""Counting the words of a large text on a Ray cluster: one task for each part of the text."""

from dataclasses import replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.studies import ray_cluster
from vocadapt.progress import Progress, silent
from vocadapt.text.corpus import Corpus
from vocadapt.text.shards import SMALLEST, add_counts, divide_corpus, tally_part
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts, count_words, describe_lines

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
    connected = ray_cluster.connect(place)
    ray = ray_cluster.import_ray()
    try:
        # 1. Send a task for each part.
        cpus = sum(node.cpus for node in ray_cluster.list_nodes())
        files = tuple(Path(file).resolve() for file in corpus.files)
        parts = divide_corpus(
            replace(corpus, files=files), max(1, int(PARTS_OF_A_CPU * cpus)), smallest
        )
        task = ray.remote(tally_part)
        waiting = [task.remote(part, splitter) for part in parts]

        # 2. Collect them as they end.
        found: list[WordCounts] = []
        while waiting:
            ended, waiting = ray.wait(waiting, num_returns=1, timeout=1.0)
            for counts in ray.get(ended):
                if counts is None:  # invalid text: count in one process, whose error names the line
                    return count_words(corpus, splitter, progress)
                found.append(counts)
            lines = sum(part.lines for part in found)
            read = sum(part.lines_read for part in found)
            progress(len(found) / len(parts), describe_lines(lines, read))
    except ray.exceptions.RayError as error:
        raise InputError(
            f"The Ray cluster could not count the words: {' '.join(str(error).split()):.300}",
            "Check the cluster with the command ray status.",
        ) from None
    finally:
        if connected:
            ray.shutdown()
    return add_counts(found, corpus)
