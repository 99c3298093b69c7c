"""Apply a vocabulary plan to the tensors of a network with one entry for each token.

The matrices are replaced in place, so that tied tensors stay tied and separate ones stay separate
in every architecture; `resize_token_embeddings` of transformers does not guarantee that.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError
from vocadapt.models.config_ids import Rename, check_ids, make_renaming, rename_ids
from vocadapt.models.embedding_matrix.padding import MatrixRows, count_rows
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings, get_output_bias, get_output_layer, is_tied
from vocadapt.models.model_folder import ModelFolder
from vocadapt.models.token_tensors import list_token_tensors, read_unused_outputs
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.vocabulary.initializers.initialize import NewEmbeddings
from vocadapt.vocabulary.initializers.outputs import average_output_rows
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
    # 1. Rename the ids in the configs.
    check_ids(model, plan, rows)
    if plan.order is not None:
        _rename_padding(network, make_renaming(plan, rows))
        for config in (network.config, getattr(network, "generation_config", None)):
            if config is not None:
                _rename_config(config, make_renaming(plan, rows))

    # 2. Change every tensor with an entry for each token.
    tensors = list_token_tensors(network)
    output = get_output_layer(network)
    entries = compute_entries(
        {name: value.detach() for name, value in tensors.items()},
        embeddings.detach(),
        output is not None and not is_tied(network),
        plan,
        new,
        get_output_bias(network),
    )
    for name, value in tensors.items():
        value.data = change_tensor(value.detach(), plan, new.tokens, rows, entries[name])

    # 3. Update the sizes that modules and configs state.
    if rows.new_rows != rows.rows:
        update_sizes(network, list(tensors.values()), rows)
    return rows


def compute_entries(
    tensors: "Mapping[str, torch.Tensor]",
    embeddings: "torch.Tensor",
    is_untied: bool,
    plan: VocabularyPlan,
    new: NewEmbeddings,
    bias: "torch.Tensor | None" = None,
) -> dict[str, Matrix | None]:
    """Compute the entries of the new tokens in each tensor, (tokens, …) float32; None for zeros.

    tensors: by name, each with an entry for each token; embeddings: the input embeddings among
    them.
    is_untied: whether the output layer has weights of its own. Its rows are computed from its old
    rows (`NewEmbeddings.make_output_rows`), and its biases are the means of those of the pieces.
    bias: the output bias that the network adds, of which it may have copies; None if not known.
    """
    entries: dict[str, Matrix | None] = {}
    for name, value in tensors.items():
        if has_equal_bits(value, embeddings):
            entries[name] = new.matrix
        elif not is_untied or not new.tokens:
            entries[name] = None
        elif value.ndim == 1 and bias is not None:
            entries[name] = _compute_output_entries(bias.detach(), plan, new)
        else:
            entries[name] = _compute_output_entries(value, plan, new)
    return entries


def _compute_output_entries(
    value: "torch.Tensor", plan: VocabularyPlan, new: NewEmbeddings
) -> Matrix:
    old = value[: len(plan.base)].float().numpy().reshape(len(plan.base), -1)
    output = EmbeddingSpace(plan.base.tokens, old, name="output layer")
    make = new.make_output_rows
    if value.ndim == 1 or make is None:
        # A word has one entry in all its forms, as it has one embedding.
        tokens = [plan.forms.get(token, token) for token in new.tokens]
        rows = average_output_rows(plan, output, tokens)
    else:
        rows = make(output)
    return rows.reshape(len(rows), *value.shape[1:])


def has_equal_bits(one: "torch.Tensor", other: "torch.Tensor") -> bool:
    """Return whether two tensors have the same dtype, shape and bits, as tied matrices have."""
    import torch

    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.data_ptr() == other.data_ptr():
        return True
    return torch.equal(*(value.contiguous().view(torch.uint8) for value in (one, other)))


def change_tensor(
    value: "torch.Tensor",
    plan: VocabularyPlan,
    tokens: Sequence[str],
    rows: MatrixRows,
    entries: Matrix | None,
) -> "torch.Tensor":
    """Return a tensor with an entry for each token after a plan, (new rows, …), in its dtype.

    value: (rows, …), before the plan. entries: of the new `tokens`, (tokens, …); None for zeros.

    Entries of kept tokens and of rows without a token are copied bit by bit.

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
    changed[[plan.after.ids[token] for token in plan.added_tokens]] = 0
    if entries is not None:
        ids = [plan.after.ids[token] for token in tokens]
        changed[ids] = torch.from_numpy(entries.copy()).to(value.dtype)
    return changed


def change_unused_outputs(
    model: LanguageModel,
    plan: VocabularyPlan,
    new: NewEmbeddings,
    rows: MatrixRows,
    unused: tuple[str, ...],
) -> "dict[str, torch.Tensor]":
    """Apply a plan to the stored tensors of a language-model head that the network's class does not
    have, so that a class with this head can load them; return the changed tensors by name.
    """
    values = read_unused_outputs(model, unused, rows.rows)
    if not values:
        return {}
    embeddings = get_embeddings(model.network).detach()
    is_untied = any(
        value.ndim == 2 and not has_equal_bits(value, embeddings) for value in values.values()
    )
    entries = compute_entries(values, embeddings, is_untied, plan, new)
    return {
        name: change_tensor(value, plan, new.tokens, rows, entries[name])
        for name, value in values.items()
    }


def update_sizes(
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
            code="moved-padding",
        )
    for module in network.modules():
        if getattr(module, "padding_idx", None) == padding:
            cast(Any, module).padding_idx = rename(padding)


def _rename_config(config: Any, rename: Rename) -> None:
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
