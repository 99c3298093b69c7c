"""Continued pretraining of an encoder of any family by masked-language modeling.

A text is packed into blocks, the parameters of a stage are trained with whole-word masking, and the
result is a model of the same architecture. Progress is measured by the loss per character on
held-out lines before and after training, which is comparable between models with different
vocabularies.
"""

import json
import os
import shutil
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.models.abilities import check_ability
from vocadapt.models.adapted_model import save_trained
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.contextual.masked_loss import (
    MaskedWindow,
    WindowSettings,
    check_masked_head,
    check_roles,
    compute_masked_loss,
)
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.loading import Loaded, clear_free_rows, load_network
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import MINUTES_PER_YEAR, check_settings, setting
from vocadapt.system.files import temporary_folder
from vocadapt.system.json_values import list_known_fields
from vocadapt.text.corpus import Corpus
from vocadapt.training.callbacks import preserve_random_state
from vocadapt.training.masked.blocks import Blocks, pack_blocks
from vocadapt.training.masked.losses import find_next_sentence_head
from vocadapt.training.masked.report import TrainingReport
from vocadapt.training.masked.sentence_pairs import Pairs, pack_pairs
from vocadapt.training.masked.settings import (
    PRETRAINING_PRESETS,
    STAGES,
    MaskedSettings,
    check_stage,
    select_trained_parameters,
)
from vocadapt.training.masked.trainer import TrainingResult, train_and_validate
from vocadapt.training.masked.validation import (
    HeldOutCurve,
    Losses,
    build_held_out_windows,
    measure_losses,
)
from vocadapt.training.rounding import copy_weights, round_weights
from vocadapt.training.trained_parameters import (
    TrainedParameters,
    compare_old_embeddings,
    find_new_ids,
    require_new_ids,
)
from vocadapt.training.training_text import TrainingText, write_training_text

if TYPE_CHECKING:
    import torch

    from vocadapt.training.separated_embeddings import SeparatedEmbeddings

INTERMEDIATE = "checkpoints"  # folder of the intermediate models
# Long parts of the report, which are left out of the record in the model folder.
LONG_PARTS = ("curve", "next_curve", "held_out_curve", "checkpoints")


@dataclass(frozen=True)
class ContinuedSettings(TrainedParameters):
    """Settings of continued pretraining: the stage and how it is trained.

    Raises InputError if `trained` selects only new embeddings, but `train_heads` is set.
    """

    stage: str = setting(
        "continued", "parameters to train", choices=STAGES, empty="none", always=True
    )
    train_heads: bool = setting(
        False,
        "also train the masked-language-model head in the stage extension, as in the authors'"
        " code; Tai et al. 2020 describe training only module, gates and new embeddings",
        label="Train MLM head",
    )
    nsp: bool = setting(
        False,
        "add next-sentence prediction: blocks are pairs of text segments; documents are separated"
        " by empty lines, or each line is a document",
        label="Next-sentence prediction",
    )
    keep_minutes: float = setting(
        0.0,
        "minutes between models saved during training, each usable for fine-tuning",
        high=MINUTES_PER_YEAR,
        label="Save every (minutes)",
        empty="none saved",
    )
    training: MaskedSettings = field(default_factory=lambda: PRETRAINING_PRESETS["quick"].settings)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.only_new_embeddings and self.train_heads:
            raise InputError(
                "The masked-language-model head is not trained if only new embeddings are trained.",
                "Train all parameters of the stage, or do not train the head.",
                "trained",
                code="untrained-head",
            )

    @property
    def cost_stage(self) -> str:
        """The stage whose trained parameters determine the duration."""
        if self.only_new_embeddings:
            return "embeddings"
        return self.stage


