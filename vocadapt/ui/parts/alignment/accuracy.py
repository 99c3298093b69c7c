"""How often an alignment finds the right word: one sentence under its lists, and by frequency."""

import numpy as np
import streamlit as st

from vocadapt.lab.inputs.alignments import Ranking
from vocadapt.lab.steps.alignment import AnchorScore
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.spaces.alignment.cross_space import ALL_PIECES, ListSettings
from vocadapt.spaces.alignment.evaluation import EvaluatedAlignment, StackedScores
from vocadapt.spaces.alignment.frequency_bands import FrequencyBand, measure_frequency_bands
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.state.cache import evaluation_of
from vocadapt.ui.text.number_formats import chance, count, group_digits, percent

K = 5
NEW_WORDS = (
    "New words are rarer than these, and the model knows no true wordpiece to check them against:"
    " in these lists, expect at best the accuracy of rare words."
)


def draw_accuracy(
    row: EvaluatedAlignment | None,
    detail: Artifact | None,
    words: EmbeddingSpace,
    settings: ListSettings,
    stacked: StackedScores | None = None,
) -> None:
    """Draw how often the method finds the right word, as the lists rank them, and by frequency.

    row: held-out scores, None if the method was not evaluated. detail: the saved alignment that has
    the rank of each held-out word. stacked: scores of stacked embeddings on these word vectors.
    """
    if row is None:
        st.markdown(
            "How often these lists are right is not known yet: evaluate the method below on words"
            " that the model knows."
        )
        return
    ranking = Ranking(settings.csls, settings.among == ALL_PIECES)
    st.markdown(describe_accuracy(row, ranking))
    bands: tuple[FrequencyBand, ...] = ()
    if detail is not None:
        bands = compute_bands(evaluation_of(detail).anchors, words, ranking.column)
    if bands:
        for column, band in zip(st.columns(len(bands)), bands, strict=True):
            value = band.found / band.words
            column.metric(f"{band.name.capitalize()} words", percent(value))
            about = f"of {count(band.words)}, {describe_counts(band)}"
            draw_note(about, column)
    draw_note(NEW_WORDS)
    if stacked is not None:
        about = "The embeddings of new words also use their pieces."
        draw_note(group_digits(f"{about} {stacked.finding}"))


def describe_accuracy(row: EvaluatedAlignment, ranking: Ranking) -> str:
    """Describe P@5 of a method in a sentence, with the chance level and n (Markdown)."""
    scores = ranking.choose_scores(row.held_out)
    by = " by CSLS" if ranking.csls else ""
    return (
        f"The right word is among the {K} nearest{by} for **{percent(scores.p5)} of the held-out words"
        f" that the model knows** (chance {chance(scores.chance5)};"
        f" n = {count(row.anchors)})."
    )


def describe_counts(band: FrequencyBand) -> str:
    """Describe how often the words of a band occur in the text."""
    if band.least == band.most:
        return f"{count(band.least)} times in the text"
    return f"{count(band.least)} to {count(band.most)} times in the text"


def compute_bands(
    anchors: tuple[AnchorScore, ...], words: EmbeddingSpace, column: str
) -> tuple[FrequencyBand, ...]:
    """Return the bands of the held-out words; () without word counts, or without these ranks."""
    ranks = [getattr(anchor, column) for anchor in anchors]
    known = all(anchor.word in words for anchor in anchors)
    if words.counts is None or None in ranks or not known:
        return ()
    counts = words.counts[words.rows(anchor.word for anchor in anchors)]
    return measure_frequency_bands(np.array(ranks, dtype=np.int64), counts, K)
