"""Further pretraining of a model: a text → blocks → whole-word masked training of what a stage
trains → the model again.

Held-out lines, which it never sees, tell how good it became: loss per character, before and after,
which models of other vocabularies can be compared by.
"""

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.models.contextual.masked_loss import (
    Window,
    WindowSettings,
    head_on,
    masked_word_loss,
    unigram_loss,
    windows,
)
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.loading import Loaded, load_network
from vocadapt.models.saving import save_again
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import MINUTES_PER_YEAR, bounded, check_settings
from vocadapt.text.corpus import Corpus
from vocadapt.training.callbacks import check_finite, preserve_random_state
from vocadapt.training.masked.blocks import Blocks, pack
from vocadapt.training.masked.budget import count_steps
from vocadapt.training.masked.held_out_loss import Losses
from vocadapt.training.masked.losses import find_next_sentence_head
from vocadapt.training.masked.sentence_pairs import Pairs, pack_pairs
from vocadapt.training.masked.stages import PRETRAINING_PRESETS, begin, check_stage, new_ids
from vocadapt.training.masked.trainer import (
    MaskedSettings,
    TrainingResult,
    train_masked,
    trainable_parameters,
)
from vocadapt.training.masked.training_text import write_training_text
from vocadapt.training.masked.validation import HeldOutCurve, HeldOutValidator
from vocadapt.training.rounding import copy_weights, round_weights

if TYPE_CHECKING:
    import torch

    from vocadapt.models.exbert.embedding_rows import Apart

KEPT = "checkpoints"  # folder of the models that were saved on the way
LONG = (
    "curve",
    "next_curve",
    "held_out_curve",
    "checkpoints",
)  # of the report, what the model's own record does not repeat


@dataclass(frozen=True)
class ContinuedSettings:
    """The stage, whether the masked-word head moves in the stage extension too, how it is trained.

    `keep_minutes` lie between two models that are saved on the way (0: none), for fine-tuning to
    begin from. `nsp`: blocks are pairs of sentences, and whether the second follows the first is
    asked too.
    """

    stage: str = "continued"
    train_heads: bool = False
    nsp: bool = False
    keep_minutes: float = bounded(0.0, 0, MINUTES_PER_YEAR, "Minutes between saved models")
    training: MaskedSettings = field(default_factory=lambda: PRETRAINING_PRESETS["quick"].settings)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, eq=False)
class ContinuedModel:
    """A network that was trained further, the model it was, and how it went.

    `curve`: how its held-out loss fell. `kept`: where the models that were saved on the way lie.
    """

    model: LanguageModel
    loaded: Loaded
    dtype: "torch.dtype"
    settings: ContinuedSettings
    trained: TrainingResult
    losses: Losses
    curve: HeldOutCurve
    kept: tuple[Path, ...]
    packed: dict[str, Any] = field(
        default_factory=dict
    )  # figures of sentence pairs and of rounding
    asked: str = ""  # a digest of the lines and the draw: who has the same was asked the same words

    def to_dict(self) -> dict[str, Any]:
        """The report, in numbers."""
        told = self.losses.to_record() | {
            "held_out_asked": self.asked,
            "held_out_curve": self.curve.to_dict(),
        }
        kept = [f"{KEPT}/{folder.name}" for folder in self.kept]
        return {
            "stage": self.settings.stage,
            **self.trained.to_dict(),
            **told,
            **self.packed,
            "checkpoints": kept,
        }

    def save(self, folder: Path) -> None:
        """Write the folder the model was, with its weights as they became, and the models on the
        way below it.

        These stay where they were kept, too: who saves again after a full disk, or a kill, still
        has them.
        """
        report = {key: value for key, value in self.to_dict().items() if key not in LONG}
        save_again(self.model, self.loaded, folder, self.dtype, report)
        for place in self.kept:
            shutil.copytree(place, folder / KEPT / place.name, copy_function=_linked)


def continue_pretraining(
    model: LanguageModel,
    corpus: Corpus,
    settings: ContinuedSettings,
    folder: Path,
    progress: Progress = silent,
) -> ContinuedModel:
    """Train what the stage of the settings trains, on a text cut by the model's own tokenizer.

    `folder` keeps what is needed to go on after a stop, and the models on the way; a second call
    with it goes on from there. The global random state is left as it was. Raises InputError for a
    stage that does not fit the model, a model without a masked-word head, and too little text.
    """
    check_continued(model, settings)
    loaded = load_network(model)
    network, dtype = loaded.network, loaded.network.dtype
    head_on(network)  # before anything long begins
    if settings.nsp:
        find_next_sentence_head(network)
    network.float()
    material = write_training_text(
        corpus,
        model.splitter,
        folder,
        settings.training.seed,
        part(progress, 0.0, 0.05),
        settings.nsp,
    )
    progress(0.05, "cutting the text into blocks")
    packing = (
        partial(pack_pairs, seed=settings.training.seed, progress=part(progress, 0.05, 0.07))
        if settings.nsp
        else pack
    )
    blocks: Blocks = packing(material.sentences, model.vocabulary, settings.training.length)
    drawn = WindowSettings().within(settings.training.length)
    asked = tuple(windows(material.held_out, model.splitter, model.vocabulary, drawn))
    before = masked_word_loss(network, model.vocabulary, asked)
    stored = None if dtype == network.dtype else copy_weights(network, dtype)
    with preserve_random_state():
        trained, curve = _train(
            model, loaded, dtype, blocks, asked, settings, folder, part(progress, 0.07, 0.98)
        )
    progress(0.98, "asking it the held-out words")
    packed: dict[str, Any] = blocks.to_dict() if isinstance(blocks, Pairs) else {}
    if stored is not None:  # report the loss of the saved weights
        packed |= round_weights(network, dtype, stored).to_dict()
    after = masked_word_loss(network, model.vocabulary, asked)
    check_finite(
        after.nats,
        f"step {trained.steps:,}, the last",
        settings.training.lr,
        "The held-out loss is",
    )
    losses = Losses(unigram_loss(blocks.counts, asked), before, after)
    digest = sha256(json.dumps([asdict(drawn), material.held_out]).encode()).hexdigest()
    return ContinuedModel(
        model, loaded, dtype, settings, trained, losses, curve, kept_in(folder), packed, digest
    )


