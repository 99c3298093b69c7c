"""Exact-word tokenizers with 20,000 added words, of three families: throughput compared with the
original tokenizer, the time to add the words, and loading with AutoTokenizer.

Throughput is that of the fast tokenizer's encode_batch, which transformers calls, on whole lines.
Adding includes the check that all other pre-tokens of the text are tokenized as before. --full also
adds 400,000 words to WordPiece.
"""

import gzip
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from benchmarks._figures import SHARED, Figure, run, time_in_turn
from vocadapt.vocabulary.families import FAMILIES, vocabulary_of
from vocadapt.vocabulary.families.files.vocab_file import read_tokens
from vocadapt.vocabulary.families.wordpiece import build_tokenizer

MEGABYTES, MANY, VERY_MANY = 4, 20_000, 400_000


def lines(megabytes: float) -> list[str]:
    with gzip.open(SHARED / "text/biomedical-fulltext.txt.gz", "rt", encoding="utf-8") as file:
        text = file.read(int(megabytes * 1e6))
    return text.splitlines()


def new_words(text: list[str], known: set[str], n: int) -> list[str]:
    """Return n words without a token: those of the text, then concatenations of known words."""
    real = dict.fromkeys(
        word
        for line in text
        for word in line.lower().split()
        if word.isascii() and word.isalpha() and word not in known
    )
    stems = [word for word in known if word.isascii() and word.isalpha() and len(word) > 3]
    made = (f"{first}{last}" for first, last in itertools.product(stems, stems[:40]))
    return list(
        itertools.islice(
            dict.fromkeys(itertools.chain(real, (word for word in made if word not in known))), n
        )
    )


def build_gpt2() -> Tokenizer:
    """The tokenizer of GPT-2 and RoBERTa."""
    folder = SHARED / "tokenizers/gpt2-bpe"
    ids = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    rows = (folder / "vocab.bpe").read_text(encoding="utf-8").splitlines()
    merges = [tuple(row.split()) for row in rows if row and not row.startswith("#version")]
    tokenizer = Tokenizer(models.BPE(ids, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


BUILDERS = {
    "wordpiece": lambda: build_tokenizer(read_tokens(SHARED / "vocab/bert-base-uncased.txt")),
    "byte-level-bpe": build_gpt2,
    "unigram": lambda: Tokenizer.from_file(str(SHARED / "tokenizers/spm-unigram/tokenizer.json")),
}


def check_others(family: str, original: Tokenizer, changed: Tokenizer, text: list[str]) -> str:
    """Compare the tokens of all pre-tokens of a text that have no new token."""
    before, after = vocabulary_of(original), vocabulary_of(changed)
    new = frozenset(after.tokens).difference(before.tokens)
    splitter = FAMILIES[family].make_splitter(original)
    pretokens = {one for line in text for one in splitter.pretokens(line)}
    after_of = {one: after.tokenize(one) for one in pretokens}
    others = [one for one in pretokens if new.isdisjoint(after_of[one])]
    differing = sum(before.tokenize(one) != after_of[one] for one in others)
    return f"{differing} of {len(others):,} other pre-tokens changed"


def measure(full: bool) -> Iterator[Figure]:
    """Add words to the tokenizer of each family."""
    text = lines(MEGABYTES)
    for name in BUILDERS:
        yield from measure_family(name, text, MANY)
    if full:
        yield from measure_family("wordpiece", text, VERY_MANY)


def measure_family(name: str, text: list[str], n_words: int) -> Iterator[Figure]:
    """Add words to a tokenizer and measure it."""
    from transformers import AutoTokenizer, BertTokenizer, PreTrainedTokenizerFast

    original, family = BUILDERS[name](), FAMILIES[name]
    vocabulary = vocabulary_of(original)
    known = {vocabulary.body(token) for token in vocabulary.tokens}
    label = f"{name}, {n_words:,} words"
    # 1. Add the words, and check the others.
    words = new_words(text, known, n_words)
    start = time.process_time()
    tokens = [vocabulary.spell(word) for word in words if not vocabulary.has_word(word)]
    left_out = set(vocabulary.find_split_words(tokens))
    tokens = [token for token in tokens if token not in left_out]
    changed = family.add_exact_words(original, tokens)
    checked = check_others(name, original, changed, text)
    added = time.process_time() - start
    yield Figure(f"adding, {label}", (added,), "CPU s", target=30, note=checked)
    # 2. The throughput.
    works = {
        "original": partial(original.encode_batch, text),
        "changed": partial(changed.encode_batch, text),
    }
    seconds = time_in_turn(works)
    yield Figure(
        f"tokenizing, {label}",
        seconds["changed"],
        baseline=seconds["original"],
        against="the original",
        speed=True,
        target=0.9,
        at_least=True,
    )
    # 3. The time to load it.
    with tempfile.TemporaryDirectory() as folder:
        if name == "wordpiece":
            BertTokenizer(vocab=dict(original.get_vocab())).save_pretrained(folder)
            changed.save(f"{folder}/tokenizer.json")
        else:
            PreTrainedTokenizerFast(tokenizer_object=changed).save_pretrained(folder)
        loading = time_in_turn({"load": partial(AutoTokenizer.from_pretrained, folder)}, 3)["load"]
        loaded = AutoTokenizer.from_pretrained(folder)
        assert loaded.tokenize(f" {vocabulary.body(tokens[0])}")[-1:] == [tokens[0]]
    yield Figure(f"loading, {label}", loading, target=25 if n_words == VERY_MANY else 2)


if __name__ == "__main__":
    sys.exit(run(measure))
