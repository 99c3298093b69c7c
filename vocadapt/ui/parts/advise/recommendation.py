"""The recommended adaptation, as the parts Advice and Adapt describe it: words, alignment, verdict."""

import streamlit as st

from vocadapt.lab.reports.advice import AdviceReport
from vocadapt.lab.reports.recommendation import AlignmentChoice, find_text_name
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.alignment.display_name import describe_method
from vocadapt.ui.state import count_cache
from vocadapt.ui.text.markup import format_sentence, plain
from vocadapt.ui.text.number_formats import chance, count, fraction
from vocadapt.vocabulary.plan.plan import PlanSettings


def load_advice(workspace: Workspace, vectors: Artifact, model: str) -> AdviceReport | None:
    """Return the advice on the text of word vectors; None if the workspace does not have the text,
    or has no word counts of it for this model.
    """
    name = find_text_name(vectors)
    for corpus in workspace.artifacts("corpora"):
        if corpus.name == name:
            return count_cache.advice_of(corpus, model, workspace.root, None)
    return None


def draw_verdict_box(report: AdviceReport) -> None:
    """Draw the verdict in a sentence, green if a change of the vocabulary is recommended, orange if
    not; then what new words are good for, how precisely they can be placed, and what is not known.
    """
    about = "\n\n".join(f":small[{format_sentence(one.sentence)}]" for one in report.findings)
    sentence = f"**{format_sentence(report.sentence)}**\n\n{about}"
    if report.verdict == "adapt":
        st.success(sentence, icon=":material/check_circle:")
    else:
        st.warning(sentence, icon=":material/do_not_disturb_on:")


def describe_words(plan: PlanSettings) -> str:
    """Describe the words that a recipe adds (Markdown)."""
    limit = "all words that the model lacks"
    if plan.max_added:
        limit = f"the **{count(plan.max_added)}** most frequent words that the model lacks"
    if plan.min_count:
        limit += f", those that occur **{count(plan.min_count)}** times or more"
    return limit


def describe_alignment(choice: AlignmentChoice) -> str:
    """Describe an alignment and why it is selected (Markdown)."""
    name = f"**{plain(describe_method(choice.settings))}**"
    if choice.csls_p5 is None:
        return (
            f"{name}. No alignment of these word vectors was evaluated yet: this one belongs to the"
            " preset"
        )
    scores = f"held-out P@5 with CSLS {fraction(choice.csls_p5)}"
    scores += f", chance {chance(choice.chance)}"
    if choice.compared == 1:
        return f"{name}, the only one evaluated on these word vectors ({scores})"
    return (
        f"{name}, the best of {count(choice.compared)} evaluated on these word vectors ({scores})"
    )
