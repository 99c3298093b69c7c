"""Read the .model file of SentencePiece, a protocol buffer, and build the tokenizer of a model
folder from it.

Such a file has pieces with scores, and the character map of a normalizer. The ids of special tokens
and the template depend on the model that uses the file. They are built as in the converters of
transformers (`convert_slow_tokenizer`); the tests compare the two. The converters are not called:
their normalizer and pre-tokenizer are not those of the published tokenizer.json of XLM-R, and
<mask> is no special token of theirs.

XLM-R has <s> <pad> </s> <unk> first, instead of the first three pieces of its file, so its ids
are 1 higher than those of the file, and <mask> last. The other models have the ids of the file.
"""

import base64
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tokenizers import AddedToken, Tokenizer, processors

from vocadapt.errors import InputError
from vocadapt.system.files import read_optional_json, read_whole, show_path
from vocadapt.text.tokenization import TokenizerErrors
from vocadapt.vocabulary.families.files.metaspace import MARK
from vocadapt.vocabulary.families.files.tokenizer_checks import (
    CONVERT,
    MAX_TOKENS,
    TOKENIZER_CONFIG,
    UnfitError,
    check_tokenizer,
    check_unigram_model,
)
from vocadapt.vocabulary.families.files.tokenizer_json import from_json
from vocadapt.vocabulary.families.files.tokenizer_trial import try_parts

FILES = (
    "sentencepiece.bpe.model",
    "spm.model",
    "spiece.model",
    "sentencepiece.model",
    "tokenizer.model",
)
UNIGRAM = 1  # model type in a file
CONTROL, USER_DEFINED = 3, 4  # types of pieces
EXTRA = "<extra_id_"  # prefix of the sentinel tokens of T5
VARINT, EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES = 0, 1, 2, 5  # types of fields
MAX_VARINT = 10  # bytes of an integer of 64 bits
BROKEN = "Download the model again, or convert its tokenizer."


@dataclass(frozen=True)
class SentencePieceFile:
    """The content of a .model file.

    pieces: text, score and type of each piece, by id.
    unknown: id of the unknown piece. kind: model type. byte_fallback: whether unknown characters
    become bytes. character_map: that of the normalizer; empty if it has none.
    """

    pieces: tuple[tuple[str, float, int], ...]
    unknown: int
    kind: int
    byte_fallback: bool
    character_map: bytes


@dataclass(frozen=True)
class Layout:
    """Special tokens and template of a kind of model.

    special: its special tokens by role. single, pair: template of a text, and of two.
    first: special tokens before the pieces. skipped: number of pieces to leave out at the start.
    last: special tokens after the pieces.
    is_collapsed: whether several spaces become one before the pre-tokenizer.
    mask_takes_space: whether the mask includes the space before it.
    """

    special: Mapping[str, str]
    single: str
    pair: str
    first: tuple[str, ...] = ()
    skipped: int = 0
    last: tuple[str, ...] = ()
    is_collapsed: bool = False
    mask_takes_space: bool = True


