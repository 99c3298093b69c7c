"""Apply a vocabulary plan to the tensors of a network with one entry for each token.

The matrices are replaced in place, so that tied tensors stay tied and separate ones stay separate
in every architecture; `resize_token_embeddings` of transformers does not guarantee that.
"""

from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError
from vocadapt.models.embedding_matrix.padding import MatrixRows, count_rows
from vocadapt.models.embedding_matrix.token_tensors import (
    list_token_tensors,
    list_unused_outputs,
)
from vocadapt.models.layers import get_embeddings
from vocadapt.models.model_files import read_headers
from vocadapt.models.model_folder import ModelFolder
from vocadapt.vocabulary.initializers.initialize import NewEmbeddings
from vocadapt.vocabulary.plan.plan import VocabularyPlan

if TYPE_CHECKING:
    import torch
    import transformers


def change_network(
    network: "transformers.PreTrainedModel", plan: VocabularyPlan, new: NewEmbeddings
) -> MatrixRows:
    """Apply a plan and its new embeddings to a network; return the numbers of rows.

    Raises InputError if the config names an id without a token that a new token would take.
    """
    embeddings = get_embeddings(network)
    rows = count_rows(len(plan.base), len(embeddings), len(plan.tokens), plan.order is None)
    width = embeddings.shape[1]
    # 1. Rename the ids in the config.
    if plan.order is None:
        _check_free_ids(network, rows)
    else:
        _rename_ids(network, plan, rows)

    # 2. Change every tensor with an entry for each token.
    tensors = list_token_tensors(network)
    for value in tensors.values():
        value.data = change_tensor(value.detach(), plan, new, rows, width)

    # 3. Update the sizes that modules and configs state.
    if rows.new_rows != rows.rows:
        _update_sizes(network, list(tensors.values()), rows)
    return rows


def change_tensor(
    value: "torch.Tensor", plan: VocabularyPlan, new: NewEmbeddings, rows: MatrixRows, width: int
) -> "torch.Tensor":
    """Return a tensor with an entry for each token after a plan, (new rows, …), in its dtype.

    value: (rows, …), before the plan. width: of the embeddings.

    Entries of kept tokens and of rows without a token are copied bit by bit. The entry of a new
    token is its embedding if the tensor is a matrix of this width, and zeros otherwise.

    Example: tokens a b c → c a d: rows [A B C] become [C A 0], then [C A D].
    """
    import torch

    changed = value.new_zeros((rows.new_rows, *value.shape[1:]))
    # 1. Copy the entries of kept tokens and of free rows.
    if plan.order is None:
        changed[: rows.rows] = value
    else:
        here, there = map(torch.from_numpy, plan.moves)
        changed[here] = value[there]
        kept = min(rows.free, rows.new_free)
        changed[rows.new_tokens : rows.new_tokens + kept] = value[rows.tokens : rows.tokens + kept]

    # 2. Write the entries of new tokens.
    if value.ndim == 2 and value.shape[1] == width:
        ids = [plan.after.ids[token] for token in new.tokens]
        changed[ids] = torch.from_numpy(new.matrix.copy()).to(value.dtype)
    else:
        changed[[plan.after.ids[token] for token in plan.added_tokens]] = 0
    return changed


def change_unused_outputs(
    model: ModelFolder,
    plan: VocabularyPlan,
    new: NewEmbeddings,
    rows: MatrixRows,
    unused: tuple[str, ...],
) -> "dict[str, torch.Tensor]":
    """Apply a plan to the stored tensors of a language-model head that the network's class does not
    have, so that a class with this head can load them; return the changed tensors by name.
    """
    from safetensors import safe_open

    stored = read_headers(model.path)
    changed = {}
    for name in list_unused_outputs(stored, unused, rows.rows):
        with safe_open(stored[name].file, "pt") as tensors:
            value = tensors.get_tensor(name)
        changed[name] = change_tensor(value, plan, new, rows, new.matrix.shape[1])
    return changed


