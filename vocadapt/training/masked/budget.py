"""The budget of masked-language-model training in steps; hours are converted by measured speed."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.progress import Progress, silent
from vocadapt.training.callbacks import TIMED, write_atomically
from vocadapt.training.masked.blocks import Blocks, MaskedBlockDataset
from vocadapt.training.masked.losses import compute_losses
from vocadapt.training.masked.settings import MaskedSettings

if TYPE_CHECKING:
    import transformers

WARM_UP = 3  # first steps of a measurement, which are slower and not counted
MEASURE_SECONDS = 10.0  # seconds of measuring after which the speed is accurate enough


def count_steps(
    network: "transformers.PreTrainedModel",
    blocks: Blocks,
    settings: MaskedSettings,
    folder: Path,
    progress: Progress = silent,
) -> int:
    """Return the budget in steps; for hours it is measured once and written to `folder`, so that a
    resumed training keeps it.
    """
    tokens_per_step = settings.batch * settings.length
    if not settings.hours:
        tokens = settings.tokens or settings.epochs * blocks.tokens
        return max(1, round(tokens / tokens_per_step))
    file = folder / "steps.txt"
    if not file.is_file():
        seconds = measure_step_seconds(network, blocks, settings, progress)
        write_atomically(file, str(max(1, round(settings.hours * 3600 / seconds))))
    return int(file.read_text(encoding="utf-8"))


def measure_step_seconds(
    network: "transformers.PreTrainedModel",
    blocks: Blocks,
    settings: MaskedSettings,
    progress: Progress = silent,
) -> float:
    """Measure the seconds per step on a copy of the network.

    1. Read batches, one gradient accumulation step each, until the measurement took MEASURE_SECONDS seconds.
    2. Leave out the first WARM_UP of them.
    3. Add one optimizer step, the second of two: the first allocates its memory.
    """
    import copy

    import torch

    # 1. Forward and backward passes.
    device = "cpu"
    if torch.cuda.is_available():
        device = "cuda"
    twin = copy.deepcopy(network).to(device).train()  # type: ignore[arg-type]
    trainable = [value for value in twin.parameters() if value.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-6)
    size = settings.batch // settings.parts
    most = (WARM_UP + TIMED) * settings.parts
    dataset = MaskedBlockDataset(blocks, most * size, settings.share, settings.seed)
    seconds: list[float] = []
    while len(seconds) < most and (
        len(seconds) <= WARM_UP or sum(seconds[WARM_UP:]) < MEASURE_SECONDS
    ):
        items = range(len(seconds) * size, (len(seconds) + 1) * size)
        seconds.append(_time(partial(_accumulate_gradient, twin, dataset, items)))
        progress(0.0, f"measuring the speed: {len(seconds):,} of at most {most:,} batches")

    # 2. and 3. The mean of those after the first ones, and an optimizer step.
    _time(optimizer.step)
    update = _time(optimizer.step)
    measured = seconds[WARM_UP:]
    return settings.parts * sum(measured) / len(measured) + update


def _accumulate_gradient(
    network: "transformers.PreTrainedModel", dataset: MaskedBlockDataset, items: range
) -> None:
    """Run a forward and a backward pass on some items."""
    import torch

    examples = [dataset[item] for item in items]
    inputs = {}
    for key in examples[0]:
        rows = [example[key] for example in examples]
        inputs[key] = torch.stack(rows).to(network.device)
    torch.stack(compute_losses(network, inputs)).sum().backward()  # type: ignore[no-untyped-call]


def _time(function: Callable[[], Any]) -> float:
    """Return the seconds a call takes, including its work on the GPU."""
    import torch

    start = time.perf_counter()
    function()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start
