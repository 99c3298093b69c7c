"""Advise whether to adapt a vocabulary to a text, and with which recipe, from word counts alone;
nothing is trained.

It answers three questions separately: what do new words save (certain), how precisely can their
embeddings be placed (a forecast), and does a task gain by them (not known before it is measured)?
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from vocadapt.progress import percent
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts
from vocadapt.vocabulary.advice.measured_gains import FULL_TASK, MEASURED_GAINS, summarize_gains
from vocadapt.vocabulary.advice.rules import (
    MIN_ADDED,
    RULES,
    TOP,
    Figures,
    forecast,
    format_chance,
    format_fraction,
)
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.growth.word_tokenizations import (
    ENOUGH_OCCURRENCES,
    FEW_OCCURRENCES,
    Gain,
    ModelSize,
    TokenizationStatistics,
    TokenizedText,
    compute_saved_fraction,
    has_letter,
    measure_gain,
    tokenize_text,
)
from vocadapt.vocabulary.plan.forms import group_word_forms
from vocadapt.vocabulary.plan.planning import split_addable_words

SHOWN = 200  # number of split words to list, the most frequent ones
DEFAULT_PRESET = "new-words"  # name of the preset to adapt with; `presets` declares it
RECOMMENDED = "recommended"  # name of the recipe to begin with
NO_PROMISE = (
    f"Only a measurement shows whether new words help your task. {FULL_TASK} With 1,000 examples and"
    f" earlier embeddings, not the default ones: {summarize_gains()}"
)
VERDICTS = {"adapt": "Worth a run", "keep": "Do not change the vocabulary"}


@dataclass(frozen=True)
class Finding:
    """A rule that applies.

    stops: whether the rule decides against a change of the vocabulary.
    says: the finding with its figures; why: the reason for the threshold.
    """

    rule: str
    stops: bool
    says: str
    why: str


@dataclass(frozen=True)
class Suggestion:
    """A recipe to try: a preset, the maximum number of words to add and their minimum number of
    occurrences, and the purpose of the recipe.
    """

    name: str
    preset: str
    max_added: int
    about: str
    min_count: int = 0


@dataclass(frozen=True)
class SplitWord:
    """A word of the text that is split, its wordpieces and its count.

    task_count: its count inside the entities of the task; None without a task.
    """

    word: str
    pieces: tuple[str, ...]
    count: int
    task_count: int | None = None


@dataclass(frozen=True)
class Advice:
    """The verdict ("adapt" or "keep") with its reasons and figures, recipes to try, and the most
    frequent words that are split.

    recommended: the recipe to begin with, for either verdict; None if no word can be added.
    """

    verdict: str
    sentence: str
    findings: tuple[Finding, ...]
    figures: Figures
    recipes: tuple[Suggestion, ...]
    split_words: tuple[SplitWord, ...] = field(repr=False)
    recommended: Suggestion | None = None

    @property
    def worth(self) -> str:
        """What adding words is good for, in a sentence."""
        gain = self.figures.gain(FEW_OCCURRENCES)
        if not gain.words:
            return "No new word occurs often enough to be worth a token."
        basis = "the tokens of this text"
        if self.figures.held_out_lines:
            basis = "the tokens of held-out lines"
        lead = "Good for" if self.verdict == "adapt" else "New words would still give"
        return (
            f"{lead}: shorter input ({percent(gain.saved)} of {basis}), and {gain.words:,} words"
            " that are read, searched and compared as one token each."
        )

    @property
    def precision(self) -> str:
        """Expected precision of the new embeddings on this text, in a sentence."""
        expected = self.figures.forecast
        if not self.figures.gain(0).words:
            return "No word of this text can be added, so no precision is forecast."
        return (
            f"Expected precision of the new embeddings: for {format_fraction(expected.p5)}"
            f" ({format_fraction(expected.low)} to {format_fraction(expected.high)}) of similar words, the"
            f" right wordpiece would be among the five nearest of {expected.candidates:,}"
            f" ({format_chance(expected.chance)})."
        )

    def as_json(self) -> dict[str, Any]:
        """Return the advice as JSON values, fractions between 0 and 1."""
        figures, expected = self.figures, self.figures.forecast
        return {
            "verdict": self.verdict,
            "sentence": self.sentence,
            "reasons": [asdict(finding) for finding in self.findings],
            "corpus": tokenization_as_json(figures.corpus),
            "task": figures.task and tokenization_as_json(figures.task),
            "anchors": figures.anchors,
            "width": figures.width,
            "min_count": figures.min_count,
            "expected": {
                "p@5": expected.p5,
                "low": expected.low,
                "high": expected.high,
                "chance": expected.chance,
                "words": expected.words,
                "outside": list(expected.outside),
            },
            "top_saved": figures.top_saved,
            "added": [asdict(gain) for gain in figures.gains],
            "recommended": self.recommended and asdict(self.recommended),
            "recipes": [asdict(recipe) for recipe in self.recipes],
            "split_words": [asdict(word) for word in self.split_words],
            "lines": figures.lines,
            "lines_read": figures.lines_read,
            "held_out_lines": figures.held_out_lines,
            "worth": self.worth,
            "precision": self.precision,
            "no_promise": NO_PROMISE,
            "measured_gains": [asdict(gain) for gain in MEASURED_GAINS],
        }


def tokenization_as_json(statistics: TokenizationStatistics) -> dict[str, Any]:
    """Return tokenization statistics as JSON values; `pieces` has the fractions of the running words
    with 1, 2, …, 6 or more wordpieces.
    """
    return {
        "words": statistics.words,
        "distinct": statistics.distinct,
        "split": statistics.share,
        "split_distinct": statistics.share_distinct,
        "unknown": statistics.unknown_share,
        "fertility": statistics.fertility,
        "pieces": [
            count / statistics.words if statistics.words else 0.0 for count in statistics.profile
        ],
    }


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
    text, entities = tokenize_text(vocabulary, counts.counts), None
    if task is not None:
        spelled = {vocabulary.spell(word): count for word, count in task.items()}
        entities = tokenize_text(vocabulary, spelled)
    size = size or ModelSize()
    figures = _measure(counts, text, entities, vocabulary, splitter, size, min_count)
    findings = apply_rules(figures)
    verdict = "keep" if any(finding.stops for finding in findings) else "adapt"
    recipes: tuple[Suggestion, ...] = ()
    if verdict == "adapt":
        recipes = suggest_recipes(figures)
    return Advice(
        verdict,
        _summarize(verdict, findings, figures),
        findings,
        figures,
        recipes,
        _list_split_words(vocabulary, text, entities),
        recommend(figures),
    )


def apply_rules(figures: Figures) -> tuple[Finding, ...]:
    """Return the rules that apply to these figures, in the order of the table."""
    return tuple(
        Finding(rule.name, bool(rule.stops), rule.says(figures), rule.why)
        for rule in RULES
        if rule.applies(figures)
    )


def recommend(figures: Figures) -> Suggestion | None:
    """Recommend the recipe to begin with: the words that occur FEW_OCCURRENCES times or more, or all
    words with a vector if there are no such words; None if no word can be added.
    """
    for floor in (FEW_OCCURRENCES, figures.min_count):
        gain = figures.gain(floor)
        if gain.words:
            return Suggestion(
                RECOMMENDED,
                DEFAULT_PRESET,
                gain.words,
                _describe_gain(gain),
                gain.floor,
            )
    return None


def _describe_gain(gain: Gain) -> str:
    """Describe which words are added, and what that gains."""
    return (
        f"Words that occur {gain.floor} times or more: saves {percent(gain.saved)} of the"
        f" tokens; {percent(gain.mended)} of the split words become one token."
    )


def suggest_recipes(figures: Figures) -> tuple[Suggestion, ...]:
    """Suggest recipes to compare: with frequent words, with less frequent ones too, and a control
    with random embeddings.
    """
    # Recipes by number of words: with equal numbers the words are the same.
    recipes: dict[int, Suggestion] = {}
    names = {"frequent words": ENOUGH_OCCURRENCES, "more words": FEW_OCCURRENCES}
    for name, floor in names.items():
        gain = figures.gain(floor)
        if gain.words < MIN_ADDED or gain.words in recipes:
            continue
        if not recipes:
            name = "frequent words"
        recipes[gain.words] = Suggestion(
            name,
            DEFAULT_PRESET,
            gain.words,
            _describe_gain(gain),
            gain.floor,
        )
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
        measured = tokenize_text(vocabulary, counts.held_out)
        in_sample = tokenize_text(vocabulary, counts.in_sample)
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
        forecast=forecast(
            sum(word.count for word in frequent.values()), len(vocabulary.tokens), size.width
        ),
        gains=tuple(gains),
        top_saved=compute_saved_fraction(words[:TOP], measured),
        held_out_lines=counts.held_out_lines,
    )


def _summarize(verdict: str, findings: tuple[Finding, ...], figures: Figures) -> str:
    """Return the verdict in a sentence, with the most important figures."""
    if verdict == "keep":
        clauses = {rule.name: rule.stops for rule in RULES}
        first = next(finding.rule for finding in findings if finding.stops)
        return f"{VERDICTS[verdict]}: {clauses[first]}."
    gain = figures.gain(FEW_OCCURRENCES)
    return (
        f"{VERDICTS[verdict]}: {gain.words:,} new words that occur {gain.floor} times or more would save"
        f" {percent(gain.saved)} of the tokens."
    )


def _list_split_words(
    vocabulary: Vocabulary, text: TokenizedText, task: TokenizedText | None
) -> tuple[SplitWord, ...]:
    """Return the most frequent pre-tokens with a letter that the model splits, as words."""
    split = [
        pretoken
        for pretoken in text.counts
        if len(text.pieces[pretoken]) > 1 and has_letter(vocabulary.read(pretoken))
    ]
    split = sorted(split, key=lambda pretoken: -text.counts[pretoken])[:SHOWN]
    words: list[SplitWord] = []
    for pretoken in split:
        task_count = None
        if task is not None:
            task_count = task.counts.get(pretoken, 0)
        word = vocabulary.read(pretoken)
        words.append(SplitWord(word, text.pieces[pretoken], text.counts[pretoken], task_count))
    return tuple(words)
