"""words count, context: the words of a text, and the lines that contain one."""

import time
from dataclasses import dataclass

from vocadapt.cli.command import Answer, Command, Options, option, read_settings, setting_options
from vocadapt.cli.options import (
    CASING,
    CORPUS,
    CORPUS_SETTINGS,
    CORPUS_SETTINGS_WITHOUT_SEED,
    TEXT,
    M,
    model_options,
    open_named_model,
    read_lowercase,
    read_texts,
)
from vocadapt.cli.tables import format_facts
from vocadapt.errors import InputError
from vocadapt.lab.cluster.ray_counts import count_words_on_ray
from vocadapt.lab.reports.word_lookup import look_up
from vocadapt.system.json_values import plain
from vocadapt.text.display import escape_invisible
from vocadapt.text.formats.readers import ReaderNotes
from vocadapt.text.keyword_in_context import ContextSettings, KeywordContext
from vocadapt.text.shards import count_words_in_parallel
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import IdenticalLines


@dataclass(frozen=True, kw_only=True)
class CountAnswer(ReaderNotes, IdenticalLines):
    """Numbers of words and lines of a text, and what counting them took.

    held_out_lines: those on which costs are measured; no token is chosen by them. identical_lines:
    copies beyond the first of each line that is not blank.
    """

    words: int
    distinct: int
    lines: int
    held_out_lines: int
    files_left_out: int
    megabytes: float
    seconds: float


def _count(options: Options) -> Answer[CountAnswer]:
    import pyarrow.compute  # noqa: F401 - so that the time below does not include the import

    splitter = open_named_model(options).splitter
    start = time.perf_counter()
    text = read_texts(options, options.text)
    if options.on == "local":
        counts = count_words_in_parallel(text, splitter, options.workers, options.progress)
    elif options.on.startswith("ray"):
        counts = count_words_on_ray(text, splitter, options.on, options.progress)
    else:
        raise InputError(
            f"Words are counted on local, ray or ray://HOST:PORT, not {options.on:.60}."
        )
    answer = CountAnswer(
        **vars(counts.notes),
        **vars(counts.identical),
        words=counts.words,
        distinct=counts.distinct,
        lines=counts.lines,
        held_out_lines=counts.held_out_lines,
        files_left_out=text.left_out,
        megabytes=counts.bytes / 1e6,
        seconds=time.perf_counter() - start,
    )
    found = plain(answer)
    if counts.identical.compared == 1:  # all lines were compared
        del found["identical_lines_compared"]
    first = {name: found[name] for name in ("words", "distinct", "lines")}
    facts = first | {name: value for name, value in found.items() if value}
    if most := counts.identical.most_frequent:
        facts["most_frequent_line"] = f"{most.count:,} times: {escape_invisible(most.text)}"
    return Answer(answer, format_facts(facts))


def _show_context(options: Options) -> Answer[KeywordContext]:
    settings = read_settings(options, ContextSettings)
    vocabulary = None
    splitter = Splitter.bert(read_lowercase(options) is not False)
    if options.model:
        opened = open_named_model(options)
        splitter, vocabulary = opened.splitter, opened.vocabulary
    found = look_up(
        read_texts(options, options.corpus),
        options.word,
        splitter,
        vocabulary,
        settings,
        options.piece,
        progress=options.progress,
    )
    return Answer(found, _render_context(found, settings))


def _render_context(found: KeywordContext, settings: ContextSettings) -> str:
    """Render the lines with the word aligned; control characters are replaced."""
    # 1. The text left and right of the word, without characters that would break the columns.
    cells = [
        [_replace_unprintable(text) for text in (hit.left, hit.match, hit.right)]
        for hit in found.hits
    ]
    width = max((len(left) for left, _, _ in cells), default=0)
    middle = max((len(match) for _, match, _ in cells), default=0)
    # 2. One line for each occurrence, with the words in brackets below each other.
    lines = []
    for left, match, right in cells:
        padding = " " * (middle - len(match))
        lines.append(f"{left:>{width}} [{match}]{padding} {right}".rstrip())
    return "\n".join([*lines, f"{found.word}: {found.describe(settings)}"])


def _replace_unprintable(text: str) -> str:
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


COUNT = Command(
    _count,
    (
        option("text", nargs="+", metavar="TEXT", help=TEXT),
        *model_options(),
        CASING,
        option(
            "--workers",
            default=1,
            between=(1, 1024),
            metavar="N",
            help="number of processes; does not change the counts (default 1)",
        ),
        option(
            "--on",
            default="local",
            metavar="PLACE",
            help="where to count: local, ray or ray://HOST:PORT (default local)",
        ),
        CORPUS_SETTINGS,
    ),
)
CONTEXT = Command(
    _show_context,
    (
        option("word", metavar="WORD", help="a word, or a wordpiece with its mark"),
        CORPUS,
        *model_options(
            required=False,
            help=f"model whose word splitting applies: {M} (default: that of uncased BERT)",
        ),
        CASING,
        option(
            "--piece",
            action="store_true",
            help="treat WORD as a wordpiece, also at the start of longer words",
        ),
        setting_options(ContextSettings),
        CORPUS_SETTINGS_WITHOUT_SEED,
    ),
)
