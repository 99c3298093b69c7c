"""SentencePiece BPE: the tokenizers of Llama 2, Mistral, Gemma and mmBERT.

A space is written ▁, and merges join the characters of a text. A character without a token is
spelled by its bytes: <0xE2>. A token with ▁ starts a word, all others continue one.

Most of these tokenizers merge a whole text as one pre-token. Then `ignore_merges` looks up only the
whole text, and no word can be an exact word. But if no merge joins two characters between which a
text could be split, splitting it there changes no tokens. So an adapted tokenizer gets a
pre-tokenizer that splits, the finest of SPLITS that no merge crosses:

    ▁the▁cough,▁then → ▁the ▁cough , ▁then    if no merge joins letters with other characters
    ▁the▁cough,▁then → ▁the ▁cough, ▁then     if no merge joins ▁ to what comes before it

If merges cross both, exact words are refused, unless a text shows that splitting before ▁ changes
none of its tokens (`plan.exact_words`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers

from vocadapt.errors import InputError
from vocadapt.text.line_division import BEFORE_MARKS, LETTERS_AND_OTHERS
from vocadapt.text.splitter import Splitter, list_parts
from vocadapt.vocabulary.families.bpe import TRAINER, BpeFamily, name_tokens
from vocadapt.vocabulary.families.bpe_vocabulary import BpeVocabulary
from vocadapt.vocabulary.families.files.metaspace import MARK, Step, check_marks, splits_at_marks
from vocadapt.vocabulary.families.files.tokenizer_checks import BYTE_TOKENS, Json
from vocadapt.vocabulary.families.files.tokenizer_json import (
    from_json,
    join_pre_tokenizers,
    read_parts,
    to_json,
)
from vocadapt.vocabulary.families.merges import Merge
from vocadapt.vocabulary.families.wordpiece_training import PairTrainer
from vocadapt.vocabulary.vocabulary import NEVER_ONE_WORD, SPECIAL, Vocabulary

BYTES = frozenset(BYTE_TOKENS)


def _split(expression: str, behavior: str) -> dict[str, Any]:
    pattern = {"Regex": expression.replace("MARK", MARK)}
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": False}


# Pre-tokenizers, finest first: split between letters and other characters; before runs of marks.
LETTERS_APART = _split(LETTERS_AND_OTHERS, "Isolated")
AT_MARKS = _split(BEFORE_MARKS[1], "MergedWithNext")
SPLITS = (LETTERS_APART, AT_MARKS)


@dataclass(frozen=True, eq=False, repr=False)
class SentencePieceBpeVocabulary(BpeVocabulary):
    """A SentencePiece BPE vocabulary."""

    family = "sentencepiece-bpe"
    mark = MARK

    def read(self, pretoken: str) -> str:
        """Return the text of a pre-token without the space before it: "▁naïve" → "naïve"."""
        return pretoken.removeprefix(MARK).replace(MARK, " ")

    def body(self, token: str) -> str:
        """Return the text of a token without the space before it: "▁naïve" → "naïve"."""
        return token if token in self.added or token in BYTES else self.read(token)

    def find_form(self, pretoken: str, words: Sequence[str]) -> str | None:
        """Return the token that a pre-token of a single word would be: the pre-token itself."""
        is_word = len(words) == 1 and pretoken.removeprefix(MARK) == words[0]
        return pretoken if is_word else None

    def is_symbol(self, token: str) -> bool:
        """Return whether a token is a single character or byte."""
        return len(token) == 1 or token in BYTES

    def split_symbols(self, text: str) -> list[str]:
        """Return the characters of a text; those without a token are spelled by their bytes."""
        symbols: list[str] = []
        for character in text:
            if character in self or not self.byte_fallback:
                symbols.append(character)
            else:
                symbols += [BYTE_TOKENS[byte] for byte in character.encode("utf-8", "replace")]
        return symbols

    def explain_unreachable(
        self, token: str, splitter: Splitter, exact: bool = False
    ) -> str | None:
        """Return why a tokenizer with this splitter never produces a token; None if it can."""
        if token in self.added:
            return SPECIAL
        if splitter.can_output(token) or (not exact and self._may_end_a_pretoken(token, splitter)):
            return None
        return NEVER_ONE_WORD

    def prefers_exact_words(self, splitter: Splitter) -> bool:
        """Return whether a plan of fixed size adds words as exact words instead of inserting them:
        if no merge crosses a space, and exact words change no other pre-token.
        """
        crosses = any(map(_crosses_space, self.merges))
        return not crosses and super().prefers_exact_words(splitter)

    def _may_end_a_pretoken(self, token: str, splitter: Splitter) -> bool:
        text = splitter.read_pretoken(token)
        last = [splitter.pretokens(line)[-1:] for line in (text, f"a{text}")]
        return any(found and found[0].endswith(token) for found in last)


class SentencePieceBpeFamily(BpeFamily):
    """The SentencePiece BPE tokenizers."""

    name = "sentencepiece-bpe"
    title = "SentencePiece BPE (Llama 2, Gemma)"
    trainers: Mapping[str, PairTrainer] = {"sentencepiece-bpe": TRAINER}

    def recognizes(self, content: Json) -> bool:
        """Return whether the model of a tokenizer is BPE, with marks or with byte fallback."""
        model = content["model"]
        if model.get("type", "BPE" if "merges" in model else "") != "BPE":
            return False
        steps: list[Step] = []
        for name in ("normalizer", "pre_tokenizer", "decoder"):
            steps += list_parts(content.get(name))
        kinds = {step.get("type") for step in steps}
        if "ByteLevel" in kinds:
            return False
        has_bytes = bool(model.get("byte_fallback")) or "ByteFallback" in kinds
        return has_bytes or any(_writes_mark(step) for step in steps)

    def read_vocabulary(self, tokenizer: Tokenizer) -> SentencePieceBpeVocabulary:
        """Return the vocabulary of a tokenizer; entries without merges match whole pre-tokens."""
        return SentencePieceBpeVocabulary(**self.read_fields(tokenizer))

    def make_splitter(self, tokenizer: Tokenizer) -> Splitter:
        """Return the splitter of a tokenizer, with the pre-tokenizer that exact words need.

        If merges cross both SPLITS, the splitter is an approximation: some tokens of the tokenizer
        cross the boundaries of its pre-tokens. Raises InputError if the tokenizer writes no marks.
        """
        parts = read_parts(tokenizer, ("normalizer", "pre_tokenizer"))
        steps = list_parts(parts["pre_tokenizer"])
        normalizing = list_parts(parts["normalizer"])
        check_marks(any(map(_writes_mark, [*normalizing, *steps])))
        own = [step for step in steps if step not in SPLITS]
        split = next((step for step in steps if step in SPLITS), None)
        if split is None:
            split, _ = choose_split(self.read_vocabulary(tokenizer), splits_at_marks(own))
        # The normalizer of Gemma leaves no space at which its pre-tokenizer could split.
        if any(step["type"] == "Replace" for step in normalizing):
            own = [step for step in own if step.get("pattern") != {"String": " "}]
        others = [step for step in own if step["type"] != "Metaspace"]
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [*own, split]}
        return Splitter(
            json.dumps(parts["normalizer"], sort_keys=True),
            json.dumps(pre_tokenizer, sort_keys=True),
            join_pre_tokenizers([*others, split, _split(BEFORE_MARKS[1], "Removed")]),
            MARK,
        )

    def splits_exactly(self, tokenizer: Tokenizer) -> bool:
        """Return whether no merge joins tokens across the borders of the splitter's pre-tokens."""
        steps = list_parts(read_parts(tokenizer, ("pre_tokenizer",))["pre_tokenizer"])
        if any(step in SPLITS for step in steps):
            return True
        _, crossing = choose_split(self.read_vocabulary(tokenizer), splits_at_marks(steps))
        return not crossing

    def check_exact_words(self, tokenizer: Tokenizer) -> None:
        """Raise InputError if merges cross spaces, or if merges do not make all tokens."""
        steps = list_parts(read_parts(tokenizer, ("pre_tokenizer",))["pre_tokenizer"])
        if not any(step in SPLITS for step in steps):
            vocabulary = self.read_vocabulary(tokenizer)
            _, crossing = choose_split(vocabulary, splits_at_marks(steps))
            if crossing:
                raise InputError(
                    f"The tokenizer merges a whole text at once, and {len(crossing):,} of its"
                    f" merges join tokens across a space"
                    f" ({name_tokens([' + '.join(crossing[0])])}): no word can be an exact word.",
                    "Insert the words into the vocabulary instead (tokenizer mode insertion).",
                    code="merges-across-spaces",
                )
        super().check_exact_words(tokenizer)

    def prepare_exact_words(self, tokenizer: Tokenizer) -> Tokenizer:
        """Return a copy whose pre-tokenizer splits a text, and that looks up whole pre-tokens."""
        return self._split_text(super().prepare_exact_words(tokenizer), tokenizer)

    def add_exact_words(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy in which each of `tokens`, as a whole pre-token, is one token with the next
        free id, and whose pre-tokenizer splits a text.

        Raises InputError if that would change how other words are tokenized.
        """
        return self._split_text(super().add_exact_words(tokenizer, tokens), tokenizer)

    def replace_vocabulary(self, tokenizer: Tokenizer, vocabulary: Vocabulary) -> Tokenizer:
        """Return a copy with other tokens, ids and merges; its pre-tokenizer splits a text if there
        are exact words.
        """
        replaced = super().replace_vocabulary(tokenizer, vocabulary)
        assert isinstance(vocabulary, BpeVocabulary)
        if not vocabulary.whole - vocabulary.added:
            return replaced
        self.check_exact_words(replaced)
        return self._split_text(replaced, replaced)

    def _split_text(self, tokenizer: Tokenizer, source: Tokenizer) -> Tokenizer:
        """Return a copy with the pre-tokenizer of the splitter of `source`."""
        content = to_json(tokenizer)
        content["pre_tokenizer"] = json.loads(self.make_splitter(source).pre_tokenizer)
        return from_json(content)

    # Train

    def list_first_tokens(self, counts: Mapping[str, int]) -> list[str]:
        """Return the special tokens, the tokens of the 256 bytes and the characters of the text."""
        characters = sorted(set("".join(counts)) | {MARK})
        return [*self.special_tokens.values(), *BYTE_TOKENS, *characters]

    def build_empty_tokenizer(self, lowercase: bool) -> Tokenizer:
        """Build a tokenizer without tokens, with the parts of Llama 2's."""
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
        steps: list[Any] = [normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)]
        if lowercase:
            steps.insert(0, normalizers.Lowercase())
        tokenizer.normalizer = normalizers.Sequence(steps)
        tokenizer.decoder = decoders.Sequence(
            [
                decoders.Replace(MARK, " "),
                decoders.ByteFallback(),
                decoders.Fuse(),
                decoders.Strip(" ", 1, 0),
            ]
        )
        return tokenizer


