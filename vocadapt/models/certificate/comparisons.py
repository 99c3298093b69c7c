"""Comparisons of two models that the checks of the certificate share."""

from typing import TYPE_CHECKING, Any

import numpy as np

from vocadapt.models import layers
from vocadapt.models.certificate.edit import Edit
from vocadapt.models.certificate.reload_process import build_input, list_tensors
from vocadapt.models.embedding_matrix.padding import MatrixRows
from vocadapt.models.embedding_matrix.token_tensors import list_token_tensors
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings

if TYPE_CHECKING:
    import torch

PROBES, PROBE_LENGTH, SEED = 8, 24, 1


def view_bits(tensor: "torch.Tensor") -> "torch.Tensor":
    """View a tensor as integers: these are equal only if all bits are, also for NaN and -0."""
    import torch

    whole = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.int8}
    return tensor.detach().contiguous().view(whole[tensor.element_size()])


def is_same_special(edit: Edit, key: str) -> bool:
    """Return whether the special ids in config.json refer to the same tokens in both models."""
    old = _describe_ids(edit.before, edit.before.config.get(key))
    return old == _describe_ids(edit.after, edit.after.config.get(key))


def _describe_ids(model: LanguageModel, value: Any) -> list[str]:
    """Return the tokens of an id, or of a list of ids, in config.json; a removed token is "none"."""
    values = value if isinstance(value, list) else [value]
    return [_describe_id(model, one) for one in values]


def _describe_id(model: LanguageModel, value: Any) -> str:
    """Return the token with an id; without one, its place after the tokens, which moves with them,
    or the id itself if it has no embedding.
    """
    if not isinstance(value, int):
        return "none"
    tokens, rows = model.vocabulary.tokens, model.config.get("vocab_size", 0)
    if 0 <= value < len(tokens):
        return f"token {tokens[value]}"
    if len(tokens) <= value < rows:
        return f"row {value - len(tokens)} after the tokens"
    return f"id {value}"


def find_padding_token(model: LanguageModel) -> str:
    """Return the token at the padding index of the embedding layer; "none" if there is none."""
    row = getattr(model.network.get_input_embeddings(), "padding_idx", None)
    return _describe_id(model, row).removeprefix("token ")


def describe_tie(network: Any) -> str:
    """Describe how the output layer is related to the embeddings."""
    if layers.get_output_layer(network) is None:
        return "none"
    if layers.is_tied(network):
        return "tied to the embeddings"
    return "not tied"


def list_token_tensor_names(model: LanguageModel) -> set[str]:
    """List all names of the tensors with one entry for each token; tied ones have several."""
    values = list_token_tensors(model.network).values()
    return {
        name
        for name, tensor in model.network.state_dict(keep_vars=True).items()
        if any(tensor is value for value in values)
    }


def draw_sequences(edit: Edit) -> "list[tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]]":
    """Draw random sequences of kept tokens, as inputs of both models."""
    if not edit.kept:  # every embedding was replaced: there are no outputs to compare
        return []
    rng = np.random.default_rng(SEED)
    batches = []
    for _ in range(PROBES):
        tokens = [edit.kept[i] for i in rng.integers(len(edit.kept), size=PROBE_LENGTH)]
        old = build_input(edit.before, edit.ids(edit.before, tokens).tolist())
        new = build_input(edit.after, edit.ids(edit.after, tokens).tolist())
        batches.append((old, new))
    return batches


def have_equal_outputs(
    edit: Edit, old: "dict[str, torch.Tensor]", new: "dict[str, torch.Tensor]"
) -> bool:
    """Return whether all output tensors of the two networks are bit-equal."""
    import torch

    with torch.inference_mode():
        before = list_tensors(edit.before.network(**old))
        after = list_tensors(edit.after.network(**new))
    scores_tokens = layers.has_token_logits(edit.before.network)
    n_tokens = len(get_embeddings(edit.before.network))
    kept_old, kept_new = edit.ids(edit.before, edit.kept), edit.ids(edit.after, edit.kept)
    for one, other in zip(before, after, strict=True):
        # Logits over tokens are compared for kept tokens.
        if scores_tokens and one.shape[-1] == n_tokens:
            one, other = one[..., kept_old], other[..., kept_new]
        if one.shape != other.shape or not torch.equal(view_bits(one), view_bits(other)):
            return False
    return True


def compare_free_rows(
    old: "torch.Tensor", new: "torch.Tensor", rows: MatrixRows, rearranged: bool
) -> tuple[int, int]:
    """Compare the rows without a token that both matrices have; return how many are bit-identical,
    and their number.

    New tokens take the first of them; if the plan moves tokens, they follow the last token.
    """
    first = rows.new_tokens
    if rearranged:
        first = rows.tokens
    left, right = old[first:], new[rows.new_tokens :]
    n_free = min(len(left), len(right))
    same = view_bits(left[:n_free]) == view_bits(right[:n_free])
    return int(same.all(dim=1).sum()), n_free
