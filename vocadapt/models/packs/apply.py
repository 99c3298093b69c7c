"""Apply a vocabulary pack to its base model, and remove it again.

The result is the folder of an adapted model. It keeps what is needed to restore its base, so that
the base itself may be gone:

    base/tokenizer.json, …           the tokenizer of the base, as in every adapted model
    base/vocadapt.json, README.md    its record and card, if it is an adapted model itself
    base/free_rows.safetensors       its rows without a token that new tokens took, if any
    vocadapt.json                    under "pack": the number of its rows, and the hash of its weights

The weights of the base are the first rows of the folder's own weights.
"""

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import (
    BASE,
    CARD,
    RECORD,
    add_to_record,
    apply_plan,
    copy_other_files,
    copy_unused_tensors,
    open_base_model,
)
from vocadapt.models.certificate.comparisons import view_bits
from vocadapt.models.embedding_change import has_equal_bits, update_sizes
from vocadapt.models.embedding_matrix.padding import MatrixRows
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings, get_output_layer, is_tied
from vocadapt.models.loading import Loaded, load_network
from vocadapt.models.packs.make import hash_base, identify_base
from vocadapt.models.packs.pack import (
    EMBEDDINGS,
    OUTPUT,
    OUTPUT_BIAS,
    BaseIdentity,
    VocabularyPack,
    has_types,
)
from vocadapt.models.saving import save_network
from vocadapt.models.token_tensors import list_token_tensors, read_unused_outputs
from vocadapt.models.transformers_tokenizer import save_tokenizer
from vocadapt.system.files import read_json_object, show_path
from vocadapt.vocabulary.initializers.initialize import NewEmbeddings

if TYPE_CHECKING:
    import torch
    import transformers

PACK = "pack"  # key of the record
FREE_ROWS = "free_rows.safetensors"


@dataclass(frozen=True)
class AppliedPack:
    """The pack of a model, as in its record.

    rows: number of rows of the base's matrix. weights: SHA-256 of its network (`hash_weights`).
    """

    name: str
    base: BaseIdentity
    rows: int
    weights: str


def read_applied_pack(model: LanguageModel) -> AppliedPack | None:
    """Read the pack of a model from its record; None if it has none.

    Raises InputError if the record is damaged.
    """
    path = model.path / RECORD
    if not path.is_file():
        return None
    stored = read_json_object(path).get(PACK)
    place = show_path(path)
    if stored is None:
        return None
    if not has_types(stored, {"name": (str,), "base": (dict,), "rows": (int,), "weights": (str,)}):
        raise InputError(
            f"{place}: what it states of the pack is damaged.",
            "Apply the pack to the base model again.",
            code="damaged-record",
        )
    base = BaseIdentity.from_dict(stored["base"], place)
    return AppliedPack(stored["name"], base, stored["rows"], stored["weights"])


def apply_pack(model: LanguageModel, pack: VocabularyPack, folder: Path) -> MatrixRows:
    """Write a model with the tokens of a pack to a folder; return its numbers of rows.

    Raises InputError unless the model is the pack's base, and if it has a pack already.
    """
    # 1. Check that the pack fits.
    applied = read_applied_pack(model)
    if applied is not None:
        raise InputError(
            f"{model.name} already has a pack, {applied.name}, and a model can have only one.",
            "Remove that pack first, or adapt the base model with the words of both and make one"
            " pack of the result.",
            code="second-pack",
        )
    base = identify_base(model)
    if pack.base.sha256 != base.sha256:
        raise InputError(
            f"The pack {pack.name} was made for {pack.base}, not for {base}.",
            "Apply it to its base model, with the same embeddings and the same tokenizer.",
            code="other-base-model",
        )

    # 2. Add the tokens, as an adaptation does, with the entries of the pack bit by bit.
    plan = pack.build_plan(model.vocabulary)
    matrix = pack.tensors[EMBEDDINGS].float().numpy()
    new = NewEmbeddings(plan.added_tokens, matrix, pack.provenance)
    adapted = apply_plan(model, plan, new, pack.mode)
    _write_entries(adapted.network, pack, [plan.after.ids[token] for token in pack.tokens])
    adapted.save(folder)

    # 3. Keep what restores the base.
    rows = adapted.matrix_rows
    if rows.filled:
        tensors = _read_token_tensors(model, Loaded(model.network, adapted.unused))
        _write_free_rows(tensors, rows, folder / BASE / FREE_ROWS)
    _copy_description(model.path, folder / BASE)
    applied = AppliedPack(pack.name, base, rows.rows, hash_weights(model.network))
    data = {"role": "vocabulary pack", "name": pack.name}
    add_to_record(folder, data=data, **{PACK: asdict(applied)})
    return rows


