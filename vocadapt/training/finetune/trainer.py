"""Fine-tuning by transformers' Trainer, with a dev score after every epoch and the weights of the
best epoch.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.models.config_sizes import POSITIONS_AFTER_PADDING
from vocadapt.progress import Progress
from vocadapt.system.files import write_atomically
from vocadapt.training.callbacks import (
    DEV,
    StepClock,
    check_weights,
    find_checkpoint,
    read_history,
)
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.tokenizations import FinetuningDataset
from vocadapt.training.scoring.summary import Baseline, is_collapsed
from vocadapt.training.trained_parameters import measure_optimizer

if TYPE_CHECKING:
    import torch
    import transformers

BEST = "best.safetensors"
DEV_LOSSES = "dev_losses.json"
# Bounds of `has_learned_nothing`, checked on 16 runs of 5 or 15 epochs with 23 to 219 entities. In
# runs that learned late (first dev score above 0 after up to 6 epochs), the loss on dev was at
# least 9 % below the first one after 3 epochs. In the two runs that these bounds end early, it had
# risen.
MIN_EVALUATIONS = 3
MIN_LOSS_DECREASE = 0.03  # fraction of the first loss on dev


class DevScore(NamedTuple):
    """Score and mean loss of the dev split."""

    score: float
    loss: float


@dataclass(frozen=True)
class FitResult:
    """Metrics of a finished training.

    dev: dev score after each epoch. curve: (step, mean loss). examples: number of examples trained
    on. seconds: duration of all steps at their mean speed, without setup and scoring; 0 for a
    single step. findings: sentences to report. optimizer_bytes: size of the optimizer's state.
    """

    dev: tuple[float, ...]
    curve: tuple[tuple[int, float], ...]
    examples: int
    seconds: float = 0.0
    findings: tuple[str, ...] = ()
    optimizer_bytes: int = 0


def fit(
    network: "transformers.PreTrainedModel",
    dataset: FinetuningDataset,
    settings: FinetuneSettings,
    folder: Path,
    score: Callable[[], DevScore] | None,
    progress: Progress,
    baseline: Baseline | None = None,
) -> FitResult:
    """Train `network` in place; with `score`, it ends with the weights of its best epoch.

    baseline: of the dev split; with it, a training in which nothing is learned ends early
    (`has_learned_nothing`). An interrupted training resumes from the newest checkpoint in `folder`,
    with the same result. Raises InputError if the loss is not finite.
    """
    from vocadapt.training.finetune.finetuning_trainer import FinetuningTrainer
    from vocadapt.training.trainers import StepCallback

    if not any(value.requires_grad for value in network.parameters()):
        raise InputError("No parameter is left to train.", "Choose other layers to train.")

    # 1. Train.
    epochs = EpochScorer(network, dataset, settings, folder, score, baseline)
    trainer = FinetuningTrainer(network, dataset, settings, folder, progress)
    clock = StepClock()

    def finish_step(step: int) -> bool:
        clock.finish_step()
        stops = epochs.finish_step(step)
        clock.begin_step()
        return stops

    trainer.add_callback(StepCallback(finish_step))
    trainer.train(resume_from_checkpoint=find_checkpoint(folder))

    # 2. Check the weights after the last update, which no loss of a step covers.
    check_weights(network, len(dataset), settings.lr)
    network.eval()
    trainer.check_last_loss()
    epochs.restore_best()

    findings = epochs.list_findings()
    if trainer.n_micro_batches > 1:
        micro_batches = (
            f"{settings.batch} were processed in {trainer.n_micro_batches} micro-batches"
        )
        findings.append(f"Memory was short: batches of {micro_batches}.")
    epochs_done = trainer.state.global_step / dataset.steps
    return FitResult(
        dev=tuple(epochs.scores),
        curve=read_history(trainer.state.log_history),
        examples=round(epochs_done * len(dataset.draw_items(0))),
        seconds=clock.estimate_seconds(trainer.state.global_step),
        findings=tuple(findings),
        optimizer_bytes=measure_optimizer(trainer.optimizer),
    )


def has_learned_nothing(
    scores: Sequence[float], losses: Sequence[float], baseline: Baseline, epochs: int
) -> bool:
    """Return whether a training shows no sign of learning, so that its remaining epochs are wasted.

    scores, losses: of the dev split after each epoch so far. epochs: of the whole training.

    1. Half of the epochs are over, and at least MIN_EVALUATIONS.
    2. No dev score exceeds the majority baseline.
    3. The loss on dev never fell by MIN_LOSS_DECREASE of its value after the first epoch. The score
       alone does not show progress: probabilities rise for epochs before a prediction changes.

    Example, baseline 0, 5 epochs: losses [.359 .368 .363] -> True; [.345 .303 .323] -> False.
    """
    if len(losses) != len(scores) or len(scores) < max(MIN_EVALUATIONS, epochs / 2):
        return False
    if not is_collapsed(scores, baseline):
        return False
    return min(losses) > (1 - MIN_LOSS_DECREASE) * losses[0]


def _read_numbers(path: Path) -> list[float]:
    if not path.is_file():
        return []
    found: list[float] = json.loads(path.read_text(encoding="utf-8"))
    return found


class EpochScorer:
    """Scores the dev split after every epoch, and saves the best weights, also for a resumed
    training.

    stopped: whether training ended before its last epoch; learned_nothing: whether that was because
    nothing was learned, and not because of the patience.
    """

    def __init__(
        self,
        network: Any,
        dataset: FinetuningDataset,
        settings: FinetuneSettings,
        folder: Path,
        score: Callable[[], DevScore] | None,
        baseline: Baseline | None = None,
    ) -> None:
        self.network = network
        self.steps = dataset.steps
        self.settings = settings
        self.folder, self.score, self.baseline = folder, score, baseline
        self.stopped, self.learned_nothing = False, False
        self.scores = _read_numbers(folder / DEV)
        self.losses = _read_numbers(folder / DEV_LOSSES)

    @property
    def best(self) -> int:
        """Index of the first epoch with the best score."""
        return self.scores.index(max(self.scores))

    def finish_step(self, step: int) -> bool:
        """Score the dev split if this step ends an epoch; returns whether to stop training."""
        from safetensors.torch import save_file

        if self.score is None or step % self.steps:
            return False
        epoch = step // self.steps - 1
        # Epochs after the checkpoint are scored again, with the same results.
        del self.scores[epoch:], self.losses[epoch:]
        score, loss = self.score()
        self.scores.append(score)
        self.losses.append(loss)
        if self.best == epoch:
            state = self.network.state_dict()
            stored = {name: value.detach().cpu().contiguous() for name, value in state.items()}
            # Write atomically: a killed training leaves either the old or the new weights.
            draft = self.folder / f"{BEST}.part"
            save_file(stored, draft)
            draft.replace(self.folder / BEST)
        write_atomically(self.folder / DEV, json.dumps(self.scores))
        write_atomically(self.folder / DEV_LOSSES, json.dumps(self.losses))

        # The last epoch ends by itself.
        epochs, patience = self.settings.epochs, self.settings.patience
        if epoch + 1 < epochs:
            self.learned_nothing = self.baseline is not None and has_learned_nothing(
                self.scores, self.losses, self.baseline, epochs
            )
            self.stopped = self.learned_nothing or (
                bool(patience) and epoch - self.best >= patience
            )
        return self.stopped

    @property
    def has_better_epoch(self) -> bool:
        """Whether an earlier epoch was better than the last one."""
        return bool(self.scores) and self.best < len(self.scores) - 1

    def restore_best(self) -> None:
        """Load the weights of the best epoch into the network."""
        from safetensors.torch import load_file

        if self.has_better_epoch:
            self.network.load_state_dict(load_file(self.folder / BEST), strict=True)

    def list_findings(self) -> list[str]:
        """Report early stopping and restored weights."""
        findings = []
        if self.stopped:
            reason = f"{self.settings.patience} epochs without a better dev score"
            if self.learned_nothing:
                reason = (
                    "nothing was learned. The dev score is still at the majority baseline, and the"
                    " loss on dev has not fallen since the first epoch"
                )
            epochs = f"{len(self.scores)} of {self.settings.epochs}"
            findings.append(f"Stopped after epoch {epochs}: {reason}.")
        if self.has_better_epoch:
            findings.append(f"The weights are those of epoch {self.best + 1}, the best on dev.")
        return findings


@contextmanager
def restrict_embeddings(
    network: "transformers.PreTrainedModel", used: NDArray[np.integer], pad: int
) -> Iterator[NDArray[np.int64]]:
    """Reduce a network's embedding matrix to the ids `used` within a `with` block, so that the cost
    of a step does not depend on the vocabulary size; other embeddings have no gradient.

    Yields the new id of every old one, (vocabulary,) int64, -1 if it is left out. The padding
    embedding is always included. Afterwards the network has all embeddings again, the used ones
    with their trained values.
    """
    import torch

    # 1. Number the used ids in their order.
    full = cast("torch.nn.Embedding", network.get_input_embeddings())
    if network.config.model_type in POSITIONS_AFTER_PADDING:
        # Their layers compare ids with that of the padding token, which therefore keeps its id.
        used = np.append(used, np.arange(pad))
    ids = np.unique(np.append(used, pad)).astype(np.int64)
    new_ids = np.full(full.num_embeddings, -1, dtype=np.int64)
    new_ids[ids] = np.arange(len(ids))

    # 2. Train with a smaller embedding matrix.
    rows = torch.from_numpy(ids)
    padding = None
    if full.padding_idx is not None:
        padding = int(new_ids[full.padding_idx])
    reduced = torch.nn.Embedding(
        len(ids), full.embedding_dim, padding, _weight=full.weight.detach()[rows].clone()
    )
    reduced.weight.requires_grad = full.weight.requires_grad
    network.set_input_embeddings(reduced)
    try:
        yield new_ids
    finally:
        # 3. Copy the trained rows back; the training may have moved the network to a GPU.
        device = full.weight.device
        with torch.no_grad():
            full.weight[rows.to(device)] = reduced.weight.detach().to(device)
        network.set_input_embeddings(full.to(reduced.weight.device))


@contextmanager
def separate_new_embeddings(
    network: "transformers.PreTrainedModel", ids: NDArray[np.int64]
) -> Iterator[None]:
    """Separate the embeddings of some ids within the context, so that only these are trained.

    ids: (n,) int64, rows of the network's current embedding matrix; if it is empty, nothing
    changes. Afterwards the network has its original layers again, with the trained embeddings.
    """
    if not len(ids):
        yield
        return
    import torch

    from vocadapt.training.separated_embeddings import SeparatedEmbeddings

    separated = SeparatedEmbeddings(network, torch.from_numpy(np.sort(ids)))
    separated.separate()
    try:
        yield
    finally:
        separated.merge()
