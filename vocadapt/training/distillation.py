"""Fit the embeddings of new tokens so that the network's states match those under the old
tokenization: hidden states of one layer (token distillation), or outputs of the attention in the
first layers (matched attention).

Each context is encoded twice: under the old tokenization, and with the pre-token of a new token
under the new one (in WordPiece models, pre-tokens are words). Two positions correspond if their
tokens end at the same character. This holds for all unchanged tokens, and for a new token and the
last of its old tokens. The embeddings are fitted so that the states match at these positions.
Only new embeddings change, dropout is off, and every embedding is updated equally
often, however rare its token is. All forms of a word (Ġword, word, ĠWord) share one embedding.

Example: for the new token hypertension, "the hyper ##tension drugs" and "the hypertension drugs"
correspond at the, at ##tension and hypertension, and at drugs; hyper has no counterpart.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.contextual.occurrences import find_ends
from vocadapt.models.contextual.word_vectors import (
    check_state_layer,
    count_layers,
    estimate_seconds,
    load_until_layer,
    pad_batch,
)
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import find_attention_modules
from vocadapt.progress import Progress, duration, part, silent
from vocadapt.spaces.space import Matrix
from vocadapt.system.files import temporary_folder
from vocadapt.text.corpus import Corpus
from vocadapt.text.words import write_sentences
from vocadapt.training.callbacks import check_finite
from vocadapt.training.embedding_fitter import EmbeddingFitter
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.initializers.materials import (
    AttentionSettings,
    Distil,
    DistilSettings,
    FittingSettings,
)
from vocadapt.vocabulary.plan.plan import VocabularyPlan

if TYPE_CHECKING:
    import torch

# Forward passes per context, for the time estimate: old tokenization, new one, and the gradient.
PASSES_PER_CONTEXT = 3.0
Inputs = dict[str, "torch.Tensor"]  # of a network: ids and attention mask
ReadStates = Callable[[Inputs], "torch.Tensor"]
Occurrence = tuple[int, int]  # byte offset of a line, index of a pre-token in it


@dataclass(frozen=True, eq=False)
class AlignedContext:
    """A short piece of text under two tokenizations.

    old: ids under the old tokenization. new: ids under the new one; ids of at least the vocabulary
    size are new tokens. positions: pairs of corresponding positions (in old, in new).
    """

    old: list[int]
    new: list[int]
    positions: list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Distiller:
    """Fits embeddings of new tokens to a text; the settings decide which states are matched.

    sentences: file of space-separated pre-tokens. whole_words: whether new tokens are whole words
    only.
    """

    model: LanguageModel
    sentences: Path
    whole_words: bool

    def __call__(
        self,
        plan: VocabularyPlan,
        start: Matrix,
        settings: FittingSettings,
        progress: Progress = silent,
    ) -> tuple[Matrix, NDArray[np.int64]]:
        """Return the fitted embeddings, (new tokens, dim) float32 in the order of the plan, and the
        number of contexts of each, (new tokens,) int64; embeddings without a context stay as in
        `start`.

        Raises InputError if the model lacks the layer, or if contexts exceed its maximum length.
        """
        # 1. Sample contexts of every new token from the text.
        layers = self._count_layers(settings)
        tokenizer = ContextTokenizer(self.model, plan, self.whole_words, settings.length)
        contexts = sample_contexts(
            self.sentences, tokenizer, len(plan.new_embeddings), settings, part(progress, 0.0, 0.1)
        )
        n_contexts = np.array([len(sampled) for sampled in contexts], dtype=np.int64)
        n_fitted = int((n_contexts > 0).sum())
        needed = duration(self.seconds(n_fitted, settings))
        progress(0.1, f"fitting {n_fitted:,} of {len(n_contexts):,} embeddings, about {needed}")

        # 2. In every round, update the embeddings of all tokens by one context of each, in batches;
        #    the learning rate decays linearly to 0.
        network = load_until_layer(self.model, layers)
        vocabulary = self.model.vocabulary
        read_states = partial(STATES[type(settings)], network, layers)
        pad = vocabulary.role_ids.get("pad", 0)
        fitter = StateMatcher(network, read_states, start, len(vocabulary), pad)
        steps = settings.passes * settings.contexts * -(-n_fitted // settings.batch)
        for step, batch in enumerate(schedule_batches(contexts, settings)):
            loss = fitter.step(batch, settings.lr * (1 - step / steps))
            name = f"step {step + 1:,} of {steps:,}"
            check_finite(loss, name, settings.lr, "The distance of the states is")
            progress(0.1 + 0.9 * (step + 1) / steps, f"{name}, distance {loss:.4f}")
        embeddings = fitter.embeddings.numpy()
        last = f"step {steps:,} of {steps:,}"
        check_finite(float(embeddings.sum()), last, settings.lr, "The sum of the embeddings is")
        return np.where(n_contexts[:, None] > 0, embeddings, start).astype(np.float32), n_contexts

    def seconds(self, tokens: int, settings: FittingSettings) -> float:
        """Estimate the seconds to fit the embeddings of `tokens` tokens on two CPU cores."""
        wordpieces = tokens * settings.contexts * settings.passes * settings.length
        layers = self._count_layers(settings)
        once = estimate_seconds(self.model, wordpieces, settings.length, layers)
        return PASSES_PER_CONTEXT * once

    def _count_layers(self, settings: FittingSettings) -> int:
        """Return the number of layers that are computed.

        Raises InputError if the model has fewer, or if contexts exceed its maximum length.
        """
        layers = count_layers(self.model)
        positions = count_positions(self.model.config) or settings.length
        needed = settings.count_layers_needed(layers)
        check_state_layer(self.model, needed, "layer")
        if settings.length > positions:
            raise InputError(
                f"{self.model.name} accepts {positions} wordpieces at most.",
                f"Choose a context length of at most {positions}.",
                code="long-window",
            )
        return needed


class ContextTokenizer:
    """Tokenizes pre-tokens under the model's and under the plan's tokenization, each distinct one
    once, and aligns contexts under both.
    """

    def __init__(
        self, model: LanguageModel, plan: VocabularyPlan, whole_words: bool, length: int
    ) -> None:
        self.ids = model.vocabulary.ids
        self.base = plan.base
        self.plan = plan
        self.whole_words, self.length = whole_words, length
        self.start, self.end = find_ends(model.vocabulary)
        self.number = {token: number for number, token in enumerate(plan.new_embeddings)}
        # Other forms of a word share the embedding of its main form.
        for form, main in plan.forms.items():
            self.number[form] = self.number[main]
        # New tokens are numbered from the vocabulary size on.
        size = len(model.vocabulary)
        new_ids = {token: size + number for token, number in self.number.items()}
        self.ids_with_new = {**self.ids, **new_ids}
        self.cache: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def find_new_tokens(self, pretoken: str) -> list[int]:
        """Return the numbers of the new embeddings in a pre-token under the new tokenization.

        Empty if it is too long, or unknown under the old tokenization.
        """
        old, new = self.tokenize(pretoken)
        if self.base.unknown in old or len(old) > self.length - 2:
            return []
        return [self.number[token] for token in new if token in self.number]

    def tokenize(self, pretoken: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Tokenize a pre-token under the old and the new tokenization.

        If the vocabulary marks continuations, the vocabulary after the plan would also match exact
        words at the beginning of longer words, so they are looked up here instead.
        """
        if pretoken not in self.cache:
            old = self.base.tokenize(pretoken)
            if not self.whole_words or not self.base.notation.continuation:
                new = self.plan.after.tokenize(pretoken)
            elif pretoken in self.number:
                new = (pretoken,)
            else:
                new = old
            self.cache[pretoken] = old, new
        return self.cache[pretoken]

    def align_context(self, words: Sequence[str], at: int) -> AlignedContext:
        """Tokenize the pre-token at index `at` with as many pre-tokens around it as fit.

        Only this pre-token is tokenized under the new tokenization.

        Example: "the hypertension drugs" with the new token hypertension gives old [CLS] the hyper
        ##tension drugs [SEP], new [CLS] the hypertension drugs [SEP], and the corresponding
        positions (0, 0), (1, 1), (3, 2), (4, 3), (5, 4).
        """
        first, last = self._find_window(words, at)
        old = [*self.start]
        new = [*self.start]
        positions = [(0, 0)] * len(self.start)
        for number in range(first, last + 1):
            word = words[number]
            before, after = self.tokenize(word)
            ids_of_word = self.ids_with_new
            if number != at:
                after, ids_of_word = before, self.ids
            # Tokens correspond if they end after the same number of characters.
            old_ends = enumerate(_token_ends(before, self.base, word), len(old))
            position_of_end = {end: position for position, end in old_ends}
            for position, end in enumerate(_token_ends(after, self.base, word), len(new)):
                if end in position_of_end:
                    positions.append((position_of_end[end], position))
            old += [self.ids[token] for token in before]
            new += [ids_of_word[token] for token in after]
        if self.end:
            positions.append((len(old), len(new)))
        return AlignedContext([*old, *self.end], [*new, *self.end], positions)

    def _find_window(self, words: Sequence[str], at: int) -> tuple[int, int]:
        """Return the indices of the first and last pre-token of the longest context around the one
        at index `at`, which is in the middle of the context if the line allows it.
        """
        first = last = at
        room = self.length - 2 - len(self.tokenize(words[at])[0])
        while True:
            # Prefer the next word on the shorter side.
            candidates = sorted(((at - first, first - 1), (last - at, last + 1)))
            for _, number in candidates:
                inside = 0 <= number < len(words)
                if inside and len(self.tokenize(words[number])[0]) <= room:
                    break
            else:
                return first, last
            room -= len(self.tokenize(words[number])[0])
            first = min(first, number)
            last = max(last, number)


