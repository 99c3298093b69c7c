"""words count."""

import time
from argparse import Namespace
from pathlib import Path

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import (
    TEXT,
    add_casing,
    add_model,
    add_text,
    corpus_settings,
    read_lowercase,
)
from vocadapt.cli.parser import Parser
from vocadapt.cli.tables import format_facts
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.models.language_model import open_model
from vocadapt.progress import Progress
from vocadapt.text.words import count_words


def _add_options(parser: Parser) -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help=TEXT)
    add_model(parser)
    add_casing(parser)
    add_text(parser)


def _count(options: Namespace, progress: Progress) -> Answer:
    import pyarrow.compute  # noqa: F401 - the seconds below are without imports

    splitter = open_model(options.model, options.offline or None, read_lowercase(options)).splitter
    start = time.perf_counter()
    text = read_corpus(options.text, corpus_settings(options))
    counts = count_words(text, splitter, progress)
    numbers = {
        "words": counts.words,
        "distinct": counts.distinct,
        "lines": counts.lines,
        **counts.article_counts(),
        **({"files_left_out": text.left_out} if text.left_out else {}),
        "megabytes": counts.bytes / 1e6,
        "seconds": time.perf_counter() - start,
        "peak_mb": peak_megabytes(),
    }
    return Answer(numbers, format_facts(numbers))


def peak_megabytes() -> float:
    """Return the peak memory of this process in MB.

    getrusage is only the fallback: it includes the parent's memory from before the exec.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    except (OSError, IndexError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


COUNT = Command(_add_options, _count)
