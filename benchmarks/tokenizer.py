"""Exact-word tokenizers with 20 000 and more added words: throughput compared with the original
tokenizer, the time to add the words and to check that all other pre-tokens of a text are tokenized as
before, and loading time with AutoTokenizer.

    python benchmarks/tokenizer.py [--family wordpiece|byte-level-bpe|unigram] [--megabytes 4]

Needs ../shared/data (text, vocabulary of BERT, merges of GPT-2, a SentencePiece Unigram). Throughput
is that of the fast tokenizer's encode_batch, which transformers calls, on whole lines: the median of
five ratios, measured in alternation. Targets: at least .9 × the original; adding and checking 20 000
words in at most 30 s; loading in at most 2 s (400 000 words: 25 s).
"""

import argparse
import gzip
import itertools
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vocadapt.vocabulary.families import FAMILIES, vocabulary_of
from vocadapt.vocabulary.families.files.vocab_file import read_tokens
from vocadapt.vocabulary.families.wordpiece import build_tokenizer

SHARED = Path(__file__).resolve().parents[2] / "shared/data"


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


def seconds(tokenizer: object, text: list[str]) -> float:
    start = time.perf_counter()
    tokenizer.encode_batch(text)
    return time.perf_counter() - start


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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--family", choices=BUILDERS, default="wordpiece")
    parser.add_argument("--megabytes", type=float, default=4)
    options = parser.parse_args()
    text = lines(options.megabytes)
    from transformers import AutoTokenizer, BertTokenizer, PreTrainedTokenizerFast

    original, family = BUILDERS[options.family](), FAMILIES[options.family]
    vocabulary = vocabulary_of(original)
    known = {vocabulary.body(token) for token in vocabulary.tokens}
    for n in (20_000, 400_000) if options.family == "wordpiece" else (20_000,):
        # 1. Add the words, and check the others.
        words = new_words(text, known, n)
        start = time.process_time()
        tokens = [vocabulary.spell(word) for word in words if not vocabulary.has_word(word)]
        left_out = set(vocabulary.find_split_words(tokens))
        tokens = [token for token in tokens if token not in left_out]
        changed = family.add_exact_words(original, tokens)
        built = time.process_time() - start
        checked = check_others(options.family, original, changed, text)
        total = time.process_time() - start
        # 2. The throughput.
        seconds(original, text[:200]), seconds(changed, text[:200])
        ratio = statistics.median(
            seconds(original, text) / seconds(changed, text) for _ in range(5)
        )
        # 3. The time to load it.
        with tempfile.TemporaryDirectory() as folder:
            if options.family == "wordpiece":
                BertTokenizer(vocab=dict(original.get_vocab())).save_pretrained(folder)
                changed.save(f"{folder}/tokenizer.json")
            else:
                PreTrainedTokenizerFast(tokenizer_object=changed).save_pretrained(folder)
            start = time.perf_counter()
            loaded = AutoTokenizer.from_pretrained(folder)
            load = time.perf_counter() - start
            word = vocabulary.body(tokens[0])
            assert loaded.tokenize(f" {word}")[-1:] == [tokens[0]]
        print(
            f"{len(tokens):>7} words: throughput {ratio:.3f} × the original, "
            f"processor time of adding {built:.1f} s, with the check {total:.1f} s ({checked}), "
            f"AutoTokenizer loads in {load:.1f} s"
        )


if __name__ == "__main__":
    main()
