"""A step of exBERT's stage 1 against a plain masked-word step of the full model: same batch, same length, module of s3.

Budget: at most 1.15 × the plain step, though the network is a third larger: frozen weights get no gradients. Both are steps of
AdamW, in turn, in the processor's time of one thread, so that a busy machine does not speak. Run it as
`python -m benchmarks.exbert`; `python -m benchmarks.exbert 2` takes two steps of each.
"""

import sys
import time

import numpy as np
import torch
import transformers

from vocadapt.models.extending import extended
from vocadapt.models.extension import ModuleSettings
from vocadapt.training.blocks import NOT_ASKED
from vocadapt.training.masked import masked_loss, moving
from vocadapt.training.stages import begin

OLD, NEW, BATCH, LENGTH = 16_000, 4_000, 16, 128


def bert(tokens):
    """A network of the demo's size."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=tokens, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024
    )
    return transformers.BertForMaskedLM(config).train()


def step(network, optimizer, ids, labels):
    """Processor's seconds of one step."""
    start = time.process_time()
    masked_loss(network, ids, labels).backward()
    optimizer.step()
    optimizer.zero_grad()
    return time.process_time() - start


def optimizer_of(network):
    """AdamW over what moves."""
    return torch.optim.AdamW(moving(network).values(), lr=1e-4, fused=True)


def main(steps):
    torch.set_num_threads(1)
    plain, exbert = bert(OLD), extended(bert(OLD + NEW), ModuleSettings("s3"), NEW)
    begin(plain, "continued", [])
    begin(exbert, "extension", list(range(OLD, OLD + NEW)))
    ids = torch.randint(0, OLD, (BATCH, LENGTH), generator=torch.Generator().manual_seed(1))
    labels = torch.where(torch.rand(BATCH, LENGTH, generator=torch.Generator().manual_seed(2)) < 0.15, ids, NOT_ASKED)
    runs = [(network, optimizer_of(network), []) for network in (plain, exbert)]
    for turn in range(steps + 1):
        for network, optimizer, seconds in runs:
            took = step(network, optimizer, ids, labels)
            seconds += [took] if turn else []  # the first step makes the optimiser's state
    base, ours = (float(np.median(seconds)) for _, _, seconds in runs)
    print(f"plain step {base:.2f} s, stage-1 step {ours:.2f} s of the processor ({steps} steps each): {ours / base:.2f} x")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
