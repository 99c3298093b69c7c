"""Load a network with a new task head: the stored weights of the body, and a randomly initialized
head.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.models.abilities import check_ability, has_masked_head
from vocadapt.models.checks.network_sizes import check_network
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.loading import (
    align_memory,
    check_token_rows,
    clear_free_rows,
    load_weights,
)
from vocadapt.models.model_files import read_headers
from vocadapt.models.network_class import convert_library_errors, get_auto_class, load_config
from vocadapt.system.files import show_path

if TYPE_CHECKING:
    import transformers

TOKEN, SEQUENCE, QUESTION = "token", "sequence", "question"
EMBEDDING = "embedding"  # no head: the outputs are the embeddings of texts
HEADS = {
    TOKEN: "AutoModelForTokenClassification",
    SEQUENCE: "AutoModelForSequenceClassification",
    QUESTION: "AutoModelForQuestionAnswering",
    EMBEDDING: "AutoModel",
}
MULTILABEL = "multi_label_classification"
SINGLE = "single_label_classification"


def load_with_new_head(
    model: LanguageModel, head: str, names: tuple[str, ...], seed: int, several: bool = False
) -> "transformers.PreTrainedModel":
    """Load a network in float32 with a new head of one output for each name, or without one for
    EMBEDDING.

    A stored question-answering head is kept, because it is the same for every task. The new head is
    initialized with the seed; the global random state is restored. several: whether an example can
    have several labels. Raises InputError if weights of the body are missing.
    """
    import torch

    # 1. Set the labels and the problem type in the config.
    check_ability(model, "finetune")
    model.check_rows()  # also raises InputError for a folder without a readable model
    check_network(model.path, model.config, read_headers(model.path))
    config: Any = load_config(model)
    if head != EMBEDDING:
        config.id2label = dict(enumerate(names))
        config.label2id = {name: place for place, name in enumerate(names)}
    if head == SEQUENCE:
        config.problem_type = MULTILABEL if several else SINGLE
    # 2. Load the network. transformers initializes missing weights; draw them again with our seed.
    with torch.random.fork_rng(devices=[]):
        with convert_library_errors(f"{show_path(model.path)}: no {head} head can be added"):
            network, report = load_weights(
                model,
                get_auto_class(model, HEADS[head]),
                config=config,
                dtype="float32",
                ignore_mismatched_sizes=True,
            )
        _check_body(model, network, report)
        # ModernBERT: keep pretrained parts of the old head that the new head has, too.
        keep = head == QUESTION or has_masked_head(model)
        _draw_weights(network, seed, {*report["missing_keys"]}, keep)
    align_memory(network)
    check_token_rows(model, network)
    clear_free_rows(model, network)
    return network  # type: ignore[no-any-return]


def get_body_prefix(network: "transformers.PreTrainedModel") -> str:
    """Return how the names of the body's parameters begin; "" for a network without a head."""
    return "" if network.base_model is network else f"{network.base_model_prefix}."


def is_in_body(network: "transformers.PreTrainedModel", name: str) -> bool:
    """Return whether a parameter belongs to the body of a network; a pooler counts as its head."""
    return name.startswith(get_body_prefix(network)) and ".pooler." not in f".{name}"


def initialize_biases(network: "transformers.PreTrainedModel", shares: NDArray[np.float64]) -> None:
    """Initialize the biases of a new head so that the initial probability of each output is its
    fraction of the examples, `shares` (outputs,) float64.

    If labels are rare, the first hundreds of steps would only learn their frequencies (Lin et al.
    2017, Focal loss for dense object detection, section 4.1).
    """
    import torch

    prefix = f"{network.base_model_prefix}."
    biases = [
        value
        for name, value in network.named_parameters()
        if name.endswith("bias") and value.shape == shares.shape and not name.startswith(prefix)
    ]
    with torch.no_grad():
        for bias in biases[-1:]:
            bias.copy_(torch.logit(torch.from_numpy(shares)))


def _check_body(model: LanguageModel, network: Any, report: Any) -> None:
    wrong = {*report["missing_keys"]}
    for found in report["mismatched_keys"]:
        # transformers reports a name, or a name with both shapes.
        name, *_ = (found,) if isinstance(found, str) else found
        wrong.add(name)
    body = sorted(name for name in wrong if is_in_body(network, name))
    if body:
        raise InputError(
            f"{model.path}: its files lack {len(body)} tensors of its {type(network).__name__}"
            f" ({', '.join(body[:2])} …), which would be initialized at random.",
            "Check where the files came from, or save the model again.",
        )


def _draw_weights(network: Any, seed: int, missing: set[str], keep: bool) -> None:
    """Initialize the head, and what the folder lacks; with `keep`, a stored head is kept. A stored
    pooler is kept if it is in the body, as BERT's; that of DeBERTa is a part of the head.

    Matrices are drawn from a normal distribution, biases are 0, weights of LayerNorms are 1.
    """
    import torch

    prefix = get_body_prefix(network)
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, value in sorted(network.named_parameters()):
            if (keep or name.startswith(prefix)) and name not in missing:
                continue
            if value.dim() > 1:
                value.normal_(0.0, network.config.initializer_range)
            else:  # a one-dimensional weight belongs to a LayerNorm
                value.fill_(float(name.endswith("weight")))