@dataclass(frozen=True, eq=False)
class ContinuedModel:
    """A network after continued pretraining, with the original model and the training metrics.

    curve: held-out loss over training. intermediate: folders of the intermediate models. figures:
    statistics of the sentence pairs and of the rounding. held_out_digest: SHA-256 of the held-out
    lines and window settings; trainings with the same digest are evaluated on the same masked
    words.
    """

    model: LanguageModel
    loaded: Loaded
    dtype: "torch.dtype"
    settings: ContinuedSettings
    trained: TrainingResult
    losses: Losses
    curve: HeldOutCurve
    intermediate: tuple[Path, ...]
    figures: dict[str, Any] = field(default_factory=dict)
    held_out_digest: str = ""

    @property
    def report(self) -> TrainingReport:
        """The report of the training."""
        return TrainingReport(
            stage=self.settings.stage,
            trained=self.settings.trained,
            **self.trained.list_metrics(),
            **self.losses.list_figures(),
            held_out_asked=self.held_out_digest,
            held_out_curve=self.curve.to_dict(),
            **self.figures,
            checkpoints=tuple(f"{INTERMEDIATE}/{folder.name}" for folder in self.intermediate),
        )

    def save(self, folder: Path) -> None:
        """Write the model to a folder, with the intermediate models in a subfolder.

        The files of the intermediate models also remain in the training's folder, so saving can be
        repeated if the disk was full or the process was killed.
        """
        known = list_known_fields(self.report)
        report = {key: value for key, value in known.items() if key not in LONG_PARTS}
        save_trained(self.model, self.loaded, folder, self.dtype, report)
        for source in self.intermediate:
            target = folder / INTERMEDIATE / source.name
            shutil.copytree(source, target, copy_function=_link_or_copy)


def continue_pretraining(
    model: LanguageModel,
    corpus: Corpus,
    settings: ContinuedSettings,
    folder: Path,
    progress: Progress = silent,
) -> ContinuedModel:
    """Train the parameters of a stage on a text, tokenized by the model's own tokenizer.

    folder: holds checkpoints and intermediate models; a second call with the same folder resumes an
    interrupted training. The global random state is left unchanged. Raises InputError if the stage
    does not fit the model, if the model has no masked-language-model head, and if the text is too
    short.
    """
    training = settings.training

    # 1. Load the network in float32, and fail early if a head is missing.
    check_continued(model, settings)
    loaded = load_network(model)
    network, dtype = loaded.network, loaded.network.dtype
    check_masked_head(network)
    if settings.nsp:
        find_next_sentence_head(network)
    network.float()
    clear_free_rows(model, network)

    # 2. Split the text into held-out windows and blocks.
    text, blocks = _pack_text(model, corpus, settings, folder, part(progress, 0.0, 0.07))
    held_out = build_held_out_windows(text, model.vocabulary, training.length)

    # 3. Train.
    before = compute_masked_loss(network, model.vocabulary, held_out)
    stored = None if dtype == network.dtype else copy_weights(network, dtype)
    with preserve_random_state():
        report = part(progress, 0.07, 0.98)
        trained, curve = _train(model, loaded, dtype, blocks, held_out, settings, folder, report)

    # 4. Measure the held-out loss of the weights as they will be saved.
    progress(0.98, "measuring the held-out loss")
    figures: dict[str, Any] = blocks.to_dict() if isinstance(blocks, Pairs) else {}
    if stored is not None:
        figures |= round_weights(network, dtype, stored).to_dict()
    if settings.only_new_embeddings:
        figures["old_embeddings"] = compare_old_embeddings(model, network, find_new_ids(model))
    return ContinuedModel(
        model=model,
        loaded=loaded,
        dtype=dtype,
        settings=settings,
        trained=trained,
        losses=measure_losses(network, blocks, held_out, before, trained.steps, training.lr),
        curve=curve,
        intermediate=list_intermediate_models(folder),
        figures=figures,
        held_out_digest=_hash_masked_words(text, training.length),
    )


def _pack_text(
    model: LanguageModel,
    corpus: Corpus,
    settings: ContinuedSettings,
    folder: Path,
    progress: Progress,
) -> tuple[TrainingText, Blocks]:
    """Hold out lines of a text, and pack the others into blocks: sentence pairs for next-sentence
    prediction, else contiguous text.
    """
    training = settings.training
    report = part(progress, 0.0, 0.7)
    text = write_training_text(corpus, model.splitter, folder, training.seed, report, settings.nsp)
    report = part(progress, 0.7, 1.0)
    report(0.0, "packing the text into blocks")
    if not settings.nsp:
        return text, pack_blocks(text.sentences, model.vocabulary, training.length)
    return text, pack_pairs(
        text.sentences, model.vocabulary, training.length, training.seed, report
    )


def _hash_masked_words(text: TrainingText, length: int) -> str:
    """Hash what determines the masked words: window settings, held-out lines and, for a model whose
    pre-tokens are not words, its splitter.
    """
    described: list[Any] = [asdict(WindowSettings().within(length)), text.held_out]
    if not text.splitter.outputs_words:
        described.append([text.splitter.normalizer, text.splitter.pre_tokenizer])
    return sha256(json.dumps(described).encode()).hexdigest()


