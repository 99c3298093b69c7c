"""VocabularyPlan: which tokens a model keeps and gains, and why; the decision, before any weight moves.

Two plans come from word vectors (Poerner et al. 2020, "Updating the wordpiece embedding layer"):
*append* leaves every old row alone and adds the words the model lacks (the paper's choice);
*replace* also gives each old token that has a word vector a new row (the paper's "most radical strategy").
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property

from vocadapt.errors import InputError
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.words import Splitter
from vocadapt.vocabulary.wordpiece import Vocabulary

KINDS = {
    "append": "add the words the model lacks; every old row stays as it is",
    "replace": "the same, and every old token that has a word vector takes it; the others keep theirs",
}


@dataclass(frozen=True)
class PlanSettings:
    """How word vectors become a plan: the kind (`append`, `replace`), and the most words to add (0: all of them)."""

    kind: str = "append"
    max_added: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"Unknown plan {self.kind!r}.", f"Choose one of: {', '.join(KINDS)}.")
        if self.max_added < 0:
            raise InputError(f"The most words to add is {self.max_added}.", "Give 0 (all of them) or a positive number.")


@dataclass(frozen=True)
class AddedWord:
    """A new token, the wordpieces it was cut into until now, and its count in the corpus where that is known."""

    token: str
    pieces: tuple[str, ...]
    count: int | None = None


@dataclass(frozen=True, eq=False)
class VocabularyPlan:
    """The old vocabulary, the tokens added behind it in the order of their new ids, and the old tokens that get a new row.

    `left_out` gives for each reason the candidate words that were not added.
    """

    base: Vocabulary
    added: tuple[AddedWord, ...]
    replaced: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    settings: PlanSettings = field(default_factory=PlanSettings)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The whole vocabulary after the plan, by id."""
        return self.base.tokens + self.added_tokens

    @cached_property
    def added_tokens(self) -> tuple[str, ...]:
        """The new tokens, by id."""
        return tuple(word.token for word in self.added)

    @property
    def new_rows(self) -> tuple[str, ...]:
        """Every token that needs a row: the replaced ones, then the added ones."""
        return self.replaced + self.added_tokens

    def summary(self) -> dict[str, object]:
        """The plan in numbers, for tables and manifests."""
        return {
            "kind": self.settings.kind,
            "tokens_before": len(self.base),
            "added": len(self.added),
            "replaced": len(self.replaced),
            "tokens_after": len(self.tokens),
            "left_out": {reason: len(words) for reason, words in self.left_out.items()},
        }

    def to_dict(self) -> dict[str, object]:
        """The plan without the old vocabulary, as it is stored beside an adapted model."""
        return {
            **self.summary(),
            "settings": asdict(self.settings),
            "added_tokens": [[word.token, list(word.pieces), word.count] for word in self.added],
            "replaced_tokens": list(self.replaced),
        }


CANNOT_FIRE = "the model's own normaliser and pre-tokenizer never yield it as one word"
TOO_LONG = "longer than any word the model cuts"
OVER_THE_CAP = "less frequent than the cap"


def plan_from_words(
    vocabulary: Vocabulary, splitter: Splitter, domain: EmbeddingSpace, settings: PlanSettings | None = None
) -> VocabularyPlan:
    """Plan from the words of a vector space, most frequent first (the order of the space).

    Raises InputError when no word of the space is new to the model.
    """
    settings = settings or PlanSettings()
    firing, cannot = addable(vocabulary, splitter, domain.words)
    if not firing:
        lacking = sum(map(len, cannot.values()))
        raise InputError(
            f"None of the {len(domain)} words in the vectors is new to the model ({lacking} lacking, 0 that can fire).",
            "Train the vectors on text of the new domain, or lower the minimum count.",
        )
    chosen = firing[: settings.max_added or None]
    left_out = {**cannot, OVER_THE_CAP: tuple(firing[len(chosen) :])}
    replaced: tuple[str, ...] = ()
    if settings.kind == "replace":
        replaced = tuple(token for token in vocabulary.tokens if token in domain and token not in vocabulary.special)
    return VocabularyPlan(
        vocabulary,
        tuple(AddedWord(word, vocabulary.cut(word), _count(domain, word)) for word in chosen),
        replaced,
        {reason: words for reason, words in left_out.items() if words},
        settings,
    )


def addable(
    vocabulary: Vocabulary, splitter: Splitter, words: Iterable[str]
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Of some words those that the model lacks and could be given, in their order; for each reason those that it could not."""
    candidates = [word for word in words if word not in vocabulary]
    short = [word for word in candidates if len(word) <= vocabulary.longest_word]
    firing = tuple(word for word in short if splitter.keeps(word))
    fires = set(firing)
    cannot = {
        CANNOT_FIRE: tuple(word for word in short if word not in fires),
        TOO_LONG: tuple(word for word in candidates if len(word) > vocabulary.longest_word),
    }
    return firing, cannot


def _count(space: EmbeddingSpace, word: str) -> int | None:
    return None if space.counts is None else int(space.counts[space.index[word]])
