"""Comparisons of two models, for the checks of the certificate."""

from typing import TYPE_CHECKING, Any

import numpy as np

from vocadapt.models import layers
from vocadapt.models.certificate.reload_process import build_input, list_tensors
from vocadapt.models.config_ids import list_ids, read_config_files, rename_ids
from vocadapt.models.edit import Edit
from vocadapt.models.embedding_matrix.padding import MatrixRows
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings
from vocadapt.models.model_files import CONFIG
from vocadapt.models.model_folder import describe_id
from vocadapt.models.token_tensors import list_token_tensors

if TYPE_CHECKING:
    import torch

PROBES, PROBE_LENGTH, SEED = 8, 24, 1
BIT_EQUAL = "bit-equal"
EQUAL_TO_ROUNDING = "equal to rounding"
DIFFERENT = "different"
ROUNDING_STEPS = 64  # rounding errors by which logits may differ
STATES = ("hidden_states", "encoder_hidden_states", "decoder_hidden_states")


def view_bits(tensor: "torch.Tensor") -> "torch.Tensor":
    """View a tensor as integers: these are equal only if all bits are, also for NaN and -0."""
    import torch

    whole = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.int8}
    return tensor.detach().contiguous().view(whole[tensor.element_size()])


def compare_named_tokens(edit: Edit) -> tuple[list[str], list[str]]:
    """Compare the tokens that config.json and generation_config.json name before and after an edit,
    in single ids and in lists.

    Returns the places that differ, and the removed tokens that lists no longer name. A removed
    token that was the only one of its key, such as the padding token, is a difference.
    """
    old = read_config_files(edit.before)
    new = read_config_files(edit.after)
    wrong, dropped = [], []
    for file in old:
        expected = rename_ids(old[file], lambda i: _name_kept(edit, i))
        found = rename_ids(new[file], lambda i: describe_id(edit.after, i)).content
        for path in list_ids(old[file]):
            place = ".".join(path)
            value = _get_value(old[file], path)
            if file != CONFIG:
                place = f"{place} in {file}"
            gone = expected.dropped.get(path, [])
            if type(value) is int:
                gone = []
                value = describe_id(edit.before, value)
            else:
                value = _get_value(expected.content, path)
            if _get_value(found, path) != value:
                wrong.append(place)
            dropped += [f"{describe_id(edit.before, i)} in {path[-1]}" for i in gone]
    return wrong, dropped


def _name_kept(edit: Edit, i: int) -> str | None:
    """Describe an id before an edit; None if the edit removed its token or its row."""
    vocabulary, after = edit.before.vocabulary, edit.after
    if 0 <= i < len(vocabulary):
        kept = vocabulary.tokens[i] in after.vocabulary
    else:
        n_free = after.config.get("vocab_size", 0) - len(after.vocabulary)
        is_row = i >= 0 and i < edit.before.config.get("vocab_size", 0)
        kept = not is_row or i - len(vocabulary) < n_free
    return describe_id(edit.before, i) if kept else None


