"""Token maps: the kept tokens of a model as a draft vocabulary for speculative decoding.

A draft head that only scores frequent tokens is faster, and the model itself still checks every
token with its whole vocabulary (FR-Spec, Zhao et al. 2025). A token map lists these tokens by their
ids in the model. Programs that use one expect:

    hot_token_id  (n,) int64, ids in the model, ascending: the list of sglang's token maps
    d2t           (n,) int64, hot_token_id - 0, 1, 2, …: the offsets of EAGLE-3 drafts, in llama.cpp
    t2d           (V,) bool, whether the draft vocabulary has each id of the model, as in EAGLE-3

Example: of the ids 0 … 5 the draft has 0, 2 and 5: hot_token_id 0 2 5, d2t 0 1 3, t2d 1 0 1 0 0 1.

A .json file has the first two arrays, a .safetensors file all three, and the facts in its metadata.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.vocabulary.families import Vocabulary

FORMATS = (".json", ".safetensors")


def check_token_map_path(path: Path) -> None:
    """Raise InputError for a file that is neither .json nor .safetensors."""
    if path.suffix not in FORMATS:
        raise InputError(
            f"{path}: a token map is written as {' or '.join(FORMATS)}.",
            f"Give a file name that ends in {FORMATS[0]} or {FORMATS[1]}.",
            code="unknown-file-kind",
        )


def build_token_map(
    vocabulary: Vocabulary, tokens: Iterable[str], rows: int
) -> dict[str, NDArray[np.int64] | NDArray[np.bool_]]:
    """Return the three arrays of a token map, by name.

    vocabulary: that of the model. tokens: those of the draft vocabulary. rows: V, number of outputs
    of the model's head.
    """
    ids = np.array(sorted(vocabulary.ids[token] for token in tokens), dtype=np.int64)
    is_hot = np.zeros(rows, dtype=np.bool_)
    is_hot[ids] = True
    return {"hot_token_id": ids, "d2t": ids - np.arange(len(ids)), "t2d": is_hot}


def write_token_map(
    path: Path,
    vocabulary: Vocabulary,
    tokens: Iterable[str],
    rows: int,
    facts: Mapping[str, object],
) -> None:
    """Write a token map as .json or .safetensors, by the suffix of the file.

    facts: metadata of the map, such as the fraction of a text that its tokens cover.
    """
    check_token_map_path(path)
    arrays = build_token_map(vocabulary, tokens, rows)
    if path.suffix == ".safetensors":
        from safetensors.numpy import save

        described = {name: str(value) for name, value in facts.items()}
        path.write_bytes(save(arrays, metadata=described))
        return
    lists = {name: arrays[name].tolist() for name in ("hot_token_id", "d2t")}
    path.write_text(json.dumps({**facts, **lists}, ensure_ascii=False), encoding="utf-8")
