from dataclasses import dataclass

from vocadapt.errors import InputError
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import TokenizerFamily, Vocabulary, register_family
from vocadapt.vocabulary.families.files.tokenizer_checks import check_vocabulary
from vocadapt.vocabulary.families.files.tokenizer_json import (
    from_json,
    list_tokens,
    renumber_special,
    split_added_tokens,
    to_json,
)
from vocadapt.vocabulary.vocabulary import NEVER_ONE_WORD, SPECIAL, Notation

START = "▁"  # before the first character of a word


@dataclass(frozen=True, eq=False)
class CharacterVocabulary(Vocabulary):
    """Every character is a token; other tokens only match whole words: heart → ▁h e a r t."""

    family = "characters"
    unknown: str = "<unk>"

    @property
    def notation(self):
        return Notation(word_start=START)

    @property
    def roles(self):
        return {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}

    def continues(self, token):
        return token not in self.special and not token.startswith(START)

    def body(self, token):
        return token if token in self.special else token.removeprefix(START)

    def spell(self, body, continues=False):
        return body if continues else START + body

    def tokenize(self, word):
        return self.tokenize_token(self.spell(word))

    def tokenize_token(self, token, without=False):
        if token in self.whole and not without:
            return (token,)
        body = self.body(token)
        characters = [self.spell(one, continues=True) for one in body]
        if not self.continues(token):
            characters[0] = self.spell(body[0])
        if any(one not in self.ids for one in characters):
            return (self.unknown,)
        return tuple(characters)

    def build_word_table(self, counts, continuations=None):
        raise InputError("Tokens of characters cannot be removed.")

    def explain_unreachable(self, token, splitter, exact=False):
        if token in self.special:
            return SPECIAL
        return None if splitter.can_output(self.body(token)) else NEVER_ONE_WORD

    def find_unreachable(self, splitter, tokens=None):
        examined = self.tokens if tokens is None else tokens
        return tuple(t for t in examined if self.explain_unreachable(t, splitter) == NEVER_ONE_WORD)


class CharacterFamily(TokenizerFamily):
    """BPE whose only merges join the mark to a character, after a look-up of the whole word."""

    name = "characters"
    title = "character-level"

    def recognizes(self, content):
        return content["model"].get("type") == "BPE" and START in str(content.get("decoder"))

    def check_model(self, model):
        return check_vocabulary(model)

    def read_vocabulary(self, tokenizer):
        special, _ = split_added_tokens(tokenizer)
        tokens = list_tokens(tokenizer)
        whole = {token for token in tokens if len(token) > 2 and token not in special}
        return CharacterVocabulary(tokens, special, frozenset(whole))

    def make_splitter(self, tokenizer):
        normalizer = to_json(tokenizer)["normalizer"]
        words = {"type": "BertPreTokenizer"}
        return Splitter.from_tokenizer({"normalizer": normalizer, "pre_tokenizer": words})

    def add_exact_words(self, tokenizer, tokens):
        return self.insert_tokens(tokenizer, tokens)

    def insert_tokens(self, tokenizer, tokens):
        content, first = to_json(tokenizer), tokenizer.get_vocab_size()
        content["model"]["vocab"] |= {token: first + i for i, token in enumerate(tokens)}
        return from_json(content)

    def replace_vocabulary(self, tokenizer, vocabulary):
        content = to_json(tokenizer)
        content["model"]["vocab"] = dict(vocabulary.ids)
        renumber_special(content["post_processor"], vocabulary.ids)
        return from_json(content)


register_family(CharacterFamily())
