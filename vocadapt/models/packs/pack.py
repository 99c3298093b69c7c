"""VocabularyPack: the added tokens of an adapted model in one file, bound to its base model.

The file is a safetensors file of a few megabytes: the embeddings and biases of the new tokens as
tensors, everything else as JSON in its metadata. Equal packs are equal files, byte by byte.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, TypedDict, TypeGuard

import numpy as np

from vocadapt import __version__
from vocadapt.errors import InputError
from vocadapt.models.model_files import MAX_TOKENS, NUMBERS
from vocadapt.models.packs.stored_weights import (
    Header,
    Place,
    lay_out,
    read_header,
    read_tensor,
    write_tensors,
)
from vocadapt.models.packs.tokenizer_patch import TokenizerPatch, read_patch
from vocadapt.system.files import check_path, parse_json, show_path
from vocadapt.vocabulary.plan.plan import KINDS

PACK_FILE = "pack.safetensors"  # name of the file in the folder of a pack
METADATA_KEY = "vocadapt_pack"
FORMAT = 1
# Tensors of a pack: input embeddings, weights of an untied output layer, output biases.
EMBEDDINGS, OUTPUT, OUTPUT_BIAS = "embeddings", "output", "output_bias"
DIMENSIONS = {EMBEDDINGS: 2, OUTPUT: 2, OUTPUT_BIAS: 1}
NAME = re.compile(r"[^\W_](?:[\w .-]{0,98}[\w-])?")
SHA256 = re.compile(r"[0-9a-f]{64}")
SHOWN_DIGITS = 12  # of a hash in a message
MAKE_AGAIN = "Make the pack again, or get the file again."
NUMPY_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


@dataclass(frozen=True)
class BaseIdentity:
    """The model that a pack belongs to.

    sha256: hash of its input embeddings and its tokenizer (see `make.identify_base`). The other
    fields describe the model in messages. on_hub: whether `name` is a name on the model hub.
    """

    sha256: str
    name: str
    model_type: str
    dtype: str
    width: int
    tokens: int
    on_hub: bool = False

    def __str__(self) -> str:
        return (
            f"{self.name} ({self.tokens:,} tokens, width {self.width}, {self.dtype}, sha256"
            f" {self.sha256[:SHOWN_DIGITS]}…)"
        )

    @classmethod
    def from_dict(cls, value: Any, place: str) -> Self:
        """Read the output of `asdict`; raises InputError, whose message begins with `place`, if it
        is invalid.
        """
        types = {name: kind for name, kind in cls.__annotations__.items()}
        demand(isinstance(value, dict) and value.keys() == types.keys(), place, "its base model")
        for name, kind in types.items():
            demand(type(value[name]) is kind, place, f"the {name} of its base model")
        demand(SHA256.fullmatch(value["sha256"]) is not None, place, "the hash of its base model")
        return cls(**value)


@dataclass(frozen=True)
class StoredRows:
    """Entries of tokens in a tensor: dtype in safetensors' notation, shape (tokens, width) or
    (tokens,), bytes.
    """

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def is_finite(self) -> bool:
        """Return whether no value is NaN or infinite."""
        if self.dtype == "BF16":  # the upper half of a float32, which NumPy lacks
            halves = np.frombuffer(self.data, "<u2").astype(np.uint32) << 16
            return bool(np.isfinite(halves.view(np.float32)).all())
        return bool(np.isfinite(np.frombuffer(self.data, NUMPY_TYPES[self.dtype])).all())

    def take(self, rows: list[int]) -> bytes:
        """Return the bytes of the given rows."""
        size = len(self.data) // self.shape[0]
        return b"".join(self.data[row * size : (row + 1) * size] for row in rows)


class PackFacts(TypedDict):
    """A pack in numbers and names."""

    name: str
    tokens: int
    width: int
    dtype: str
    tensors: list[str]
    tokenizer_mode: str
    tokenizer_settings: dict[str, Any]
    base: BaseIdentity


@dataclass(frozen=True, eq=False)
class VocabularyPack:
    """The added tokens of a model with their embeddings, the change of the tokenizer, and
    provenance.

    tokens: by id. rows: entries of the tokens, by tensor (EMBEDDINGS, OUTPUT, OUTPUT_BIAS).
    patch: the change of the tokenizer.
    plan: kind of the plan; for each token its entry (token, previous pieces, count); the main form
    of each other form of a word; candidates that were left out; unreachable tokens.
    provenance: how each embedding was computed, as in the record of an adapted model.
    sources: recipe, data and quality in that record.
    """

    name: str
    base: BaseIdentity
    tokens: tuple[str, ...]
    mode: str
    patch: TokenizerPatch
    rows: Mapping[str, StoredRows]
    plan: Mapping[str, Any]
    provenance: Mapping[str, Any]
    sources: Mapping[str, Any]
    version: str = __version__

    def save(self, path: Path) -> None:
        """Write the pack to a file."""
        content = {
            "format": FORMAT,
            "name": self.name,
            "vocadapt": self.version,
            "base": asdict(self.base),
            "tokenizer_mode": self.mode,
            "tokens": self.tokens,
            "plan": self.plan,
            "provenance": self.provenance,
            "sources": self.sources,
            "tokenizer_patch": self.patch.to_list(),
        }
        # A single entry, because some programs do not keep the order of several.
        metadata = {METADATA_KEY: json.dumps(content, ensure_ascii=False, allow_nan=False)}
        places = {name: Place(rows.dtype, rows.shape) for name, rows in self.rows.items()}
        write_tensors(
            path, lay_out(places, metadata), {name: rows.data for name, rows in self.rows.items()}
        )

    def summary(self) -> PackFacts:
        """Return the pack in numbers and names, for tables and manifests."""
        embeddings = self.rows[EMBEDDINGS]
        return {
            "name": self.name,
            "tokens": len(self.tokens),
            "width": embeddings.shape[1],
            "dtype": embeddings.dtype,
            "tensors": list(self.rows),
            "tokenizer_mode": self.mode,
            "tokenizer_settings": self.patch.settings,
            "base": asdict(self.base),  # type: ignore[typeddict-item]  # printed as one
        }


def find_pack_file(path: str | Path) -> Path:
    """Return the file of a pack, given that file or its folder."""
    found = check_path(path)
    if found.is_dir():
        found = found / PACK_FILE
    return found


def load_pack(path: str | Path) -> VocabularyPack:
    """Read a pack from its file or from the folder of this file.

    Raises InputError if the file is damaged, or not a pack.
    """
    file = find_pack_file(path)
    header = read_header(file)
    text = (header.metadata or {}).get(METADATA_KEY)
    place = show_path(file)
    if text is None:
        raise InputError(
            f"{place} is a safetensors file, but not a vocabulary pack.",
            "Give the file of a vocabulary pack.",
        )
    content = parse_json(text, place, MAKE_AGAIN)
    demand(isinstance(content, dict), place, "its metadata")
    if content.get("format") != FORMAT:
        raise InputError(
            f"{place}: a pack of format {str(content.get('format'))[:20]}, expected {FORMAT}.",
            "Use the version of vocadapt that made it.",
        )
    return _read_pack(content, header, file, place)


def _read_pack(content: dict[str, Any], header: Header, file: Path, place: str) -> VocabularyPack:
    """Build a pack from its metadata and its tensors; raises InputError if they are invalid."""
    # 1. Check the metadata.
    for key in ("name", "vocadapt", "tokenizer_mode"):
        demand(isinstance(content.get(key), str), place, f'its "{key}"')
    demand(NAME.fullmatch(content["name"]) is not None, place, "its name")
    for key in ("plan", "provenance", "sources"):
        demand(isinstance(content.get(key), dict), place, f'its "{key}"')
    try:
        json.dumps(content, allow_nan=False)
    except ValueError:
        demand(False, place, "a number in its metadata")
    tokens = _read_tokens(content.get("tokens"), place)
    base = BaseIdentity.from_dict(content.get("base"), place)
    _check_plan(content["plan"], tokens, place)
    _check_provenance(content["provenance"], tokens, place)
    patch = read_patch(content.get("tokenizer_patch"), place)

    # 2. Check and read the tensors.
    _check_shapes(header, len(tokens), base, place)
    rows = {
        name: StoredRows(stored.dtype, stored.shape, read_tensor(file, header, name))
        for name, stored in header.tensors.items()
    }
    for name, one in rows.items():
        demand(one.is_finite(), place, f"a number of {name}, which is not finite")
    return VocabularyPack(
        content["name"],
        base,
        tokens,
        content["tokenizer_mode"],
        patch,
        rows,
        content["plan"],
        content["provenance"],
        content["sources"],
        content["vocadapt"],
    )


def _read_tokens(value: Any, place: str) -> tuple[str, ...]:
    demand(is_texts(value) and 0 < len(value) <= MAX_TOKENS, place, "its list of tokens")
    demand(all(value) and len(set(value)) == len(value), place, "its list of tokens")
    return tuple(value)


def _check_shapes(header: Header, tokens: int, base: BaseIdentity, place: str) -> None:
    """Raise InputError unless the tensors have one entry for each token of the pack."""
    demand(EMBEDDINGS in header.tensors, place, "its embeddings")
    for name, stored in header.tensors.items():
        demand(name in DIMENSIONS, place, f"the tensor {name[:40]!r}")
        shape = stored.shape
        fits = stored.dtype in NUMBERS and len(shape) == DIMENSIONS[name] and shape[0] == tokens
        demand(fits, place, f"the shape or dtype of {name}")
    embeddings = header.tensors[EMBEDDINGS]
    fits = embeddings.shape[1] == base.width and embeddings.dtype == base.dtype
    demand(fits, place, "its embeddings, which do not fit its base model")


def _check_plan(plan: Mapping[str, Any], tokens: tuple[str, ...], place: str) -> None:
    """Raise InputError unless the plan appends exactly the tokens."""
    kind = KINDS.get(str(plan.get("kind")))
    demand(kind is not None and not kind.rearranges, place, "the kind of its plan")
    entries = plan.get("added_tokens")
    demand(isinstance(entries, list) and len(entries) == len(tokens), place, "its added tokens")
    assert isinstance(entries, list)
    for token, entry in zip(tokens, entries, strict=True):
        demand(_is_entry(entry) and entry[0] == token, place, f"its entry for {token[:40]!r}")
    forms = plan.get("forms")
    demand(isinstance(forms, dict), place, "its forms of words")
    assert isinstance(forms, dict)
    known = set(tokens)
    demand(known.issuperset(forms), place, "its forms of words")
    demand(all(isinstance(one, str) for one in forms.values()), place, "its forms of words")
    left_out, silent = plan.get("left_out"), plan.get("silent_tokens")
    demand(isinstance(left_out, dict), place, "its candidates that were left out")
    assert isinstance(left_out, dict)
    demand(all(type(n) is int for n in left_out.values()), place, "a number of left-out words")
    is_known = is_texts(silent) and known.issuperset(silent)
    demand(is_known, place, "its tokens that no text can produce")


def _is_entry(entry: Any) -> bool:
    """Return whether a value is [token, pieces, count]."""
    if not isinstance(entry, list) or len(entry) != 3:
        return False
    token, pieces, count = entry
    return isinstance(token, str) and is_texts(pieces) and (count is None or type(count) is int)


def _check_provenance(provenance: Mapping[str, Any], tokens: tuple[str, ...], place: str) -> None:
    """Raise InputError unless each token has the index of a description, and a list of donors."""
    ways, origins = provenance.get("how"), provenance.get("tokens")
    demand(is_texts(ways) and isinstance(origins, dict), place, "its provenance")
    assert isinstance(ways, list) and isinstance(origins, dict)
    demand(set(origins) == set(tokens), place, "the tokens of its provenance")
    for token, origin in origins.items():
        fits = isinstance(origin, list) and len(origin) == 2
        fits = fits and type(origin[0]) is int and 0 <= origin[0] < len(ways)
        fits = fits and isinstance(origin[1], list)
        demand(fits, place, f"the provenance of {token[:40]!r}")


def is_texts(value: Any) -> TypeGuard[list[str]]:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def demand(holds: bool, place: str, what: str) -> None:
    """Raise InputError for a damaged pack if a condition does not hold."""
    if not holds:
        raise InputError(f"{place} is not a valid vocabulary pack: check {what}.", MAKE_AGAIN)
