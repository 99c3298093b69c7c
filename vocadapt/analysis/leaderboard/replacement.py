"""The replacement test: does a network read an initialized embedding as it reads the word itself?

Hidden tokens have known embeddings. In sentences of a text that contain them,

1. read each sentence with the known embedding, which gives the true states: the last hidden state
   of the word, and the mean of all last hidden states;
2. read it with the word replaced by its pieces, as without a new token;
3. read it with the initialized embedding, and compare both with the true states by cosine.

The part that is read has the word once: a second one would keep its known embedding.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.contextual.word_vectors import count_layers, iterate_batches, load_until_layer
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, silent
from vocadapt.spaces.space import FloatArray, Matrix, normalize_rows
from vocadapt.vocabulary.families import Vocabulary

SIDE = 24  # tokens on either side of the word that are read
SPECIAL = 2  # tokens that begin and end an input
BATCH = 64
LINES = 1000  # between two reports of progress
MAX_CACHED = 500_000  # pre-tokens whose tokens are kept

Ids = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ReadableText:
    """A network, and lines of a text for it to read."""

    model: LanguageModel
    lines: Iterable[str]


@dataclass(frozen=True)
class SentencePart:
    """The ids before and after a hidden token, and the number of the token."""

    before: Ids
    after: Ids
    token: int


@dataclass(frozen=True, eq=False)
class ReadingScores:
    """Cosines to the true states, for each hidden token that occurs in the text, (n,) float64.

    word: of the last hidden state of the token; sentence: of the mean of all.
    """

    word: FloatArray
    sentence: FloatArray

    def compute_win_rate(self, others: "ReadingScores") -> float:
        """Return the fraction of the tokens whose state is nearer to the true one than others'."""
        return float((self.word > others.word).mean())


def find_sentences(
    text: ReadableText,
    hidden: Sequence[str],
    per_token: int,
    seed: int,
    progress: Progress = silent,
) -> list[SentencePart]:
    """Draw sentences with hidden tokens, at most `per_token` for each, all with equal probability.

    The text is read once; the sentences of a token are a reservoir sample.
    """
    samples: list[list[SentencePart]] = [[] for _ in hidden]
    n_seen = [0] * len(hidden)
    rng = random.Random(seed)
    for sentence in _iterate_sentences(text, hidden, progress):
        # The n-th sentence of a token replaces one of the sample with probability per_token / n.
        number = sentence.token
        n_seen[number] += 1
        slot = len(samples[number])
        if slot == per_token:
            slot = rng.randrange(n_seen[number])
        if slot < per_token:
            samples[number][slot : slot + 1] = [sentence]
    return list(chain.from_iterable(samples))


def _iterate_sentences(
    text: ReadableText, hidden: Sequence[str], progress: Progress
) -> Iterator[SentencePart]:
    """Yield each occurrence of a hidden token that is not near another one of the same token."""
    vocabulary, splitter = text.model.vocabulary, text.model.splitter
    side = _find_side(text.model)
    number_of = {token: number for number, token in enumerate(hidden)}
    tokenized: dict[str, tuple[str, ...]] = {}
    for n, line in enumerate(text.lines):
        if n % LINES == 0:
            progress(0.0, f"looking for sentences, line {n + 1:,}")
        if len(tokenized) > MAX_CACHED:
            tokenized.clear()
        tokens: list[str] = []
        for pretoken in splitter.pretokens(line):
            if pretoken not in tokenized:
                tokenized[pretoken] = tuple(vocabulary.tokenize(pretoken))
            tokens += tokenized[pretoken]
        for place in (i for i, token in enumerate(tokens) if token in number_of):
            token = tokens[place]
            before = tokens[max(0, place - side) : place]
            after = tokens[place + 1 : place + 1 + side]
            if token not in before and token not in after:
                ids_before = tuple(vocabulary.ids[one] for one in before)
                ids_after = tuple(vocabulary.ids[one] for one in after)
                yield SentencePart(ids_before, ids_after, number_of[token])


