"""The part Word vectors: the neighbors and frequencies of words, and the forms that make vectors."""

import os
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import list_texts
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.steps.import_vectors import ImportVectorsStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.alignment.cross_space import ListSettings
from vocadapt.spaces.neighbors.search import METRICS, list_neighbors
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, choose_training, estimate_memory
from vocadapt.system.files import expand_path
from vocadapt.text.words import WordCounts
from vocadapt.ui.components import (
    intake,
    keyword_in_context,
    mistakes,
    pickers,
    word_links,
    word_query,
)
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_figure,
    draw_heading,
    draw_link,
    draw_metrics,
    draw_note,
    draw_table,
)
from vocadapt.ui.components.setting_inputs import draw_linked_setting, draw_settings
from vocadapt.ui.jobs import forms, panel
from vocadapt.ui.parts.text.needed_size import describe_needed_text
from vocadapt.ui.state import cache, count_cache
from vocadapt.ui.state.names import model_behind
from vocadapt.ui.text import markup
from vocadapt.ui.text.number_formats import (
    count,
    count_noun,
    duration,
    fraction,
    megabytes,
    percent,
)

MAIN = ("epochs", "min_count")  # settings that are always visible
NOT_DRAWN = ("corpus", "word2vec", "resample", "on")  # of the step
FOLLOWING_JOB = "A second job then evaluates how they align with the model."
SPEARMAN = (
    "Spearman's rank correlation of cosine and human score, over the pairs whose words both have a"
    " vector."
)


def draw(workspace: Workspace) -> None:
    """Draw the selected word vectors, and the forms that train or import others."""
    # 1. The selected vectors: their words and frequencies.
    found = workspace.artifacts("vectors")
    if not found:
        pickers.draw_empty_state(
            "There are no word vectors in this workspace yet.",
            f"Train them on a text of your domain, {describe_needed_text()}. More text gives better"
            " vectors.",
        )
        draw_heading("Make word vectors")
        _draw_forms(workspace)
        return
    vectors = draw_headline(workspace, found)
    space = cache.space_of(vectors)
    left, right = st.columns(2, gap="large")
    with left:
        draw_heading("Nearest words")
        draw_nearest_words(vectors, workspace, model_behind(vectors, workspace))
    with right:
        draw_heading("Word frequencies")
        draw_frequencies(space, vectors.manifest.settings.get("word2vec", {}).get("min_count", 0))
        draw_judgment(vectors)
    # 2. New vectors: train on a text, or import vectors.
    with st.expander("Make more word vectors", icon=":material/add:"):
        _draw_forms(workspace)
    # 3. All words, and the details of the selected vectors.
    with st.expander("All words", icon=":material/table_rows:"):
        columns: dict[str, Any] = {"word": space.words}
        if space.counts is not None:
            columns["occurrences"] = space.counts
        draw_table(columns, height=330, key="words")
    names = ("vectors.safetensors", "words.txt")
    draw_artifact_details(vectors, {name: (vectors.folder / name).read_bytes for name in names})


@st.fragment
@mistakes.show_errors()
def _draw_forms(workspace: Workspace) -> None:
    """Draw the forms that train on a text and that import vectors; a setting reruns only this
    fragment.
    """
    corpora = list_texts(workspace)
    model = pickers.pick_model(workspace, "vectors_model")
    train, ready = st.tabs(["Train on a text", "Import existing vectors"])
    with train:
        if corpora:
            draw_training_form(workspace, model, corpora)
        else:
            draw_link("text", "Import a text first")
    with ready:
        draw_vectors_form(workspace, model, corpora)


def draw_headline(workspace: Workspace, found: list[Artifact]) -> Artifact:
    """Show the picker of vectors, and the size and origin of the selected ones; return them."""
    columns = st.columns([1, 1, 1, 1.2, 1.8])
    with columns[4]:
        vectors = pickers.pick("Word vectors", found, "vectors_vectors", newest=True)
    # 1. The figures of a training, or of an import, which has no Word2Vec settings.
    numbers = vectors.manifest.numbers
    settings = vectors.manifest.settings.get("word2vec")
    metrics: list[tuple[str, ...]] = [
        ("Words", count(numbers["words"])),
        ("Dimension", str(numbers["dim"])),
    ]
    if settings:
        new = numbers["new_words"]
        metrics += [
            ("New to the model", count(new), f"{percent(new / numbers['words'])} of all"),
            # The demo's vectors are older than the choice of a trainer.
            ("Trainer", settings.get("trainer", "gensim"), count_noun(settings["epochs"], "epoch")),
        ]
    draw_metrics(*metrics, places=columns[: len(metrics)])
    # 2. What was read, the notes of the step, and a warning if its text has changed.
    draw_note(describe_origin(vectors))
    for note in numbers.get("notes", ()):
        st.text(note)
    pickers.warn_if_stale(vectors, workspace)
    return vectors


