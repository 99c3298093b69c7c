"""Apply a vocabulary plan to the tensors of a network with one entry for each token.

The matrices are replaced in place, so that tied tensors stay tied and separate ones stay separate
in every architecture; `resize_token_embeddings` of transformers does not guarantee that.
"""

from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError
from vocadapt.models.config_ids import Rename, check_ids, make_renaming, rename_ids
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
    model: ModelFolder,
    network: "transformers.PreTrainedModel",
    plan: VocabularyPlan,
    new: NewEmbeddings,
) -> MatrixRows:
    """Apply a plan and its new embeddings to the network of a model; return the numbers of rows.

    Raises InputError for ids in the model's files that cannot follow their tokens (`check_ids`).
    """
    embeddings = get_embeddings(network)
    rows = count_rows(len(plan.base), len(embeddings), len(plan.tokens), plan.order is None)
    width = embeddings.shape[1]
    # 1. Rename the ids in the configs.
    check_ids(model, plan, rows)
    if plan.order is not None:
        _rename_padding(network, make_renaming(plan, rows))
        for config in (network.config, getattr(network, "generation_config", None)):
            if config is not None:
                _rename_config(config, make_renaming(plan, rows))

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


def _rename_padding(network: "transformers.PreTrainedModel", rename: Rename) -> None:
    """Update the padding index of modules.

    Raises InputError if positions are numbered after the id of the padding token, and it changes.
    """
    embeddings: Any = network.get_input_embeddings()
    padding = embeddings.padding_idx
    if padding is None:
        return
    # RoBERTa numbers its positions after the id of the padding token: it must not move.
    numbered = [
        module
        for module in network.modules()
        if getattr(module, "padding_idx", None) is not None
        and getattr(module, "weight", None) is not None
        and module.weight is not embeddings.weight
    ]
    if numbered and rename(padding) != padding:
        raise InputError(
            f"{type(network).__name__} numbers its positions after the id of the padding token,"
            " which this plan moves.",
            "Keep the padding token at its id.",
        )
    for module in network.modules():
        if getattr(module, "padding_idx", None) == padding:
            cast(Any, module).padding_idx = rename(padding)


def _rename_config(config: Any, rename: Rename) -> None:
    """Rename the ids in a config of transformers, and in the configs within it."""
    content = config.to_dict()
    renamed = rename_ids(content, rename).content
    for key, value in renamed.items():
        if value == content[key]:
            continue
        own = getattr(config, key)
        if hasattr(own, "to_dict"):
            _rename_config(own, rename)
        else:
            setattr(config, key, value)
