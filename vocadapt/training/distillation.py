"""Token distillation for encoders: rows of new tokens under which the network reads a text as it
read it by the old pieces.

Each context is read twice: by the old cut, and with the word of a new token by the new one. Places
correspond where pieces end at the same character: all other tokens, and a new token and the last of
its old pieces. There the hidden states of a layer are to match. Only the new rows move, dropout is
off, and every token is met equally often, however rare it is.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.models.contextual.padding import padded
from vocadapt.models.contextual.word_vectors import SPEED, layers_of, network_until
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, duration, part, silent
from vocadapt.spaces.space import Matrix
from vocadapt.training.callbacks import check_finite
from vocadapt.vocabulary.families.wordpiece import Vocabulary
from vocadapt.vocabulary.initializers.settings import DistilSettings
from vocadapt.vocabulary.plan.plan import VocabularyPlan

if TYPE_CHECKING:
    import torch

BETAS, EPS = (0.9, 0.999), 1e-8
READINGS = 3.0  # a context is read by the old cut, by the new one, and its gradient goes back
Place = tuple[int, int]  # byte where a line begins, number of a word in it


@dataclass(frozen=True, eq=False)
class Reading:
    """A stretch of text under two cuts: ids `old` and `new` (from the model's size on: rows of new
    tokens), and the pairs of `places` that correspond.
    """

    old: list[int]
    new: list[int]
    places: list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Distiller:
    """What rows are distilled from: a model, a words file of the text, and whether a new token only
    stands for a whole word.
    """

    model: LanguageModel
    sentences: Path
    whole: bool

    def __call__(
        self,
        plan: VocabularyPlan,
        start: Matrix,
        settings: DistilSettings,
        progress: Progress = silent,
    ) -> tuple[Matrix, NDArray[np.int64]]:
        """The rows (new tokens, dim) in the order of the plan, and how many contexts each was
        fitted to; 0: left as it was.

        Raises InputError for a layer that the model lacks and contexts longer than its positions.
        """
        layer = self._layer(settings)
        reader = Reader(self.model, plan, self.whole, settings.length)
        found = sample_contexts(
            self.sentences, reader, len(plan.new_embeddings), settings, part(progress, 0.0, 0.1)
        )
        fitted = np.array([len(own) for own in found], dtype=np.int64)
        steps = settings.passes * settings.contexts * -(-int((fitted > 0).sum()) // settings.batch)
        about = duration(self.seconds(int((fitted > 0).sum()), settings))
        progress(0.1, f"fitting {int((fitted > 0).sum()):,} of {len(fitted):,} rows, about {about}")
        network, rows = network_until(self.model, layer), start
        for step, (batch, rate) in enumerate(
            zip(schedule(found, settings), _rates(steps, settings.lr), strict=True), 1
        ):
            if step == 1:
                vocabulary = self.model.vocabulary
                fitting = Fitting(
                    network, layer, start, len(vocabulary), vocabulary.ids.get("[PAD]", 0)
                )
            loss = fitting.step(batch, rate)
            check_finite(
                loss,
                f"step {step:,} of {steps:,}",
                settings.lr,
                "The distance of the hidden states is",
            )
            progress(0.1 + 0.9 * step / steps, f"step {step:,} of {steps:,}, distance {loss:.4f}")
            rows = fitting.rows.numpy()
        check_finite(
            float(rows.sum()), f"step {steps:,} of {steps:,}", settings.lr, "The sum of the rows is"
        )
        return np.where(fitted[:, None] > 0, rows, start).astype(np.float32), fitted

    def seconds(self, tokens: int, settings: DistilSettings) -> float:
        """About how long it takes to fit the rows of so many tokens, on two cores."""
        width = self.model.dim
        inner = int(self.model.config.get("intermediate_size", 4 * width))
        each = (
            4 * width**2 + 2 * width * inner + settings.length * width
        )  # multiplications a wordpiece, in one layer
        pieces = tokens * settings.contexts * settings.passes * settings.length
        return 2.0 * READINGS * pieces * each * self._layer(settings) / SPEED

    def _layer(self, settings: DistilSettings) -> int:
        layers, positions = (
            layers_of(self.model),
            int(self.model.config.get("max_position_embeddings", settings.length)),
        )
        if settings.layer > layers:
            raise InputError(
                f"{self.model.name} has {layers} layers, and layer {settings.layer} was asked for."
            )
        if settings.length > positions:
            raise InputError(
                f"{self.model.name} reads {positions} wordpieces at most.", "Give shorter contexts."
            )
        return layers if settings.layer < 0 else settings.layer


class Reader:
    """Cuts words as the model does and as the plan does; knows each distinct word once."""

    def __init__(
        self, model: LanguageModel, plan: VocabularyPlan, whole: bool, length: int
    ) -> None:
        self.ids, self.base, self.plan, self.whole, self.length = (
            model.vocabulary.ids,
            plan.base,
            plan,
            whole,
            length,
        )
        lacking = [token for token in ("[CLS]", "[SEP]") if token not in self.ids]
        if lacking:
            raise InputError(
                f"{model.name} has no token {lacking[0]}, which contexts begin and end with."
            )
        self.size = len(model.vocabulary)
        self.number = {token: place for place, token in enumerate(plan.new_embeddings)}
        self.known: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    @cached_property
    def after(self) -> Vocabulary:
        """The vocabulary with the new tokens."""
        return self.plan.after

    def carried(self, word: str) -> list[int]:
        """Numbers of the new tokens in a word, by the new cut; none where the old one cannot spell
        it or it is too long.
        """
        old, new = self.cuts(word)
        if self.base.unknown in old or len(old) > self.length - 2:
            return []
        return [self.number[piece] for piece in new if piece in self.number]

    def cuts(self, word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """A word by the old cut and by the new one."""
        if word not in self.known:
            old = self.base.tokenize(word)
            new = (
                ((word,) if word in self.number else old)
                if self.whole
                else self.after.tokenize(word)
            )
            self.known[word] = old, new
        return self.known[word]

    def reading(self, words: Sequence[str], at: int) -> Reading:
        """The words round one, as many as fit, that one alone under the new cut."""
        first, last = self._around(words, at)
        old, new, places = [self.ids["[CLS]"]], [self.ids["[CLS]"]], [(0, 0)]
        for number in range(first, last + 1):
            before, after = self.cuts(words[number])
            after = after if number == at else before
            there = {
                end: place
                for place, end in enumerate(_ends(before, self.base, words[number]), len(old))
            }
            ends = enumerate(_ends(after, self.base, words[number]), len(new))
            places += [(there[end], place) for place, end in ends if end in there]
            old += [self.ids[piece] for piece in before]
            new += [self._id(piece) if number == at else self.ids[piece] for piece in after]
        places.append((len(old), len(new)))
        return Reading([*old, self.ids["[SEP]"]], [*new, self.ids["[SEP]"]], places)

    def _id(self, piece: str) -> int:
        return self.size + self.number[piece] if piece in self.number else self.ids[piece]

    def _around(self, words: Sequence[str], at: int) -> tuple[int, int]:
        """First and last of the words round one that fit, as many before as behind where the line
        has them.
        """
        first = last = at
        room = self.length - 2 - len(self.cuts(words[at])[0])
        while True:
            nearer = sorted(((at - first, first - 1), (last - at, last + 1)))
            sizes = [
                (len(self.cuts(words[place])[0]), place)
                for _, place in nearer
                if 0 <= place < len(words)
            ]
            fitting = next(((size, place) for size, place in sizes if size <= room), None)
            if fitting is None:
                return first, last
            room, first, last = room - fitting[0], min(first, fitting[1]), max(last, fitting[1])


def sample_contexts(
    sentences: Path,
    reader: Reader,
    tokens: int,
    settings: DistilSettings,
    progress: Progress = silent,
) -> list[list[Reading]]:
    """For each new token its contexts, drawn among all occurrences with equal chances, at most as
    many as asked for.
    """
    rng, seen = random.Random(settings.seed), [0] * tokens
    drawn: list[list[Place]] = [[] for _ in range(tokens)]
    whole = max(1, sentences.stat().st_size)
    for offset, words in _lines(sentences):
        progress(0.5 * offset / whole, "looking for the new tokens in the text")
        for at, word in enumerate(words):
            for token in reader.carried(word):
                seen[token] += 1
                place = (
                    len(drawn[token])
                    if seen[token] <= settings.contexts
                    else rng.randrange(seen[token])
                )
                drawn[token][place : place + 1] = (
                    [(offset, at)] if place < settings.contexts else []
                )
    wanted = sorted({place for own in drawn for place in own})
    readings: dict[Place, Reading] = {}
    with sentences.open("rb") as file:
        for number, (offset, at) in enumerate(wanted):
            progress(0.5 + 0.5 * number / len(wanted), "reading the contexts")
            file.seek(offset)
            readings[offset, at] = reader.reading(file.readline().decode().split(), at)
    return [[readings[place] for place in own] for own in drawn]


def schedule(
    found: Sequence[Sequence[Reading]], settings: DistilSettings
) -> Iterator[list[Reading]]:
    """Batches of readings: in every round each token that has contexts meets one of them, in a
    drawn order.
    """
    rng = np.random.default_rng(settings.seed)
    able = [own for own in found if own]
    for turn in range(settings.passes * settings.contexts):
        order = rng.permutation(len(able)).tolist()
        for first in range(0, len(order), settings.batch):
            yield [
                able[token][turn % len(able[token])]
                for token in order[first : first + settings.batch]
            ]


class Fitting:
    """Rows on their way, under Adam with a count of steps for each row: a rare row's first step is
    as long as any other's.

    `size` tokens has the model's vocabulary; rows of its matrix behind them are padding, and ids
    from there on the new tokens'.
    """

    def __init__(self, network: Any, layer: int, start: Matrix, size: int, pad: int) -> None:
        import torch

        self.network, self.layer, self.pad = network.eval().requires_grad_(False), layer, pad
        self.table = network.get_input_embeddings().weight[:size]
        self.rows = torch.from_numpy(np.array(start, dtype=np.float32))
        self.first, self.second = torch.zeros_like(self.rows), torch.zeros_like(self.rows)
        self.steps = torch.zeros(len(self.rows), 1)

    def step(self, batch: Sequence[Reading], rate: float) -> float:
        """Move the rows that a batch holds; gives the mean squared distance of its hidden states
        before.
        """
        import torch

        new, attended = padded([reading.new for reading in batch], self.pad)
        ids = torch.unique(new[new >= len(self.table)] - len(self.table))
        rows = self.rows[ids].requires_grad_()
        loss = self._distance(batch, new, attended, ids, rows)
        (gradient,) = torch.autograd.grad(loss, rows)
        with torch.no_grad():
            self.steps[ids] += 1
            self.first[ids] = BETAS[0] * self.first[ids] + (1 - BETAS[0]) * gradient
            self.second[ids] = BETAS[1] * self.second[ids] + (1 - BETAS[1]) * gradient**2
            mean = self.first[ids] / (1 - BETAS[0] ** self.steps[ids])
            spread = (self.second[ids] / (1 - BETAS[1] ** self.steps[ids])).sqrt()
            self.rows[ids] -= rate * mean / (spread + EPS)
        return float(loss.detach())

    def _distance(
        self,
        batch: Sequence[Reading],
        new: "torch.Tensor",
        attended: "torch.Tensor",
        ids: "torch.Tensor",
        rows: "torch.Tensor",
    ) -> "torch.Tensor":
        """Mean over the readings of the mean squared distance at the places that correspond."""
        import torch

        size = len(self.table)
        place = torch.searchsorted(ids, new[new >= size] - size)
        vectors = self.table[new.clamp(max=size - 1)].index_put((new >= size,), rows[place])
        states = self._states(inputs_embeds=vectors, attention_mask=attended)
        with torch.no_grad():
            old, also = padded([reading.old for reading in batch], self.pad)
            wanted = self._states(input_ids=old, attention_mask=also)
        pairs = [
            (row, *pair, 1 / len(reading.places))
            for row, reading in enumerate(batch)
            for pair in reading.places
        ]
        at, before, after = (torch.tensor([pair[part] for pair in pairs]) for part in range(3))
        weights = torch.tensor([pair[3] for pair in pairs])
        apart = (states[at, after] - wanted[at, before]).square().mean(dim=-1)
        return (apart * weights).sum() / len(batch)

    def _states(self, **inputs: Any) -> "torch.Tensor":
        return cast(
            "torch.Tensor",
            self.network(**inputs, output_hidden_states=True).hidden_states[self.layer],
        )


def _rates(steps: int, lr: float) -> Iterator[float]:
    return (lr * (1 - step / steps) for step in range(steps))


def _ends(pieces: Sequence[str], vocabulary: Vocabulary, word: str) -> list[int]:
    """After how many characters of a word each of its pieces ends."""
    if vocabulary.unknown in pieces:
        return [len(word)]
    mark = len(vocabulary.continuation)
    return list(
        accumulate(len(piece) - (mark if place else 0) for place, piece in enumerate(pieces))
    )


def _lines(sentences: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a words file, each with the byte it begins at."""
    offset = 0
    with sentences.open("rb") as file:
        for line in file:
            yield offset, line.decode().split()
            offset += len(line)
