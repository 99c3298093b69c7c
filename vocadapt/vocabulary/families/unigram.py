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
    renumber_special,
    split_added_tokens,
    to_json,
)
from vocadapt.vocabulary.families.unigram_training import UnigramTrainer, train_unigram
from vocadapt.vocabulary.families.unigram_vocabulary import UnigramVocabulary
from vocadapt.vocabulary.vocabulary import Vocabulary

# Special tokens of a tokenizer that is trained from scratch, in the order of XLM-R; the mask is the
# last token of the vocabulary.
CLS, PAD, SEP, UNKNOWN, MASK = SPECIAL_TOKENS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
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
        "unigram": UnigramTrainer(
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
        content, ids = to_json(tokenizer), vocabulary.ids
        content["model"] |= {
            "vocab": list(map(list, vocabulary.scores.items())),
            "unk_id": ids.get(vocabulary.unknown),
            "byte_fallback": vocabulary.byte_fallback,
        }
        content["added_tokens"] = sorted(
            (
                {**token, "id": ids[token["content"]]}
                for token in content["added_tokens"]
                if token["content"] in ids
            ),
            key=lambda token: int(token["id"]),
        )
        renumber_special(content["post_processor"], ids)
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
        first, mask = SPECIAL_TOKENS[:-1], SPECIAL_TOKENS[-1]
        scores = dict.fromkeys(first, 0.0)
        scores |= train_unigram(counts, size - len(SPECIAL_TOKENS), progress)
        scores[mask] = 0.0
        return tuple(f"{token}\t{score!r}" for token, score in scores.items())

    def build(self, tokens: tuple[str, ...], lowercase: bool) -> Tokenizer:
        """Build a tokenizer over trained tokens, with the template of XLM-R.

        tokens: lines of `train`.
        """
        lines = [line.rpartition("\t") for line in tokens]
        scores = [(token, float(score)) for token, _, score in lines]
        tokenizer = _build_empty_tokenizer(lowercase)
        tokenizer.model = models.Unigram(scores, SPECIAL_TOKENS.index(UNKNOWN), False)
        tokenizer.add_special_tokens(
            [
                AddedToken(token, special=True, normalized=False, lstrip=token == MASK)
                for token in SPECIAL_TOKENS
            ]
        )
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{CLS} $A {SEP}",
            pair=f"{CLS} $A {SEP} {SEP} $B {SEP}",
            special_tokens=[(token, SPECIAL_TOKENS.index(token)) for token in (CLS, SEP)],
        )
        return tokenizer

    def save(self, tokens: tuple[str, ...], lowercase: bool, max_length: int, folder: Path) -> None:
        """Write a tokenizer over trained tokens into a model folder."""
        from transformers import PreTrainedTokenizerFast

        PreTrainedTokenizerFast(
            tokenizer_object=self.build(tokens, lowercase),
            model_max_length=max_length,
            cls_token=CLS,
            pad_token=PAD,
            sep_token=SEP,
            unk_token=UNKNOWN,
            mask_token=MASK,
        ).save_pretrained(folder)


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
