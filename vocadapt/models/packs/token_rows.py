"""The stored tensors of a model with an entry for each token, and their entries for the tokens of
packs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vocadapt.errors import InputError
from vocadapt.models.embedding_matrix.padding import MatrixRows
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings
from vocadapt.models.loading import DTYPES, load_network
from vocadapt.models.model_files import StoredTensor, read_headers
from vocadapt.models.packs.make import to_bytes
from vocadapt.models.packs.pack import EMBEDDINGS, OUTPUT, OUTPUT_BIAS, StoredRows, VocabularyPack
from vocadapt.models.packs.stored_weights import Header, read_header, read_tensor
from vocadapt.models.token_tensors import (
    check_other_tables,
    list_token_tensors,
    list_unused_outputs,
)
from vocadapt.system.files import show_path

if TYPE_CHECKING:
    import transformers


@dataclass(frozen=True)
class TokenTensor:
    """A stored tensor with an entry for each token: its role in a pack, its file and its bytes."""

    role: str
    stored: StoredTensor
    data: bytes

    @property
    def row_size(self) -> int:
        """Bytes of a row."""
        return len(self.data) // self.stored.shape[0]


@dataclass(frozen=True)
class PackRows:
    """A pack and its used rows: those of tokens that no earlier pack has."""

    pack: VocabularyPack
    used: tuple[int, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that the pack adds."""
        return tuple(self.pack.tokens[row] for row in self.used)

    @property
    def shared(self) -> tuple[str, ...]:
        """The tokens of the pack that an earlier pack has."""
        own = set(self.used)
        return tuple(token for row, token in enumerate(self.pack.tokens) if row not in own)


def find_token_tensors(base: LanguageModel) -> dict[str, TokenTensor]:
    """Return the stored tensors of a model with an entry for each token, by stored name.

    A file may name a tensor differently from the network, and may store a tied tensor twice, so
    tensors are found by their content. Raises InputError if a tensor is not found.
    """
    loaded = load_network(base)
    network = loaded.network
    check_other_tables(base, network, loaded.unused)
    stored = read_headers(base.path)
    headers = {one.file: read_header(one.file) for one in stored.values()}
    embeddings = to_bytes(get_embeddings(network))

    # 1. Tensors of the network.
    found: dict[str, TokenTensor] = {}
    others = _list_other_names(network)
    for name, value in list_token_tensors(network).items():
        data, shape = to_bytes(value), tuple(value.shape)
        names = [key for key, one in stored.items() if one.shape == shape and key not in others]
        equal = [key for key in names if _read(stored[key], headers, key) == data]
        if not equal:
            raise InputError(
                f"{show_path(base.path)}: {name} is not stored in the dtype of its embeddings.",
                "Save the model in one dtype.",
            )
        role = _find_role(data, shape, embeddings)
        found |= {key: TokenTensor(role, stored[key], data) for key in equal}

    # 2. Tensors of a language-model head that the network's class lacks.
    rows = len(get_embeddings(network))
    for name in list_unused_outputs(stored, loaded.unused, rows):
        one = stored[name]
        data = _read(one, headers, name)
        found[name] = TokenTensor(_find_role(data, one.shape, embeddings), one, data)
    return found


def _list_other_names(network: "transformers.PreTrainedModel") -> set[str]:
    """List the names of the tensors of a network that have no entry for each token."""
    own = [id(value) for value in list_token_tensors(network).values()]
    tensors = network.state_dict(keep_vars=True)
    return {name for name, value in tensors.items() if id(value) not in own}


def _read(stored: StoredTensor, headers: Mapping[Path, Header], name: str) -> bytes:
    return read_tensor(stored.file, headers[stored.file], name)


def _find_role(data: bytes, shape: tuple[int, ...], embeddings: bytes) -> str:
    """Return the role of a tensor: EMBEDDINGS, OUTPUT or OUTPUT_BIAS."""
    if data == embeddings:
        return EMBEDDINGS
    if len(shape) == 1:
        return OUTPUT_BIAS
    return OUTPUT


def choose_rows(packs: list[VocabularyPack]) -> list[PackRows]:
    """Choose the used rows of each pack: a token of several packs gets the embedding of the
    first.
    """
    taken: set[str] = set()
    chosen = []
    for pack in packs:
        used = [row for row, token in enumerate(pack.tokens) if token not in taken]
        taken.update(pack.tokens)
        chosen.append(PackRows(pack, tuple(used)))
    return chosen


def build_tail(
    tensor: TokenTensor, packs: list[PackRows], rows: MatrixRows, ids: Mapping[str, int] | None
) -> bytes:
    """Return the bytes of a tensor after its last old token: entries of new tokens, then rows
    without a token (old ones if there are any, then zeros).

    ids: of the base's tokens, if its output layer is untied; None otherwise.

    A tensor that a pack lacks is filled as in `apply_plan`: in an untied output layer by the mean of
    the pieces of each token, otherwise with zeros.
    """
    new = b"".join(_take_rows(tensor, one, ids) for one in packs)
    old = tensor.data[rows.new_tokens * tensor.row_size :]
    size = (rows.new_rows - rows.tokens) * tensor.row_size
    return (new + old).ljust(size, b"\0")


def _take_rows(tensor: TokenTensor, chosen: PackRows, ids: Mapping[str, int] | None) -> bytes:
    rows = chosen.pack.rows.get(tensor.role)
    if rows is None and ids is not None:
        return _average_pieces(tensor, chosen, ids)
    if rows is None or rows.shape[1:] != tensor.stored.shape[1:]:
        return bytes(len(chosen.used) * tensor.row_size)
    if rows.dtype != tensor.stored.dtype:
        raise InputError(
            f"The pack {chosen.pack.name} has {tensor.role} in {rows.dtype}, the model in"
            f" {tensor.stored.dtype}.",
            "Make the pack from a model with this head.",
        )
    return rows.take(list(chosen.used))


def _average_pieces(tensor: TokenTensor, chosen: PackRows, ids: Mapping[str, int]) -> bytes:
    """Return the bytes of the mean entries of the pieces of each token of a pack; of all tokens, if
    there are no pieces.
    """
    import torch

    kind = getattr(torch, DTYPES.get(tensor.stored.dtype, "float64"))
    old = torch.frombuffer(bytearray(tensor.data), dtype=kind).reshape(tensor.stored.shape)
    old = old[: len(ids)].float()
    entries = chosen.pack.plan["added_tokens"]
    pieces = [[ids[one] for one in entries[row][1] if one in ids] for row in chosen.used]
    return to_bytes(torch.stack([old[own or slice(None)].mean(dim=0) for own in pieces]).to(kind))


def take_free_rows(tensors: Mapping[str, TokenTensor], rows: MatrixRows) -> dict[str, StoredRows]:
    """Return the old rows without a token, by tensor; {} if there are none."""
    if not rows.free:
        return {}
    found = {}
    for name, tensor in tensors.items():
        shape = (rows.free, *tensor.stored.shape[1:])
        data = tensor.data[rows.tokens * tensor.row_size :]
        found[name] = StoredRows(tensor.stored.dtype, shape, data)
    return found