def build_distiller(model: LanguageModel, corpus: Corpus, whole_words: bool) -> Distil:
    """Return a function that fits embeddings to a text.

    whole_words: whether new tokens are whole words only.
    """

    def distill(
        plan: VocabularyPlan,
        start: Matrix,
        settings: FittingSettings,
        progress: Progress = silent,
    ) -> tuple[Matrix, NDArray[np.int64]]:
        with temporary_folder() as folder:
            sentences = Path(folder) / "sentences.txt"
            report = part(progress, 0.0, 0.05)
            write_sentences(corpus, model.splitter, sentences, report, pretokens=True)
            fit = Distiller(model, sentences, whole_words)
            return fit(plan, start, settings, part(progress, 0.05, 1.0))

    return distill


def sample_contexts(
    sentences: Path,
    tokenizer: ContextTokenizer,
    tokens: int,
    settings: FittingSettings,
    progress: Progress = silent,
) -> list[list[AlignedContext]]:
    """Sample at most `settings.contexts` contexts of each new token uniformly from its occurrences.

    1. Read the text once, with a reservoir of occurrences for each token (Vitter 1985, algorithm
       R): the n-th occurrence replaces a random earlier one with probability contexts / n.
    2. Read the lines of the sampled occurrences again, in file order, and align their contexts.
    """
    # 1. Reservoirs.
    rng = random.Random(settings.seed)
    seen = [0] * tokens
    reservoirs: list[list[Occurrence]] = [[] for _ in range(tokens)]
    size = max(1, sentences.stat().st_size)
    for offset, words in _read_lines(sentences):
        progress(0.5 * offset / size, "looking for the new tokens in the text")
        for at, word in enumerate(words):
            for token in tokenizer.find_new_tokens(word):
                seen[token] += 1
                if seen[token] <= settings.contexts:
                    reservoirs[token].append((offset, at))
                    continue
                slot = rng.randrange(seen[token])
                if slot < settings.contexts:
                    reservoirs[token][slot] = (offset, at)

    # 2. Contexts.
    sampled = sorted({occurrence for reservoir in reservoirs for occurrence in reservoir})
    contexts: dict[Occurrence, AlignedContext] = {}
    with sentences.open("rb") as file:
        for number, (offset, at) in enumerate(sampled):
            progress(0.5 + 0.5 * number / len(sampled), "reading the contexts")
            file.seek(offset)
            words = _split_line(file.readline())
            contexts[offset, at] = tokenizer.align_context(words, at)
    return [[contexts[occurrence] for occurrence in reservoir] for reservoir in reservoirs]


