"""Files of SentencePiece models."""

import json
from pathlib import Path

NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4
PIECES = [
    ("▁", -2.0, NORMAL),
    ("a", -3.0, NORMAL),
    ("b", -3.5, NORMAL),
    ("A", -3.5, NORMAL),
    (",", -3.5, NORMAL),
    ("1", -3.0, NORMAL),
    ("1,", -4.0, NORMAL),
    ("▁ab", -6.5, NORMAL),
    ("<sym>", 0.0, USER_DEFINED),
]
START = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
BERT = [("<pad>", 0.0, CONTROL), ("<unk>", 0.0, UNKNOWN)]
DEBERTA = [("[PAD]", 0.0, CONTROL), ("[CLS]", 0.0, CONTROL), ("[SEP]", 0.0, CONTROL)]
LINES = ["ab Ab, ba", "a  b", "b1,1, a☃", "<sym> ab", "áb ``a''"]


def write_file(
    path: Path, pieces: list[tuple[str, float, int]], kind: int = 1, character_map: bytes = b""
) -> None:
    """Write a .model file with the message classes of transformers."""
    from transformers.convert_slow_tokenizer import import_protobuf

    classes = import_protobuf()  # type: ignore[no-untyped-call]
    message = classes.ModelProto()
    for text, score, piece_kind in pieces:
        message.pieces.add(piece=text, score=score, type=piece_kind)
    message.trainer_spec.model_type = kind
    unknown = [piece_kind for _, _, piece_kind in pieces].index(UNKNOWN)
    message.trainer_spec.unk_id = unknown
    message.normalizer_spec.name = "identity"
    message.normalizer_spec.precompiled_charsmap = character_map
    path.write_bytes(message.SerializeToString())


def write_folder(
    folder: Path, kind: str, pieces: list[tuple[str, float, int]], name: str = "spiece.model"
) -> Path:
    folder.mkdir(exist_ok=True)
    write_file(folder / name, pieces)
    (folder / "config.json").write_text(json.dumps({"model_type": kind}), encoding="utf-8")
    return folder