def check_continued(
    model: LanguageModel,
    settings: ContinuedSettings,
    extended: bool | None = None,
    adapted: bool = False,
) -> None:
    """Raise InputError if the stage or the block length does not fit the model, if the model lacks
    a special token, or if only new embeddings are trained and it has no new tokens.

    extended: whether the model will be an exBERT when the training begins; None reads this from the
    model. adapted: whether the model will have been adapted by then.
    """
    check_ability(model, "pretrain")
    check_stage(model, settings.stage, settings.train_heads, extended)
    if settings.only_new_embeddings and not adapted:
        require_new_ids(model)
    length = settings.training.length
    positions = count_positions(model.config)
    if positions is not None and length > positions:
        raise InputError(
            f"{model.name} accepts {positions} wordpieces at most.",
            f"Choose a block length of {positions} or less.",
        )
    check_roles(model.vocabulary, "cls", "sep", "mask")
    if settings.nsp:
        check_roles(model.vocabulary, "pad")


def _train(
    model: LanguageModel,
    loaded: Loaded,
    dtype: "torch.dtype",
    blocks: Blocks,
    held_out: tuple[MaskedWindow, ...],
    settings: ContinuedSettings,
    folder: Path,
    progress: Progress,
) -> tuple[TrainingResult, HeldOutCurve]:
    """Train the parameters of the stage; separated embeddings are merged at the end."""
    network = loaded.network
    total = sum(value.numel() for value in network.parameters())
    separated = select_trained_parameters(
        network,
        settings.stage,
        find_new_ids(model),
        settings.train_heads,
        settings.only_new_embeddings,
    )
    saver = None
    if settings.keep_minutes:
        saver = IntermediateSaver(model, loaded, dtype, settings, separated, folder / INTERMEDIATE)
    trained, curve = train_and_validate(
        network, blocks, held_out, settings.training, folder, progress, saver
    )
    if separated is not None:
        separated.merge()
    network.requires_grad_(True)
    return replace(trained, frozen=total - trained.trainable), curve


class IntermediateSaver:
    """Saves the model as an ordinary model folder every `keep_minutes` during training."""

    def __init__(
        self,
        model: LanguageModel,
        loaded: Loaded,
        dtype: "torch.dtype",
        settings: ContinuedSettings,
        separated: "SeparatedEmbeddings | None",
        folder: Path,
    ) -> None:
        self.model = model
        self.loaded = loaded
        self.dtype = dtype
        self.settings = settings
        self.separated, self.folder, self.last = separated, folder, time.monotonic()

    def __call__(self, step: int) -> None:
        """Save the model after a step, if `keep_minutes` have passed."""
        if time.monotonic() - self.last < 60 * self.settings.keep_minutes:
            return
        draft = self.folder / f".step-{step}"
        target = self.folder / f"step-{step}"
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(target, ignore_errors=True)
        draft.mkdir(parents=True)
        tokens = step * self.settings.training.batch * self.settings.training.length
        report = {
            "stage": self.settings.stage,
            "trained": self.settings.trained,
            "steps": step,
            "tokens": tokens,
        }
        with self.separated.merged() if self.separated else nullcontext():
            save_trained(self.model, self.loaded, draft, self.dtype, report)
        draft.rename(target)
        self.last = time.monotonic()


def continue_and_save(
    model: LanguageModel,
    corpus: Corpus,
    settings: ContinuedSettings,
    out: Path,
    folder: Path | None = None,
    progress: Progress = silent,
) -> ContinuedModel:
    """Run `continue_pretraining` and save the model in `out`.

    Without a `folder` for checkpoints, an interrupted training cannot be resumed.
    """
    with temporary_folder() as temporary:
        result = continue_pretraining(model, corpus, settings, folder or Path(temporary), progress)
        result.save(out)
        return result


def list_intermediate_models(folder: Path) -> tuple[Path, ...]:
    """List the intermediate models of the training in `folder`, by step."""
    models = (folder / INTERMEDIATE).glob("step-*")
    return tuple(sorted(models, key=lambda model: int(model.name.removeprefix("step-"))))


def _link_or_copy(source: str, target: str) -> None:
    """Make a hard link, which takes no space; a copy if the file system has none."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