def describe_origin(vectors: Artifact) -> str:
    """Describe what word vectors were made from, in a sentence (Markdown)."""
    manifest = vectors.manifest
    names = [
        markup.plain(Path(path).name)
        for role in ("text", "file")
        if role in manifest.inputs
        for path in manifest.inputs[role].paths
    ]
    sentence = "These vectors came with no record of their text."
    if names:
        verb = "Trained on" if "word2vec" in manifest.settings else "Made from"
        sentence = f"{verb} {' and '.join(names)} in {duration(manifest.seconds)}."
    if "occurrences" in manifest.numbers:
        sentence += f" These words occur {count(manifest.numbers['occurrences'])} times in it."
    return sentence


@st.fragment
def draw_nearest_words(vectors: Artifact, workspace: Workspace, model: str | None) -> None:
    """Draw the nearest neighbors of a word, and the lines of the text that contain it.

    model: examples are words that it splits; None for any words.
    """
    space = cache.space_of(vectors)
    opened_model = None
    with suppress(InputError):  # the model may not be on this machine
        if model:
            opened_model = cache.model_of(model)
    found = word_query.draw_word_search(
        "vectors_word",
        "Type a word",
        word_query.examples_of(vectors, opened_model),
        space.words,
        opened_model.splitter if opened_model else None,
        formulas=True,
    )
    if found is None:
        return
    with st.container(horizontal=True):
        k = draw_linked_setting(ListSettings, "k", "vectors_k", most=200, width=130)
        metric = draw_linked_setting(ListSettings, "metric", "vectors_metric", buttons=True)
        settings = ListSettings(k, metric)
    # 1. The neighbors of a word, or of a formula.
    card = None
    with mistakes.show_errors():
        if found.word is not None:
            listed = list_neighbors(space, space[found.word], k, metric, found.word)
            card = markup.Card(
                f"Nearest to {found.word}",
                f"{METRICS[metric]}, {count(len(listed))} of {count(len(space))} words",
                "domain",
                listed,
                measure=settings.score_kind,
                random_cosine=word_query.find_random_cosine(settings, space),
            )
        elif found.formula is not None:
            card = word_query.build_formula_card(found.formula, space, k)
        if card:
            markup.draw_neighbor_cards([card], word_links.build_links("vectors_word"))
    # 2. A word in the text; it may be too rare for a vector.
    if found.is_single_word:
        keyword_in_context.draw_lines_of_vectors(
            found.word or found.typed, vectors, workspace, model if opened_model else None
        )


def draw_frequencies(space: EmbeddingSpace, min_count: int) -> None:
    """Draw the frequency-rank plot and describe it, if the space has word counts."""
    if space.counts is None or not len(space):
        st.markdown("These vectors have no word counts.")
        return
    ordered = np.sort(space.counts)[::-1]
    most = space.words[int(np.argmax(space.counts))]
    # The number of most frequent words that make up half of all occurrences.
    half = int(np.searchsorted(ordered.cumsum(), ordered.sum() / 2)) + 1
    text = (
        f"The most frequent word, “{markup.plain(most)}”, occurs {count(int(ordered[0]))} times,"
        f" the rarest {count(int(ordered[-1]))} times. Half of all occurrences are of"
        f" {count(half)} of {count(len(ordered))} words."
    )
    draw_figure(figures.plot_frequency_ranks(space.counts, min_count), "frequencies", text)
    draw_note(text)


def draw_judgment(vectors: Artifact) -> None:
    """Draw, on click, the agreement of the vectors with human judgments of word pairs."""
    if st.button("Compare with human judgment", key="evaluate", icon=":material/groups:"):
        st.session_state["evaluated"] = vectors.stamp
    if st.session_state.get("evaluated") == vectors.stamp:
        metrics = [
            (name, fraction(one.spearman), f"{one.covered} of {one.of} pairs covered", SPEARMAN)
            for name, one in cache.pair_scores(vectors).items()
        ]
        draw_metrics(*metrics, places=st.columns(2))


