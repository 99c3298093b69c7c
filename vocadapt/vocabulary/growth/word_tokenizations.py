"""Statistics of the tokenization of a text, from its distinct words and their counts, and the
benefit and cost of adding words to the vocabulary (`measure_gain`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from vocadapt.report.table import Column
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.plan.forms import WordForms

MAX_PROFILE_PIECES = 6  # words with this number of wordpieces or more are one class of the profile
FLOAT32_BYTES = 4
# Occurrences of an added word; `advice.rules` gives the reasons for these thresholds.
FEW_OCCURRENCES, ENOUGH_OCCURRENCES = 20, 50

Pieces = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class TokenizationStatistics:
    """How the words of a text are tokenized, as fractions of running or distinct words.

    All fields except `running`, `tokens` and `fertility` count only words that contain a letter,
    because numbers and punctuation do not show whether a vocabulary fits a text.

    words, distinct: running words, and distinct words.
    split, split_distinct: fractions of them with several wordpieces; split_words: running ones.
    unknown: fraction of the running words with [UNK] among their wordpieces.
    pieces: fractions of the running words with 1, 2, …, and MAX_PROFILE_PIECES or more wordpieces.
    running, tokens: all running words of the text, and their wordpieces; fertility: their ratio.
    """

    words: int
    distinct: int
    split_words: int
    split: float
    split_distinct: float
    unknown: float
    pieces: tuple[float, ...]
    running: int
    tokens: int
    fertility: float

    def shares(self) -> dict[str, float]:
        """Return the fraction of the running words with "1", "2", …, "6+" wordpieces."""
        names = [*map(str, range(1, MAX_PROFILE_PIECES)), f"{MAX_PROFILE_PIECES}+"]
        return dict(zip(names, self.pieces, strict=True))


STATISTICS = (
    Column("words", "Words with letters", "Running words with a letter.", "number"),
    Column(
        "split", "Split", "Fraction of them that the model splits into several tokens.", "percent"
    ),
    Column("distinct", "Distinct words", "Distinct words with a letter.", "number"),
    Column("split_distinct", "Distinct split", "Fraction of them that are split.", "percent"),
    Column(
        "unknown", "Unknown", "Fraction of running words that the model cannot read.", "percent"
    ),
    Column("fertility", "Wordpieces per word", "Mean over all running words.", "number"),
)


@dataclass(frozen=True)
class SplitWord:
    """A word of the text that is split, its wordpieces and its count.

    task_count: its count inside the entities of the task; None without a task.
    """

    word: str
    pieces: tuple[str, ...]
    count: int
    task_count: int | None = None

    @property
    def tokens(self) -> int:
        """Number of its wordpieces."""
        return len(self.pieces)


def has_letter(word: str) -> bool:
    """Return whether a word contains a letter of any script."""
    return any(map(str.isalpha, word))


def measure_tokenization(
    vocabulary: Vocabulary, counts: Mapping[str, int], pieces: Pieces
) -> TokenizationStatistics:
    """Measure the tokenization of pre-tokens with these counts.

    pieces: tokens of each pre-token with `vocabulary`.
    """
    unknown = vocabulary.unknown
    lettered = {
        pretoken: count
        for pretoken, count in counts.items()
        if has_letter(vocabulary.read(pretoken))
    }
    split = [word for word in lettered if len(pieces[word]) > 1]
    profile = [0] * MAX_PROFILE_PIECES
    unknown_words = 0
    for word, count in lettered.items():
        profile[min(len(pieces[word]), MAX_PROFILE_PIECES) - 1] += count
        if unknown in pieces[word]:
            unknown_words += count
    words = sum(lettered.values())
    running = sum(counts.values())
    split_words = sum(lettered[word] for word in split)
    tokens = sum(count * len(pieces[word]) for word, count in counts.items())
    return TokenizationStatistics(
        words=words,
        distinct=len(lettered),
        split_words=split_words,
        split=split_words / max(words, 1),
        split_distinct=len(split) / max(len(lettered), 1),
        unknown=unknown_words / max(words, 1),
        pieces=tuple(count / max(words, 1) for count in profile),
        running=running,
        tokens=tokens,
        fertility=tokens / max(running, 1),
    )


@dataclass(frozen=True)
class ModelSize:
    """Width of the wordpiece embeddings and number of parameters of a model; None if unknown."""

    width: int | None = None
    parameters: int | None = None


@dataclass(frozen=True)
class Gain:
    """Benefit and cost of adding the words that a model lacks and that occur at least `min_count`
    times in the lines that words are chosen by; what that saves is measured on held-out lines.

    words: number of added words; each of their forms is a token.
    parameters, bytes: size of the new embeddings in float32 (a tied output layer shares them).
    model_share: number of new parameters as a fraction of the model's.
    saved: fraction by which the number of tokens of the held-out lines decreases; saved_in_sample:
        the same in sample.
    fertility: wordpieces per word after the addition.
    mended: fraction of the split running words (with a letter) that become one token.
    mended_task: the same fraction for the words of a task; None without a task.
    under_few, under_enough: fraction of the added words that occur less than 20 and 50 times.
    median: median number of occurrences of the added words; None if there are none.
    """

    min_count: int
    words: int
    parameters: int | None
    bytes: int | None
    model_share: float | None
    saved: float
    fertility: float
    mended: float
    mended_task: float | None
    under_few: float
    under_enough: float
    median: float | None
    saved_in_sample: float


GAINS = (
    Column("min_count", "Min count", "Minimum number of occurrences of an added word.", "number"),
    Column(
        "words",
        "Words added",
        "Number of words that the model lacks and that would be added.",
        "number",
    ),
    Column(
        "saved",
        "Tokens saved",
        "Fraction of the tokens of held-out lines that is saved.",
        "percent",
    ),
    Column(
        "saved_in_sample",
        "In sample",
        "The same fraction for the lines that the words were chosen by.",
        "percent",
    ),
    Column(
        "fertility",
        "Wordpieces per word",
        "Mean number of wordpieces per running word after the addition.",
        "number",
    ),
    Column(
        "mended",
        "No longer split",
        "Fraction of split running words that become a single token.",
        "percent",
    ),
    Column(
        "mended_task",
        "No longer split in the task",
        "Fraction of split entity words of the task that become a single token.",
        "percent",
    ),
    Column(
        "under_few",
        f"Under {FEW_OCCURRENCES}",
        f"Fraction of added words that occur fewer than {FEW_OCCURRENCES} times: their embeddings"
        " are less precise.",
        "percent",
    ),
    Column(
        "under_enough",
        f"Under {ENOUGH_OCCURRENCES}",
        f"Fraction of added words that occur fewer than {ENOUGH_OCCURRENCES} times.",
        "percent",
    ),
    Column("parameters", "Parameters", "Parameters of the new embeddings.", "number"),
    Column("bytes", "Size", "Size of the new embeddings in float32.", "size"),
    Column("model_share", "Of the model", "The same as a fraction of the model.", "percent"),
)


@dataclass(frozen=True, eq=False)
class TokenizedText:
    """Counts of the pre-tokens of a text (or of entities), their tokens and statistics."""

    counts: Mapping[str, int]
    pieces: Pieces
    statistics: TokenizationStatistics


def tokenize_pretokens(
    vocabulary: Vocabulary, counts: Mapping[str, int], known: Pieces | None = None
) -> TokenizedText:
    """Tokenize the pre-tokens of a text, and measure their tokenization.

    known: the tokens of all of them, if they are tokenized already.
    """
    pieces = known
    if pieces is None:
        pieces = {pretoken: vocabulary.tokenize(pretoken) for pretoken in counts}
    return TokenizedText(counts, pieces, measure_tokenization(vocabulary, counts, pieces))


def measure_gain(
    added: Sequence[WordForms],
    min_count: int,
    text: TokenizedText,
    task: TokenizedText | None,
    size: ModelSize,
    in_sample: TokenizedText | None = None,
) -> Gain:
    """Measure the benefit and cost of adding these words, which occur at least `min_count` times.

    text: the held-out lines, on which the benefit is measured. in_sample: the lines that the
    words were chosen by; None if these are the same.
    """
    occurrences = [word.count for word in added]
    saved = compute_saved_fraction(added, text)
    saved_in_sample = saved
    if in_sample is not None:
        saved_in_sample = compute_saved_fraction(added, in_sample)
    parameters = None
    if size.width is not None:
        parameters = sum(len(word.forms) for word in added) * size.width
    model_share = None
    if parameters is not None and size.parameters:
        model_share = parameters / size.parameters
    return Gain(
        min_count=min_count,
        words=len(added),
        parameters=parameters,
        bytes=None if parameters is None else parameters * FLOAT32_BYTES,
        model_share=model_share,
        saved=saved,
        fertility=(1 - saved) * text.statistics.fertility,
        mended=_compute_joined_fraction(added, text),
        mended_task=None if task is None else _compute_joined_fraction(added, task),
        under_few=_compute_fraction_below(occurrences, FEW_OCCURRENCES),
        under_enough=_compute_fraction_below(occurrences, ENOUGH_OCCURRENCES),
        median=float(median(occurrences)) if occurrences else None,
        saved_in_sample=saved_in_sample,
    )


def compute_saved_fraction(added: Sequence[WordForms], text: TokenizedText) -> float:
    """Return the fraction of tokens that a text saves if these words are one token each."""
    saved = 0
    for word in added:
        for form, _ in word.forms:
            if form in text.counts:
                saved += text.counts[form] * (len(text.pieces[form]) - 1)
    return saved / max(text.statistics.tokens, 1)


def _compute_joined_fraction(added: Sequence[WordForms], text: TokenizedText) -> float:
    """Return the fraction of the split running words of a text that are among these words."""
    if not text.statistics.split_words:
        return 0.0
    joined = 0
    for word in added:
        if not has_letter(word.word):
            continue
        for form, _ in word.forms:
            if len(text.pieces.get(form, ())) > 1:
                joined += text.counts.get(form, 0)
    return joined / text.statistics.split_words


def _compute_fraction_below(occurrences: Sequence[int], floor: int) -> float:
    if not occurrences:
        return 0.0
    return sum(count < floor for count in occurrences) / len(occurrences)
