"""Edit a tokenizer through the JSON of its tokenizer.json, for all families."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tokenizers import AddedToken, Tokenizer

from vocadapt.vocabulary.families.files.tokenizer_checks import TOKEN_FLAGS

EXACT_WORD = {  # flags of an added token that is an exact word
    "single_word": True,
    "lstrip": False,
    "rstrip": False,
    "normalized": True,
    "special": False,
}


def to_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return a tokenizer as parsed tokenizer.json."""
    content: dict[str, Any] = json.loads(tokenizer.to_str())
    return content


def from_json(content: Mapping[str, Any]) -> Tokenizer:
    """Build the tokenizer of a parsed tokenizer.json."""
    return Tokenizer.from_str(json.dumps(content))


def read_parts(tokenizer: Tokenizer, names: Iterable[str]) -> dict[str, Any]:
    """Return parts of a tokenizer as in tokenizer.json, without its vocabulary, which is slow."""
    parts: dict[str, Any] = {}
    for name in names:
        part = getattr(tokenizer, name)
        parts[name] = None if part is None else json.loads(part.__getstate__())
    return parts


def list_tokens(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the tokens by id; an id without a token gets a name such as `[no token 7]`."""
    ids = tokenizer.get_vocab(with_added_tokens=True)
    tokens = [f"[no token {i}]" for i in range(max(ids.values(), default=-1) + 1)]
    for token, i in ids.items():
        tokens[i] = token
    return tuple(tokens)


def split_added_tokens(tokenizer: Tokenizer) -> tuple[frozenset[str], frozenset[str]]:
    """Return the special tokens, and the other added tokens that the vocabulary lacks."""
    entries = tokenizer.get_vocab(with_added_tokens=False)
    special = set[str]()
    others = set[str]()
    for added in tokenizer.get_added_tokens_decoder().values():
        if added.special:
            special.add(added.content)
        elif added.content not in entries:
            others.add(added.content)
    return frozenset(special), frozenset(others)


def read_flags(token: AddedToken) -> dict[str, bool]:
    """Return the flags of an added token, as in tokenizer.json."""
    return {flag: getattr(token, flag) for flag in TOKEN_FLAGS}


def renumber_special(part: Any, ids: Mapping[str, int]) -> None:
    """Update the ids of the special tokens in a post-processor, at any depth."""
    if not isinstance(part, dict):
        return
    for name in ("sep", "cls"):  # BertProcessing, RobertaProcessing
        if name in part:
            part[name] = [part[name][0], ids[part[name][0]]]
    for special in part.get("special_tokens", {}).values():  # TemplateProcessing
        special["ids"] = [ids[token] for token in special["tokens"]]
    for inner in part.get("processors", ()):  # Sequence
        renumber_special(inner, ids)


def renumber_added(content: dict[str, Any], ids: Mapping[str, int]) -> None:
    """Keep the added tokens that have an id among these, with this id, also in the post-processor."""
    kept = [token for token in content["added_tokens"] if token["content"] in ids]
    renumbered = ({**token, "id": ids[token["content"]]} for token in kept)
    content["added_tokens"] = sorted(renumbered, key=lambda token: int(token["id"]))
    renumber_special(content["post_processor"], ids)


def fill_id_gaps(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the tokenizer as JSON, with a token for every id.

    Without gaps the number of tokens is the next free id, as the library assumes.
    """
    content = to_json(tokenizer)
    known = tokenizer.get_vocab(with_added_tokens=True)
    named = enumerate(list_tokens(tokenizer))
    content["model"]["vocab"].update({token: i for i, token in named if token not in known})
    return content


def join_pre_tokenizers(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the JSON text of a sequence of pre-tokenizers: these, and then that of BERT, which
    splits at spaces and punctuation.
    """
    sequence = [*parts, {"type": "BertPreTokenizer"}]
    return json.dumps({"type": "Sequence", "pretokenizers": sequence}, sort_keys=True)