def choose_split(
    vocabulary: BpeVocabulary, is_split: bool = False
) -> tuple[dict[str, Any], list[Merge]]:
    """Return the finest of SPLITS that no merge crosses. If merges cross all of them: the last one,
    and the merges that cross it.

    is_split: whether the tokenizer splits a text at spaces itself.

    Whether a text is split between two characters depends only on these two, so it suffices to test
    the two characters that each merge joins. Merges of byte tokens count as crossing LETTERS_APART,
    because the characters that the bytes spell are unknown.
    """
    merges = vocabulary.merges
    if is_split:  # then no merge that crosses a space is ever applied
        merges = tuple(merge for merge in merges if not _crosses_space(merge))
    crossing: list[Merge] = []
    for split in SPLITS:
        crossing = _find_crossing(merges, split)
        fuses = split is LETTERS_APART and vocabulary.fuse_unknown and not vocabulary.byte_fallback
        if not crossing and not fuses:
            return split, []
    return AT_MARKS, crossing


def _find_crossing(merges: Sequence[Merge], split: Step) -> list[Merge]:
    """Return the merges that join two tokens between which a pre-tokenizer splits a text."""
    split_pair = lru_cache(maxsize=None)(Splitter("null", json.dumps(split)).pretokens)
    if split is AT_MARKS:
        return [merge for merge in merges if len(split_pair(_get_border(merge))) > 1]
    return [
        merge
        for merge in merges
        if not BYTES.isdisjoint(merge) or len(split_pair(_get_border(merge))) > 1
    ]


def _get_border(merge: Merge) -> str:
    """Return the two characters that a merge joins."""
    left, right = merge
    return left[-1] + right[0]


def _crosses_space(merge: Merge) -> bool:
    left, right = merge
    return right.startswith(MARK) and not left.endswith(MARK)


def _writes_mark(step: Step) -> bool:
    """Return whether a normalizer or pre-tokenizer writes ▁ in place of a space."""
    if step["type"] == "Metaspace":
        return bool(step["replacement"] == MARK)
    is_replaced = step["type"] == "Replace" and step["pattern"] == {"String": " "}
    return is_replaced and bool(step["content"] == MARK)