def _get_value(content: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def find_padding_token(model: LanguageModel) -> str:
    """Return the token at the padding index of the embedding layer; "none" if there is none."""
    row = getattr(model.network.get_input_embeddings(), "padding_idx", None)
    return "none" if row is None else describe_id(model, row)


def describe_tie(network: Any) -> str:
    """Describe how the output layer is related to the embeddings."""
    if layers.get_output_layer(network) is None:
        return "none"
    if layers.is_tied(network):
        return "tied to the embeddings"
    return "not tied"


def describe_output_norms(edit: Edit) -> str:
    """Return the median norms of new and old rows of the output layer; "" if it is tied."""
    network = edit.after.network
    layer = layers.get_output_layer(network)
    if layer is None or layers.is_tied(network) or not edit.added:
        return ""
    norms = layer.weight.detach().float().norm(dim=1)
    new, old = (norms[edit.ids(edit.after, tokens)] for tokens in (edit.added, edit.kept))
    medians = f"{float(new.median()):.3g}"
    if len(old):
        medians += f", of old ones {float(old.median()):.3g}"
    return f"; median norm of the new output rows {medians}"


def list_token_tensor_names(model: LanguageModel) -> set[str]:
    """List all names of the tensors with one entry for each token; tied tensors have several
    names.
    """
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


def compare_outputs(
    edit: Edit, old: "dict[str, torch.Tensor]", new: "dict[str, torch.Tensor]"
) -> str:
    """Compare all output tensors of the two networks: BIT_EQUAL, EQUAL_TO_ROUNDING or DIFFERENT.

    The order of summation in a matrix product may depend on the size of the matrix, so logits over
    tokens may differ in rounding. The hidden states of such an input must be bit-equal.
    """
    import torch

    networks = edit.before.network, edit.after.network  # loaded before the inference mode
    with torch.inference_mode():
        before = list_tensors(networks[0](**old))
        after = list_tensors(networks[1](**new))
    scores_tokens = layers.has_token_logits(edit.before.network)
    n_tokens = len(get_embeddings(edit.before.network))
    kept_old = edit.ids(edit.before, edit.kept)
    kept_new = edit.ids(edit.after, edit.kept)
    found = BIT_EQUAL
    for one, other in zip(before, after, strict=True):
        # Logits over tokens are compared for kept tokens.
        is_logits = scores_tokens and one.shape[-1] == n_tokens
        if is_logits:
            one = one[..., kept_old]
            other = other[..., kept_new]
        if one.shape == other.shape and torch.equal(view_bits(one), view_bits(other)):
            continue
        if not (is_logits and is_equal_to_rounding(one, other)):
            return DIFFERENT
        found = EQUAL_TO_ROUNDING
    if found == EQUAL_TO_ROUNDING and not _have_equal_states(edit, old, new):
        return DIFFERENT
    return found


def is_equal_to_rounding(one: "torch.Tensor", other: "torch.Tensor") -> bool:
    """Return whether two tensors differ by at most ROUNDING_STEPS rounding errors of their largest
    value; false if a value is NaN.
    """
    import torch

    if one.shape != other.shape or one.dtype != other.dtype or not one.numel():
        return False
    largest = float(one.abs().max())
    tolerance = ROUNDING_STEPS * torch.finfo(one.dtype).eps * largest
    return bool((one - other).abs().max() <= tolerance)


def _have_equal_states(
    edit: Edit, old: "dict[str, torch.Tensor]", new: "dict[str, torch.Tensor]"
) -> bool:
    import torch

    states: list[list[torch.Tensor]] = []
    for model, inputs in ((edit.before, old), (edit.after, new)):
        network = model.network
        with torch.inference_mode():
            output = network(**inputs, output_hidden_states=True)
        named = (output.get(name) for name in STATES)
        states.append([state for group in named for state in group or ()])
    before, after = states
    if not before or len(before) != len(after):
        return False
    pairs = zip(before, after, strict=True)
    return all(torch.equal(view_bits(one), view_bits(other)) for one, other in pairs)


def compare_free_rows(
    old: "torch.Tensor", new: "torch.Tensor", rows: MatrixRows, rearranged: bool
) -> tuple[int, int]:
    """Compare the rows without a token that both matrices have; return how many are bit-identical,
    and their number.

    If the plan keeps all ids, new tokens take the first rows without a token; if it moves tokens,
    all rows without a token move to the end.
    """
    first = rows.new_tokens
    if rearranged:
        first = rows.tokens
    left = old[first:]
    right = new[rows.new_tokens :]
    n_free = min(len(left), len(right))
    same = (view_bits(left[:n_free]) == view_bits(right[:n_free])).all(dim=1)
    same |= ~left[:n_free].isfinite().all(dim=1)  # a training sets these to 0
    return int(same.sum()), n_free
