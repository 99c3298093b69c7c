"""Parts of the page Advise: verdict and reasons, figures, recipes, and split words."""

import re
from pathlib import Path

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.lab.reports import advice as lab
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.ui.alignment import methods
from vocadapt.ui.components import intake, markup, pickers
from vocadapt.ui.components.blocks import (
    draw_command,
    draw_downloads,
    draw_figure,
    draw_link,
    draw_metrics,
    draw_note,
    draw_table,
    open_details,
    tsv,
)
from vocadapt.ui.components.number_formats import (
    NARROW,
    count,
    duration,
    format_estimate_bold,
    fraction,
    megabytes,
)
from vocadapt.ui.frame import cache
from vocadapt.vocabulary.advice.advice import Suggestion
from vocadapt.vocabulary.growth.word_tokenizations import FEW_OCCURRENCES, TokenizationStatistics

TASK_TYPES = ("tsv", "txt", "conll", "iob", "gz")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
SPEED = 17e6  # bytes of text per second on a 2.5 GHz core
COLUMNS = {
    "min count": "Minimum number of occurrences of an added word.",
    "words added": "Number of words that the model lacks and that would be added.",
    "tokens saved": "Fraction of the text's tokens saved.",
    "tokens per word": "Mean number of tokens per running word after the addition.",
    "no longer split": "Fraction of split running words that become a single token.",
    "no longer split in the task": (
        "Fraction of split entity words of the task that become a single token."
    ),
    "under 20": (
        "Fraction of added words that occur fewer than 20 times: their embeddings are hardly"
        " better than chance."
    ),
    "under 50": "Fraction of added words that occur fewer than 50 times.",
    "parameters": "Parameters of the new embeddings.",
    "size": "Size of the new embeddings in float32.",
    "of the model": "New parameters relative to the model's.",
}


def pick_task(workspace: Workspace) -> Path | None:
    """Show the picker of a task file, by upload or by path; return the file."""
    # The label of the closed popover names the chosen file.
    label, uploaded = "Task file", st.session_state.get("task_files") or [""]
    chosen = str(st.session_state.get("task_path") or uploaded[0]).strip()
    if chosen:
        label = f"Task: {markup.plain(Path(chosen).name[:30])}"
    with st.popover(
        label,
        icon=":material/label:",
        help="Optional: also reports how the entity words are tokenized.",
    ):
        st.markdown(
            ":small[A word, a tab and a tag (O, B, I, or with a type) on each line; a blank line between"
            " sentences.]"
        )
        files = intake.choose_files(workspace, "task", TASK_TYPES, several=False)
        if files and st.button("Remove", key="no_task"):
            # Clear both inputs: without its path, the upload would be selected again.
            for key in ("task_files", "task_path"):
                st.session_state.pop(key, None)
            st.rerun()
    if not files:
        return None
    return files[0]


def offer_to_count(corpus: Artifact, name: str) -> bool:
    """Offer to count the words of a text for a model, with a time estimate; return whether the user
    requests it.
    """
    text = read_corpus([corpus.folder])
    # Only a sample of a large text is counted.
    size, part = lab.estimate_text_bytes(text), lab.limit_corpus(text)
    seconds = min(size * part.settings.sample, size) / SPEED
    with st.container(border=True):
        st.markdown(
            f"**{markup.plain(corpus.name)} has no word counts for {markup.plain(pickers.shown_model(name))}"
            " yet.**"
        )
        about = (
            f"Counting about {megabytes(size)} of text on this page takes about"
            f" {format_estimate_bold(seconds)}; the counts are saved."
        )
        if part.settings != text.settings:
            about += (
                " The text is large: only a random sample of its lines is counted (fraction"
                f" {fraction(part.settings.sample)})."
            )
        st.markdown(about)
        return st.button(
            "Count and advise", type="primary", icon=":material/calculate:", key="count"
        )


def draw_verdict(report: lab.AdviceReport) -> None:
    """Draw the verdict and its reasons."""
    if report.advice.verdict == "adapt":
        st.success(f"**{_format_numbers(report.advice.sentence)}**", icon=":material/check_circle:")
    else:
        st.warning(
            f"**{_format_numbers(report.advice.sentence)}**", icon=":material/do_not_disturb_on:"
        )
    for found in report.advice.findings:
        mark = ":orange[:material/block:]" if found.stops else ":gray[:material/info:]"
        st.markdown(
            f"{mark} {_format_numbers(found.says)} :small[:gray[{_format_numbers(found.why)}]]"
        )


