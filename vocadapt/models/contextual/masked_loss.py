"""Masked-word loss per character: how well a model predicts words from their context.

Pre-tokens (in WordPiece models words), not single tokens, are masked, and the loss is divided by
their characters or bytes, so that models with different vocabularies can be compared. The space
before a pre-token is not counted as a character.

Only masked positions are predicted, so the head of a model runs only there (`compute_scores_at`),
and so does the last layer of a BERT (`compute_states_at`). The lower layers run at every position,
because attention reads all of them. In the last layer, keys and values are computed at every
position, but queries and the feed-forward part (also of an exBERT's extension module) only at
masked positions, about one in seven.

Warning: `layer.forward` of the last layer is replaced during the call.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.models.bert_attention import run_bert_layer_at
from vocadapt.models.config_sizes import count_positions
from vocadapt.settings import MAX_SEED, CheckedSettings, setting
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import Vocabulary

if TYPE_CHECKING:
    import torch
    import transformers

Ids = NDArray[np.int64]
BATCH = 16  # windows per batch
MAX_PIECES_PER_WORD = 3  # upper bound of the mean over the words of a window


@dataclass(frozen=True)
class WindowSettings(CheckedSettings):
    """Length of the windows of a text, and the fraction of their words that is masked.

    Words are masked instead of wordpieces, so that models with different vocabularies predict the
    same words in the same context.
    """

    words: int = setting(48, "words of a window", low=1, high=10_000, flag="")
    share: float = setting(
        0.15, "fraction of words to mask", high=1, label="Masking probability", flag=""
    )
    seed: int = setting(1, "random seed of the masked words", high=MAX_SEED, flag="")

    def within(self, positions: int) -> "WindowSettings":
        """Return settings with windows that rarely have more wordpieces than `positions`, the
        positions of a network.
        """
        return replace(self, words=min(self.words, max(1, positions // MAX_PIECES_PER_WORD)))


@dataclass(frozen=True, eq=False)
class MaskedWindow:
    """A window of a text with masked words.

    ids: (n,) int64, tokens with special tokens. hidden: (n,) bool, which of them are masked.
    words, characters, bytes: number of masked words, of their characters, and of their UTF-8 bytes.
    """

    ids: Ids
    hidden: NDArray[np.bool_]
    words: int
    characters: int
    bytes: int = 0


@dataclass(frozen=True)
class MaskedLoss:
    """Total loss of the masked words in nats, with the numbers of words and characters.

    bytes: number of UTF-8 bytes of the words; 0 if they were not counted.
    """

    nats: float
    words: int
    characters: int
    windows: int
    too_long: int = 0  # windows with more tokens than the network has positions: excluded
    bytes: int = 0
    # Nats and characters of each window with masked words, (windows, 2).
    each: NDArray[np.float64] = field(
        default_factory=lambda: np.empty((0, 2)), compare=False, repr=False
    )

    @property
    def per_character(self) -> float:
        """Nats per character of the masked words; lower is better."""
        return self.nats / self.characters

    @property
    def per_byte(self) -> float:
        """Nats per byte of the masked words; NaN if bytes were not counted."""
        if not self.bytes:
            return float("nan")
        return self.nats / self.bytes


def build_loss_windows(
    lines: Iterable[str],
    splitter: Splitter,
    vocabulary: Vocabulary,
    settings: WindowSettings | None = None,
) -> Iterator[MaskedWindow]:
    """Split lines of text into windows and draw the words to mask; all pieces of a word are masked
    together. A word is a pre-token of the model's own tokenizer.

    Words that the vocabulary cannot spell are never masked, because predicting the unknown token is
    not predicting their characters; pre-tokens of spaces only are never masked either. Raises
    InputError for a vocabulary without the special tokens at both ends of a text.
    """
    check_roles(vocabulary, "cls", "sep")
    settings = settings or WindowSettings()
    rng = np.random.default_rng(settings.seed)
    for line in lines:
        words = splitter.pretokens(line)
        for start in range(0, len(words), settings.words):
            window = words[start : start + settings.words]
            drawn = rng.random(len(window)) < settings.share
            yield _build_window(window, drawn, splitter, vocabulary)


def compute_masked_loss(
    network: "transformers.PreTrainedModel", vocabulary: Vocabulary, windows: Iterable[MaskedWindow]
) -> MaskedLoss:
    """Mask words, predict their tokens, and sum the cross-entropy.

    Raises InputError for a network without a masked-language-model head, for a vocabulary without a
    mask token, and if no word is masked.
    """
    import torch

    check_roles(vocabulary, "mask")
    # The attention mask excludes padding, so any token can replace a missing padding token.
    mask = vocabulary.role_ids["mask"]
    pad = vocabulary.role_ids.get("pad", 0)
    positions = count_positions(network.config.to_dict())
    nats: list[float] = []
    fitting: list[MaskedWindow] = []
    too_long = 0
    # Switch dropout off, and restore the mode afterwards: this also runs during training.
    training = network.training
    network.eval()
    source = iter(windows)
    with torch.inference_mode():
        while batch := list(islice(source, BATCH)):
            short = [
                window for window in batch if positions is None or len(window.ids) <= positions
            ]
            too_long += len(batch) - len(short)
            fitting += short
            if masked := [window for window in short if window.hidden.any()]:
                nats += _compute_losses(network, masked, mask, pad)
    network.train(training)
    return _sum_losses(nats, fitting, too_long)


def compute_unigram_loss(counts: Ids, windows: Iterable[MaskedWindow]) -> MaskedLoss:
    """Compute the masked-word loss of a unigram model, which predicts wordpieces by frequency.

    counts: (tokens,) int64 by id; one is added to each count (Laplace smoothing).
    """
    table = np.asarray(counts, dtype=np.float64) + 1
    logs = np.log(table / table.sum())
    windows = list(windows)
    masked = [window for window in windows if window.hidden.any()]
    nats = [-float(logs[window.ids[window.hidden]].sum()) for window in masked]
    return _sum_losses(nats, windows, 0)


def check_roles(vocabulary: Vocabulary, *roles: str) -> None:
    """Raise InputError if a vocabulary lacks the special token of a role."""
    missing = vocabulary.list_missing(*roles)
    if missing:
        raise InputError(
            f"The vocabulary has no token {missing[0]}, which masked-language modeling needs.",
            "Choose an encoder that was pretrained by masked-language modeling.",
            code="no-mask-token",
        )


def check_masked_head(network: "transformers.PreTrainedModel") -> None:
    """Raise InputError if a network has no masked-language-model head."""
    name = type(network).__name__
    is_masked = name.endswith("ForMaskedLM") or _find_bert_head(network) is not None
    # ALBERT's class for pretraining has its head in `predictions`.
    if not is_masked and not hasattr(network, "predictions"):
        raise _build_no_head_error(network)


def get_masked_head(
    network: "transformers.PreTrainedModel",
) -> Callable[["torch.Tensor"], "torch.Tensor"]:
    """Return the masked-language-model head of a BERT or exBERT, which computes logits (n, tokens)
    from hidden states (n, width).

    Raises InputError if the network has none. For other architectures see `compute_scores_at`.
    """
    head = _find_bert_head(network)
    if head is None:
        raise _build_no_head_error(network)
    return cast(Any, head)  # type: ignore[no-any-return]


def _build_no_head_error(network: "transformers.PreTrainedModel") -> InputError:
    return InputError(
        f"{type(network).__name__} has no masked-language-model head.",
        "Choose a model that was saved with one (BertForMaskedLM).",
        code="no-masked-head",
    )


def _find_bert_head(network: "transformers.PreTrainedModel") -> Any:
    return getattr(getattr(network, "cls", None), "predictions", None)


def compute_scores_at(
    network: "transformers.PreTrainedModel",
    ids: "torch.Tensor",
    attended: "torch.Tensor",
    places: "torch.Tensor",
) -> "torch.Tensor":
    """Compute the logits (positions, tokens) of the masked-language-model head at the positions at
    which `places`, (batch, length) bool, is true.

    In every architecture, the head computes the logits of each position from the base model's
    output at this position alone. So a hook reduces this output to the selected positions, and the
    head runs unchanged, whatever its layers are.
    """
    if _find_bert_head(network) is not None:
        return get_masked_head(network)(
            compute_states_at(network.base_model, ids, attended, places)
        )
    check_masked_head(network)

    def select(module: Any, given: Any, output: Any) -> Any:
        """Reduce the hidden states (batch, length, width) to (1, positions, width)."""
        output["last_hidden_state"] = output[0][places][None]
        return output

    handle = network.base_model.register_forward_hook(select)
    try:
        found = network(input_ids=ids, attention_mask=attended, return_dict=True)
    finally:
        handle.remove()
    # The class for pretraining of ALBERT names its logits differently.
    logits = found.get("logits")
    if logits is None:
        logits = found["prediction_logits"]
    return cast("torch.Tensor", logits[0])


def _build_window(
    words: list[str], drawn: NDArray[np.bool_], splitter: Splitter, vocabulary: Vocabulary
) -> MaskedWindow:
    ids = [vocabulary.role_ids["cls"]]
    hidden = [False]
    masked = list[str]()
    for word, is_drawn in zip(words, drawn, strict=True):
        pieces = vocabulary.tokenize(word)
        text = ""
        if is_drawn and vocabulary.unknown not in pieces:
            text = splitter.read_pretoken(word).strip()
        ids += [vocabulary.ids[piece] for piece in pieces]
        hidden += [bool(text)] * len(pieces)
        masked += [text] * bool(text)
    ids.append(vocabulary.role_ids["sep"])
    hidden.append(False)
    joined = "".join(masked)
    return MaskedWindow(
        np.array(ids), np.array(hidden), len(masked), len(joined), len(joined.encode())
    )


def _compute_losses(
    network: "transformers.PreTrainedModel", batch: list[MaskedWindow], mask: int, pad: int
) -> list[float]:
    import torch

    # 1. Pad the windows to equal length.
    shape = (len(batch), max(len(window.ids) for window in batch))
    ids = np.full(shape, pad)
    hidden = np.zeros(shape, dtype=bool)
    attended = np.zeros(shape, dtype=np.int64)
    for row, window in enumerate(batch):
        ids[row, : len(window.ids)], hidden[row, : len(window.ids)] = window.ids, window.hidden
        attended[row, : len(window.ids)] = 1
    # 2. Replace the masked pieces by the mask token, and predict them.
    truth = torch.from_numpy(ids[hidden])
    places = torch.from_numpy(hidden)
    masked = torch.from_numpy(np.where(hidden, mask, ids)).to(network.device)
    scores = compute_scores_at(
        network,
        masked,
        torch.from_numpy(attended).to(network.device),
        places.to(network.device),
    ).float()
    # 3. Sum the loss by window.
    losses = torch.nn.functional.cross_entropy(scores, truth.to(network.device), reduction="none")
    window_of = np.nonzero(hidden)[0]
    return np.bincount(window_of, losses.double().cpu().numpy(), minlength=len(batch)).tolist()  # type: ignore[no-any-return]


def _sum_losses(nats: list[float], fitting: list[MaskedWindow], too_long: int) -> MaskedLoss:
    words = sum(window.words for window in fitting)
    characters = sum(window.characters for window in fitting)
    if not words and too_long:
        raise InputError(
            f"No word of this text could be masked: {too_long} windows have more tokens than the"
            " network has positions.",
            "Use shorter windows.",
            code="nothing-masked",
        )
    if not words:
        raise InputError(
            "No word of this text could be masked.", "Give more text.", code="nothing-masked"
        )
    each = np.array([nats, [window.characters for window in fitting if window.hidden.any()]]).T
    n_bytes = sum(window.bytes for window in fitting)
    return MaskedLoss(sum(nats), words, characters, len(fitting), too_long, n_bytes, each)


def compute_states_at(
    base: Any, ids: "torch.Tensor", attended: "torch.Tensor", places: "torch.Tensor"
) -> "torch.Tensor":
    """Compute the output of the last layer at some positions, (positions, width) float32.

    places: (batch, length) bool, true at these positions; the output is in row-major order.
    For layers other than those of BERT or exBERT, the output at every position is computed first.
    """
    import torch

    layer = _find_last_layer(base)
    if layer is None or not places.any():
        return cast("torch.Tensor", base(ids, attention_mask=attended)[0][places])
    # 1. Find the columns of the true entries of each row, (batch, longest), padded with others, and
    #    mark those that are not padding. [F T T / T F F] → columns [1 2 / 0 1], [T T / T F].
    counts = places.sum(dim=1)
    longest = int(counts.max())
    columns = places.int().argsort(dim=1, descending=True, stable=True)[:, :longest]
    is_chosen = torch.arange(longest, device=places.device) < counts[:, None]
    # 2. Replace forward on this instance only, and only during the call.
    layer.forward = partial(_forward_at, layer, columns)
    try:
        output = base(ids, attention_mask=attended)[0]
    finally:
        del layer.forward
    return cast("torch.Tensor", output[is_chosen])


def _find_last_layer(base: Any) -> Any:
    """Return the last layer of an encoder; None if it is not a layer of BERT or exBERT."""
    from transformers.models.bert.modeling_bert import BertLayer

    layers = getattr(getattr(base, "encoder", None), "layer", None)
    if not layers or getattr(base.config, "is_decoder", False):
        return None
    if type(layers[-1]) is BertLayer or hasattr(layers[-1], "at"):
        return layers[-1]
    return None


def _forward_at(
    layer: Any,
    columns: "torch.Tensor",
    hidden: "torch.Tensor",
    mask: "torch.Tensor | None" = None,
    *more: Any,
    **named: Any,
) -> "torch.Tensor":
    """Run a layer at the chosen columns only, (batch, positions, width); replaces its forward."""
    selected = hidden.gather(1, columns[..., None].expand(-1, -1, hidden.shape[-1]))
    if mask is not None:  # the mask is the same for every query
        mask = mask[..., :1, :].expand(-1, -1, selected.shape[1], -1)
    if hasattr(layer, "at"):  # a layer of exBERT
        return cast("torch.Tensor", layer.at(selected, hidden, mask))
    return run_bert_layer_at(layer, selected, hidden, mask)
