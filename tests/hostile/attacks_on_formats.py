"""Malformed files of every format that people bring: each must be refused with a sentence."""

import gzip
import json
import struct
from collections.abc import Iterator
from pathlib import Path

LONG = "9" * 5000
TEXTS: dict[str, bytes] = {
    "longer.csv": b"text,id\nheart,1\nfever, cough,2\n",
    "longer.tsv": b"text\tid\nheart\t1\nfever\tcough\t2\n",
    "longer-packed.csv.gz": gzip.compress(b"text,id\nfever, cough,2\n"),
    "semicolons.csv": b"text;id\nfever;cough;2\n",
    "shorter.csv": b"id,text\n1\n",
    "shorter.tsv": b"id\ttext\n1\n",
    "open-quote.csv": b'id,text\n1,"heart\n2,lung\n',
    "quote-inside.csv": b'id,text\n1,"Hot" flashes\n',
    "quote-after.csv": b'id,text\n1,"hot"x\n',
    "return-inside.csv": b"id,text\n1,hot\rcold\n",
    "two-texts.csv": b"text,text\na,b\n",
    "two-texts.tsv": b"text\tid\ttext\na\tb\tc\n",
    "no-text.csv": b"id,body\n1,heart\n",
    "no-text.tsv": b"id\tbody\n1\theart\n",
    "header-only.csv": b"id,text\n",
    "header-only.tsv": b"id\ttext\n",
    "blank-header.csv": b"\n1,heart\n",
    "utf32.txt": "heart disease\n".encode("utf-32"),
    "utf32.csv": "text\nheart\n".encode("utf-32"),
    "utf16.tsv": "id\ttext\n1\theart\n".encode("utf-16"),
    "latin.tsv": 'id\ttext\n1\t"Ärzte\n'.encode("latin-1"),
    "blank.txt": b" \n\t\n\r\n",
    "returns-only.txt": b"\r" * 100,
    "empty-object.jsonl": b"{}\n",
    "two-fields.jsonl": b'{"a": "x", "b": "y"}\n',
    "bool.jsonl": b'{"text": true}\n',
    "late-array.jsonl": b'{"text": "a"}\n["b"]\n',
    "returns.jsonl": b'{"text": "a"}\r{"text": \r',
}
VECTORS: dict[str, bytes] = {
    "header-off.vec": b"9 2\na 1 2\nb 3 4\n",
    "header-under.vec": b"1 2\na 1 2\nb 3 4\nc 5 6\n",
    "width-over.vec": b"2 3\na 1 2\nb 3 4\n",
    "width-under.vec": b"2 2\na 1 2 3\nb 3 4 5\n",
    "blank-words.vec": b"2 2\n 1 2\n 3 4\n",
    "ideographic.vec": "2 2\n\u3000 1 2\n\u2003 3 4\n".encode(),
    "overlong.vec": b"a .1 .2\nheart .3 .1 .2\n",
    "cut.vec": b"a .1 .2\nb .1\n",
    "words.vec": b"a .1 .2\nb .1 x\n",
    "nan.vec": b"2 2\na 1 nan\nb 1 2\n",
    "infinite.vec": b"2 2\na 1 1e99\nb 1 2\n",
    "latin.vec": "2 2\nÄrzte 1 2\nb 1 2\n".encode("latin-1"),
    "utf16.vec": "2 2\na 1 2\nb 3 4\n".encode("utf-16"),
    "returns.vec": b"2 2\ra 1 2\rb 3 4\r",
    "blank-words.bin": b"2 2\n" + (b" " + struct.pack("<2f", 1, 2) + b"\n") * 2,
    "cut.bin": b"2 2\na " + struct.pack("<2f", 1, 2) + b"\nb " + struct.pack("<f", 1),
    "nan.bin": b"1 2\na " + struct.pack("<2f", float("nan"), 2) + b"\n",
    "digits.vec": f"{LONG} 2\na 1 2\n".encode(),
}
TAGGED: dict[str, bytes] = {
    "two-forms.txt": b"a\tB-X\nb\tPER\nc\tO\n",
    "two-forms-later.txt": b"a\tPER\nb\tO\n\nc\tU-X\n",
    "bare-and-typed.txt": b"a\tU\nb\tB-X\n",
    "no-outside.txt": b"a\tNN\nb\tVBZ\n",
    "tag-first.txt": b"B-X\ta\nO\tb\n",
    "unknown-letter.txt": b"a\tB-X\nb\tM-X\nc\tE-X\n",
    "lower.txt": b"a\tb-X\n",
    "numbers.txt": b"a\t0\nb\t1\n",
    "ragged.txt": b"a\tO\nb c\tO\tO\n",
    "no-word.txt": b"a\tO\n\tO\n",
    "header.txt": b"word\ttag\na\tB-X\nb\tO\n",
    "comments-only.txt": b"# id = 1\n\n# id = 2\n",
    "docstart-only.txt": b"-DOCSTART-\tO\n",
    "comment-inside.txt": b"a\tO\n# id = 1\nb\tO\n",
    "utf32.txt": "a\tO\n".encode("utf-32"),
    "two-lengths.jsonl": b'{"words": ["a", "b"], "tags": ["O"]}\n',
    "two-forms.jsonl": b'{"words": ["a", "b"], "tags": ["PER", "B-X"]}\n',
    "no-outside.jsonl": b'{"words": ["a"], "tags": ["PER"]}\n',
}
LABELED: dict[str, bytes] = {
    "twice.tsv": b"text\ttext\tlabel\na\tb\tx\n",
    "cases.tsv": b"Text\ttext\tlabel\na\tb\tx\n",
    "ragged.tsv": b"text\tlabel\na\tx\nb\ty\tz\n",
    "header-only.tsv": b"text\tlabel\n",
    "null.jsonl": b'{"text": "a", "label": null}\n{"text": "b", "label": "x"}\n',
    "number.jsonl": b'{"text": "a", "label": 1.5}\n',
    "empty-object.jsonl": b"{}\n",
    "utf32.tsv": "text\tlabel\na\tx\n".encode("utf-32"),
}


