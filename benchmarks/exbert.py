"""A training step of exBERT's stage 1 against a step of BERT, and against the data processing of the
published code, in processor time of one thread.

- The network is a third larger, but frozen weights get no gradients (module of s3, same batch and
  length). With dropout .1 it is slower than without: the module has as many attention weights as BERT
  (heads × length²) with a third of its hidden units, and torch's attention with dropout computes,
  samples and multiplies all of them; its fused kernel without dropout stores none.
- The imitation of the published code has our network, frozen weights and optimizer, and processes data
  as published: the legacy Python tokenizer tokenizes every batch of strings again, pads to the maximum
  length and masks one wordpiece after the other; the loss is computed at all positions. Padding is not
  counted.
"""

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import transformers
from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

from benchmarks._figures import Figure, run
from vocadapt.models.add_extension import add_extension
from vocadapt.models.extension_size import ModuleSettings
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.training.masked.blocks import MaskedBlockDataset, pack_blocks
from vocadapt.training.masked.losses import compute_losses
from vocadapt.training.masked.settings import select_trained_parameters
from vocadapt.training.masked.trainer import override_dropout
from vocadapt.vocabulary.families import vocabulary_of
from vocadapt.vocabulary.families.wordpiece import build_tokenizer

OLD, NEW, BATCH, LENGTH, SHARE, SENTENCES = 16_000, 4_000, 16, 128, 0.15, 2_000
STEP_BUDGET = 1.15
OURS, PUBLISHED = 0.0, 0.1  # default dropout of `pretrain`, and dropout of BERT
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def invented():
    """Generate a vocabulary of OLD + NEW tokens, a third of them continuations, and sentences whose
    words have one to three tokens.
    """
    rng = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = dict.fromkeys([*SPECIAL, *letters, *(f"##{letter}" for letter in letters)])
    while len(tokens) < OLD + NEW:
        stem = "".join(rng.choices(letters, k=rng.randint(3, 7)))
        tokens[f"##{stem}" if rng.random() < 1 / 3 else stem] = None
    starts = [token for token in tokens if token.isalpha()]
    ends = [token[2:] for token in tokens if token.startswith("##")]
    ranks = [1 / (place + 1) for place in range(len(starts))]
    drawn = iter(rng.choices(starts, ranks, k=40 * SENTENCES))
    words = (word + "".join(rng.choices(ends, k=rng.choice((0, 0, 1, 2)))) for word in drawn)
    return tuple(tokens), [
        " ".join(next(words) for _ in range(rng.randint(12, 30))) for _ in range(SENTENCES)
    ]


