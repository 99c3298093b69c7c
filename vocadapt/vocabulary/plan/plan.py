"""VocabularyPlan: which tokens a model keeps, loses and gains, decided before any weight changes.

A plan is made from word vectors, from another model's vocabulary, or from the words of a text: see
`planning`. For every token of the new vocabulary it says where its embedding comes from: kept from
the old model, or new.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import islice
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.settings import MAX_SEED, MethodSettings, setting
from vocadapt.system.json_values import list_known_fields
from vocadapt.text.summary import SHOWN, Summarized, Summary, Table
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.plan.augmentation import AUGMENTATIONS
from vocadapt.vocabulary.plan.reduction import REDUCTIONS
from vocadapt.vocabulary.plan.trim_figures import TrimFigures

Ids = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class PlanNumbers:
    """A plan in numbers: tokens before and after, added, activated, replaced and removed
    (`dropped`) ones, and words left out, by reason; None for what a plan does not have.
    """

    kind: str
    tokens_before: int
    added: int
    forms: int | None = None
    activated: int | None = None
    reserved_filled: int | None = None
    replaced: int
    dropped: int
    tokens_after: int
    left_out: Mapping[str, int]
    note: str | None = None
    trim: TrimFigures | None = None
    checked_lines: int | None = None


@dataclass(frozen=True)
class PlanKind:
    """A kind of plan: its explanation, the sources it needs, and the settings (`PlanSettings`) that
    it uses, of those that not all kinds use.

    rearranges: whether it removes or moves old tokens. adds: whether it adds tokens.
    keeps_text: whether it is computed from a text whose tokens it keeps; it also reads the lines.
    """

    about: str
    needs: tuple[str, ...] = ()
    rearranges: bool = False
    adds: bool = True
    keeps_text: bool = False
    settings: tuple[str, ...] = ()


KINDS = {
    "append": PlanKind(
        "add the words that the model lacks; every old embedding is kept",
        ("vectors",),
        settings=("max_added", "min_count", "fill_reserved"),
    ),
    "replace": PlanKind(
        "the same, and every old token with a word vector gets a new embedding from it",
        ("vectors",),
        settings=("max_added", "min_count", "fill_reserved"),
    ),
    "same": PlanKind("keep the vocabulary; only compute new embeddings", adds=False),
    "reduce": PlanKind(
        "remove a fraction of the tokens, chosen by a reduction heuristic",
        rearranges=True,
        adds=False,
        settings=("remove_by", "removed", "seed", "count_marks"),
    ),
    "trim": PlanKind(
        "keep only the tokens of a text, and those that they are made from",
        ("counts",),
        rearranges=True,
        adds=False,
        keeps_text=True,
        settings=("cover", "keep", "characters"),
    ),
    "extend": PlanKind(
        "append tokens, chosen by an augmentation heuristic",
        settings=("add_by", "max_added", "fill_reserved"),
    ),
    "combined": PlanKind(
        "remove a fraction of the tokens and add as many: the size is kept",
        rearranges=True,
        settings=("remove_by", "removed", "add_by", "seed", "count_marks"),
    ),
    "transfer": PlanKind("replace the vocabulary by another model's", ("target",), rearranges=True),
}
CHARACTERS = {  # single characters that a trim keeps
    "text": "characters of the text: others become unknown tokens or bytes",
    "all": "all characters of the vocabulary: every text can be spelled as before",
}


@dataclass(frozen=True)
class PlanSettings(MethodSettings):
    """Settings of a vocabulary plan.

    Each kind of plan names those that only some kinds use (`PlanKind.settings`). `max_added` = 0
    means 20,000 for `extend`; a trim has either `cover` or `keep`.
    """

    chooser: ClassVar[str] = "kind"

    kind: str = setting("append", "kind of plan", choices=KINDS, label="Plan")
    max_added: int = setting(
        0,
        "maximum number of added tokens, most frequent first",
        high=10_000_000,
        label="Max added words",
        empty="all",
    )
    min_count: int = setting(
        0,
        "minimum number of occurrences of an added word in the text of the word vectors",
        high=1_000_000_000,
        label="Min occurrences",
        empty="any",
    )
    remove_by: str = setting(
        "last",
        "heuristic by which tokens are removed",
        choices=REDUCTIONS,
        label="Heuristic",
    )
    removed: float = setting(0.0, "fraction of the tokens to remove", high=1)
    add_by: str = setting(
        "target",
        "heuristic by which tokens are added",
        choices=AUGMENTATIONS,
        label="Heuristic",
    )
    renew: bool = setting(
        False, "give every token a new embedding, not only the added ones", flag=""
    )
    seed: int = setting(1, "random seed of the heuristic random", high=MAX_SEED)
    fill_reserved: bool = setting(
        True,
        "leave reserved tokens such as [unused0] as they are; by default, new tokens take their ids"
        " first",
        flag="--keep-reserved",
        label="Fill reserved tokens",
    )
    count_marks: bool = setting(
        False,
        "count the mark of a continuation as part of a token's length (Fast 2023, section 3.3.3)",
    )
    cover: float = setting(
        0.0,
        "fraction of the running tokens of the text to keep, most frequent first; 1 keeps the"
        " tokens of every line",
        high=1,
        label="Coverage of the text",
        empty="the number of tokens decides",
    )
    keep: int = setting(
        0,
        "number of tokens to keep, most frequent first",
        high=10_000_000,
        label="Tokens to keep",
        empty="the coverage decides",
    )
    characters: str = setting(
        "text", "single characters to keep", choices=CHARACTERS, label="Characters"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        is_trim = KINDS[self.kind].keeps_text
        if is_trim and self.cover and self.keep:
            raise InputError(
                "A trim got both a coverage of the text and a number of tokens to keep.",
                "Give one of them.",
                "cover",
                code="two-sizes",
            )
        if is_trim and not self.cover and not self.keep:
            raise InputError(
                "A trim needs a coverage of the text or a number of tokens to keep, and got"
                " neither.",
                "Give a coverage, for example 1 for all tokens of the text.",
                "cover",
                code="no-size",
            )


@dataclass(frozen=True)
class AddedWord:
    """A new token, the tokens that spelled it before, and its count in the corpus if known.

    form_of: the token of the word's main form, whose embedding it shares; "" if it is that form.
    """

    token: str
    pieces: tuple[str, ...]
    count: int | None = None
    form_of: str = field(default="", repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class VocabularyPlan(Summarized):
    """The change of a vocabulary.

    base: the old vocabulary; added: new tokens; replaced: old tokens that get a new embedding.
    activated: old tokens that the tokenizer never produced, and that become exact words; they keep
        their ids.
    order: the new vocabulary by id; None if every old token keeps its id and the added ones follow.
    reserved_tokens: reserved tokens whose ids the first added tokens take.
    left_out: candidates that were not added, by reason.
    unreachable: tokens of a vocabulary taken over as a whole that its tokenizer can never produce.
    whole: exact-word tokens after the plan; None if new words are exact-word tokens.
    target: the vocabulary that is taken over as a whole, if any.
    note: explanation if the plan has fewer tokens than expected.
    trim: what is kept of the text, if the plan is a trim.
    changed_pretokens: pre-tokens of the text whose tokens a trim changes.
    checked_lines: number of lines of a text in which exact words change no other word, if it had to
        be checked: see `exact_words`.
    """

    base: Vocabulary
    added: tuple[AddedWord, ...]
    replaced: tuple[str, ...] = ()
    activated: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    settings: PlanSettings = field(default_factory=PlanSettings)
    order: tuple[str, ...] | None = None
    reserved_tokens: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    whole: frozenset[str] | None = None
    target: Vocabulary | None = None
    note: str = ""
    trim: TrimFigures | None = None
    changed_pretokens: frozenset[str] = frozenset()
    checked_lines: int = 0

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The whole vocabulary after the plan, by id."""
        if self.order is not None:
            return self.order
        filled = dict(zip(self.reserved_tokens, self.added_tokens, strict=False))
        old = tuple(filled.get(token, token) for token in self.base.tokens)
        return old + self.added_tokens[len(filled) :]

    @cached_property
    def after(self) -> Vocabulary:
        """The vocabulary after the plan; in WordPiece, with the new tokens as wordpieces."""
        if self.target is not None:
            return self.base.take_over(self.target, self.tokens)
        return self.base.with_tokens(self.tokens, self.whole)

    @cached_property
    def added_tokens(self) -> tuple[str, ...]:
        """The new tokens, by id."""
        return tuple(word.token for word in self.added)

    @cached_property
    def forms(self) -> dict[str, str]:
        """The main form of each added token that is another form of a word."""
        return {word.token: word.form_of for word in self.added if word.form_of}

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The old tokens that keep their embedding, by new id."""
        renewed = frozenset(self.replaced)
        return tuple(token for token in self.tokens if token in self.base and token not in renewed)

    @cached_property
    def removed_tokens(self) -> tuple[str, ...]:
        """The removed tokens, by old id."""
        if self.order is None:
            return self.reserved_tokens
        return tuple(token for token in self.base.tokens if token not in self.after)

    @cached_property
    def moves(self) -> tuple[Ids, Ids]:
        """New and old ids of the old tokens that stay, each (n,) int64."""
        new = [i for i, token in enumerate(self.tokens) if token in self.base]
        old = [self.base.ids[self.tokens[i]] for i in new]
        return np.array(new, dtype=np.int64), np.array(old, dtype=np.int64)

    @property
    def new_embeddings(self) -> tuple[str, ...]:
        """Every token for which an embedding is computed: replaced tokens, then main forms of added
        words. Other forms get the embedding of their main form.
        """
        main = tuple(word.token for word in self.added if not word.form_of)
        return self.replaced + main

    def summarize(self) -> Summary:
        """Return the numbers of tokens, and the first tokens that are added or removed."""
        facts = {
            "kind": self.settings.kind,
            "tokens before": len(self.base),
            "added": len(self.added),
            "removed": len(self.removed_tokens),
            "tokens after": len(self.tokens),
        }
        added = [
            (word.token, " ".join(word.pieces), word.count) for word in islice(self.added, SHOWN)
        ]
        removed = [(token,) for token in islice(self.removed_tokens, SHOWN)]
        left_out = [(reason, len(words)) for reason, words in self.left_out.items()]
        tokens = frozenset({"added token", "tokenized before as", "removed token"})
        tables = (
            Table(
                ("added token", "tokenized before as", "count"),
                added,
                len(self.added),
                "added tokens",
                tokens,
            ),
            Table(("removed token",), removed, len(self.removed_tokens), "removed tokens", tokens),
            Table(("not added because", "words"), left_out, len(left_out), "reasons"),
        )
        return Summary("", facts, tables, self.note)

    def summary(self) -> PlanNumbers:
        """Return the plan in numbers, for tables and manifests."""
        return PlanNumbers(
            kind=self.settings.kind,
            tokens_before=len(self.base),
            added=len(self.added),
            forms=len(self.forms) or None,
            activated=len(self.activated) or None,
            reserved_filled=len(self.reserved_tokens) or None,
            replaced=len(self.replaced),
            dropped=len(self.removed_tokens),
            tokens_after=len(self.tokens),
            left_out={reason: len(words) for reason, words in self.left_out.items()},
            note=self.note or None,
            trim=self.trim,
            checked_lines=self.checked_lines or None,
        )

    def to_dict(self) -> dict[str, object]:
        """Return the plan without the old vocabulary, as an adapted model's folder stores it."""
        return {
            **list_known_fields(self.summary()),
            "settings": asdict(self.settings),
            "added_tokens": [[word.token, list(word.pieces), word.count] for word in self.added],
            **({"forms": self.forms} if self.forms else {}),
            "replaced_tokens": list(self.replaced),
            "dropped_tokens": list(self.removed_tokens),
            "silent_tokens": list(self.unreachable),
            **asdict(self.base.notation),
        }
