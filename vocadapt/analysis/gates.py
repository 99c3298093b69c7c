"""Gates of an exBERT on a text: how much each layer uses its extension, by kind of token.

A layer returns g · its own output + (1 − g) · the output of its extension module, with a gate value
g for each token (Tai et al. 2020, section 3.2). The reported value is 1 − g, the fraction of the
extension: 0 is BERT's layer only, 1 the extension only. An untrained gate has about its initial
value (published: .5).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.models.contextual.masked_loss import MaskedWindow, WindowSettings, build_loss_windows
from vocadapt.models.contextual.word_vectors import pad_batch
from vocadapt.models.extension_size import ModuleSize
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, silent
from vocadapt.training.trained_parameters import find_new_ids
from vocadapt.vocabulary.families import Vocabulary

BATCH = 16  # windows at a time
ALL = "all"
KINDS = {
    "added": "an added token, word or continuation",
    "whole word": "an old token that is a whole word",
    "first piece": "an old token that begins a longer word",
    "continuation": "an old token that continues a word",
    "number": "an old token of digits, without a letter",
    "punctuation": "an old token without letter or digit",
    "special": "a special or unknown token",
}


@dataclass(frozen=True)
class GateKind:
    """A kind of token: how many, and mean and deviation of the fraction in each layer."""

    tokens: int
    share: tuple[float, ...]
    sd: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class GateStatistics:
    """Fraction of the extension in each layer's output: mean and deviation over the tokens of a
    kind.

    means, deviations: (layers, kinds) float64; kinds: those of KINDS that occur, followed by ALL;
    counts: number of tokens of each kind; windows: number of windows of text that were read;
    too_long: number of windows with too many wordpieces for the network.
    """

    kinds: tuple[str, ...]
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    counts: tuple[int, ...]
    windows: int
    too_long: int = 0

    @property
    def layers(self) -> int:
        """Number of layers with a gate."""
        return len(self.means)

    @property
    def by_kind(self) -> dict[str, GateKind]:
        """The statistics of each kind."""
        return {
            kind: GateKind(count, tuple(means), tuple(deviations))
            for kind, count, means, deviations in zip(
                self.kinds,
                self.counts,
                self.means.T.tolist(),
                self.deviations.T.tolist(),
                strict=True,
            )
        }


def measure_gates(
    model: LanguageModel, lines: Sequence[str], progress: Progress = silent
) -> GateStatistics:
    """Run an exBERT on lines of text and measure the fraction of the extension in each layer's
    output.

    Raises InputError if the model has no extension modules, or can read no word of the lines.
    """
    # 1. Build windows of text that fit the network, without masked tokens.
    fitting, too_long = _build_windows(model, lines)
    new = np.zeros(len(model.vocabulary), dtype=bool)
    new[find_new_ids(model)] = True

    # 2. The fraction of the extension for each token, (layers, tokens), and the kind of each.
    kinds: list[NDArray[np.int64]] = []
    fractions: list[NDArray[np.float64]] = []
    for batch, gates in _read_gates(model, fitting):
        for window, own in zip(batch, gates, strict=True):
            kinds.append(classify_tokens(window.ids, model.vocabulary, new))
            fractions.append(1 - own[:, : len(window.ids)])  # the rest is padding
        progress(len(kinds) / len(fitting), f"{len(kinds):,} of {len(fitting):,} windows read")

    # 3. Means and deviations of the kinds that occur, and of all tokens.
    kind_of_token = np.concatenate(kinds)
    shares = np.concatenate(fractions, axis=1)
    members = {name: kind_of_token == i for i, name in enumerate(KINDS)}
    members[ALL] = np.full(len(kind_of_token), True)
    members = {name: member for name, member in members.items() if member.any()}
    return GateStatistics(
        tuple(members),
        np.stack([shares[:, member].mean(axis=1) for member in members.values()], axis=1),
        np.stack([shares[:, member].std(axis=1) for member in members.values()], axis=1),
        tuple(int(member.sum()) for member in members.values()),
        len(fitting),
        too_long,
    )


def _build_windows(model: LanguageModel, lines: Sequence[str]) -> tuple[list[MaskedWindow], int]:
    """Return the windows that fit the network, and the number of those that are too long."""
    if not ModuleSize.from_config(model.config).hidden:
        raise InputError(
            f"{model.name} has no extension modules, so it has no gates.",
            "Adapt a model with the preset exbert-s3, then pretrain it.",
            code="no-gates",
        )
    positions = int(model.config.get("max_position_embeddings", 512))
    unmasked = WindowSettings(share=0.0).within(positions)
    read = list(build_loss_windows(lines, model.splitter, model.vocabulary, unmasked))
    fitting = [window for window in read if len(window.ids) <= positions]
    if not fitting:
        raise InputError(
            "This text has no word that the model can read.", "Give another text.", code="no-words"
        )
    return fitting, len(read) - len(fitting)


def classify_tokens(
    ids: NDArray[np.int64], vocabulary: Vocabulary, new: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the kind of each token of a window, (n,) int64 indices into KINDS.

    ids: (n,) int64. new: for each id of the vocabulary whether its token was added, (V,) bool.
    """
    # The last token is followed by no continuation.
    is_continuation = [*vocabulary.is_continuation[ids].tolist(), False]
    names = list(KINDS)
    found = np.empty(len(ids), dtype=np.int64)
    for place, id in enumerate(ids):
        # The first kind that applies counts; an added token is always of the kind "added".
        token = vocabulary.tokens[id]
        body = vocabulary.body(token)
        if vocabulary.position(token) == "special":
            kind = "special"
        elif new[id]:
            kind = "added"
        elif not any(map(str.isalnum, body)):
            kind = "punctuation"
        elif not any(map(str.isalpha, body)):
            kind = "number"
        elif is_continuation[place]:
            kind = "continuation"
        elif is_continuation[place + 1]:
            kind = "first piece"
        else:
            kind = "whole word"
        found[place] = names.index(kind)
    return found


def _read_gates(
    model: LanguageModel, to_read: Iterable[MaskedWindow]
) -> Iterator[tuple[Sequence[MaskedWindow], NDArray[np.float64]]]:
    """Yield batches of windows and the gates of each, (windows, layers, length) float64."""
    import torch

    network = cast(Any, model.reader).base_model
    pad = model.vocabulary.role_ids["pad"]
    source = iter(to_read)
    while batch := list(islice(source, BATCH)):
        ids, attended = pad_batch([window.ids for window in batch], pad)
        with torch.inference_mode():
            found: Sequence[torch.Tensor] = network(
                ids, attention_mask=attended, output_gates=True
            ).gates
        yield batch, torch.stack(list(found), dim=1)[..., 0].double().numpy()