def _format_numbers(text: str) -> str:
    """Format the numbers of a sentence as the pages do."""
    return markup.plain(THOUSANDS.sub(NARROW, text))


def draw_headline(report: lab.AdviceReport) -> None:
    """Draw the main figures: split words, split entity words, anchors, expected P@5, tokens saved."""
    shown = report.advice.figures
    expected, gain = shown.forecast, shown.gain(FEW_OCCURRENCES)
    interval = (
        f"{fraction(expected.low)}–{fraction(expected.high)}, chance {fraction(expected.chance)}"
    )
    task_share = None
    if shown.task:
        task_share = shown.task.share
    draw_metrics(
        (
            "Split words",
            fraction(shown.corpus.share),
            _describe_words(shown.corpus),
            ("Fraction of running words with a letter that the model splits into several tokens."),
        ),
        (
            "Split entity words",
            fraction(task_share),
            _describe_words(shown.task),
            "Fraction of the words inside entities of the task file that the model splits.",
        ),
        (
            "Anchors",
            count(shown.anchors),
            f"dimension {shown.width or '–'}",
            (
                f"Words with at least {shown.min_count} occurrences that are also wordpieces:"
                " the alignment is fitted on them."
            ),
        ),
        (
            "Expected held-out P@5",
            fraction(expected.p5),
            interval,
            (
                "Forecast for the alignment of Poerner et al. 2020, from"
                f" {count(expected.words)} word counts; range: 95 % interval on held-out"
                " texts."
            ),
        ),
        (
            "Tokens saved",
            fraction(gain.saved),
            f"{count(gain.words)} words seen {gain.floor}+ times",
            (f"Tokens per word: {shown.corpus.fertility:.3g} before, {gain.fertility:.3g} after."),
        ),
    )


def _describe_words(statistics: TokenizationStatistics | None) -> str:
    """Format the number of words behind a fraction, and the fraction of distinct ones."""
    if statistics is None:
        return "no task file given"
    return f"n = {count(statistics.words)}, distinct {fraction(statistics.share_distinct)}"


def count_now(corpus: Artifact, model: str, workspace: Workspace) -> None:
    """Count a text with a progress bar, save the counts, and rerun the page."""
    bar = st.progress(0.0, text="counting …")

    def step(fraction: float | None, message: str = "") -> None:
        bar.progress(min(fraction or 0.0, 1.0), text=markup.plain(message) or "counting …")

    lab.advise_on(
        read_corpus([corpus.folder]),
        cache.model_of(model),
        workspace.root,
        progress=step,
        keep=True,
    )
    st.rerun()


def draw_recipes(
    report: lab.AdviceReport, corpus: Artifact, workspace: Workspace, model: str
) -> None:
    """Draw one card per recipe, with its command and a link to the page Adapt."""
    st.subheader("Recommended recipes")
    # A recipe can be set up on the page Adapt only if there are word vectors of this text.
    vectors = _find_vectors(corpus, workspace, model)
    columns = st.columns(len(report.advice.recipes))
    for column, recipe in zip(columns, report.advice.recipes, strict=True):
        # One card: description, link and command.
        with column, st.container(border=True, height="stretch"):
            st.markdown(
                f"**{recipe.name.capitalize()}** · {recipe.preset} ·"
                f" :green[**{count(recipe.max_added)} words**]"
            )
            about = markup.plain(recipe.about)
            if recipe.map:
                about = f"Alignment: {methods.describe_method(recipe.map)}. {about}"
            st.markdown(f":small[{about}]")
            if vectors:
                draw_link(
                    "adapt",
                    "Set up on the page Adapt",
                    **_build_adapt_address(recipe, vectors),
                )
            draw_command(lab.build_adapt_command(recipe, model))
    # All recipes need word vectors: show the command that trains them.
    first = lab.build_training_command([corpus.folder], model)
    if vectors:
        draw_note(
            f"Word vectors exist: {markup.plain(vectors.name)}. In a terminal, train them first:"
        )
    else:
        st.markdown("All recipes need word vectors of this text: train them here or in a terminal.")
        draw_link("vectors", "Train word vectors")
    draw_command(first)