def _update_sizes(
    network: "transformers.PreTrainedModel", tensors: "list[torch.nn.Parameter]", rows: MatrixRows
) -> None:
    """Update the number of rows in the modules and configs of a network."""
    for module in network.modules():
        if any(getattr(module, "weight", None) is tensor for tensor in tensors):
            for size in ("num_embeddings", "out_features"):
                if hasattr(module, size):
                    setattr(module, size, rows.new_rows)
        owners: tuple[Any, ...] = (module, getattr(module, "config", None))
        for owner in owners:
            if getattr(owner, "vocab_size", None) == rows.rows:
                owner.vocab_size = rows.new_rows


def _check_free_ids(network: "transformers.PreTrainedModel", rows: MatrixRows) -> None:
    """Raise InputError if the config names a row without a token that a new token would take."""
    for key, ids in _list_special_ids(network).items():
        taken = [i for i in ids if rows.tokens <= i < rows.new_tokens]
        if taken:
            raise InputError(
                f"config.json: {key} is {taken[0]:,}, which no token of the tokenizer has; the new"
                " tokens would take this id.",
                "Correct the id, or add that token to the tokenizer first.",
            )


def _list_special_ids(network: "transformers.PreTrainedModel") -> dict[str, list[int]]:
    """Return the ids of special tokens in the configs of a network, by key."""
    found: dict[str, list[int]] = {}
    for config in _list_configs(network):
        for key, value in config.to_dict().items():
            if key.endswith("_token_id") and value is not None:
                ids = value if isinstance(value, list) else [value]
                found.setdefault(key, []).extend(i for i in ids if isinstance(i, int))
    return found


def _list_configs(network: "transformers.PreTrainedModel") -> list[Any]:
    generation = getattr(network, "generation_config", None)
    return [config for config in (network.config, generation) if config is not None]


def _rename_ids(
    network: "transformers.PreTrainedModel", plan: VocabularyPlan, rows: MatrixRows
) -> None:
    """Update the ids of special tokens in the configs, and the padding index of modules.

    Raises InputError if positions are numbered after the id of the padding token, and it changes.
    """
    embeddings: Any = network.get_input_embeddings()
    padding = embeddings.padding_idx
    new_padding = None
    if padding is not None:
        new_padding = _rename_id(padding, plan, rows)

    # 1. RoBERTa numbers its positions after the id of the padding token: it must not move.
    numbered = [
        module
        for module in network.modules()
        if getattr(module, "padding_idx", None) is not None
        and getattr(module, "weight", None) is not None
        and module.weight is not embeddings.weight
    ]
    if numbered and padding != new_padding:
        raise InputError(
            f"{type(network).__name__} numbers its positions after the id of the padding token,"
            " which this plan moves.",
            "Keep the padding token at its id.",
        )

    # 2. Rename all ids.
    for config in _list_configs(network):
        for key, value in config.to_dict().items():
            if key.endswith("_token_id") and isinstance(value, int | list):
                setattr(config, key, _rename_id(value, plan, rows))
    for module in network.modules():
        if padding is not None and getattr(module, "padding_idx", None) == padding:
            cast(Any, module).padding_idx = new_padding


def _rename_id(
    value: "int | list[int]", plan: VocabularyPlan, rows: MatrixRows
) -> "int | list[int] | None":
    """Return the new id of a token; for a list, such as the end tokens of a generation, new ids.

    The id of a removed token becomes None. A row without a token moves with the others; an id
    beyond the rows is unchanged.
    """
    if isinstance(value, list):
        renamed = (_rename_id(old, plan, rows) for old in value)
        return [new for new in renamed if isinstance(new, int)]
    if value < 0 or value >= rows.rows:
        return value
    if value < rows.tokens:
        return plan.after.ids.get(plan.base.tokens[value])
    moved = value - rows.tokens + rows.new_tokens
    if moved < rows.new_rows:
        return moved
    return None