def schedule_batches(
    contexts: Sequence[Sequence[AlignedContext]], settings: FittingSettings
) -> Iterator[list[AlignedContext]]:
    """Yield batches of contexts.

    Every round contains one context of each token that has any, in random order. Tokens with few
    contexts repeat them.
    """
    rng = np.random.default_rng(settings.seed)
    available = [of_token for of_token in contexts if of_token]
    for turn in range(settings.passes * settings.contexts):
        order = rng.permutation(len(available)).tolist()
        for first in range(0, len(order), settings.batch):
            tokens = order[first : first + settings.batch]
            yield [available[token][turn % len(available[token])] for token in tokens]


class StateMatcher(EmbeddingFitter):
    """Fits embeddings so that the states at corresponding positions match.

    read_states: computes the states, (batch, positions, features), from the inputs of the network.
    pad: id of the padding token.
    """

    def __init__(
        self, network: Any, read_states: ReadStates, start: Matrix, size: int, pad: int
    ) -> None:
        super().__init__(network, start, size)
        self.read_states, self.pad = read_states, pad

    def step(self, batch: Sequence[AlignedContext], learning_rate: float) -> float:
        """Update the embeddings of the new tokens in a batch.

        Returns the mean squared distance of the states before the update.
        """
        return self.update(self._distance(batch), learning_rate)

    def _distance(self, batch: Sequence[AlignedContext]) -> "torch.Tensor":
        """Return the mean over contexts of the mean squared distance at corresponding positions."""
        import torch

        # 1. States under the new tokenization, with gradients to the new embeddings.
        new, new_attended = pad_batch([context.new for context in batch], self.pad)
        states = self.read_states({"input_ids": new, "attention_mask": new_attended})

        # 2. States under the old tokenization.
        with torch.no_grad():
            old, old_attended = pad_batch([context.old for context in batch], self.pad)
            targets = self.read_states({"input_ids": old, "attention_mask": old_attended})

        # 3. Compare corresponding positions; every context has the same weight.
        sizes = [len(context.positions) for context in batch]
        row_of = torch.repeat_interleave(torch.arange(len(batch)), torch.tensor(sizes))
        positions = torch.tensor([pair for context in batch for pair in context.positions])
        weights = torch.tensor([1 / size for size in sizes])[row_of]
        difference = states[row_of, positions[:, 1]] - targets[row_of, positions[:, 0]]
        distance = difference.square().mean(dim=-1)
        return (distance * weights).sum() / len(batch)


