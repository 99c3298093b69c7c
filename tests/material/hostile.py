"""Hostile files, models and numbers, each small on disk and built in a folder by one function
per kind."""

import gzip
import json
import os
import shutil
import socket
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

DEEP = "[" * 100_000 + "]" * 100_000
HUGE = "9" * 400
NUMBERS = [
    HUGE,
    f"-{HUGE}",
    str(2**31),
    str(2**32),
    str(2**63),
    str(2**64),
    "-1",
    "nan",
    "inf",
    "1e400",
    "",
    "0x10",
    "٣",
]
HOSTILE_TEXTS = [  # typed on a page
    "<img src=x onerror=alert(1)>",
    "$x$ :red[x] **b** `c`",
    "\u202eab\u200b ضغط الدم 高血",
    "[UNK] \x00 x",
    "w" * 300,
]
BIDI = "\u202egnol\u202c"
LOUSY_NAME = os.fsdecode(b"caf\xe9.txt")  # not UTF-8


def write_texts(folder: Path) -> list[Path]:
    """Write text files that no reader expects."""
    folder.mkdir(parents=True)
    contents: dict[str, bytes] = {
        "empty.txt": b"",
        "mark-only.txt": b"\xef\xbb\xbf",
        "newlines.txt": b"\n" * 1000,
        "nul.txt": b"heart\0disease\n",
        "utf16.txt": "heart disease\n".encode("utf-16"),
        "latin.txt": "Ärzte\n".encode("latin-1"),
        "late-latin.txt": b"heart disease\n" * 100_000 + b"\xe9\n",
        "returns.txt": b"heart\rdisease\r" * 10,
        "controls.txt": bytes(range(1, 32)) * 10 + b"\n",
        "bidi.txt": f"{BIDI} heart\n".encode() * 10,
        "marks.txt": ("a" + "\u0301" * 5000 + "\n").encode() * 3,
        "long-word.txt": b"a" * 300_000 + b"\n",
        "not-gzip.txt.gz": b"heart disease\n",
        "cut.txt.gz": gzip.compress(b"heart disease\n" * 1000)[:-20],
        "twice.txt.gz": gzip.compress(gzip.compress(b"heart disease\n" * 100)),
        "no-json.jsonl": b"{",
        "list.jsonl": b"[1, 2]\n",
        "deep.jsonl": f'{{"text": {DEEP}}}\n'.encode(),
        "surrogate.jsonl": b'{"text": "heart \\ud800 disease"}\n' * 5,
        "number.jsonl": b'{"text": ' + HUGE.encode() + b"}\n",
        "nan.jsonl": b'{"text": NaN}\n',
        "quote.csv": b'text,other\n"heart,1\n' * 5,
        "wide.csv": b",".join([b"text"] * 20_000) + b"\n",
        "short.csv": b"id,text\n1\n",
        "nothing.parquet": b"PAR1PAR1",
        "cut.parquet": b"PAR1" + b"\0" * 100,
        "laughs.xml": _billion_laughs(),
        "outside.xml": (
            b"<!DOCTYPE a [<!ENTITY x SYSTEM"
            b' "file:///etc/passwd">]><PubmedArticleSet>&x;</PubmedArticleSet>'
        ),
        "open.xml": b"<PubmedArticleSet><PubmedArticle>",
        "deep.xml": b"<article>" + b"<p>" * 100_000,
        "deep.json": f'{{"paper_id": "x", "body_text": {DEEP}}}'.encode(),
        "wrong.json": b'{"paper_id": 1, "abstract": 2, "body_text": {"text": 3}}',
        LOUSY_NAME: b"heart disease\n" * 50,
        f"{BIDI}.txt": b"",
        "a\nb.txt": b"",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return sorted(folder.iterdir()) + write_special(folder / "special")


def write_special(folder: Path) -> list[Path]:
    """Make what is no regular file: a pipe, a socket, links to devices, to themselves and to
    nothing, an empty folder.
    """
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        place = os.open(folder, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{place}/socket")  # a socket's path may be short only
        os.close(place)
    (folder / "zeros").symlink_to("/dev/zero")
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("nothing")
    (folder / "folder").mkdir()
    return sorted(folder.iterdir())


def _billion_laughs() -> bytes:
    entities = ['<!ENTITY a0 "ha">'] + [
        f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)
    ]
    return f"<!DOCTYPE a [{''.join(entities)}]><PubmedArticleSet>&a11;</PubmedArticleSet>".encode()


def write_vectors(folder: Path) -> list[Path]:
    """Write files of word vectors that lie, break off, or hold no vectors."""
    folder.mkdir(parents=True)
    header = json.dumps(
        {"vectors": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 8]}}
    ).encode()
    contents: dict[str, bytes] = {
        "rows.vec": f"{2**63} 2\na 1 2\n".encode(),
        "wide.vec": f"2 {10**9}\na 1 2\n".encode(),
        "trillion.vec": f"{10**12} 2\na 1 2\n".encode(),
        "trillion.bin": f"{10**12} 2\na ".encode() + struct.pack("<2f", 1, 2),
        "wide.bin": f"2 {10**12}\na ".encode() + struct.pack("<2f", 1, 2),
        "zip.npz": b"PK\x03\x04" + b"\0" * 100,
        "long-header.npy": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b"{" * 1000,
        "none.vec": b"0 0\n",
        "negative.vec": b"-1 -1\na 1\n",
        "infinite.vec": b"a inf 1\nb 1 2\n",
        "large.vec": b"a 1e39 1\nb 1 2\n",
        "huge-number.vec": b"a " + HUGE.encode() + b" 1\nb 1 2\n",
        "word-only.vec": b"a\nb\nc\n",
        "twice.vec": b"a 1 2\na 3 4\n",
        "nameless.vec": b" 1 2\n 3 4\n",
        "bidi.vec": f"{BIDI} 1 2\nb 1 2\n".encode(),
        "latin.vec": b"caf\xe9 1 2\nb 1 2\n",
        "cut.bin": b"3 4\na " + struct.pack("<4f", 1, 2, 3, 4) + b"b ",
        "endless-word.bin": b"3 4\n" + b"a" * 50_000,
        "pickle.npy": _npy("{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }") + b"\x80.",
        "giant.npy": _npy(
            "{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999, 99999), }"
        ),
        "code.npy": _npy("{'descr': __import__('os').system('true'), 'shape': (1,), }"),
        "giant.safetensors": struct.pack("<Q", len(header)) + header + b"\0" * 8,
        "header.safetensors": struct.pack("<Q", 2**62) + b"{}",
        "pickle.kv": b"\x80\x04\x95cposix\nsystem\n.",
        "zip.bin": b"PK\x03\x04" + b"\0" * 100,
        "cut.vec.gz": gzip.compress(b"a 1 2\n" * 1000)[:-10],
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    np.save(folder / "one.npy", np.zeros(3, dtype=np.float32))
    for name in ("one", "pickle", "giant", "code"):
        (folder / f"{name}.txt").write_text("a\nb\n")
    return sorted(path for path in folder.iterdir() if path.suffix != ".txt") + write_special(
        folder / "special"
    )


def _npy(header: str) -> bytes:
    """The beginning of a .npy file with this header."""
    return (b"\x93NUMPY\x01\x00v\x00" + header.encode()).ljust(128)


Change = Callable[[Path], None]


def _set(name: str, **values: object) -> Change:
    """A change of keys in a JSON file of a model folder."""

    def change(folder: Path) -> None:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps({**content, **values}), encoding="utf-8")

    return change


