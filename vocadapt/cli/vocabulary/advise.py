"""advise, tokenize, lens: how a vocabulary tokenizes a text."""

from collections.abc import Mapping, Sequence
from pathlib import Path

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
from vocadapt.cli.workspace_options import output_option
from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.reports.advice import AdviceReport, add_commands, advise_on, find_workspace
from vocadapt.lab.reports.recommendation import recommend_recipe
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.adapted_model import open_base_model
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress
from vocadapt.recipe import write_recipe
from vocadapt.report.terminal import write_terminal
from vocadapt.settings import MAX_COUNT
from vocadapt.text.corpus import READERS, Corpus, CorpusSettings
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import count_words
from vocadapt.vocabulary.advice.measured_gains import MEASURED_TABLE
from vocadapt.vocabulary.lens import (
    TERMS,
    Changes,
    LensReport,
    Tokenization,
    WordTokenizer,
    build_figures_table,
    count_text,
    encode_text,
    find_finest_splitter,
    list_changes,
)


def _advise(options: Options) -> Answer[AdviceReport]:
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
    report = add_commands(report, options.text, options.model, settings)
    if options.out:
        _write_recommended(report, Path(options.out))
    return Answer(report, _render(report, bool(options.out)))


def _write_recommended(report: AdviceReport, file: Path) -> None:
    """Write the recommended recipe; raises InputError if there is none."""
    recipe = recommend_recipe(report)
    if recipe is None:
        raise InputError(
            "There is no recipe to write: no word of the text can be added to the model.",
            "Leave --out out.",
            code="nothing-to-add",
        )
    with open_file_draft(file) as draft:
        write_recipe(recipe, draft)


def _render(report: AdviceReport, wrote_recipe: bool) -> str:
    """Render the advice: verdict, reasons, figures, expected gains, recommended commands."""
    lines = [report.sentence, *map(str, report.findings)]
    for reason in report.reasons:
        mark = "STOP" if reason.stops else "note"
        lines.append(f"{mark}  {reason.sentence} {reason.why}")
    tables = (report.build_statistics_table(), report.build_gains_table(), MEASURED_TABLE)
    for table in tables:
        lines += ["", write_terminal(table)]
    lines += [
        "",
        f"anchors {report.anchors:,}; {report.lines:,} of {report.lines_read:,} lines,"
        f" {report.seconds:.1f} s",
    ]
    if report.first:
        lines += ["", "Recommended commands:", report.first]
        if wrote_recipe and report.recommended:
            lines.append(report.recommended.command)
        lines += [recipe.command for recipe in report.recipes]
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
    epilog="JSON: verdict (adapt or keep), sentence, reasons, findings, corpus, task, anchors, expected"
    " (P@5), added (by minimum count), recommended, first and recipes (with command lines),"
    " split_words,"
    " lines of lines_read, seconds; fractions, not percents. The exit code is 0 for either"
    " verdict.",
)


SHORT = 2000  # characters of a text whose tokens are printed
ENDINGS = {*READERS, ".gz"}


def _tokenize(options: Options) -> Answer[dict[str, Tokenization]]:
    tokenizations, shown = _tokenize_text(_open_models(options), options.text)
    return Answer(tokenizations, "\n".join(shown))


def _open_models(options: Options) -> dict[str, LanguageModel]:
    return {name: open_named_model(options, name) for name in options.model}


def _tokenize_text(
    models: Mapping[str, LanguageModel], text: str
) -> tuple[dict[str, Tokenization], list[str]]:
    """Tokenize a text by each model; also return the tokens of each model as text."""
    tokenizations = dict[str, Tokenization]()
    shown = list[str]()
    for name, model in models.items():
        found = Tokenization.of(encode_text(model.fast_tokenizer, text))
        casing = "uncased" if model.splitter.lowercase else "cased"
        size = len(found.tokens)
        shown.append(f"{name} ({casing}, {size} tokens)\n  {' '.join(found.tokens)}")
        tokenizations[name] = found
    return tokenizations, shown


def _compare(options: Options) -> Answer[LensReport]:
    # 1. The text and the models; a single adapted model is compared with its base model.
    source = _open_source(options)
    models = _open_models(options)
    if len(models) == 1:
        name, model = next(iter(models.items()))
        before = open_base_model(model)
        if before is not None:
            models = {str(Path(name) / before.path.name): before, **models}

    # 2. The tokens of a short text.
    tokenizations = dict[str, Tokenization]()
    parts = list[str]()
    if isinstance(source, str) and len(source) <= SHORT:
        tokenizations, parts = _tokenize_text(models, source)

    # 3. The figures of each model, and the words that differ from the first model.
    tokenizers = [
        WordTokenizer(name, model.vocabulary, model.splitter) for name, model in models.items()
    ]
    counted = _count(source, [tokenizer.splitter for tokenizer in tokenizers], options.progress)
    figures = tuple(one.measure(counted[one.splitter]) for one in tokenizers)
    parts.append(write_terminal(build_figures_table(figures)))
    changed = tuple(
        _list_changes(counted, tokenizers[0], other, options.top) for other in tokenizers[1:]
    )
    parts += [write_terminal(one.build_table()) for one in changed]
    report = LensReport(
        tuple(models), figures[0].words, figures[0].distinct, figures, changed, tokenizations
    )
    return Answer(report, "\n\n".join(parts))


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

    def count(splitter: Splitter) -> Mapping[str, int]:
        if isinstance(source, str):
            return count_text(source, splitter)
        return count_words(source, splitter, progress).counts

    return {splitter: count(splitter) for splitter in dict.fromkeys(splitters)}


def _list_changes(
    counted: Mapping[Splitter, Mapping[str, int]],
    before: WordTokenizer,
    after: WordTokenizer,
    top: int,
) -> Changes:
    """List the `top` words whose tokenization changed most between two models."""
    splitter = find_finest_splitter([before.splitter, after.splitter])
    found = list_changes(counted[splitter], splitter, before, after)
    return Changes(before.name, after.name, len(found), tuple(found[:top]))


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