def remove_pack(model: LanguageModel, folder: Path) -> MatrixRows:
    """Write the base model of a model with a pack to a folder; return the numbers of rows.

    All weights equal those of the base bit by bit, and the tokenizer is the same. Raises InputError
    if the model has no pack, or was changed since the pack was applied.
    """
    applied = read_applied_pack(model)
    if applied is None:
        raise InputError(
            f"{model.name} has no pack.",
            "Give a model to which a pack was applied.",
            code="no-pack",
        )
    changed = InputError(
        f"{show_path(model.path)}: its base model cannot be restored: a file is missing or has"
        " changed since the pack was applied, for example by training.",
        f"Use the base model itself, {applied.base.name}.",
        code="changed-model",
    )
    base = open_base_model(model)
    if base is None:
        raise changed

    # 1. Cut every tensor with an entry for each token back to the rows of the base.
    loaded = load_network(model)
    network = loaded.network
    n_tokens = len(base.vocabulary)
    n_rows = len(get_embeddings(network))
    free_rows = _read_free_rows(model.path / BASE / FREE_ROWS, changed)
    restored = {
        name: _restore(value, applied.rows, n_tokens, free_rows.get(name))
        for name, value in _read_token_tensors(model, loaded).items()
    }
    parameters = list_token_tensors(network)
    for name, value in parameters.items():
        value.data = restored[name]
    rows = MatrixRows(len(model.vocabulary), n_rows, n_tokens, applied.rows)
    update_sizes(network, list(parameters.values()), rows)

    # 2. Check that this is the base.
    digests = hash_weights(network), hash_base(network, base.fast_tokenizer)
    if digests != (applied.weights, applied.base.sha256):
        raise changed

    # 3. Write it.
    folder.mkdir(parents=True, exist_ok=True)
    save_network(network, model, folder)
    others = {name: value for name, value in restored.items() if name not in parameters}
    copy_unused_tensors(model.path, folder, loaded.unused, others)
    save_tokenizer(base, base.tokenizer, base.fast_tokenizer, folder)
    copy_other_files(model.path, folder)
    _copy_description(model.path / BASE, folder)
    return rows


def hash_weights(network: "transformers.PreTrainedModel") -> str:
    """Return the SHA-256 of all tensors of a network: names, dtypes, shapes and bytes."""
    digest = sha256()
    for name, value in sorted(network.state_dict().items()):
        digest.update(f"{name} {value.dtype} {list(value.shape)}\n".encode())
        digest.update(view_bits(value).numpy().data)
    return digest.hexdigest()


def _write_entries(
    network: "transformers.PreTrainedModel", pack: VocabularyPack, ids: list[int]
) -> None:
    """Write the entries of a pack into the tensors of a network with an entry for each token.

    A tensor that the pack lacks keeps its entries: those that `apply_plan` computed.
    """
    tensors = list(list_token_tensors(network).values())
    roles = [_find_role(value, network) for value in tensors]
    for value, role in zip(tensors, roles, strict=True):
        entries = pack.tensors.get(role)
        if entries is not None and entries.shape[1:] == value.shape[1:]:
            value.data[ids] = entries.to(value.dtype)


def _find_role(value: "torch.Tensor", network: "transformers.PreTrainedModel") -> str:
    """Return the role of a tensor of a network: EMBEDDINGS, OUTPUT or OUTPUT_BIAS."""
    if value.ndim == 1:
        return OUTPUT_BIAS
    output = get_output_layer(network)
    is_untied_output = output is not None and value is output.weight and not is_tied(network)
    if has_equal_bits(value, get_embeddings(network)) and not is_untied_output:
        return EMBEDDINGS
    return OUTPUT


def _read_token_tensors(model: LanguageModel, loaded: Loaded) -> "dict[str, torch.Tensor]":
    """Return the tensors with an entry for each token: those of the network, and stored ones of a
    head that its class does not have.
    """
    own = {name: value.detach() for name, value in list_token_tensors(loaded.network).items()}
    n_rows = len(get_embeddings(loaded.network))
    return own | read_unused_outputs(model, loaded.unused, n_rows)


def _write_free_rows(tensors: "Mapping[str, torch.Tensor]", rows: MatrixRows, file: Path) -> None:
    from safetensors.torch import save_file

    end = rows.tokens + rows.filled
    save_file({name: value[rows.tokens : end].clone() for name, value in tensors.items()}, file)


def _read_free_rows(file: Path, problem: InputError) -> "dict[str, torch.Tensor]":
    from safetensors.torch import load_file

    if not file.is_file():
        return {}
    try:
        return load_file(file)
    except Exception as error:  # safetensors raises its own exception or OSError
        raise problem from error


def _restore(
    value: "torch.Tensor", n_rows: int, n_tokens: int, free_rows: "torch.Tensor | None"
) -> "torch.Tensor":
    """Return the first rows of a tensor, with the rows after the tokens as they were."""
    restored = value[:n_rows].clone()
    if free_rows is not None:
        place = restored[n_tokens : n_tokens + len(free_rows)]
        if place.shape == free_rows.shape:
            place.copy_(free_rows)
    return restored


def _copy_description(source: Path, target: Path) -> None:
    for name in (RECORD, CARD):
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
    if (source / BASE).is_dir():
        shutil.copytree(source / BASE, target / BASE, dirs_exist_ok=True)
