"""VocabularyPack: the added tokens of an adapted model in one file, bound to its base model.

The file is a safetensors file of a few megabytes: the embeddings and biases of the new tokens as
tensors, everything else as JSON in its metadata. Equal packs are equal files, byte by byte.

The tokenizer is not in the file: it is built again from the tokenizer of the base and the tokens.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeGuard

from vocadapt import __version__
from vocadapt.errors import InputError
from vocadapt.models.model_files import MAX_TOKENS
from vocadapt.system.files import check_file, check_path, open_file, parse_json, show_path
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.initializers.materials import Provenance
from vocadapt.vocabulary.plan.plan import KINDS, AddedWord, PlanSettings, VocabularyPlan

if TYPE_CHECKING:
    import torch

PACK_FILE = "pack.safetensors"  # name of the file in the folder of a pack
METADATA_KEY = "vocadapt_pack"
FORMAT = 2
# Tensors of a pack: input embeddings, weights of an untied output layer, output biases.
EMBEDDINGS, OUTPUT, OUTPUT_BIAS = "embeddings", "output", "output_bias"
DIMENSIONS = {EMBEDDINGS: 2, OUTPUT: 2, OUTPUT_BIAS: 1}
DTYPES = ("float64", "float32", "float16", "bfloat16")
NAME = re.compile(r"[^\W_](?:[\w .-]{0,98}[\w-])?")
SHA256 = re.compile(r"[0-9a-f]{64}")
SHOWN_DIGITS = 12  # of a hash in a message
MAKE_AGAIN = "Make the pack again, or get the file again."
TOKEN_TYPES = {
    "token": (str,),
    "pieces": (list,),
    "count": (int, type(None)),
    "form_of": (str,),
    "how": (str,),
    "donors": (list,),
}
CONTENT_TYPES = {
    "format": (int,),
    "name": (str,),
    "vocadapt": (str,),
    "base": (dict,),
    "tokenizer_mode": (str,),
    "kind": (str,),
    "tokens": (list,),
    "activated": (list,),
    "unreachable": (list,),
    "checked_lines": (int,),
    "sources": (dict,),
}


@dataclass(frozen=True)
class BaseIdentity:
    """The model that a pack belongs to.

    sha256: hash of its input embeddings and its tokenizer (see `make.hash_base`). The other fields
    describe the model in messages. on_hub: whether `name` is a name on the model hub.
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
        types = {field.name: (field.type,) for field in fields(cls)}
        check(has_types(value, types), place, "its base model")
        check(SHA256.fullmatch(value["sha256"]) is not None, place, "the hash of its base model")
        return cls(**value)


@dataclass(frozen=True)
class PackFacts:
    """A pack in numbers and names."""

    name: str
    tokens: int
    width: int
    dtype: str
    tensors: tuple[str, ...]
    tokenizer_mode: str
    base: BaseIdentity