def write_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the files; yield the kind of each and its path."""
    files = {"text": TEXTS, "vectors": VECTORS, "ner": TAGGED, "labels": LABELED}
    files["qa"] = {name: json.dumps(value).encode() for name, value in build_questions().items()}
    for kind, contents in files.items():
        (folder / kind).mkdir(parents=True)
        for name, content in contents.items():
            (folder / kind / name).write_bytes(content)
            yield kind, folder / kind / name
    for name, (model, content, settings) in build_sentencepiece_files().items():
        path = folder / "model" / name
        path.mkdir(parents=True)
        (path / "spiece.model").write_bytes(content)
        (path / "config.json").write_text(json.dumps({"model_type": model}))
        (path / "tokenizer_config.json").write_text(json.dumps(settings))
        yield "model", path


def build_questions() -> dict[str, object]:
    """Build values of JSON that are not SQuAD's."""
    answer = {"text": "heart", "answer_start": 0}
    changes: dict[str, object] = {
        "two-lengths": {"text": ["heart", "a"], "answer_start": [0]},
        "one-dictionary": answer,
        "list-of-lists": [["heart", 0]],
        "no-offset": [{"text": "heart"}],
        "text-offset": [{"text": "heart", "answer_start": "0"}],
        "fraction": [{"text": "heart", "answer_start": 0.5}],
        "true-offset": [{"text": "heart", "answer_start": True}],
        "list-of-numbers": {"text": [1], "answer_start": [0]},
        "number": 3,
    }
    questions: dict[str, object] = {}
    for name, answers in changes.items():
        question = {"id": "q", "question": "What?", "answers": answers}
        paragraph = {"context": "heart disease", "qas": [question]}
        questions[f"{name}.json"] = {"data": [{"paragraphs": [paragraph]}]}
    questions["flat.json"] = {"data": [{"context": "a", "question": "b", "answers": [answer]}]}
    questions["no-data.json"] = {"version": "1.1"}
    questions["no-questions.json"] = {"data": []}
    questions["list.json"] = [answer]
    return questions


def build_sentencepiece_files() -> dict[str, tuple[str, bytes, dict[str, object]]]:
    """Build .model files: the type of model that each is for, its bytes, and its settings."""
    pieces = [build_piece("<unk>", 0.0, 2), build_piece("<s>", 0.0, 3), build_piece("</s>", 0.0, 3)]
    sound = b"".join([*pieces, build_piece("\u2581", -1.0), build_piece("a", -2.0)])

    def with_map(character_map: bytes) -> bytes:
        return sound + build_field(3, build_field(2, character_map))

    xlm = {
        "empty": b"",
        "varint": b"\xff" * 3_000_000,
        "long-length": b"\x0a" + b"\xff" * 9 + b"\x01",
        "text": b"heart disease\n" * 100,
        "no-pieces": build_field(2, b"\x18\x01"),
        "half-piece": sound[:-3],
        "no-utf8": sound + build_field(1, build_field(1, b"\xff\xfe")),
        "map-short": with_map(b"abc"),
        "map-ff": with_map(b"\xff" * 64),
        "map-empty-trie": with_map(bytes(4)),
        "map-large-trie": with_map(b"\xff\xff\xff\x7f" + b"a" * 100),
        "map-number": sound + build_field(3, b"\x10" + build_varint(10**9)),
        "nan": sound + build_piece("b", float("nan")),
        "infinite": sound + build_piece("b", float("-inf")),
        "twice": sound + build_piece("a", -1.0),
        "long-piece": sound + build_piece("b" * 5_000_000, -1.0),
        "unknown-far": sound + build_field(2, build_varint(40 << 3) + build_varint(2**63)),
        "unknown-text": sound + build_field(2, build_field(40, b"0")),
    }
    files: dict[str, tuple[str, bytes, dict[str, object]]] = {
        name: ("xlm-roberta", content, {}) for name, content in xlm.items()
    }
    files["no-unknown"] = ("deberta-v2", sound, {})
    files["other-model"] = ("llama", sound, {})
    for number, count in enumerate((10**9, -1, "x", None, [1], 1.5, True)):
        files[f"sentinels-{number}"] = ("t5", sound, {"extra_ids": count})
    files["accents"] = ("albert", sound, {"keep_accents": "no"})
    return files


def build_piece(text: str, score: float, kind: int = 1) -> bytes:
    """Build the message of a piece."""
    fields = build_field(1, text.encode()) + b"\x15" + struct.pack("<f", score)
    return build_field(1, fields + b"\x18" + build_varint(kind))


def build_field(number: int, content: bytes) -> bytes:
    """Build a field of a protocol buffer with bytes in it."""
    return build_varint(number << 3 | 2) + build_varint(len(content)) + content


def build_varint(value: int) -> bytes:
    """Build an integer of a protocol buffer: seven bits a byte, the lowest first."""
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