def draw_training_form(workspace: Workspace, model: str, corpora: list[Artifact]) -> None:
    """Draw the form that trains word vectors on a corpus, with their estimated size."""
    form, plan = st.columns([1.4, 1], gap="large")
    with form:
        corpus = pickers.pick("Text", corpora, "vectors_corpus", newest=True)
        step = choose_settings()
    with plan:
        st.markdown(describe_training(workspace, model, corpus, step.word2vec))
        spec = Spec(step, {"text": (str(corpus.folder),), "model": (model,)})
        label, key = "Train word vectors", "vectors_name"
        forms.draw_start(workspace, spec, corpus.name, label, "train", key, start=start_training)


def start_training(workspace: Workspace, spec: Spec, name: str) -> None:
    """Start the job that trains word vectors, and one that chooses their alignment to the model;
    rerun the page.
    """
    job = panel.launch(workspace, spec, name)
    [model] = spec.inputs["model"]
    if not os.path.isfile(expand_path(model)):  # a bare vocabulary has no embeddings to align to
        inputs = {"vectors": (str(job.target),), "model": (model,)}
        chosen = Spec(AlignmentStep(choose=True), inputs)
        wish = pickers.find_default_name(workspace, "alignments", f"{job.target.name}-alignment")
        # A visitor may have no more jobs: the page Alignment has a button.
        with suppress(InputError):
            queue.start(workspace, chosen, wish, once=True)
    st.rerun()


def describe_training(
    workspace: Workspace, model: str, corpus: Artifact, settings: Word2VecSettings
) -> str:
    """Describe the vocabulary and size of a training, if the text has word counts."""
    try:
        if os.path.isfile(expand_path(model)) and not settings.dim:
            return (
                "A bare vocabulary has no embedding dimension: set *Dimension* under *More"
                " settings*."
            )
        # The default dimension is that of the model.
        width = settings.dim or cache.model_of(model).dim
    except InputError:
        return "This model is not on this machine yet: the job downloads it first."
    counts = count_cache.counts_of(corpus, model, workspace.root)
    if not counts:
        return "This text has no word counts for this model yet."
    cost = describe_cost(counts, replace(settings, dim=width))
    return f"{cost}. {FOLLOWING_JOB}"


def choose_settings() -> VectorsStep:
    """Draw the settings of the training, filled with the defaults; return them."""
    settings = draw_settings(Word2VecSettings(), "vectors", names=MAIN)
    with st.popover("More settings", icon=":material/tune:"):
        settings = draw_settings(settings, "vectors", MAIN)
        return draw_settings(VectorsStep(word2vec=settings), "vectors_step", NOT_DRAWN)


def describe_cost(counts: WordCounts, settings: Word2VecSettings) -> str:
    """Describe the vocabulary and size of a training in a sentence."""
    choice = choose_training(counts, settings)
    memory = estimate_memory(counts, settings)
    limit = ""
    if memory.words < memory.of:
        limit = (
            f" (only the **{count(memory.words)}** most frequent fit into memory and get a vector)"
        )
    trainer = f"trainer **{choice.settings.trainer}**"
    if choice.settings.epochs:
        trainer += f", **{count_noun(choice.settings.epochs, 'epoch')}**"
    if choice.reason:
        trainer += f" ({choice.reason})"
    return (
        f"**{count(memory.of)}** of {count(counts.distinct)} distinct words occur at least"
        f" {settings.min_count} times{limit} · {count(counts.words)} running words ·"
        f" dimension {settings.dim} · {trainer} · at most {megabytes(memory.bytes)} of memory"
    )


def draw_vectors_form(workspace: Workspace, model: str, corpora: list[Artifact]) -> None:
    """Draw the form that imports vectors of another program."""
    # 1. The file, and the words if it has none.
    files = intake.choose_files(workspace, "vectors_file", intake.VECTOR_TYPES, several=False)
    step = draw_settings(
        ImportVectorsStep(), "import", ["corpus"], options={"limit": {"step": 10_000}}
    )
    words = st.text_input(
        "Words file",
        help="File with one word per line; required for .npy and .safetensors.",
        key="words_file",
    ).strip()
    # 2. Which words are imported from it.
    only = st.selectbox("Limit to text", ["all words", *(corpus.name for corpus in corpora)])
    text = {corpus.name: str(corpus.folder) for corpus in corpora}.get(str(only))
    # 3. The name, and the button.
    spec = None
    if files:
        # A model is read only to fold case or to limit the words to a text.
        needed_model = model if step.fold or text else None
        candidates = {"file": str(files[0]), "model": needed_model, "words": words, "text": text}
        inputs = {role: (path,) for role, path in candidates.items() if path}
        spec = Spec(step, inputs)
    wish = intake.suggest_name(files)
    label = "Import vectors"
    start = partial(panel.start, form="vectors_file")
    forms.draw_start(workspace, spec, wish, label, "import", "import_name", start=start)