def draw_length_chart(report: lab.AdviceReport) -> None:
    """Draw the distribution of tokens per word for the text and the entities of the task."""
    st.subheader("Tokens per word")
    shown = report.advice.figures
    fractions = {"words of the text": shown.corpus.shares()}
    sizes = f"{count(shown.corpus.words)} of the text"
    if shown.task:
        fractions["words in the task's entities"] = shown.task.shares()
        sizes += f", {count(shown.task.words)} entity words"
    draw_figure(figures.plot_wordpieces_per_word(fractions), "pieces")
    draw_note(f"Running words with a letter: {sizes}.")


def draw_split_words(report: lab.AdviceReport) -> None:
    """Draw the most frequent split words."""
    words = report.advice.split_words
    st.subheader("Most frequent split words")
    table: dict[str, list[object]] = {
        "word": [markup.escape_invisible(word.word) for word in words],
        "occurrences": [word.count for word in words],
        "tokens": [len(word.pieces) for word in words],
        "wordpieces": [markup.escape_invisible(" ".join(word.pieces)) for word in words],
    }
    if report.task:
        table["in entities"] = [word.task_count for word in words]
    text = st.column_config.TextColumn()
    draw_table(
        table,
        height=330,
        key="cut",
        column_config={"word": text, "wordpieces": text},
    )


def draw_gains(report: lab.AdviceReport) -> None:
    """Draw the gains and costs of adding words by minimum count."""
    st.subheader("Gains and costs of adding words")
    rows = [
        (
            count(g.floor),
            count(g.words),
            fraction(g.saved),
            f"{g.fertility:.2f}",
            fraction(g.mended),
            fraction(g.mended_task),
            fraction(g.under_few),
            fraction(g.under_enough),
            "–" if g.parameters is None else count(g.parameters),
            "–" if g.bytes is None else megabytes(g.bytes),
            fraction(g.model_share),
        )
        for g in report.advice.figures.gains
    ]
    # Transpose the rows into columns, in the order of COLUMNS.
    table = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    config = {
        name: st.column_config.TextColumn(help=about, alignment="right")
        for name, about in COLUMNS.items()
    }
    draw_table(table, key="gains", column_config=config)


def draw_details(report: lab.AdviceReport, corpus: Artifact, model: str, task: Path | None) -> None:
    """Draw Details & export of the advice."""
    with open_details():
        draw_command(
            lab.build_advise_command([corpus.folder], model, task), "The same advice in a terminal"
        )
        shown, origin = report.advice.figures, "counted now"
        if report.kept:
            origin = "counts from the workspace"
        st.markdown(
            f"{count(shown.lines)} of {count(shown.lines_read)} lines, {origin};"
            f" {duration(report.seconds)}."
        )
        answer = strict_json.dumps(
            lab.build_advice_answer(report, [corpus.folder], model), indent=1
        )
        words = tsv(
            ("word", "occurrences", "pieces"),
            [(w.word, w.count, " ".join(w.pieces)) for w in report.advice.split_words],
        )
        draw_downloads({"advice.json": answer, "split-words.tsv": words})


def _find_vectors(corpus: Artifact, workspace: Workspace, model: str) -> Artifact | None:
    """Return the newest word vectors trained on this text for this model."""
    # Artifacts are listed newest first.
    for found in workspace.artifacts("vectors"):
        text = found.manifest.inputs.get("text")
        same_text = text is not None and text.paths == (f"corpora/{corpus.name}",)
        if same_text and pickers.model_behind(found, workspace) == model:
            return found
    return None


def _build_adapt_address(recipe: Suggestion, vectors: Artifact) -> dict[str, str]:
    """Return the address of the page Adapt with the recipe filled in."""
    chosen = {
        "adapt_vectors": vectors.name,
        "adapt_preset": recipe.preset,
        "adapt_cap": str(recipe.max_added),
    }
    if recipe.map:
        chosen["adapt_method"] = methods.describe_method(recipe.map)
    return chosen