def read_hidden_states(network: Any, layer: int, inputs: Inputs) -> "torch.Tensor":
    """Return the hidden states of a layer, (batch, positions, width)."""
    output = network(**inputs, output_hidden_states=True)
    return cast("torch.Tensor", output.hidden_states[layer])


def read_attention_outputs(network: Any, layers: int, inputs: Inputs) -> "torch.Tensor":
    """Return the outputs of the attention in the first layers side by side, (batch, positions,
    layers × width).

    The output at a position is the sum of the values of all positions, weighted by the attention.
    Later layers are not computed. Raises InputError for a network without attention modules.
    """
    import torch

    outputs: list[torch.Tensor] = []

    def keep(module: Any, given: Any, output: Any) -> None:
        outputs.append(output[0] if isinstance(output, tuple) else output)
        if len(outputs) == layers:
            raise _LastLayerReachedError

    # Layers that share one module, as in ALBERT, call it once each.
    hooks = [
        module.register_forward_hook(keep) for module in find_attention_modules(network)[:layers]
    ]
    try:
        network(**inputs)
    except _LastLayerReachedError:
        return torch.cat(outputs, dim=-1)
    finally:
        for hook in hooks:
            hook.remove()
    raise InputError(
        f"The attention of {type(network).__name__} cannot be read.",
        "Choose another initializer, such as distilled.",
        code="no-attention",
    )


class _LastLayerReachedError(Exception):
    """Ends a forward pass after the last layer that is needed."""


# Settings of an initializer → the function that reads the states which it matches.
STATES: dict[type[FittingSettings], Callable[[Any, int, Inputs], "torch.Tensor"]] = {
    DistilSettings: read_hidden_states,
    AttentionSettings: read_attention_outputs,
}


def _token_ends(tokens: Sequence[str], vocabulary: Vocabulary, pretoken: str) -> list[int]:
    """Return the number of characters of a pre-token up to the end of each of its tokens."""
    if vocabulary.unknown in tokens:
        return [len(pretoken)]
    # Continuations in WordPiece have a mark that the pre-token lacks.
    if "".join(tokens) == pretoken:
        return list(accumulate(map(len, tokens)))
    return list(accumulate(len(vocabulary.body(token)) for token in tokens))


def _read_lines(sentences: Path) -> Iterator[tuple[int, list[str]]]:
    offset = 0
    with sentences.open("rb") as file:
        for line in file:
            yield offset, _split_line(line)
            offset += len(line)


def _split_line(line: bytes) -> list[str]:
    return [pretoken for pretoken in line.decode().rstrip("\n").split(" ") if pretoken]
