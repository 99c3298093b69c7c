"""Unigram: the tokenizers of XLM-R, DeBERTa-v3, ALBERT, T5 and e5.

A space is written ▁, and a pre-token is the text between two spaces. Each token has a score, and a
pre-token becomes the tokens with the highest sum of scores (`unigram_scores`): " hypertension," →
▁hypertension, → ▁hyper tension , . A token with ▁ starts a word, all others continue one.

An exact word is the token ▁word, with the lowest score at which it is chosen. Every pre-token ▁word
is then one token, and a pre-token without a new token is tokenized as before. But ▁word may also be
chosen at the start of a longer word: ▁tachycardia s. Only the forms with ▁ are added: a token
without ▁ would also match inside other words.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.family import TokenizerFamily, Trainer
from vocadapt.vocabulary.families.files.metaspace import MARK, make_marked_splitter
from vocadapt.vocabulary.families.files.sentencepiece_file import build_from_sentencepiece
from vocadapt.vocabulary.families.files.tokenizer_checks import Json, check_unigram_model
from vocadapt.vocabulary.families.files.tokenizer_json import (
    from_json,
    list_tokens,
    renumber_added,
    split_added_tokens,
    to_json,
)
from vocadapt.vocabulary.families.unigram_training import train_unigram
from vocadapt.vocabulary.families.unigram_vocabulary import UnigramVocabulary
from vocadapt.vocabulary.vocabulary import Vocabulary

GENERATED = 32_000  # pieces of a model whose pieces are candidates for another vocabulary
NO_CHARACTER = "\U0010ffff"  # a code point that no text contains


class UnigramFamily(TokenizerFamily):
    """The Unigram tokenizers."""

    name = "unigram"
    title = "Unigram (XLM-R, DeBERTa-v3, T5)"
    exceptions = (
        "after a symbol, where a new word is split as before, and in longer words that begin with a"
        " new word, whose first token it is"
    )
    trainers: Mapping[str, Trainer] = {
        "unigram": Trainer(
            "starts with many frequent substrings and removes those that the text needs least",
            "Kudo 2018",
        )
    }

    def recognizes(self, content: Json) -> bool:
        """Return whether the model of a tokenizer is Unigram; older files name no type."""
        model = content["model"]
        if "type" in model:
            return bool(model["type"] == "Unigram")
        return isinstance(model.get("vocab"), list)

    def check_model(self, model: Json) -> dict[str, int]:
        """Check the model of a tokenizer.json; return its ids by token."""
        return check_unigram_model(model)

    def build_from_folder(self, folder: Path, lowercase: bool | None = None) -> Tokenizer | None:
        """Build the tokenizer of a folder from its SentencePiece .model; None if it has none."""
        return build_from_sentencepiece(folder)

    def explain_unusable(self, tokenizer: Tokenizer) -> str | None:
        """Return why a model cannot use a tokenizer: it lacks an unknown token."""
        try:
            tokenizer.model.tokenize(NO_CHARACTER)
        except Exception:  # the library raises no other class
            return 'its Unigram model has no "unk_id": it fails at a character without a token'
        return None

    def read_vocabulary(self, tokenizer: Tokenizer) -> UnigramVocabulary:
        """Return the vocabulary of a tokenizer."""
        model = to_json(tokenizer)["model"]
        special, _ = split_added_tokens(tokenizer)
        added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
        unknown = ""
        if model["unk_id"] is not None:
            unknown = model["vocab"][model["unk_id"]][0]
        return UnigramVocabulary(
            list_tokens(tokenizer),
            special=special,
            whole=frozenset(added - special),
            unknown=unknown,
            scores=dict(model["vocab"]),
            added=frozenset(added),
            byte_fallback=model["byte_fallback"],
        )

    def make_splitter(self, tokenizer: Tokenizer) -> Splitter:
        """Return the splitter of a tokenizer."""
        return make_marked_splitter(tokenizer)

    # Edit

    def check_exact_words(self, tokenizer: Tokenizer) -> None:
        """Raise InputError if all scores are equal."""
        self.read_vocabulary(tokenizer).check_scores()

    def add_exact_words(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy in which each of `tokens`, as a whole pre-token, is one token with the next
        free id.

        Raises InputError for a token without ▁, and if all scores are equal.
        """
        within = [token for token in tokens if not token.startswith(MARK)]
        if within:
            raise InputError(
                f"{len(within):,} of {len(tokens):,} new tokens have no {MARK}, {within[0]!r}"
                " first: exact-word adds whole words only.",
                "Choose insertion.",
                code="not-whole-words",
            )
        return self.insert_tokens(tokenizer, tokens)

    def insert_tokens(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy whose vocabulary also has `tokens`, with the next free ids, and scores of
        `score_new_pieces`.
        """
        vocabulary = self.read_vocabulary(tokenizer)
        changed = vocabulary.with_tokens([*vocabulary.tokens, *tokens])
        return self.replace_vocabulary(tokenizer, changed)

    def replace_vocabulary(self, tokenizer: Tokenizer, vocabulary: Vocabulary) -> Tokenizer:
        """Return a copy with other tokens, ids and scores; normalizer (with its character map),
        pre-tokenizer and template are kept.
        """
        assert isinstance(vocabulary, UnigramVocabulary)
        content = to_json(tokenizer)
        ids = vocabulary.ids
        content["model"] |= {
            "vocab": list(map(list, vocabulary.scores.items())),
            "unk_id": ids.get(vocabulary.unknown),
            "byte_fallback": vocabulary.byte_fallback,
        }
        renumber_added(content, ids)
        return from_json(content)

    # Train

    def make_training_splitter(self, lowercase: bool) -> Splitter:
        """Return the splitter of the tokenizers that `build` makes."""
        return self.make_splitter(_build_empty_tokenizer(lowercase))

    def generate_tokens(
        self, vocabulary: Vocabulary, counts: Mapping[str, int], trainer: str
    ) -> Iterator[str]:
        """Generate the pieces of a Unigram model of the text, the most probable first.

        The model has as many pieces as the vocabulary, but at least GENERATED.
        """
        self.check_trainer(trainer)
        return iter(train_unigram(counts, max(len(vocabulary), GENERATED)))

    def train(
        self, counts: Mapping[str, int], size: int, trainer: str, progress: Progress = silent
    ) -> tuple[str, ...]:
        """Train a vocabulary of at most `size` tokens, with the special tokens and ids of XLM-R.

        Returns lines of a token, a tab and its score, as in the .vocab file of SentencePiece.
        """
        self.check_trainer(trainer)
        *first, mask = self.special_tokens.values()  # the mask is the last token
        scores = dict.fromkeys(first, 0.0)
        scores |= train_unigram(counts, size - len(self.special_tokens), progress)
        scores[mask] = 0.0
        return tuple(f"{token}\t{score!r}" for token, score in scores.items())

    def build(self, tokens: tuple[str, ...], lowercase: bool) -> Tokenizer:
        """Build a tokenizer over trained tokens, with the template of XLM-R.

        tokens: lines of `train`.
        """
        lines = [line.rpartition("\t") for line in tokens]
        scores = [(token, float(score)) for token, _, score in lines]
        special = list(self.special_tokens.values())
        cls = self.special_tokens["cls"]
        sep = self.special_tokens["sep"]
        tokenizer = _build_empty_tokenizer(lowercase)
        unknown = special.index(self.special_tokens["unk"])
        tokenizer.model = models.Unigram(scores, unknown, False)
        tokenizer.add_special_tokens(
            [
                AddedToken(token, special=True, normalized=False, lstrip=token == special[-1])
                for token in special
            ]
        )
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{cls} $A {sep}",
            pair=f"{cls} $A {sep} {sep} $B {sep}",
            special_tokens=[(token, special.index(token)) for token in (cls, sep)],
        )
        return tokenizer


def _build_empty_tokenizer(lowercase: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    steps: list[Any] = [normalizers.NFKC()]
    if lowercase:
        steps.append(normalizers.Lowercase())
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(MARK, "always")]
    )
    tokenizer.decoder = decoders.Metaspace(MARK, "always")
    return tokenizer
