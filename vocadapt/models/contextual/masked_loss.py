"""Masked-word loss per character: how well a model predicts words from their context.

Words, not wordpieces, are masked, and the loss is divided by their characters, so that models with
different vocabularies can be compared.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.models.contextual.masked_forward import compute_states_at
from vocadapt.models.layers import get_output_layer
from vocadapt.settings import MAX_SEED, check_settings, setting
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import Vocabulary

if TYPE_CHECKING:
    import torch
    import transformers

Ids = NDArray[np.int64]
BATCH = 16  # windows at a time
PIECES_OF_A_WORD = 3  # at most, on average


@dataclass(frozen=True)
class WindowSettings:
    """Windows of a text, and the fraction of their words that is masked.

    Words are drawn, not wordpieces, so that every vocabulary predicts the same words in the same
    context.
    """

    words: int = setting(48, "words of a window", low=1, high=10_000, flag="")
    share: float = setting(
        0.15, "fraction of words to mask", high=1, label="Masking probability", flag=""
    )
    seed: int = setting(1, "random seed of the masked words", high=MAX_SEED, flag="")

    def __post_init__(self) -> None:
        check_settings(self)

    def within(self, positions: int) -> "WindowSettings":
        """Return settings with windows short enough that their wordpieces rarely exceed the
        positions of a network.
        """
        return replace(self, words=min(self.words, max(1, positions // PIECES_OF_A_WORD)))


@dataclass(frozen=True, eq=False)
class MaskedWindow:
    """Wordpiece ids (n,) of a stretch of text with its special tokens, which are masked (n,) bool,
    and the number of masked words and of their characters.
    """

    ids: Ids
    hidden: NDArray[np.bool_]
    words: int
    characters: int


@dataclass(frozen=True)
class MaskedLoss:
    """Summed loss of the masked words in nats, and the numbers of words and characters in
    the sum.
    """

    nats: float
    words: int
    characters: int
    windows: int
    too_long: int = 0  # windows with more wordpieces than the network has positions: excluded
    # Nats and characters of each window with masked words, (windows, 2).
    each: NDArray[np.float64] = field(
        default_factory=lambda: np.empty((0, 2)), compare=False, repr=False
    )

    @property
    def per_character(self) -> float:
        """Nats per character of the masked words; lower is better."""
        return self.nats / self.characters


def build_loss_windows(
    lines: Iterable[str],
    splitter: Splitter,
    vocabulary: Vocabulary,
    settings: WindowSettings | None = None,
) -> Iterator[MaskedWindow]:
    """Split lines of text into windows and draw the words to mask; all pieces of a word are masked
    together.

    Words that the vocabulary cannot spell ([UNK]) are never hidden: they have no characters to
    share the loss.
    """
    settings = settings or WindowSettings()
    rng = np.random.default_rng(settings.seed)
    for line in lines:
        words = splitter.words(line)
        for start in range(0, len(words), settings.words):
            stretch = words[start : start + settings.words]
            yield _window(stretch, rng.random(len(stretch)) < settings.share, vocabulary)


def compute_masked_loss(
    network: "transformers.PreTrainedModel", vocabulary: Vocabulary, asked: Iterable[MaskedWindow]
) -> MaskedLoss:
    """Mask words, predict their wordpieces, and sum the cross-entropy.

    Raises InputError for a network without a masked-language-model head, and if no word is masked.
    """
    import torch

    mask, pad = (vocabulary.role_ids[role] for role in ("mask", "pad"))
    positions = int(getattr(network.config, "max_position_embeddings", 0)) or None
    nats: list[float] = []
    fitting: list[MaskedWindow] = []
    too_long = 0
    training = network.training
    network.eval()
    source = iter(asked)
    with torch.inference_mode():
        while batch := list(islice(source, BATCH)):
            read = [window for window in batch if positions is None or len(window.ids) <= positions]
            too_long += len(batch) - len(read)
            fitting += read
            if masked := [window for window in read if window.hidden.any()]:
                nats += _compute_losses(network, masked, mask, pad)
    network.train(training)
    return _sum_losses(nats, fitting, too_long)


def compute_unigram_loss(counts: Ids, asked: Iterable[MaskedWindow]) -> MaskedLoss:
    """Compute the masked-word loss of a unigram model: the frequency of each wordpiece.

    counts: (tokens,) int64 by id; one is added to each.
    """
    table = np.asarray(counts, dtype=np.float64) + 1
    logs = np.log(table / table.sum())
    asked = list(asked)
    masked = [window for window in asked if window.hidden.any()]
    nats = [-float(logs[window.ids[window.hidden]].sum()) for window in masked]
    return _sum_losses(nats, asked, 0)


def get_masked_head(
    network: "transformers.PreTrainedModel",
) -> Callable[["torch.Tensor"], "torch.Tensor"]:
    """Return the masked-language-model head of a network, from hidden states (n, width) to scores
    (n, tokens), to score masked positions only.

    Raises InputError if the network has none.
    """
    head = getattr(network, "cls", None)
    if head is None or get_output_layer(network) is None:
        raise InputError(
            f"{type(network).__name__} has no masked-word head.",
            "Choose a model that was saved with one (BertForMaskedLM).",
        )
    return cast(Any, getattr(head, "predictions", head))  # type: ignore[no-any-return]


def compute_scores_at(
    network: "transformers.PreTrainedModel",
    ids: "torch.Tensor",
    attended: "torch.Tensor",
    places: "torch.Tensor",
) -> "torch.Tensor":
    """Compute the scores (positions, tokens) of the masked-language-model head where `places`
    (batch, length) bool is true.
    """
    return get_masked_head(network)(compute_states_at(network.base_model, ids, attended, places))


def _window(words: list[str], drawn: NDArray[np.bool_], vocabulary: Vocabulary) -> MaskedWindow:
    ids, hidden, asked, characters = [vocabulary.role_ids["cls"]], [False], 0, 0
    for word, wanted in zip(words, drawn, strict=True):
        pieces = vocabulary.tokenize(word)
        asking = bool(wanted) and vocabulary.unknown not in pieces
        ids += [vocabulary.ids[piece] for piece in pieces]
        hidden += [asking] * len(pieces)
        asked += asking
        characters += len(word) * asking
    return MaskedWindow(
        np.array([*ids, vocabulary.role_ids["sep"]]), np.array([*hidden, False]), asked, characters
    )


def _compute_losses(
    network: "transformers.PreTrainedModel", batch: list[MaskedWindow], mask: int, pad: int
) -> list[float]:
    """Return the summed masked-word loss of each window, in nats."""
    import torch

    shape = (len(batch), max(len(window.ids) for window in batch))
    ids, hidden = np.full(shape, pad), np.zeros(shape, dtype=bool)
    for row, window in enumerate(batch):
        ids[row, : len(window.ids)], hidden[row, : len(window.ids)] = window.ids, window.hidden
    truth, places = torch.from_numpy(ids[hidden]), torch.from_numpy(hidden)
    asked = torch.from_numpy(np.where(hidden, mask, ids)).to(network.device)
    scores = compute_scores_at(
        network, asked, (asked != pad).long(), places.to(network.device)
    ).float()
    losses = torch.nn.functional.cross_entropy(scores, truth.to(network.device), reduction="none")
    window_of = np.nonzero(hidden)[0]
    return np.bincount(window_of, losses.double().cpu().numpy(), minlength=len(batch)).tolist()  # type: ignore[no-any-return]


def _sum_losses(nats: list[float], fitting: list[MaskedWindow], too_long: int) -> MaskedLoss:
    """Sum up the losses of the windows with masked words, too long windows excluded."""
    words = sum(window.words for window in fitting)
    characters = sum(window.characters for window in fitting)
    if not words and too_long:
        raise InputError(
            f"No word of this text could be masked: {too_long} windows of it have more wordpieces"
            " than the network has positions.",
            "Take shorter windows.",
        )
    if not words:
        raise InputError("No word of this text could be masked.", "Give more text.")
    each = np.array([nats, [window.characters for window in fitting if window.hidden.any()]]).T
    return MaskedLoss(sum(nats), words, characters, len(fitting), too_long, each)