def _find_side(model: LanguageModel) -> int:
    """Return how many tokens on either side of a word the network can read: SIDE, or less if it has
    few positions. A third of them remain for the pieces of the word and for special tokens.
    """
    positions = count_positions(model.config) or 0
    if positions <= 0:
        return SIDE
    return min(SIDE, (positions - SPECIAL) // 3)


class ReplacementTest:
    """Reads sentences with the known embeddings of hidden tokens and with their pieces; `judge`
    reads them with initialized embeddings.

    tokens: numbers of the hidden tokens that have sentences, (n,). pieces: scores of their pieces.
    """

    def __init__(
        self,
        model: LanguageModel,
        hidden: Sequence[str],
        visible: Vocabulary,
        sentences: Sequence[SentencePart],
        progress: Progress = silent,
    ) -> None:
        """visible: the vocabulary without the hidden tokens. Raises InputError without a sentence,
        and for a network that cannot read embeddings.
        """
        from vocadapt.training.separated_embeddings import find_scale

        # 1. The sentences, without those of tokens that have no pieces or too many.
        ids = model.vocabulary.ids
        pieces = [tuple(ids[one] for one in visible.tokenize_token(token)) for token in hidden]
        longest = _find_side(model)
        self.sentences = [one for one in sentences if 0 < len(pieces[one.token]) <= longest]
        if not self.sentences:
            raise InputError(
                "No sentence of the text has one of the hidden tokens.",
                "Give more text.",
                code="no-sentences",
            )

        # 2. The network.
        self.network: Any = load_until_layer(model, count_layers(model))
        self.scale = find_scale(self.network.get_input_embeddings())
        roles = model.vocabulary.role_ids
        self.pad = roles.get("pad", 0)
        self.start: Ids = (roles["cls"],) if "cls" in roles else ()
        self.end: Ids = (roles["sep"],) if "sep" in roles else ()
        self.numbers = np.array([sentence.token for sentence in self.sentences])
        self.tokens = np.unique(self.numbers)

        # 3. The true states, and those of the pieces.
        self.own: list[Ids] = [(ids[token],) for token in hidden]
        self.true = self._read(self.own, None, progress)
        self.pieces = self._compare(self._read(pieces, None, progress))

    def judge(self, embeddings: Matrix, progress: Progress = silent) -> ReadingScores:
        """Compare what is read with embeddings of all hidden tokens (hidden, dim) to the truth."""
        return self._compare(self._read(self.own, embeddings, progress))

    def _compare(self, states: tuple[Matrix, Matrix]) -> ReadingScores:
        """Return the mean cosines to the true states by token."""
        means = []
        for found, true in zip(states, self.true, strict=True):
            cosines = np.einsum("ij,ij->i", normalize_rows(found), normalize_rows(true))
            sums = np.bincount(self.numbers, weights=cosines)[self.tokens]
            means.append(sums / np.bincount(self.numbers)[self.tokens])
        return ReadingScores(*means)

    def _read(
        self, ids_of_token: Sequence[Ids], embeddings: Matrix | None, progress: Progress
    ) -> tuple[Matrix, Matrix]:
        """Return the last hidden states of tokens (mean over their ids) and of sentences (mean over
        all), (sentences, width) each. embeddings: read in place of the ids; None: the known ones.
        """
        import torch

        # 1. Build the inputs.
        rows, spans = [], []
        for sentence in self.sentences:
            word = ids_of_token[sentence.token]
            start = len(self.start) + len(sentence.before)
            rows.append([*self.start, *sentence.before, *word, *sentence.after, *self.end])
            spans.append((start, start + len(word)))

        # 2. Read them in batches.
        lookup = self.network.get_input_embeddings()
        words: dict[int, Matrix] = {}
        means: dict[int, Matrix] = {}
        with torch.no_grad():
            for chosen, ids, attended in iterate_batches(rows, BATCH, self.pad):
                inputs = lookup(ids)
                if embeddings is not None:
                    inputs = inputs.clone()
                    for place, i in enumerate(chosen.tolist()):
                        new = torch.from_numpy(embeddings[self.numbers[i]])
                        inputs[place, spans[i][0]] = new * self.scale
                output = self.network(inputs_embeds=inputs, attention_mask=attended)
                states = output.last_hidden_state
                weights = attended[:, :, None].to(states.dtype)
                means_of_batch = (states * weights).sum(dim=1) / weights.sum(dim=1)
                for place, i in enumerate(chosen.tolist()):
                    start, end = spans[i]
                    words[i] = states[place, start:end].mean(dim=0).numpy()
                    means[i] = means_of_batch[place].numpy()
                progress(len(words) / len(rows), "reading sentences")
        order = range(len(rows))
        return np.stack([words[i] for i in order]), np.stack([means[i] for i in order])
