"""The record of a model with packs, in the format of the record of an adapted model."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypedDict

from vocadapt import __version__
from vocadapt.models.adapted_model import hash_embeddings
from vocadapt.models.embedding_matrix.padding import MatrixRows
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.layers import get_embeddings
from vocadapt.models.model_files import SUFFIX
from vocadapt.models.packs.base import PACKS
from vocadapt.models.packs.pack import BaseIdentity
from vocadapt.models.packs.stored_weights import hash_file
from vocadapt.models.packs.token_rows import PackRows


class PackedNumbers(TypedDict):
    """Packs of a model and its tokens; `shared`: tokens of a pack that an earlier pack has, too;
    `hidden`: tokens that others keep from being produced.
    """

    packs: list[str]
    tokens_before: int
    added: int
    tokens_after: int
    rows_after: int
    shared: dict[str, int]
    hidden: dict[str, int]


@dataclass(frozen=True)
class PackedModel:
    """A written model with packs.

    packs: names, in the order in which they were applied. shared: tokens of each pack that an
    earlier pack has, too. hidden: tokens of each pack that the tokenizer splits, because a token of
    another pack matches first.
    """

    base: BaseIdentity
    matrix: MatrixRows
    packs: tuple[str, ...]
    shared: Mapping[str, tuple[str, ...]]
    hidden: Mapping[str, tuple[str, ...]]

    def to_dict(self) -> PackedNumbers:
        """Return the numbers, for tables and manifests."""
        return {
            "packs": list(self.packs),
            "tokens_before": self.matrix.tokens,
            "added": self.matrix.new_tokens - self.matrix.tokens,
            "tokens_after": self.matrix.new_tokens,
            "rows_after": self.matrix.new_rows,
            "shared": {name: len(tokens) for name, tokens in self.shared.items() if tokens},
            "hidden": {name: len(tokens) for name, tokens in self.hidden.items() if tokens},
        }


def build_record(
    base: LanguageModel,
    chosen: list[PackRows],
    result: PackedModel,
    files: Mapping[str, str],
    folder: Path,
) -> dict[str, Any]:
    """Build the record of a model with packs, in the format of the record of an adapted model."""
    tokens = [token for one in chosen for token in one.tokens]
    modes = dict.fromkeys(one.pack.mode for one in chosen)
    matrix, start = get_embeddings(open_model(folder).network), result.matrix.tokens
    return {
        "vocadapt": __version__,
        "base_model": result.base.name,
        "on_hub": result.base.on_hub,
        "family": base.vocabulary.family,
        "tokenizer_mode": " and ".join(modes),
        "recipe": None,
        "plan": _merge_plans(base, chosen, result),
        "matrix": result.matrix.to_dict(),
        "module": None,
        "provenance": _merge_provenance(chosen),
        "rows": hash_embeddings(matrix[start : start + len(tokens)]),
        "data": {"role": "vocabulary packs", "name": ", ".join(result.packs)},
        PACKS: {
            "base": asdict(result.base),
            "base_files": dict(files),
            "applied": [
                {
                    "name": one.pack.name,
                    "sha256": hash_file(folder / PACKS / f"{one.pack.name}{SUFFIX}"),
                    "tokens": len(one.pack.tokens),
                    "shared": list(one.shared),
                    "hidden": list(result.hidden[one.pack.name]),
                }
                for one in chosen
            ],
        },
    }


def _merge_plans(
    base: LanguageModel, chosen: list[PackRows], result: PackedModel
) -> dict[str, Any]:
    """Build the plan of a model with packs: the added tokens of all packs."""
    kinds = list(dict.fromkeys(str(one.pack.plan["kind"]) for one in chosen))
    left_out: dict[str, int] = {}
    for one in chosen:
        for reason, count in one.pack.plan["left_out"].items():
            left_out[reason] = left_out.get(reason, 0) + count
    forms: dict[str, str] = {}
    for one in chosen:
        own = one.pack.plan["forms"]
        forms |= {token: own[token] for token in one.tokens if token in own}
    hidden = [token for tokens in result.hidden.values() for token in tokens]
    silent = [token for one in chosen for token in one.pack.plan["silent_tokens"]]
    return {
        "kind": kinds[0] if len(kinds) == 1 else "append",
        "tokens_before": result.matrix.tokens,
        "added": result.matrix.new_tokens - result.matrix.tokens,
        **({"forms": forms} if forms else {}),
        "replaced": 0,
        "dropped": 0,
        "tokens_after": result.matrix.new_tokens,
        "left_out": left_out,
        "added_tokens": [one.pack.plan["added_tokens"][row] for one in chosen for row in one.used],
        "replaced_tokens": [],
        "dropped_tokens": [],
        "silent_tokens": list(dict.fromkeys([*silent, *hidden])),
        **asdict(base.vocabulary.notation),
    }


def _merge_provenance(chosen: list[PackRows]) -> dict[str, Any]:
    """Build the provenance of a model with packs, in the format of `build_provenance_record`."""
    ways, origins = list[str](), dict[str, Any]()
    for one in chosen:
        known = one.pack.provenance
        start = len(ways)
        ways += known["how"]
        for token in one.tokens:
            place, donors = known["tokens"][token]
            origins[token] = [start + place, donors]
    return {"how": ways, "tokens": origins}