BERT_LIKE = {"cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
BERT_TEMPLATE = ("[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1")
T5 = Layout({"pad": "<pad>", "sep": "</s>", "unk": "<unk>"}, "$A </s>", "$A </s> $B </s>")
LAYOUTS = {  # by the model_type of config.json
    "xlm-roberta": Layout(
        {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"},
        "<s> $A </s>",
        "<s> $A </s> </s> $B </s>",
        first=("<s>", "<pad>", "</s>", "<unk>"),
        skipped=3,
        last=("<mask>",),
    ),
    "deberta-v2": Layout(
        {"pad": "[PAD]", "unk": "[UNK]", **BERT_LIKE},
        *BERT_TEMPLATE,
        is_collapsed=True,
        mask_takes_space=False,
    ),
    "albert": Layout(
        {"pad": "<pad>", "unk": "<unk>", **BERT_LIKE}, *BERT_TEMPLATE, is_collapsed=True
    ),
    "t5": T5,
    "mt5": T5,
}


def build_from_sentencepiece(folder: Path) -> Tokenizer | None:
    """Build the Unigram tokenizer of a folder from its .model file; None if it has no such file, or
    one of another model than Unigram.

    Raises InputError for a broken file, and for a kind of model that is not in LAYOUTS.
    """
    path = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if path is None:
        return None
    # 1. Read the file, and choose the layout by the type of the model.
    try:
        file = read_sentencepiece_file(read_whole(path))
    except UnfitError as error:
        raise InputError(f"{show_path(path)}: {error}.", BROKEN, code="invalid-tokenizer") from None
    if file.kind != UNIGRAM:
        return None
    config = read_optional_json(folder / "config.json")
    layout = LAYOUTS.get(str(config.get("model_type")))
    if layout is None:
        raise InputError(
            f"{show_path(path)}: how a model of the type {config.get('model_type')!r:.60} uses a"
            f" SentencePiece file is not known (known: {', '.join(LAYOUTS)}).",
            CONVERT.format(folder=folder),
            code="unknown-model-type",
        )
    # 2. Build its tokenizer as a tokenizer.json, which is checked and tested as one.
    settings = read_optional_json(folder / TOKENIZER_CONFIG)
    kind = str(config["model_type"])
    content = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": _build_normalizer(file, layout, kind, settings),
        "pre_tokenizer": _build_pre_tokenizer(kind, settings),
        "decoder": _metaspace(),
    }
    try:
        content["model"] = _build_model(file, layout, kind, settings)
        check_tokenizer(content, lambda content: check_unigram_model(content["model"]))
    except UnfitError as error:
        raise InputError(f"{show_path(path)}: {error}.", BROKEN, code="invalid-tokenizer") from None
    try_parts(content, path.name)
    with TokenizerErrors(f"{show_path(path)} cannot be read", BROKEN, "invalid-tokenizer-file"):
        tokenizer = from_json(content)
    # 3. Special tokens, and the template.
    _add_special_tokens(tokenizer, file, layout)
    around = [layout.special[role] for role in ("cls", "sep") if role in layout.special]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=layout.single,
        pair=layout.pair,
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in around],
    )
    return tokenizer


def read_sentencepiece_file(data: bytes) -> SentencePieceFile:
    """Parse a .model file; raises UnfitError if the data are not such a file."""
    pieces: list[tuple[str, float, int]] = []
    trainer: dict[int, Any] = {}
    normalizer: dict[int, Any] = {}
    try:
        for number, value in _read_fields(data):
            if number == 1:
                fields = dict(_read_fields(value))
                score = struct.unpack("<f", fields.get(2, bytes(4)))[0]
                pieces.append((fields[1].decode("utf-8"), score, _take(fields, 3, 1)))
            elif number == 2:
                trainer = dict(_read_fields(value))
            elif number == 3:
                normalizer = dict(_read_fields(value))
            if len(pieces) > MAX_TOKENS:
                raise ValueError("too many pieces")
        file = SentencePieceFile(
            tuple(pieces),
            _take(trainer, 40, 0),
            _take(trainer, 3, UNIGRAM),
            bool(_take(trainer, 35, 0)),
            _take(normalizer, 2, b""),
        )
    except (ValueError, KeyError, TypeError, AttributeError, struct.error, IndexError):
        raise UnfitError("it is not a SentencePiece model") from None
    if not pieces or not 0 <= file.unknown < len(pieces):
        raise UnfitError("it is not a SentencePiece model with an unknown piece")
    return file


T = TypeVar("T", int, bytes)


def _take(fields: Mapping[int, Any], number: int, default: T) -> T:
    """Return a field of a message; raises TypeError unless it has the type of its default."""
    value = fields.get(number, default)
    if not isinstance(value, type(default)):
        raise TypeError(f"field {number} has another type")
    return value


