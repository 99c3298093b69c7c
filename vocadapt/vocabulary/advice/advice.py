"""Advise whether to adapt a vocabulary to a text, and with which recipe, from word counts alone;
nothing is trained.

It answers three questions separately: what do new words save (certain), how precisely can their
embeddings be placed (a forecast), and does a task gain by them (not known before it is measured)?
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from vocadapt.progress import percent
from vocadapt.report.formats import format_chance, format_precise
from vocadapt.report.table import Column, Finding, Table
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts, describe_held_out
from vocadapt.vocabulary.advice.measured_gains import (
    FULL_TASK,
    MEASURED_GAINS,
    MeasuredGain,
    summarize_gains,
)
from vocadapt.vocabulary.advice.rules import MIN_ADDED, RULES, TOP, Figures, forecast
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.growth.word_tokenizations import (
    ENOUGH_OCCURRENCES,
    FEW_OCCURRENCES,
    GAINS,
    STATISTICS,
    Gain,
    ModelSize,
    SplitWord,
    TokenizedText,
    compute_saved_fraction,
    has_letter,
    measure_gain,
    tokenize_pretokens,
)
from vocadapt.vocabulary.plan.forms import group_word_forms
from vocadapt.vocabulary.plan.planning import split_addable_words

SHOWN = 200  # number of split words to list, the most frequent ones
DEFAULT_PRESET = "new-words"  # name of the preset to adapt with; `presets` declares it
RECOMMENDED = "recommended"  # name of the recipe to begin with
NO_PROMISE = Finding(
    "not measured",
    f"Only a measurement shows whether new words help your task. {FULL_TASK} With 1,000 examples"
    f" and earlier embeddings, not the default ones: {summarize_gains()}",
)


@dataclass(frozen=True)
class Reason(Finding):
    """A rule that applies, with its figures in `sentence`.

    stops: whether the rule decides against a change. why: the reason for the threshold.
    """

    stops: bool
    why: str


@dataclass(frozen=True)
class Suggestion:
    """A recipe to try: a preset, the maximum number of words to add and their minimum number of
    occurrences, the purpose of the recipe, and its command line if texts and model are named.
    """

    name: str
    preset: str
    max_added: int
    about: str
    min_count: int = 0
    command: str = ""


SPLIT_WORDS = (
    Column("word", "Word", "A word of the text that the model splits."),
    Column("count", "Occurrences", "In the text.", "number"),
    Column("tokens", "Tokens", "Number of its wordpieces.", "number"),
    Column("pieces", "Wordpieces", "How the model tokenizes it."),
    Column("task_count", "In entities", "Occurrences inside the entities of the task.", "number"),
)


@dataclass(frozen=True, kw_only=True)
class Advice(Figures):
    """The verdict with its reasons, the figures that it follows from, recipes to try, and the most
    frequent words that are split.

    findings: what new words are good for, how precisely they can be placed, and what is not known.
    recommended: the recipe to begin with, for either verdict; None if no word can be added.
    """

    verdict: Literal["adapt", "keep"]
    sentence: str
    reasons: tuple[Reason, ...]
    findings: tuple[Finding, ...]
    recommended: Suggestion | None
    recipes: tuple[Suggestion, ...]
    split_words: tuple[SplitWord, ...] = field(repr=False)
    measured_gains: tuple[MeasuredGain, ...] = MEASURED_GAINS

    def build_statistics_table(self) -> Table:
        """Return how the words of the text, and of the entities of the task, are tokenized."""
        rows = [{"of": "text", **vars(self.corpus)}]
        if self.task is not None:
            rows.append({"of": "the task's entities", **vars(self.task)})
        return Table("Words and their tokens", (Column("of", "Words of"), *STATISTICS), rows)

    def build_gains_table(self) -> Table:
        """Return the gains and costs of adding words, by minimum count."""
        notes = (describe_held_out(self.held_out_lines, self.lines),)
        return Table("Gains and costs of adding words", GAINS, self.added, notes)

    def build_split_words_table(self) -> Table:
        """Return the most frequent words that are split."""
        return Table("Most frequent split words", SPLIT_WORDS, self.split_words)


def advise(
    counts: WordCounts,
    vocabulary: Vocabulary,
    splitter: Splitter,
    size: ModelSize | None = None,
    task: Mapping[str, int] | None = None,
    min_count: int = 5,
) -> Advice:
    """Advise on a vocabulary for a text with these counts of pre-tokens.

    task: counts of the entity words of a task.
    min_count: occurrences below which a word gets no vector.
    """
    text = tokenize_pretokens(vocabulary, counts.counts)
    entities = None
    if task is not None:
        spelled = {vocabulary.spell(word): count for word, count in task.items()}
        entities = tokenize_pretokens(vocabulary, spelled)
    size = size or ModelSize()
    figures = _measure(counts, text, entities, vocabulary, splitter, size, min_count)
    reasons = apply_rules(figures)
    keep = any(reason.stops for reason in reasons)
    recommended = recommend(figures)
    return Advice(
        **vars(figures),
        verdict="keep" if keep else "adapt",
        sentence=_summarize(reasons, figures),
        reasons=reasons,
        findings=(_describe_worth(figures, keep), _describe_precision(figures), NO_PROMISE),
        recommended=recommended,
        recipes=() if keep else suggest_recipes(figures),
        split_words=_list_split_words(vocabulary, text, entities),
    )


def apply_rules(figures: Figures) -> tuple[Reason, ...]:
    """Return the rules that apply to these figures, in the order of the table."""
    return tuple(
        Reason(rule.name, rule.describe(figures), bool(rule.stops), rule.why)
        for rule in RULES
        if rule.applies(figures)
    )


def recommend(figures: Figures) -> Suggestion | None:
    """Recommend the recipe to begin with: the words that occur FEW_OCCURRENCES times or more, or
    all words with a vector if there are no such words; None if no word can be added.
    """
    for floor in (FEW_OCCURRENCES, figures.min_count):
        gain = figures.gain(floor)
        if gain.words:
            return _suggest(RECOMMENDED, gain)
    return None


def _suggest(name: str, gain: Gain) -> Suggestion:
    about = (
        f"Words that occur {gain.min_count} times or more: saves {percent(gain.saved)} of the"
        f" tokens; {percent(gain.mended)} of the split words become one token."
    )
    return Suggestion(name, DEFAULT_PRESET, gain.words, about, gain.min_count)


def suggest_recipes(figures: Figures) -> tuple[Suggestion, ...]:
    """Suggest recipes to compare: frequent words, rarer ones too, and random embeddings."""
    # Recipes by number of words: with equal numbers the words are the same.
    recipes: dict[int, Suggestion] = {}
    names = {"frequent words": ENOUGH_OCCURRENCES, "more words": FEW_OCCURRENCES}
    for name, floor in names.items():
        gain = figures.gain(floor)
        if gain.words < MIN_ADDED or gain.words in recipes:
            continue
        recipes[gain.words] = _suggest(name if recipes else "frequent words", gain)
    about = (
        "The same words with random embeddings: shows whether the embeddings help, or only the"
        " tokenization."
    )
    fewest = next(iter(recipes.values()))
    control = replace(fewest, name="control", preset="green-bert-random", about=about)
    return (*recipes.values(), control)


def _measure(
    counts: WordCounts,
    text: TokenizedText,
    task: TokenizedText | None,
    vocabulary: Vocabulary,
    splitter: Splitter,
    size: ModelSize,
    min_count: int,
) -> Figures:
    # 1. Count the words that get a vector; those that are tokens are anchors of the alignment.
    groups = group_word_forms(vocabulary, splitter, counts.counts)
    frequent = {group.word: group for group in groups if group.count >= min_count}
    tokens = filter(vocabulary.ids.__contains__, map(vocabulary.spell, frequent))
    anchors = sum(
        token not in vocabulary.special and vocabulary.produces(token, splitter) for token in tokens
    )
    # 2. Choose the words to add by the lines that are not held out, and measure on the others what
    #    they save, by their minimum number of occurrences.
    candidates, measured = frequent, text
    in_sample = None
    if counts.held_out:
        groups = group_word_forms(vocabulary, splitter, counts.in_sample)
        candidates = {group.word: group for group in groups if group.count >= min_count}
        measured = tokenize_pretokens(vocabulary, counts.held_out, text.pieces)
        in_sample = tokenize_pretokens(vocabulary, counts.in_sample, text.pieces)
    addable, _ = split_addable_words(vocabulary, splitter, candidates)
    words = [candidates[word] for word in addable if candidates[word].stands_alone]
    gains: list[Gain] = []
    for floor in (min_count, FEW_OCCURRENCES, ENOUGH_OCCURRENCES):
        if floor > min_count or not gains:
            added = [word for word in words if word.count >= floor]
            gains.append(measure_gain(added, floor, measured, task, size, in_sample))
    return Figures(
        corpus=text.statistics,
        task=None if task is None else task.statistics,
        lines=counts.lines,
        lines_read=counts.lines_read or counts.lines,
        min_count=min_count,
        width=size.width,
        anchors=anchors,
        expected=forecast(
            sum(word.count for word in frequent.values()), len(vocabulary.tokens), size.width
        ),
        added=tuple(gains),
        top_saved=compute_saved_fraction(words[:TOP], measured),
        held_out_lines=counts.held_out_lines,
    )


def _summarize(reasons: tuple[Reason, ...], figures: Figures) -> str:
    """Return the verdict in a sentence, with the most important figures."""
    clauses = {rule.name: rule.stops for rule in RULES}
    for reason in reasons:
        if reason.stops:
            return f"Do not change the vocabulary: {clauses[reason.code]}."
    gain = figures.gain(FEW_OCCURRENCES)
    return (
        f"Worth a run: {gain.words:,} new words that occur {gain.min_count} times or more would"
        f" save {percent(gain.saved)} of the tokens."
    )


def _describe_worth(figures: Figures, keep: bool) -> Finding:
    gain = figures.gain(FEW_OCCURRENCES)
    if not gain.words:
        return Finding("no new words", "No new word occurs often enough to be worth a token.")
    basis = "the tokens of this text"
    if figures.held_out_lines:
        basis = "the tokens of held-out lines"
    lead = "New words would still give" if keep else "Good for"
    return Finding(
        "shorter input",
        f"{lead}: shorter input ({percent(gain.saved)} of {basis}), and {gain.words:,} words"
        " that are read, searched and compared as one token each.",
    )


def _describe_precision(figures: Figures) -> Finding:
    expected = figures.expected
    if not figures.gain(0).words:
        return Finding(
            "no forecast", "No word of this text can be added, so no precision is forecast."
        )
    return Finding(
        "precision",
        f"Expected precision of the new embeddings: for {format_precise(expected.value)}"
        f" ({format_precise(expected.low)} to {format_precise(expected.high)}) of similar words,"
        f" the right wordpiece would be among the five nearest of {expected.candidates:,}"
        f" (chance {format_chance(expected.chance)}).",
    )


def _list_split_words(
    vocabulary: Vocabulary, text: TokenizedText, task: TokenizedText | None
) -> tuple[SplitWord, ...]:
    """Return the most frequent pre-tokens with a letter that the model splits, as words."""
    words: list[SplitWord] = []
    for pretoken, count in text.counts.items():
        pieces = text.pieces[pretoken]
        if len(pieces) < 2:
            continue
        word = vocabulary.read(pretoken)
        if has_letter(word):
            task_count = None if task is None else task.counts.get(pretoken, 0)
            words.append(SplitWord(word, pieces, count, task_count))
    return tuple(sorted(words, key=lambda word: -word.count)[:SHOWN])
