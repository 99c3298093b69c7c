"""advise, tokenize, lens: how a vocabulary tokenizes a text."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, cast

from vocadapt.cli.command import Answer, Command, Options, option, read_settings
from vocadapt.cli.options import (
    CASING,
    CORPUS_SETTINGS,
    OFFLINE,
    M,
    model_options,
    open_named_model,
    read_texts,
)
from vocadapt.cli.tables import format_table
from vocadapt.cli.workspace_options import output_option
from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.reports.advice import AdviceReport, advise_on, build_advice_answer, find_workspace
from vocadapt.lab.reports.recommendation import recommend_recipe
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.adapted_model import open_base_model
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, percent
from vocadapt.recipe import write_recipe
from vocadapt.settings import MAX_COUNT
from vocadapt.text.corpus import READERS, Corpus, CorpusSettings
from vocadapt.text.words import Splitter, count_words, describe_held_out
from vocadapt.vocabulary.advice.advice import NO_PROMISE, Finding, SplitWord
from vocadapt.vocabulary.advice.measured_gains import COLUMNS as MEASURED_COLUMNS
from vocadapt.vocabulary.advice.measured_gains import MEASURED_GAINS, MeasuredGain
from vocadapt.vocabulary.advice.measured_gains import SOURCE as MEASURED_SOURCE
from vocadapt.vocabulary.growth.word_tokenizations import Gain
from vocadapt.vocabulary.lens import (
    TERMS,
    TextToken,
    WordTokenizer,
    count_for_each_splitter,
    count_text,
    find_finest_splitter,
    list_changes,
    tokenize_text,
)

WORDS_HEADER = (
    "words with letters in",
    "words",
    "split",
    "distinct",
    "split",
    "unknown",
    "wordpieces per word",
)
read_word_figures = attrgetter(
    "words", "share", "distinct", "share_distinct", "unknown_share", "fertility"
)
GAINS_HEADER = (
    "seen at least",
    "words added",
    "tokens saved",
    "in sample",
    "wordpieces per word",
    "no longer split",
    "in the task",
    "under 20",
    "under 50",
    "parameters",
    "MB",
    "of the model",
)


class WordStatistics(TypedDict):
    """Words with letters of a text: numbers, fractions that are `split` or `unknown`, wordpieces
    per word, and fractions with 1, 2, … wordpieces.
    """

    words: int
    distinct: int
    split: float
    split_distinct: float
    unknown: float
    fertility: float
    pieces: list[float]


Expected = TypedDict(
    "Expected",
    {
        "p@5": Annotated[float, "expected P@5 of the embeddings of new words"],
        "low": float,
        "high": float,
        "chance": float,
        "words": Annotated[int, "running words that get a vector"],
        "outside": Annotated[list[str], "inputs outside of the measured ranges"],
    },
)


class Recommendation(TypedDict):
    """A recipe to try, and its command line."""

    name: str
    preset: str
    max_added: int
    about: str
    min_count: int
    command: str


class TaskFile(TypedDict):
    """Size of the task file."""

    entities: int
    sentences: int
    tokens: int


class AdviseAnswer(TypedDict):
    """The advice; proportions are fractions, unknown values null."""

    verdict: Literal["adapt", "keep"]
    sentence: str
    reasons: list[Finding]
    corpus: WordStatistics
    task: WordStatistics | None
    anchors: int
    width: int | None
    min_count: int
    expected: Expected
    top_saved: Annotated[float, "tokens saved by the 1,000 most frequent words"]
    added: Annotated[list[Gain], "for each minimum count of an added word"]
    recommended: Recommendation | None
    recipes: list[Recommendation]
    split_words: Annotated[list[SplitWord], "the most frequent words that are split"]
    lines: int
    lines_read: int
    held_out_lines: Annotated[
        int, "lines on which tokens saved are measured; no word is chosen by them"
    ]
    worth: Annotated[str, "what adding words is good for"]
    precision: Annotated[str, "how precisely their embeddings can be placed"]
    no_promise: Annotated[str, "what it does not promise"]
    measured_gains: list[MeasuredGain]
    first: Annotated[str | None, "the command to run before any recipe"]
    task_file: TaskFile | None
    counts: Literal["kept", "counted"]
    seconds: float


def _advise(options: Options) -> Answer[AdviseAnswer]:
    if options.out:
        check_free_file(Path(options.out), overwrite=True)
    settings = read_settings(options, CorpusSettings)
    opened = open_named_model(options)
    # Word counts are stored in the workspace that holds the corpus, or in --workspace.
    root = find_workspace(options.text) or Workspace(Path(options.workspace)).root
    task = Path(options.task) if options.task else None
    report = advise_on(
        read_corpus(options.text, settings), opened, root, task, progress=options.progress
    )
    answer = build_advice_answer(report, options.text, options.model, settings)
    if options.out:
        _write_recommended(report, Path(options.out))
    return Answer(cast(AdviseAnswer, answer), _render(report, answer, bool(options.out)))


def _write_recommended(report: AdviceReport, file: Path) -> None:
    """Write the recommended recipe; raises InputError if there is none."""
    recipe = recommend_recipe(report.advice)
    if recipe is None:
        raise InputError(
            "There is no recipe to write: no word of the text can be added to the model.",
            "Leave --out out.",
        )
    with open_file_draft(file) as draft:
        write_recipe(recipe, draft)


def _render(report: AdviceReport, answer: dict[str, Any], wrote_recipe: bool) -> str:
    """Render the advice: verdict, reasons, figures, expected gains, recommended commands."""
    advice, figures = report.advice, report.advice.figures

    # 1. The verdict and its reasons.
    lines = [advice.sentence, advice.worth, advice.precision, NO_PROMISE]
    for found in advice.findings:
        mark = "note"
        if found.stops:
            mark = "STOP"
        lines.append(f"{mark}  {found.says} {found.why}")

    # 2. The words of the text, and of the entities of the task.
    rows = [("text", *read_word_figures(figures.corpus))]
    if figures.task:
        rows.append(("task's entities", *read_word_figures(figures.task)))
    lines += ["", format_table(WORDS_HEADER, rows)]

    # 3. The gain from the words of each minimum count.
    gains = []
    for gain in figures.gains:
        # Unknown for a vocabulary without a model.
        megabytes = None
        if gain.bytes is not None:
            megabytes = gain.bytes / 1e6
        gains.append(
            (
                gain.floor,
                gain.words,
                percent(gain.saved),
                percent(gain.saved_in_sample),
                gain.fertility,
                percent(gain.mended),
                percent(gain.mended_task),
                percent(gain.under_few),
                percent(gain.under_enough),
                gain.parameters,
                megabytes,
                percent(gain.model_share),
            )
        )
    lines += [
        "",
        format_table(GAINS_HEADER, gains),
        "",
        f"anchors {figures.anchors:,}; {figures.lines:,} of {figures.lines_read:,} lines, {report.seconds:.1f} s",
        describe_held_out(figures.held_out_lines, figures.lines),
    ]

    # 4. How adapting changed the scores of tasks.
    measured = [
        (
            f"{one.words} M",
            one.embeddings,
            one.p1,
            f"{one.gain:+.3f}",
            f"{one.low:+.3f} to {one.high:+.3f}",
        )
        for one in MEASURED_GAINS
    ]
    lines += [
        "",
        MEASURED_SOURCE,
        format_table(MEASURED_COLUMNS, measured),
    ]

    # 5. The commands.
    if advice.recipes:
        lines += ["", "Recommended commands:", answer["first"]]
        if wrote_recipe:
            lines.append(answer["recommended"]["command"])
        lines += [entry["command"] for entry in answer["recipes"]]
    return "\n".join(lines)


ADVISE = Command(
    _advise,
    (
        option(
            "text",
            nargs="+",
            metavar="CORPUS",
            help="files and folders of text, or a corpus of a workspace",
        ),
        *model_options(),
        option(
            "--task",
            metavar="FILE",
            help="tagged sentences whose entities are analyzed, too: word TAB tag on each line,"
            " blank lines between sentences",
        ),
        output_option(
            "--workspace",
            metavar="W",
            default="workspace",
            help="workspace with stored word counts (default ./workspace)",
        ),
        output_option(
            "--out",
            metavar="FILE",
            help="recipe file to write: the recommended adaptation, for adapt --recipe FILE",
        ),
        CASING,
        CORPUS_SETTINGS,
    ),
    epilog="JSON: verdict (adapt or keep), sentence, reasons, corpus, task, anchors, expected"
    " (P@5), added (by minimum count), recommended, first and recipes (with command lines), split_words,"
    " lines of lines_read, seconds; fractions, not percents. The exit code is 0 for either"
    " verdict.",
)


SHORT = 2000  # characters of a text whose tokens are printed
COLUMNS = (
    "model",
    "words",
    "distinct",
    "pieces",
    "fertility",
    "fertility_distinct",
    "one_piece",
    "unknown",
)
HEADER = (
    "model",
    "words",
    "distinct",
    "wordpieces",
    "per word",
    "per distinct word",
    "whole words",
    "unknown",
)
ENDINGS = {*READERS, ".gz"}


class Tokenization(TypedDict):
    """The tokens of a text, without special tokens; offsets in characters."""

    tokens: list[str]
    ids: list[int]
    offsets: list[tuple[int, int]]


class LensRow(TypedDict):
    """How a model tokenizes the words of a text; `by_pieces`: words by number of wordpieces."""

    model: str
    words: int
    distinct: int
    pieces: int
    pieces_distinct: int
    unknown_words: int
    by_pieces: dict[str, int]
    fertility: float
    fertility_distinct: float
    one_piece: float
    unknown: float


class ChangedWord(TypedDict):
    """A word that is tokenized differently, and the wordpieces saved in the whole text."""

    word: str
    count: int
    before: list[str]
    after: list[str]
    saved: int


class Changes(TypedDict):
    """The words listed, of all that two models tokenize differently."""

    before: str
    after: str
    of: int
    words: list[ChangedWord]


class LensAnswer(TypedDict):
    """A text under several models, and the words that differ from the first; `tokenizations`: the tokens of a
    short text by model.
    """

    models: list[str]
    words: int
    distinct: int
    rows: list[LensRow]
    changed: list[Changes]
    tokenizations: dict[str, Tokenization]


def _tokenize(options: Options) -> Answer[dict[str, Tokenization]]:
    tokenizations, shown = _tokenize_text(_open_models(options), options.text)
    return Answer(tokenizations, "\n".join(shown))


def _open_models(options: Options) -> dict[str, LanguageModel]:
    """Open the models named by --model, by name."""
    return {name: open_named_model(options, name) for name in options.model}


def _tokenize_text(
    models: Mapping[str, LanguageModel], text: str
) -> tuple[dict[str, Tokenization], list[str]]:
    """Tokenize a text by each model: tokens, ids and character offsets as JSON, without special
    tokens; and the tokens of each model as text.
    """
    tokenizations, shown = dict[str, Tokenization](), list[str]()
    for name, model in models.items():
        pieces: Sequence[TextToken] = tokenize_text(model.fast_tokenizer, text)
        tokens = [piece.token for piece in pieces]
        casing = "uncased" if model.splitter.lowercase else "cased"
        shown.append(f"{name} ({casing}, {len(tokens)} tokens)\n  {' '.join(tokens)}")
        tokenizations[name] = {
            "tokens": tokens,
            "ids": [piece.id for piece in pieces],
            "offsets": [(piece.start, piece.end) for piece in pieces],
        }
    return tokenizations, shown


def _compare(options: Options) -> Answer[LensAnswer]:
    # 1. The text and the models; a single adapted model is compared with its base model.
    source, models = _open_source(options), _open_models(options)
    if len(models) == 1:
        name, model = next(iter(models.items()))
        before = open_base_model(model)
        if before is not None:
            models = {str(Path(name) / before.path.name): before, **models}

    # 2. The tokens of a short text.
    tokenizations, parts = dict[str, Tokenization](), list[str]()
    if isinstance(source, str) and len(source) <= SHORT:
        tokenizations, parts = _tokenize_text(models, source)

    # 3. The figures of each model, and the words that differ from the first model.
    tokenizers = [
        WordTokenizer(name, model.vocabulary, model.splitter) for name, model in models.items()
    ]
    counted = _count(source, [tokenizer.splitter for tokenizer in tokenizers], options.progress)
    figures = [tokenizer.measure(counted[tokenizer.splitter]) for tokenizer in tokenizers]
    parts.append(format_table(HEADER, map(attrgetter(*COLUMNS), figures)))
    changed = []
    for other in tokenizers[1:]:
        changes, text = _list_changes(counted, tokenizers[0], other, options.top)
        changed.append(changes)
        parts.append(text)
    answer = {
        "models": list(models),
        "words": figures[0].words,
        "distinct": figures[0].distinct,
        "rows": [row.to_dict() for row in figures],
        "changed": changed,
        "tokenizations": tokenizations,
    }
    return Answer(cast(LensAnswer, answer), "\n\n".join(parts))


def _open_source(options: Options) -> str | Corpus:
    """Return the given text, or the corpus of the given files.

    Raises InputError for neither, for both, and for a missing file.
    """
    given: list[str] = options.text
    if options.terms and given:
        raise InputError("lens needs either a text, or files, or --terms, and got several.")
    if options.terms:
        return " ".join(TERMS)
    if not given:
        raise InputError("lens needs either a text, or files, or --terms, and got none.")
    if len(given) > 1 or _is_path(given[0]):
        return read_texts(options, given)
    if Path(given[0]).suffix.lower() in ENDINGS and " " not in given[0]:
        raise InputError(
            f"{given[0]}: no such file.",
            "Check the spelling, or put a text in quotes.",
        )
    return given[0]


def _is_path(text: str) -> bool:
    try:
        # An empty path is the current folder.
        return text.strip() != "" and Path(text).exists()
    except (OSError, ValueError):  # too long for a path, or with a NUL in it
        return False


def _count(
    source: str | Corpus, splitters: Sequence[Splitter], progress: Progress
) -> Mapping[Splitter, Mapping[str, int]]:
    """Count the words of a text for each splitter."""

    def count(splitter: Splitter) -> Mapping[str, int]:
        if isinstance(source, str):
            return count_text(source, splitter)
        return count_words(source, splitter, progress).counts

    return count_for_each_splitter(splitters, count)


def _list_changes(
    counted: Mapping[Splitter, Mapping[str, int]],
    before: WordTokenizer,
    after: WordTokenizer,
    top: int,
) -> tuple[dict[str, Any], str]:
    """List the `top` words whose tokenization changed most between two models, as JSON and as text."""
    splitter = find_finest_splitter([before.splitter, after.splitter])
    found = list_changes(counted[splitter], splitter, before, after)
    listed, rows = [], []
    for one in islice(found, top):
        listed.append({**asdict(one), "saved": one.saved})
        rows.append((one.word, " ".join(one.before), " ".join(one.after), one.count, one.saved))
    text = (
        f"{len(rows)} of {len(found):,} words tokenized differently by {after.name} and"
        f" {before.name}"
    )
    if rows:
        text += f":\n{format_table(('word', 'before', 'after', 'count', 'saved'), rows)}"
    else:
        text += "."
    return (
        {"before": before.name, "after": after.name, "of": len(found), "words": listed},
        text,
    )


MODELS = (
    option("--model", metavar="M", action="append", required=True, help=f"{M}; may be repeated"),
    CASING,
    OFFLINE,
)
TOKENIZE = Command(
    _tokenize, (option("text", metavar="TEXT", help="text to tokenize, in quotes"), *MODELS)
)
LENS = Command(
    _compare,
    (
        option(
            "text",
            nargs="*",
            metavar="TEXT|FILE",
            help="text in quotes, or files and folders of text",
        ),
        option(
            "--terms",
            action="store_true",
            help=f"use the built-in example: {len(TERMS)} biomedical terms",
        ),
        option(
            "--top",
            between=(0, MAX_COUNT),
            default=20,
            help="number of changed words to list per model (default 20)",
        ),
        *MODELS,
        CORPUS_SETTINGS,
    ),
)