def _read_fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the number and value of each field of a message: an int, or bytes."""
    place = 0
    while place < len(data):
        key, place = _read_varint(data, place)
        number = key >> 3
        kind = key & 7
        if kind == VARINT:
            value, place = _read_varint(data, place)
            yield number, value
            continue
        if kind == WITH_LENGTH:
            size, place = _read_varint(data, place)
        elif kind in (FOUR_BYTES, EIGHT_BYTES):
            size = 4 if kind == FOUR_BYTES else 8
        else:
            raise ValueError(f"unknown type of a field: {kind}")
        if place + size > len(data):
            raise ValueError("the last field is incomplete")
        yield number, data[place : place + size]
        place += size


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the integer that begins at a place, and the place after it."""
    value = 0
    for index in range(MAX_VARINT):
        byte = data[place + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:
            return value, place + index + 1
    raise ValueError(f"an integer of more than {MAX_VARINT} bytes")


def _build_model(
    file: SentencePieceFile, layout: Layout, kind: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the Unigram model as JSON, with the ids that the kind of model has.

    Raises UnfitError if the pieces lack its unknown token.
    """
    pieces = [(token, score) for token, score, _ in file.pieces[layout.skipped :]]
    if kind == "albert":  # a comma after a digit is always a separate token
        pieces = [
            (token, score - 100 if token[-1:] == "," and token[-2:-1].isdigit() else score)
            for token, score in pieces
        ]
    sentinels: list[str] = []
    if kind == "t5":
        sentinels = [f"{EXTRA}{i}>" for i in reversed(range(settings.get("extra_ids", 100)))]
    tokens = [*layout.first, *(token for token, _ in pieces), *sentinels, *layout.last]
    scores = dict.fromkeys(tokens, 0.0) | dict(pieces)
    unknown = layout.special["unk"]
    if unknown not in scores:
        raise UnfitError(f"its pieces lack the unknown token {unknown!r}")
    return {
        "type": "Unigram",
        "unk_id": tokens.index(unknown),
        "vocab": [[token, scores[token]] for token in tokens],
        "byte_fallback": file.byte_fallback,
    }


def _build_normalizer(
    file: SentencePieceFile, layout: Layout, kind: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the normalizer as JSON: the character map, and what the kind of model adds."""
    steps: list[dict[str, Any]] = []
    if kind == "albert":
        for quote in ("``", "''"):
            steps.append({"type": "Replace", "pattern": {"String": quote}, "content": '"'})
        if not settings.get("keep_accents", False):
            steps += [{"type": "NFKD"}, {"type": "StripAccents"}]
    if settings.get("do_lower_case", kind == "albert"):
        steps.append({"type": "Lowercase"})
    if kind == "deberta-v2":
        steps.append({"type": "Strip", "strip_left": True, "strip_right": True})
    if file.character_map:
        encoded = base64.b64encode(file.character_map).decode("ascii")
        steps.append({"type": "Precompiled", "precompiled_charsmap": encoded})
    if layout.is_collapsed:
        steps.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    return {"type": "Sequence", "normalizers": steps}


def _build_pre_tokenizer(kind: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    first: dict[str, Any] = {"type": "WhitespaceSplit"}
    if kind == "deberta-v2":
        if not settings.get("split_by_punct", False):
            return _metaspace()
        first = {"type": "Punctuation", "behavior": "Isolated"}
    return {"type": "Sequence", "pretokenizers": [first, _metaspace()]}


def _metaspace() -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True}


def _add_special_tokens(tokenizer: Tokenizer, file: SentencePieceFile, layout: Layout) -> None:
    kept = [(token, kind) for token, _, kind in file.pieces[layout.skipped :]]
    mask = layout.special.get("mask")
    names = dict.fromkeys([*layout.first, *(token for token, kind in kept if kind == CONTROL)])
    names |= dict.fromkeys(layout.special.values())
    names |= dict.fromkeys(token for token in tokenizer.get_vocab() if token.startswith(EXTRA))
    special = [
        AddedToken(
            token,
            special=True,
            normalized=False,
            lstrip=token == mask and layout.mask_takes_space,
        )
        for token in names
    ]
    tokenizer.add_special_tokens(special)
    symbols = [token for token, kind in kept if kind == USER_DEFINED and token not in names]
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in symbols])