def _put(name: str, content: bytes) -> Change:
    """A file of a model folder with other content."""
    return lambda folder: (folder / name).write_bytes(content) and None


def _tokenizer(edit: Callable[[dict], None]) -> Change:
    """A change inside a model's tokenizer.json."""

    def change(folder: Path) -> None:
        content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        edit(content)
        (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")

    return change


def _as_folder(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return change


def _as_pipe(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return change


def _replace(pattern: str, content: str) -> dict[str, object]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _split(pattern: str) -> dict[str, object]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _nest(depth: int) -> dict[str, object]:
    """A normalizer inside of normalizers."""
    normalizer: dict[str, object] = {"type": "Lowercase"}
    for _ in range(depth):
        normalizer = {"type": "Sequence", "normalizers": [normalizer]}
    return normalizer


def _index(content: object) -> Change:
    """Weights in shards, as an index describes them."""

    def change(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "part.safetensors")
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        (folder / "model.safetensors.index.json").write_bytes(raw)

    return change


MODELS: dict[str, Change] = {
    "config-folder": _as_folder("config.json"),
    "config-pipe": _as_pipe("config.json"),
    "config-deep": _put("config.json", DEEP.encode()),
    "config-list": _put("config.json", b"[]"),
    "config-binary": _put("config.json", bytes(range(256))),
    "config-empty": _put("config.json", b"{}"),
    "architectures-number": _set("config.json", architectures=5),
    "architectures-code": _set("config.json", architectures=["__init__"]),
    "architectures-gpt": _set("config.json", architectures=["GPT2LMHeadModel"], model_type="gpt2"),
    "auto-map": _set("config.json", auto_map={"AutoModel": "evil.Model"}, model_type="evil"),
    "activation": _set("config.json", hidden_act="boom"),
    "activation-list": _set("config.json", hidden_act=["gelu"]),
    "dtype": _set("config.json", dtype="complex1024"),
    "quantization": _set(
        "config.json", quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True}
    ),
    "hub-kernel": _set("config.json", _attn_implementation="evil/kernel"),
    "layers": _set("config.json", num_hidden_layers=10**9),
    "layers-negative": _set("config.json", num_hidden_layers=-1),
    "layers-text": _set("config.json", num_hidden_layers="2"),
    "hidden-huge": _set("config.json", hidden_size=2**40),
    "heads-none": _set("config.json", num_attention_heads=0),
    "positions-huge": _set("config.json", max_position_embeddings=10**12),
    "vocabulary-huge": _set("config.json", vocab_size=10**12),
    "intermediate-huge": _set("config.json", intermediate_size=10**12),
    "types-huge": _set("config.json", type_vocab_size=10**12),
    "labels-huge": _set("config.json", num_labels=10**12),
    "label-names-huge": _set("config.json", id2label={str(10**12): "a"}),
    "dropout-nan": _set("config.json", hidden_dropout_prob="nan"),
    "padding-outside": _set("config.json", pad_token_id=10**9),
    "tokenizer-config-list": _put("tokenizer_config.json", b"[1]"),
    "tokenizer-config-broken": _put("tokenizer_config.json", b"{"),
    "tokenizer-config-token": _set(
        "tokenizer_config.json", unk_token={"content": 5, "__type": "AddedToken"}
    ),
    "tokenizer-config-class": _set("tokenizer_config.json", tokenizer_class="os.system"),
    "tokenizer-config-length": _set("tokenizer_config.json", model_max_length="many"),
    "tokenizer-deep": _put("tokenizer.json", DEEP.encode()),
    "tokenizer-list": _put("tokenizer.json", b"[]"),
    "tokenizer-pipe": _as_pipe("tokenizer.json"),
    "tokenizer-no-model": _tokenizer(lambda spec: spec.pop("model")),
    "id-2^31": _tokenizer(lambda spec: spec["model"]["vocab"].update({"heart": 2**31})),
    "id-4e9": _tokenizer(lambda spec: spec["model"]["vocab"].update({"heart": 4 * 10**9})),
    "id-negative": _tokenizer(lambda spec: spec["model"]["vocab"].update({"heart": -1})),
    "id-text": _tokenizer(lambda spec: spec["model"]["vocab"].update({"heart": "7"})),
    "id-twice": _tokenizer(lambda spec: spec["model"]["vocab"].update({"heart": 7})),
    "added-id-twice": _tokenizer(
        lambda spec: spec["added_tokens"][0].update({"id": spec["added_tokens"][1]["id"]})
    ),
    "padding-huge": _tokenizer(
        lambda spec: spec.update(
            {
                "padding": {
                    "strategy": {"Fixed": 10**12},
                    "direction": "Right",
                    "pad_to_multiple_of": None,
                    "pad_id": 0,
                    "pad_type_id": 0,
                    "pad_token": "[PAD]",
                }
            }
        )
    ),
    "no-unknown": _tokenizer(lambda spec: spec["model"].update({"unk_token": "nothing"})),
    "word-length": _tokenizer(lambda spec: spec["model"].update({"max_input_chars_per_word": -1})),
    "runaway-normalizer": _tokenizer(
        lambda spec: spec.update({"normalizer": _replace("(a+)+$", "b")})
    ),
    "runaway-pre-tokenizer": _tokenizer(
        lambda spec: spec.update({"pre_tokenizer": _split("(a+)+$")})
    ),
    "runaway-blanks": _tokenizer(lambda spec: spec.update({"pre_tokenizer": _split(r"(\s*)*x")})),
    "expansion": _tokenizer(lambda spec: spec.update({"normalizer": _replace(".", "x" * 100_000)})),
    "deep-pattern": _tokenizer(
        lambda spec: spec.update({"pre_tokenizer": _split("(" * 5000 + "a" + ")" * 5000)})
    ),
    "repeated-pattern": _tokenizer(
        lambda spec: spec.update({"pre_tokenizer": _split("((((a{1000}){1000}){1000}){1000})")})
    ),
    "deep-normalizers": _tokenizer(lambda spec: spec.update({"normalizer": _nest(90)})),
    "broken-pattern": _tokenizer(lambda spec: spec.update({"pre_tokenizer": _split("(((")})),
    "weights-empty": _put("model.safetensors", b""),
    "weights-header": _put("model.safetensors", struct.pack("<Q", 2**62)),
    "weights-pipe": _as_pipe("model.safetensors"),
    "weights-folder": _as_folder("model.safetensors"),
    "index-list": _index([]),
    "index-without-map": _index({"metadata": {}}),
    "index-number": _index(
        {"metadata": {}, "weight_map": {"bert.embeddings.word_embeddings.weight": 5}}
    ),
    "index-outside": _index({"metadata": {}, "weight_map": {"a": "../../../../etc/passwd"}}),
    "index-missing": _index({"metadata": {}, "weight_map": {"a": "gone.safetensors"}}),
    "index-deep": _index(DEEP.encode()),
    "index-broken": _index(b"{"),
}


def write_models(model: Path, folder: Path) -> dict[str, Path]:
    """Copy a model once for each change in MODELS, and change the copy."""
    made = {}
    for name, change in MODELS.items():
        made[name] = folder / name
        shutil.copytree(model, made[name])
        change(made[name])
    return made


def write_tasks(folder: Path) -> dict[str, tuple[str, Path]]:
    """Write task files that are none, by name: the kind each is given as, and its place."""
    folder.mkdir(parents=True)
    questions = {
        "data": [
            {
                "paragraphs": [
                    {"context": "heart", "qas": [{"id": 1, "question": None, "answers": "x"}]}
                ]
            }
        ]
    }
    far = {"id": "a", "question": "who", "answers": [{"text": "heart", "answer_start": 2**70}]}
    contents: dict[str, tuple[str, bytes]] = {
        "ragged.tsv": ("ner", b"heart\tO\ndisease\n"),
        "tag.tsv": ("ner", b"heart\tX-Y-Z\n"),
        "bare.tsv": ("ner", b"heart\n"),
        "surrogate.jsonl": ("ner", b'{"words": ["heart", "\\ud800"], "tags": ["O", "B-D"]}\n'),
        "tags-number.jsonl": ("ner", b'{"words": ["heart"], "tags": [5]}\n'),
        "types.tsv": ("ner", b"".join(b"w%d\tB-T%d\n" % (i, i) for i in range(10_000))),
        "header.tsv": ("relations", b"index\tsentence\tlabel\n"),
        "columns.tsv": ("relations", b"a\tb\tc\td\te\tf\n1\t2\t3\t4\t5\t6\n"),
        "labels.tsv": (
            "classification",
            b"sentence\tlabel\n" + b"".join(b"heart\tl%d\n" % i for i in range(5000)),
        ),
        "label-list.jsonl": ("classification", b'{"text": "heart", "label": [1, 2]}\n'),
        "label-surrogate.jsonl": ("classification", b'{"text": "heart", "label": "\\udfff"}\n'),
        "label-deep.jsonl": ("multilabel", f'{{"text": "heart", "label": {DEEP}}}\n'.encode()),
        "empty-label.jsonl": ("multilabel", b'{"text": "heart", "label": ["", ""]}\n'),
        "one.tsv": ("nli", b"sentence1\tlabel\nheart\tyes\n"),
        "four.tsv": ("nli", b"1\theart\tdisease\tyes\n"),
        "undecided.jsonl": ("nli", b'{"sentence1": "a", "sentence2": "b", "gold_label": "-"}\n'),
        "no-squad.json": ("qa", b'{"data": 5}'),
        "types.json": ("qa", json.dumps(questions).encode()),
        "far.json": (
            "qa",
            json.dumps({"data": [{"paragraphs": [{"context": "heart", "qas": [far]}]}]}).encode(),
        ),
        "deep.json": ("qa", DEEP.encode()),
    }
    made = {}
    for name, (kind, content) in contents.items():
        (folder / name).write_bytes(content)
        made[name] = (kind, folder / name)
    kinds = ("ner", "relations", "nli", "multilabel", "qa", "classification")
    return made | {
        place.name: (kind, place)
        for kind, place in zip(kinds, write_special(folder / "special"), strict=True)
    }


RECIPES: dict[str, bytes] = {
    "unknown": b"[vectors]\nepoch = 1\n",
    "type": b'[vectors]\nepochs = "five"\n',
    "boolean": b"[vectors]\nepochs = true\n",
    "huge": b"[vectors]\nepochs = " + HUGE.encode() + b"\n",
    "negative": b"[vectors]\ndim = -5\n",
    "nan": b"[vectors]\nalpha = nan\n",
    "seed": b"[vectors]\nseed = 99999999999999\n",
    "table": b"vectors = 5\n",
    "deep": b"a = " + b"[" * 5000 + b"]" * 5000,
    "dotted": b".".join([b"a"] * 50_000) + b" = 1",
    "header": b"[" + b".".join([b"a"] * 50_000) + b"]",
    "large": b"a = 1\n" * 300_000,
    "latin": b"name = '\xe9'\n",
    "method": b'[alignment]\nmethod = "__init__"\n',
    "tokenizer": b'tokenizer = "../../x"\n',
    "ridge": b"[alignment]\nridge = -1.0\n",
    "list": b"[vocabulary]\nmax_added = [1]\n",
    "empty": b"\0\0",
}


def write_recipes(folder: Path) -> list[Path]:
    """Write recipes that none can follow."""
    folder.mkdir(parents=True)
    for name, content in RECIPES.items():
        (folder / f"{name}.toml").write_bytes(content)
    return sorted(folder.iterdir()) + write_special(folder / "special")


MANIFESTS: dict[str, bytes] = {
    "list": b"[]",
    "deep": DEEP.encode(),
    "empty": b"",
    "binary": bytes(range(256)),
    "number": b'{"kind": 5, "name": 6, "settings": 7, "inputs": 8}',
    "inputs": b'{"kind": "vectors", "name": "v", "settings": {}, "inputs": {"text": {"paths": 5}}}',
    "nan": b'{"kind": "vectors", "name": "v", "settings": {"a": NaN}, "inputs": {}}',
    "kind": b'{"kind": "../../x", "name": "\xe2\x80\xae", "settings": {}, "inputs": {}}',
}


def write_artifacts(vectors: Path, folder: Path) -> list[Path]:
    """Copy an artifact of word vectors with each manifest of MANIFESTS, and with its own files
    spoiled.
    """
    made = []
    for name, content in MANIFESTS.items():
        made.append(folder / name)
        shutil.copytree(vectors, made[-1])
        (made[-1] / "manifest.json").write_bytes(content)
    for file in ("words.txt", "vectors.safetensors", "manifest.json"):
        for name, change in {
            "pipe": _as_pipe(file),
            "folder": _as_folder(file),
            "binary": _put(file, bytes(range(256))),
        }.items():
            made.append(folder / f"{name}-{file}")
            shutil.copytree(vectors, made[-1])
            change(made[-1])
    return made


# Paths that a record of a workspace may name, for good or ill.
PATHS = (
    "/etc/passwd",
    "../../../../etc/passwd",
    "~/secret.txt",
    "~nobody-known/a",
    "a" * 5000,
    "a/" * 2500,
    "\0",
    "\u202e",
    "",
)
RECORDS = {  # name of a record → its text, with a path as JSON
    "models/a/manifest.json": '{{"kind": "models", "name": "a", "settings": {{}}, "inputs":'
    ' {{"model": {{"paths": [{0}], "stamp": ""}}}}}}',
    "corpora/a/corpus.json": '{{"files": [{0}], "settings": {{}}}}',
    "corpora/b/corpus.json": '{{"counts": {0}}}',
    "corpora/c/corpus.json": '{{"files": {0}}}',
    "tasks/a/task.toml": 'kind = "ner"\n[splits]\ntest = {0}',
    "studies/a/study.toml": 'extends = {0}\nname = "a"',
    "studies/a/runs/b/manifest.json": '{{"kind": "runs", "name": "b", "settings": {{}}, "inputs":'
    ' {{"test": {{"paths": [{0}], "stamp": ""}}}}}}',
}
MEMBERS = (
    "../a",
    "/a",
    "jobs/a/spec.json",
    "a/b",
    ".a",
    "models/.a",
    "models/a\\b",
    "models",
    "C:/a",
)
DAMAGES = (  # contents of a manifest
    "",
    "{",
    "[]",
    "null",
    "5",
    "{}",
    '{"kind": "alignments", "name": "a", "settings": {}, "inputs": {}}',
    '{"kind": "alignments", "name": 5, "settings": {}, "inputs": {}}',
    '{"kind": "alignments", "name": "a", "settings": {}, "inputs": {}, "format": 99}',
    '{"kind": "alignments", "name": "a", "settings": {}, "inputs": {}, "files": ["/etc/passwd"]}',
    '{"kind": "alignments", "name": "\\ud800", "settings": {}, "inputs": {}}',
    "[" * 100_000,
)


def write_exports(folder: Path) -> list[Path]:
    """Write exported workspaces whose records name odd paths, or with odd members."""
    folder.mkdir()
    written = []
    for name, text in RECORDS.items():
        for number, path in enumerate(PATHS):
            place = folder / f"{name.replace('/', '-')}-{number}.zip"
            written.append(place)
            with zipfile.ZipFile(place, "w") as archive:
                archive.writestr(name, text.format(json.dumps(path)))
    for number, member in enumerate(MEMBERS):
        place = folder / f"member-{number}.zip"
        written.append(place)
        with zipfile.ZipFile(place, "w") as archive:
            archive.writestr(member, "a")
    return written


def write_workspaces(folder: Path) -> list[Path]:
    """Write workspaces with one damaged artifact each."""
    folder.mkdir()
    contents = {f"manifest-{number}": one for number, one in enumerate(DAMAGES)}
    contents |= {
        f"path-{number}": RECORDS["models/a/manifest.json"].format(json.dumps(path))
        for number, path in enumerate(PATHS)
    }
    for name, content in contents.items():
        kind = "models" if name.startswith("path") else "alignments"
        place = folder / name / kind / "a"
        place.mkdir(parents=True)
        (place / "manifest.json").write_text(content, encoding="utf-8")
    return [folder / name for name in contents]