def check_continued(
    model: LanguageModel, settings: ContinuedSettings, extended: bool | None = None
) -> None:
    """Raises InputError where stage or length does not fit the model; `extended`: whether an exBERT
    will be made of it.
    """
    check_stage(model, settings.stage, settings.train_heads, extended)
    _check_length(model, settings.training.length)


def _train(
    model: LanguageModel,
    loaded: Loaded,
    dtype: "torch.dtype",
    blocks: Blocks,
    asked: tuple[Window, ...],
    settings: ContinuedSettings,
    folder: Path,
    progress: Progress,
) -> tuple[TrainingResult, HeldOutCurve]:
    """Train what the stage trains, asking it `asked` now and then; in the end the network is whole
    again.
    """
    network, how = loaded.network, settings.training
    whole = sum(value.numel() for value in network.parameters())
    apart = begin(network, settings.stage, new_ids(model), settings.train_heads)
    trainable = sum(value.numel() for value in trainable_parameters(network).values())
    keeper = (
        Keeper(model, loaded, dtype, settings, apart, folder / KEPT)
        if settings.keep_minutes
        else None
    )
    listener = HeldOutValidator(
        network,
        model.vocabulary,
        asked,
        folder,
        how.batch * how.length,
        lambda: count_steps(network, blocks, how, folder),
    )

    def each(step: int) -> None:
        listener(step)
        if keeper is not None:
            keeper(step)

    trained = train_masked(network, blocks, how, folder, progress, each)
    if apart is not None:
        apart.put_together()
    network.requires_grad_(True)
    seconds = (
        listener.seconds or trained.seconds
    )  # those of a training that was stopped and went on are told together
    return (
        replace(trained, trainable=trainable, frozen=whole - trainable, seconds=seconds),
        listener.curve,
    )


class Keeper:
    """Saves the model on the way, every so many minutes, as an ordinary folder."""

    def __init__(
        self,
        model: LanguageModel,
        loaded: Loaded,
        dtype: "torch.dtype",
        settings: ContinuedSettings,
        apart: "Apart | None",
        folder: Path,
    ) -> None:
        self.model, self.loaded, self.dtype, self.settings = model, loaded, dtype, settings
        self.apart, self.folder, self.last = apart, folder, time.monotonic()

    def __call__(self, step: int) -> None:
        """Save after this step, if it is time to."""
        if time.monotonic() - self.last < 60 * self.settings.keep_minutes:
            return
        draft, place = self.folder / f".step-{step}", self.folder / f"step-{step}"
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
        draft.mkdir(parents=True)
        read = step * self.settings.training.batch * self.settings.training.length
        report = {"stage": self.settings.stage, "steps": step, "tokens": read}
        if self.apart is None:
            save_again(self.model, self.loaded, draft, self.dtype, report)
        else:
            with self.apart.together():
                save_again(self.model, self.loaded, draft, self.dtype, report)
        draft.rename(place)
        self.last = time.monotonic()


def continue_and_save(
    model: LanguageModel,
    corpus: Corpus,
    settings: ContinuedSettings,
    out: Path,
    folder: Path | None = None,
    progress: Progress = silent,
) -> ContinuedModel:
    """`continue_pretraining`, saved in `out`; without a `folder` what is needed to go on is not
    kept.
    """
    with TemporaryDirectory(prefix="vocadapt-") as temporary:
        made = continue_pretraining(model, corpus, settings, folder or Path(temporary), progress)
        made.save(out)
        return made


def kept_in(folder: Path) -> tuple[Path, ...]:
    """The models saved on the way by the training that keeps its checkpoints in a folder, in the
    order of their steps.
    """
    return tuple(
        sorted(
            (folder / KEPT).glob("step-*"), key=lambda place: int(place.name.removeprefix("step-"))
        )
    )


def _linked(source: str, target: str) -> None:
    """The same file under a second name, which takes no room; a copy where the disk has no such
    names.
    """
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _check_length(model: LanguageModel, length: int) -> None:
    positions = int(model.config.get("max_position_embeddings", length))
    if length > positions:
        raise InputError(
            f"{model.name} reads {positions} wordpieces at most.",
            f"Give a --length of {positions} or less.",
        )
    lacking = [
        token for token in ("[CLS]", "[SEP]", "[MASK]", "[PAD]") if token not in model.vocabulary
    ]
    if lacking:
        raise InputError(
            f"{model.name} has no token {lacking[0]}, which masked training needs.",
            "Choose a BERT-type model.",
        )