def bert(tokens):
    """Build a network of the size of the demo model."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=tokens,
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
    )
    return transformers.BertForMaskedLM(config).train()


def stage_one():
    """Build an exBERT of that size of which only the extension is trained."""
    network = add_extension(bert(OLD + NEW), ModuleSettings("s3"), NEW)
    select_trained_parameters(network, "extension", list(range(OLD, OLD + NEW)))
    return network


class Ours:
    """Training on packed blocks, with the loss at the masked positions only."""

    def __init__(self, network, tokens, folder):
        self.network, self.optimizer = network, optimizer_of(network)
        vocabulary = vocabulary_of(build_tokenizer(tokens, True))
        blocks = pack_blocks(folder / "sentences.txt", vocabulary, LENGTH)
        self.reading, self.place = MaskedBlockDataset(blocks, 10**9, SHARE, 1), 0

    def step(self):
        """Take one step; return its number of wordpieces."""
        examples = [self.reading[self.place + row] for row in range(BATCH)]
        self.place += BATCH
        ids, labels = (
            torch.stack([example[key] for example in examples]) for key in ("input_ids", "labels")
        )
        most = self.network.config.vocab_size - 1  # the plain model has only the first tokens
        batch = {"input_ids": ids.clamp(max=most), "labels": labels.clamp(max=most)}
        compute_losses(self.network, batch)[0].backward()
        advance(self.optimizer)
        return ids.numel()


class Public:
    """Training with the data processing of the published code: pairs of sentences as strings, legacy
    tokenizer, padding, loss at every position.
    """

    def __init__(self, network, tokens, folder):
        self.network, self.optimizer, self.rng = network, optimizer_of(network), random.Random(1)
        (folder / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
        self.tokenizer = BertTokenizerLegacy(folder / "vocab.txt")
        self.strings, self.place = self.packed(folder), 0

    def packed(self, folder):
        """Pack sentences into strings `[CLS] A [SEP] B [SEP]` of at most LENGTH wordpieces; not
        timed.
        """
        strings, parts, size = [], [], 3
        for line in (folder / "sentences.txt").read_text(encoding="utf-8").splitlines():
            pieces = len(self.tokenizer.tokenize(line))
            if size + pieces > LENGTH and parts:
                half = (len(parts) + 1) // 2
                strings.append(
                    f"[CLS] {' '.join(parts[:half])} [SEP] {' '.join(parts[half:])} [SEP]"
                )
                parts, size = [], 3
            parts, size = [*parts, line], size + pieces
        return strings

    def masked(self, ids):
        """Mask 15 % of the wordpieces after the first: 80 % of these become [MASK], 10 % a random
        token.
        """
        labels = [IGNORE_INDEX] * len(ids)
        for place in range(1, len(ids)):
            if self.rng.random() < SHARE:
                labels[place], fate = ids[place], self.rng.random()
                ids[place] = (
                    4 if fate < 0.8 else self.rng.randrange(OLD + NEW) if fate < 0.9 else ids[place]
                )
        return ids, labels

    def step(self):
        """Take one step; return its number of wordpieces without padding."""
        ids, labels = (
            torch.zeros(BATCH, LENGTH, dtype=torch.long),
            torch.full((BATCH, LENGTH), IGNORE_INDEX),
        )
        for row in range(BATCH):
            pieces = self.tokenizer.tokenize(self.strings[(self.place + row) % len(self.strings)])[
                :LENGTH
            ]
            own, masked = self.masked(self.tokenizer.convert_tokens_to_ids(pieces))
            ids[row, : len(own)], labels[row, : len(own)] = torch.tensor(own), torch.tensor(masked)
        self.place += BATCH
        self.network(ids, attention_mask=(ids > 0).long(), labels=labels).loss.backward()
        advance(self.optimizer)
        return int((ids > 0).sum())


def optimizer_of(network):
    """Build an AdamW optimizer of the trainable parameters."""
    trainable = [value for value in network.parameters() if value.requires_grad]
    return torch.optim.AdamW(trainable, lr=1e-4, fused=True)


def advance(optimizer):
    optimizer.step()
    optimizer.zero_grad()


def measure(full: bool) -> Iterator[Figure]:
    """Take steps of each way in turn, without dropout (the default of `pretrain`) and with that of
    BERT.
    """
    torch.set_num_threads(1)
    tokens, sentences = invented()
    steps = 8 if full else 4
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "sentences.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
        plain = bert(OLD)
        select_trained_parameters(plain, "continued", [])
        ways = {
            "plain": Ours(plain, tokens, folder),
            "stage 1": Ours(stage_one(), tokens, folder),
            "public path": Public(stage_one(), tokens, folder),
        }
        for dropout in (OURS, PUBLISHED):
            seconds, pieces = measure_steps(ways, steps, dropout)
            yield Figure(
                f"a step of stage 1, dropout {dropout:g}",
                seconds["stage 1"],
                "CPU s",
                seconds["plain"],
                "BERT",
                target=STEP_BUDGET,
            )
            per_piece = {name: tuple(s / pieces[name] for s in seconds[name]) for name in pieces}
            yield Figure(
                f"a wordpiece of stage 1, dropout {dropout:g}",
                per_piece["stage 1"],
                "CPU s",
                per_piece["public path"],
                "data as published",
                speed=True,
                target=3,
                at_least=True,
            )


def measure_steps(ways, steps, dropout):
    """Return the CPU seconds of each step and the wordpieces of a step, by way of training.

    The first step is not counted.
    """
    seconds, read = {name: [] for name in ways}, dict.fromkeys(ways, 0)
    for turn in range(steps + 1):
        for name, way in ways.items():
            with override_dropout(way.network, dropout):
                start = time.process_time()
                pieces = way.step()
                took = time.process_time() - start
            if turn:
                seconds[name].append(took)
                read[name] += pieces
    taken = {name: tuple(values) for name, values in seconds.items()}
    return taken, {name: pieces / steps for name, pieces in read.items()}


if __name__ == "__main__":
    sys.exit(run(measure))
