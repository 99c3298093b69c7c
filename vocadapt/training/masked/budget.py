"""The budget of a masked-word training in steps; one in hours by a pace that is measured first."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.progress import Progress, silent
from vocadapt.training.callbacks import TIMED, write_atomically
from vocadapt.training.masked.blocks import Blocks, MaskedBlockDataset
from vocadapt.training.masked.losses import losses

if TYPE_CHECKING:
    import transformers

    from vocadapt.training.masked.trainer import MaskedSettings

# parts of steps that are slower, and not counted in the pace that an hours budget is fixed by
WARM_UP = 3
BELIEVED = 10.0  # seconds of reading after which a pace is believed, however few steps they were


def count_steps(
    network: "transformers.PreTrainedModel",
    blocks: Blocks,
    settings: "MaskedSettings",
    folder: Path,
    progress: Progress = silent,
) -> int:
    """The budget in steps; one in hours is measured once, and written down for whoever goes on."""
    size = settings.batch * settings.length
    if not settings.hours:
        return max(1, round((settings.tokens or settings.epochs * blocks.tokens) / size))
    kept = folder / "steps.txt"
    if not kept.is_file():
        pace = measure_step_seconds(network, blocks, settings, progress)
        write_atomically(kept, str(max(1, round(settings.hours * 3600 / pace))))
    return int(kept.read_text(encoding="utf-8"))


def measure_step_seconds(
    network: "transformers.PreTrainedModel",
    blocks: Blocks,
    settings: "MaskedSettings",
    progress: Progress = silent,
) -> float:
    """Time some parts of steps on a copy of the network, no longer than it takes to believe
    them.
    """
    import copy

    import torch

    twin = copy.deepcopy(network).to("cuda" if torch.cuda.is_available() else "cpu").train()  # type: ignore[arg-type]
    optimizer = torch.optim.AdamW(
        [value for value in twin.parameters() if value.requires_grad], lr=1e-6
    )
    size, most = settings.batch // settings.parts, (WARM_UP + TIMED) * settings.parts
    reading, read = (
        MaskedBlockDataset(blocks, most * size, settings.share, settings.seed),
        list[float](),
    )
    while len(read) < most and (len(read) <= WARM_UP or sum(read[WARM_UP:]) < BELIEVED):
        read.append(
            _timed(partial(_read, twin, reading, range(len(read) * size, (len(read) + 1) * size)))
        )
        progress(0.0, f"measuring the pace: {len(read):,} of at most {most:,} parts of steps")
    move = [_timed(optimizer.step) for _ in range(2)][-1]  # the first makes room
    return settings.parts * sum(read[WARM_UP:]) / len(read[WARM_UP:]) + move


def _read(
    network: "transformers.PreTrainedModel", reading: MaskedBlockDataset, places: range
) -> None:
    """Read some places forwards and backwards."""
    import torch

    examples = [reading[place] for place in places]
    inputs = {
        key: torch.stack([example[key] for example in examples]).to(network.device)
        for key in examples[0]
    }
    torch.stack(losses(network, inputs)).sum().backward()  # type: ignore[no-untyped-call]


def _timed(work: Callable[[], Any]) -> float:
    """The seconds that some work takes, on whatever device."""
    import torch

    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start
