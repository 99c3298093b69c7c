"""Fit the embeddings of new tokens by Adam, while everything else in the network stays fixed."""

from typing import TYPE_CHECKING, Any

import numpy as np

from vocadapt.spaces.space import Matrix

if TYPE_CHECKING:
    import torch

BETAS, EPS = (0.9, 0.999), 1e-8  # of Adam


class EmbeddingFitter:
    """Fits the embeddings of new tokens by Adam.

    Each embedding has its own step count, so the bias correction is also right for rare tokens.

    start: (new tokens, dim), initial embeddings. size: number of tokens in the model's vocabulary.
    Any further rows of its embedding matrix are padding; ids of at least `size` are new tokens.
    """

    def __init__(self, network: Any, start: Matrix, size: int) -> None:
        import torch

        from vocadapt.training.separated_embeddings import (
            PartlyTrainedEmbedding,
            find_scale,
            replace_module,
        )

        self.network = network.eval().requires_grad_(False)
        original = network.get_input_embeddings()
        # The gradient is sparse: it contains only the embeddings of the tokens in a batch.
        self.lookup = PartlyTrainedEmbedding(
            original.weight,
            torch.arange(size, size + len(start)),
            torch.from_numpy(np.array(start, dtype=np.float32)),
            find_scale(original),
            sparse=True,
        )
        replace_module(network, original, self.lookup)
        # Adam's running means of the gradient and of its square, and the steps of each embedding.
        self.first = torch.zeros_like(self.embeddings)
        self.second = torch.zeros_like(self.embeddings)
        self.steps = torch.zeros(len(self.embeddings), 1)

    def update(self, loss: "torch.Tensor", learning_rate: float) -> float:
        """Update the embeddings that a loss depends on; return its value before the update."""
        import torch

        # 1. The gradient of the loss for the new tokens of the batch.
        (found,) = torch.autograd.grad(loss, self.lookup.trained)
        found = found.coalesce()
        ids = found.indices()[0]
        gradient = found.values()

        # 2. A step of Adam (Kingma & Ba 2015, algorithm 1), with the bias of both running means
        # corrected by each token's own number of steps.
        with torch.no_grad():
            self.steps[ids] += 1
            self.first[ids] = BETAS[0] * self.first[ids] + (1 - BETAS[0]) * gradient
            self.second[ids] = BETAS[1] * self.second[ids] + (1 - BETAS[1]) * gradient**2
            mean = self.first[ids] / (1 - BETAS[0] ** self.steps[ids])
            scale = (self.second[ids] / (1 - BETAS[1] ** self.steps[ids])).sqrt()
            self.embeddings[ids] -= learning_rate * mean / (scale + EPS)
        return float(loss.detach())

    @property
    def embeddings(self) -> "torch.Tensor":
        """The embeddings of the new tokens, (tokens, dim) float32."""
        return self.lookup.trained.detach()