@dataclass(frozen=True, eq=False)
class VocabularyPack:
    """The added tokens of a model with their embeddings and their provenance.

    mode, kind: tokenizer mode, and kind of the plan. words, provenance: of each token, by id.
    activated, unreachable, checked_lines: as in `VocabularyPlan`.
    tensors: entries of the tokens, (tokens, …), by role (EMBEDDINGS, OUTPUT, OUTPUT_BIAS).
    sources: recipe, data and quality in the record of the adapted model.
    """

    name: str
    base: BaseIdentity
    mode: str
    kind: str
    words: tuple[AddedWord, ...]
    provenance: tuple[Provenance, ...]
    tensors: "Mapping[str, torch.Tensor]"
    activated: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    checked_lines: int = 0
    sources: Mapping[str, Any] = field(default_factory=dict)
    version: str = __version__

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, by id."""
        return tuple(word.token for word in self.words)

    def build_plan(self, base: Vocabulary) -> VocabularyPlan:
        """Return the plan that appends the tokens to the vocabulary of the base."""
        return VocabularyPlan(
            base,
            self.words,
            activated=self.activated,
            settings=PlanSettings(self.kind),
            unreachable=self.unreachable,
            checked_lines=self.checked_lines,
        )

    def save(self, path: Path) -> None:
        """Write the pack to a file."""
        from safetensors.torch import save_file

        tokens = [
            asdict(word) | {"how": origin.how, "donors": list(origin.donors)}
            for word, origin in zip(self.words, self.provenance, strict=True)
        ]
        content = {
            "format": FORMAT,
            "name": self.name,
            "vocadapt": self.version,
            "base": asdict(self.base),
            "tokenizer_mode": self.mode,
            "kind": self.kind,
            "tokens": tokens,
            "activated": self.activated,
            "unreachable": self.unreachable,
            "checked_lines": self.checked_lines,
            "sources": self.sources,
        }
        # A single entry, because some programs do not keep the order of several.
        metadata = {METADATA_KEY: json.dumps(content, ensure_ascii=False, allow_nan=False)}
        save_file(dict(self.tensors), path, metadata)

    def summary(self) -> PackFacts:
        """Return the pack in numbers and names, for tables and manifests."""
        return PackFacts(
            self.name,
            len(self.words),
            self.base.width,
            self.base.dtype,
            tuple(sorted(self.tensors)),
            self.mode,
            self.base,
        )


def find_pack_file(path: str | Path) -> Path:
    """Return the file of a pack, given that file or its folder."""
    found = check_path(path)
    if found.is_dir():
        found = found / PACK_FILE
    return found


def hash_pack_file(file: Path) -> str:
    """Return the SHA-256 of the file of a pack."""
    with open_file(file) as opened:
        return file_digest(opened, "sha256").hexdigest()


def load_pack(path: str | Path) -> VocabularyPack:
    """Read a pack from its file or from the folder of this file.

    Raises InputError if the file is damaged, or not a pack.
    """
    from safetensors import safe_open

    file = check_file(find_pack_file(path))
    place = show_path(file)
    tensors: dict[str, torch.Tensor] = {}
    try:
        with safe_open(file, "pt") as stored:
            text = (stored.metadata() or {}).get(METADATA_KEY)
            if text is not None:  # other files may be large
                tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except Exception as error:  # safetensors raises its own exception or OSError
        raise InputError(
            f"{place} is not a readable safetensors file: {error}.", MAKE_AGAIN
        ) from error
    if text is None:
        raise InputError(
            f"{place} is a safetensors file, but not a vocabulary pack.",
            "Give the file of a vocabulary pack.",
            code="not-a-pack",
        )
    content = parse_json(text, place, MAKE_AGAIN)
    check(isinstance(content, dict), place, "its metadata")
    if content.get("format") != FORMAT:
        raise InputError(
            f"{place}: a pack of format {str(content.get('format'))[:20]}, expected {FORMAT}.",
            "Use the version of vocadapt that made it.",
        )
    return _read_pack(content, tensors, place)


def _read_pack(
    content: dict[str, Any], tensors: "dict[str, torch.Tensor]", place: str
) -> VocabularyPack:
    _check_content(content, place)
    entries = content["tokens"]
    base = BaseIdentity.from_dict(content["base"], place)
    _check_tensors(tensors, len(entries), base, place)
    return VocabularyPack(
        content["name"],
        base,
        content["tokenizer_mode"],
        content["kind"],
        tuple(
            AddedWord(one["token"], tuple(one["pieces"]), one["count"], one["form_of"])
            for one in entries
        ),
        tuple(Provenance(one["how"], tuple(map(tuple, one["donors"]))) for one in entries),
        tensors,
        tuple(content["activated"]),
        tuple(content["unreachable"]),
        content["checked_lines"],
        content["sources"],
        content["vocadapt"],
    )


def _check_content(content: dict[str, Any], place: str) -> None:
    # 1. Types.
    check(has_types(content, CONTENT_TYPES), place, "its metadata")
    try:
        json.dumps(content, allow_nan=False)
    except ValueError:
        check(False, place, "a number in its metadata")
    entries = content["tokens"]
    check(0 < len(entries) <= MAX_TOKENS, place, "its list of tokens")
    check(all(map(_is_token, entries)), place, "its list of tokens")

    # 2. Values.
    names = {entry["token"] for entry in entries}
    check("" not in names and len(names) == len(entries), place, "its list of tokens")
    check(NAME.fullmatch(content["name"]) is not None, place, "its name")
    kind = KINDS.get(content["kind"])
    check(kind is not None and not kind.rearranges, place, "the kind of its plan")
    activated = content["activated"]
    unreachable = content["unreachable"]
    check(is_texts(activated), place, "its activated tokens")
    is_known = is_texts(unreachable) and names.issuperset(unreachable)
    check(is_known, place, "its tokens that no text can produce")


def _is_token(entry: Any) -> bool:
    """Return whether a value describes a token: its pieces are texts, its donors texts with
    weights.
    """
    if not has_types(entry, TOKEN_TYPES) or not is_texts(entry["pieces"]):
        return False
    return all(
        isinstance(donor, list) and [type(one) for one in donor] in ([str, float], [str, int])
        for donor in entry["donors"]
    )


def _check_tensors(
    tensors: "Mapping[str, torch.Tensor]", tokens: int, base: BaseIdentity, place: str
) -> None:
    """Raise InputError unless the tensors have one finite entry for each token of the pack."""
    check(EMBEDDINGS in tensors, place, "its embeddings")
    for name, value in tensors.items():
        check(name in DIMENSIONS, place, f"the tensor {name[:40]!r}")
        fits = value.ndim == DIMENSIONS[name] and len(value) == tokens
        fits = fits and name_dtype(value) in DTYPES
        check(fits, place, f"the shape or dtype of {name}")
        check(bool(value.isfinite().all()), place, f"a number of {name}, which is not finite")
    embeddings = tensors[EMBEDDINGS]
    fits = embeddings.shape[1] == base.width and name_dtype(embeddings) == base.dtype
    check(fits, place, "its embeddings, which do not fit its base model")


def name_dtype(tensor: "torch.Tensor") -> str:
    """Return the name of the dtype of a tensor, such as "float32"."""
    return str(tensor.dtype).removeprefix("torch.")


def has_types(value: Any, types: Mapping[str, tuple[Any, ...]]) -> bool:
    """Return whether a value is an object with exactly these keys, and each value has one of the
    types of its key.
    """
    if not isinstance(value, dict) or value.keys() != types.keys():
        return False
    return all(type(value[key]) in allowed for key, allowed in types.items())


def is_texts(value: Any) -> TypeGuard[list[str]]:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def check(holds: bool, place: str, what: str) -> None:
    """Raise InputError for a damaged pack if a condition does not hold."""
    if not holds:
        raise InputError(
            f"{place} is not a valid vocabulary pack: check {what}.",
            MAKE_AGAIN,
            code="damaged-pack",
        )
