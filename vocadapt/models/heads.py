"""Put a new task head on a model: the body keeps its stored weights, the head is random by
a seed.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.files import show_path
from vocadapt.models.config_checks import check_network
from vocadapt.models.language_model import LanguageModel, find_rows
from vocadapt.models.loading import align_memory, auto, convert_library_errors, quietly
from vocadapt.models.weights import read_headers

if TYPE_CHECKING:
    import transformers

TOKEN, SEQUENCE, QUESTION = "token", "sequence", "question"
HEADS = {
    TOKEN: "AutoModelForTokenClassification",
    SEQUENCE: "AutoModelForSequenceClassification",
    QUESTION: "AutoModelForQuestionAnswering",
}
MULTILABEL, SINGLE = "multi_label_classification", "single_label_classification"


def with_fresh_head(
    model: LanguageModel, head: str, names: tuple[str, ...], seed: int, several: bool = False
) -> "transformers.PreTrainedModel":
    """Return a model's network in float32 with a new head, one output for each name.

    A stored head for questions, which is the same for every task, is kept. The new weights (and
    those of a pooler that the folder lacks) are drawn by the seed; the global random state is left
    as it was. `several`: any number of outputs may hold at once. Raises InputError where weights of
    the body are missing.
    """
    import torch

    find_rows(model)  # says what is wrong with a folder that holds no BERT-type model
    check_network(model.path, model.config, read_headers(model.path))
    with convert_library_errors(
        f"{show_path(model.path)}: transformers cannot read its config.json"
    ):
        config = auto(model, "AutoConfig").from_pretrained(
            model.path, trust_remote_code=False, local_files_only=True
        )
    config.id2label, config.label2id = (
        dict(enumerate(names)),
        {name: place for place, name in enumerate(names)},
    )
    if head == SEQUENCE:
        config.problem_type = MULTILABEL if several else SINGLE
    options: dict[str, Any] = {
        "use_safetensors": True,
        "trust_remote_code": False,
        "local_files_only": True,
    }
    with torch.random.fork_rng(devices=[]):
        with convert_library_errors(f"{show_path(model.path)}: no {head} head can be put on it"):
            network, report = quietly(
                lambda: auto(model, HEADS[head]).from_pretrained(
                    model.path,
                    config=config,
                    dtype="float32",
                    output_loading_info=True,
                    ignore_mismatched_sizes=True,
                    **options,
                )
            )
        _check_body(model, network, report)
        _renew(network, seed, {*report["missing_keys"]}, keep=head == QUESTION)
    align_memory(network)
    return network  # type: ignore[no-any-return]


def begin_at(network: "transformers.PreTrainedModel", shares: NDArray[np.float64]) -> None:
    """Initialize the biases of a new head so that each output starts at its fraction (outputs,) of
    the examples.

    Where labels are rare, some hundred steps would else go into nothing but making them rare (Lin
    et al. 2017, Focal loss for dense object detection, section 4.1).
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
    """All that was stored of the body must have been taken over."""
    prefix = f"{network.base_model_prefix}."
    odd = {
        *report["missing_keys"],
        *(found[0] if isinstance(found, tuple) else found for found in report["mismatched_keys"]),
    }
    body = sorted(name for name in odd if name.startswith(prefix) and ".pooler." not in name)
    if body:
        raise InputError(
            f"{model.path}: {len(body)} tensors of its {type(network).__name__} are not in its"
            f" files ({', '.join(body[:2])} …).",
            "Check where the files came from: without them its body would be random.",
        )


def _renew(network: Any, seed: int, missing: set[str], keep: bool) -> None:
    """Initialize the head (with `keep`: unless it is stored), and a pooler that is not stored, with
    normal weights.
    """
    import torch

    prefix = f"{network.base_model_prefix}."
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, value in sorted(network.named_parameters()):
            if (keep or name.startswith(prefix)) and name not in missing:
                continue
            if value.dim() > 1:
                value.normal_(0.0, network.config.initializer_range)
            else:
                value.fill_(
                    1.0 if name.endswith("weight") else 0.0
                )  # a weight of one dimension is a norm's
