"""Damaged model folders are refused quickly with one sentence, and no files are left behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, normalizers

from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from tests.material.sources import list_modules, read_source
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.models import language_model
from vocadapt.models.checks.config_rules import read_config
from vocadapt.models.checks.network_sizes import check_network
from vocadapt.models.heads import load_with_new_head
from vocadapt.models.language_model import open_model
from vocadapt.models.model_files import read_headers
from vocadapt.models.network_class import convert_library_errors
from vocadapt.text.tokenization import encode, encode_batch
from vocadapt.vocabulary.families.files import tokenizer_trial
from vocadapt.vocabulary.families.wordpiece import build_tokenizer

Damage = Callable[[Path], object]
SECONDS = 30  # that no refusal takes, on the busiest machine
DEEP = '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"
ROWS = "bert.embeddings.word_embeddings.weight"
REGEX = "(a+)+$"
ADDED: dict[str, object] = {
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": True,
    "special": False,
}


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    """No test here hangs: what does not end is an error."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"longer than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS * 3)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tiny_bert: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_bert, tmp_path / "model"))


def written(name: str, content: str | bytes) -> Damage:
    """Damage: a file with this content."""
    data = content if isinstance(content, bytes) else content.encode()
    return lambda folder: (folder / name).write_bytes(data)


def config(**changes: object) -> Damage:
    """Damage: other values in config.json."""
    return lambda folder: edit_json(folder / "config.json", **changes)


def settings(**changes: object) -> Damage:
    """Damage: other values in tokenizer_config.json."""
    return lambda folder: edit_json(folder / "tokenizer_config.json", **changes)


def tokenizer(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Damage: a change of tokenizer.json."""

    def damage(folder: Path) -> None:
        path = folder / "tokenizer.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")

    return damage


def with_id(value: object) -> Damage:
    return tokenizer(lambda content: content["model"]["vocab"].update({"zzz": value}))


def with_added(**token: object) -> Damage:
    return tokenizer(
        lambda content: content["added_tokens"].append({"content": "zzz", **ADDED, **token})
    )


def part(kind: str, **value: object) -> Damage:
    return tokenizer(lambda content: content.update({kind: value}))


def around(**tokens: object) -> Damage:
    return part("post_processor", type="BertProcessing", **tokens)


def index(content: object) -> Damage:
    return written("model.safetensors.index.json", json.dumps(content))


def pipe(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return damage


def replaced_by_folder(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return damage


def stored_as(dtype: torch.dtype) -> Damage:
    """Damage: embeddings in another type of numbers."""

    def damage(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        tensors[ROWS] = tensors[ROWS].to(dtype)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return damage


def header(content: dict[str, object], size: int = 16) -> bytes:
    text = json.dumps(content).encode()
    return len(text).to_bytes(8, "little") + text + bytes(size)


OVERLAP = header(
    {
        ROWS: {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},
        "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]},
    }
)
REPLACE = {"type": "Replace", "pattern": {"Regex": REGEX}, "content": "x"}

OF_TOKENIZER: list[tuple[str, Damage, str]] = [
    ("settings broken", written("tokenizer_config.json", "{"), "tokenizer_config.json: not"),
    ("settings a list", written("tokenizer_config.json", "[1]"), "tokenizer_config.json: expected"),
    ("settings deep", written("tokenizer_config.json", DEEP), "nested more"),
    ("settings a pipe", pipe("tokenizer_config.json"), "named pipe"),
    ("added token: a number", settings(added_tokens_decoder={"5": {"content": 5}}), "token is 5"),
    ("added token: no object", settings(added_tokens_decoder={"5": 5}), "5 is 5"),
    ("added token: no id", settings(added_tokens_decoder={"x": {"content": "a"}}), "is 'x'"),
    (
        "added token: a flag",
        settings(cls_token={"content": "[CLS]", "lstrip": "no"}),
        "\"lstrip\" of '[CLS]' is 'no'",
    ),
    ("special token: a number", settings(cls_token=5), '"cls_token" is 5'),
    (
        "special token: a list",
        settings(mask_token={"__type": "AddedToken", "content": [1]}),
        "is list",
    ),
    (
        "extra special tokens",
        settings(additional_special_tokens=[5]),
        '"additional_special_tokens" is 5',
    ),
    ("tokenizer class", settings(tokenizer_class=5), '"tokenizer_class" is 5'),
    ("longest text", settings(model_max_length="long"), '"model_max_length" is'),
    ("side", settings(padding_side="up"), '"padding_side" is'),
    (
        "special map a list",
        written("special_tokens_map.json", "[1]"),
        "special_tokens_map.json: expected",
    ),
    (
        "special map",
        written("special_tokens_map.json", '{"cls_token": {"content": 5}}'),
        "token is 5",
    ),
    ("added tokens", written("added_tokens.json", '{"x": "y"}'), "'x' is 'y'"),
    ("added tokens share", written("added_tokens.json", '{"x": 7, "y": 7}'), "one id"),
    ("tokenizer broken", written("tokenizer.json", "{"), "tokenizer.json: not"),
    ("tokenizer a list", written("tokenizer.json", "[]"), "tokenizer.json: expected"),
    ("tokenizer deep", written("tokenizer.json", DEEP), "nested more"),
    ("tokenizer a pipe", pipe("tokenizer.json"), "named pipe"),
    ("no model", tokenizer(lambda content: content.pop("model")), '"model" is None'),
    (
        "vocabulary a list",
        tokenizer(lambda content: content["model"].update(vocab=[["a", 1]])),
        '"vocab" is list',
    ),
    (
        "long words",
        tokenizer(lambda content: content["model"].update(max_input_chars_per_word=10**9)),
        "max_input_chars",
    ),
    ("id 2^31", with_id(2**31), "is 2147483648,"),
    ("id 4e9", with_id(4 * 10**9), "is 4000000000"),
    ("id negative", with_id(-1), "is -1"),
    ("id a text", with_id("1"), "is '1'"),
    ("one id twice", with_id(7), "one id: "),
    ("added id 2^31", with_added(id=2**31), "is 2147483648"),
    ("added id twice", with_added(id=7), "one id: "),
    ("added with two ids", with_added(id=900, content="heart"), "two ids"),
    ("post-processor", around(sep=["[SEP]", 10**9], cls=["[CLS]", 2]), "its id"),
    ("post-processor id", around(sep=["[SEP]", 5_000], cls=["[CLS]", 2]), "id 5,000"),
    ("post-processor token", around(sep=["[NONE]", 9], cls=["[CLS]", 2]), "id 9"),
    ("unknown normalizer", part("normalizer", type="Magic"), ": Magic"),
    ("runaway normalizer", part("normalizer", **REPLACE), "pattern '(a+)+$'"),
    (
        "runaway pre-tokenizer",
        part(
            "pre_tokenizer",
            type="Split",
            pattern={"Regex": REGEX},
            behavior="Isolated",
            invert=False,
        ),
        "pattern '(a+)+$'",
    ),
    (
        "expanding normalizer",
        part("normalizer", type="Replace", pattern={"Regex": "."}, content="x" * 100_000),
        "pattern '.'",
    ),
]

OF_WEIGHTS: list[tuple[str, Damage, str]] = [
    ("config a folder", replaced_by_folder("config.json"), "config.json: expected"),
    ("config a pipe", pipe("config.json"), "named pipe"),
    ("config deep", written("config.json", DEEP), "nested more"),
    ("config a list", written("config.json", "[1]"), "config.json: expected"),
    ("config broken", written("config.json", "{"), "config.json: not"),
    ("architectures a number", config(architectures=5), "architectures is 5"),
    ("architectures of numbers", config(architectures=[5]), "architectures is [5]"),
    ("activation", config(hidden_act="magic"), "hidden_act is 'magic'"),
    ("activation a number", config(hidden_act=5), "hidden_act is 5"),
    ("dtype", config(dtype="banana"), "dtype is 'banana'"),
    ("dtype a number", config(torch_dtype=8), "torch_dtype is 8"),
    ("quantized", config(quantization_config={"quant_method": "gptq"}), "quantization_config is"),
    ("other weights", config(transformers_weights="../x.safetensors"), "transformers_weights is"),
    ("hub kernels", config(_attn_implementation="kernels-community/flash"), "other packages"),
    ("hub kernels, too", config(attn_implementation="kernels-community/flash"), "other packages"),
    ("10^9 layers", config(num_hidden_layers=10**9), "num_hidden_layers is 1000000000"),
    ("500 layers", config(num_hidden_layers=500), "num_hidden_layers is 500"),
    ("layers a text", config(num_hidden_layers="2"), "num_hidden_layers is '2'"),
    ("layers true", config(num_hidden_layers=True), "num_hidden_layers is True"),
    ("width", config(hidden_size=50_000), "hidden_size is 50,000"),
    ("inner width", config(intermediate_size=99_999), "intermediate_size is 99,999"),
    (
        "positions",
        config(max_position_embeddings=9_999_999),
        "max_position_embeddings is 9,999,999",
    ),
    ("tokens", config(vocab_size=9_999_999), "vocab_size is 9,999,999"),
    ("types", config(type_vocab_size=10**9), "type_vocab_size is 1000000000"),
    ("heads", config(num_attention_heads=3), "3 attention heads"),
    ("no heads", config(num_attention_heads=0), "num_attention_heads is 0"),
    ("padding", config(pad_token_id=5_000), "pad_token_id is 5,000"),
    ("padding far out", config(pad_token_id=10**8), "pad_token_id is 100000000"),
    ("labels", config(num_labels=10**9), "num_labels is 1000000000"),
    ("label names", config(id2label=[1]), "id2label is [1]"),
    ("label numbers", config(id2label={"x": "y"}), "(ValueError"),
    ("dropout", config(hidden_dropout_prob=5), "hidden_dropout_prob is 5"),
    (
        "dropout not a number",
        config(hidden_dropout_prob=float("nan")),
        "hidden_dropout_prob is nan",
    ),
    ("index a list", index([1]), "index.json: expected"),
    ("index without a map", index({"metadata": {}}), 'expected "weight_map"'),
    (
        "index without metadata",
        index({"weight_map": {"a": "model.safetensors"}}),
        'expected "metadata"',
    ),
    ("index with numbers", index({"metadata": {}, "weight_map": {"a": 5}}), "found '5'"),
    (
        "index out of the folder",
        index({"metadata": {}, "weight_map": {"a": "../x/model.safetensors"}}),
        "found '../x/",
    ),
    (
        "index to nowhere",
        index({"metadata": {}, "weight_map": {"a": "b.safetensors"}}),
        "no weights",
    ),
    ("index broken", written("model.safetensors.index.json", "{"), "index.json: not"),
    ("index deep", written("model.safetensors.index.json", DEEP), "index.json: nested more"),
    ("index a pipe", pipe("model.safetensors.index.json"), "named pipe"),
    ("weights a pipe", pipe("model.safetensors"), "named pipe"),
    ("weights a folder", replaced_by_folder("model.safetensors"), "a folder"),
    ("weights broken", written("model.safetensors", b"no tensors"), "safetensors file"),
    ("weights empty", written("model.safetensors", b""), "safetensors file"),
    (
        "header too long",
        written("model.safetensors", (2**62).to_bytes(8, "little") + b"{}"),
        "safetensors file",
    ),
    ("offsets overlap", written("model.safetensors", OVERLAP), "safetensors file"),
    ("float8", stored_as(torch.float8_e4m3fn), "are F8_E4M3"),
    ("whole numbers", stored_as(torch.int32), "are I32"),
]
NAMES = [name for name, _, _ in OF_TOKENIZER + OF_WEIGHTS]


def command_on(folder: Path, out: Path) -> list[str]:
    """A command that opens all of a model and would write one."""
    return [
        *f"vocabulary reduce --heuristic last --model {folder} --keep 0.9".split(),
        *("--out", str(out)),
    ]


@pytest.mark.parametrize(
    ("damage", "said"), [case[1:] for case in OF_TOKENIZER + OF_WEIGHTS], ids=NAMES
)
def test_a_damaged_folder_is_refused_with_one_sentence_and_nothing_is_left(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Damage, said: str
) -> None:
    damage(folder)
    before, begun = sorted(tmp_path.rglob("*")), time.monotonic()
    assert main(command_on(folder, tmp_path / "out")) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and "Traceback" not in err
    assert 1 <= len(err.splitlines()) <= 3 and len(err) < 1_000
    assert sorted(tmp_path.rglob("*")) == before
    assert time.monotonic() - begun < SECONDS


@pytest.mark.parametrize(
    ("damage", "said"), [case[1:] for case in OF_WEIGHTS], ids=[case[0] for case in OF_WEIGHTS]
)
def test_the_same_under_a_fresh_head(folder: Path, damage: Damage, said: str) -> None:
    damage(folder)
    with pytest.raises(InputError):
        load_with_new_head(open_model(folder), "token", ("O", "B"), 1)


def test_ten_to_the_nine_layers_cost_milliseconds(folder: Path) -> None:
    edit_json(folder / "config.json", num_hidden_layers=10**9)
    begun = time.process_time()
    with pytest.raises(InputError, match="num_hidden_layers"):
        _ = open_model(folder).network
    assert time.process_time() - begun < 0.2


@pytest.mark.parametrize("kind", ["bert", "evil"])
def test_code_in_a_model_folder_is_never_run(folder: Path, tmp_path: Path, kind: str) -> None:
    """Settings name classes of a file in the folder, as models with code of their own do."""
    marker = tmp_path / "executed"
    classes = ("Config", "Model", "Tokenizer")
    lines = [f"open({str(marker)!r}, 'w').close()", *(f"class {one}: ..." for one in classes)]
    (folder / "evil.py").write_text("\n".join(lines))
    models = ("AutoModel", "AutoModelForMaskedLM", "AutoModelForTokenClassification")
    names = {"AutoConfig": "evil.Config", **dict.fromkeys(models, "evil.Model")}
    edit_json(folder / "config.json", auto_map=names, model_type=kind)
    tokenizers = {"AutoTokenizer": ["evil.Tokenizer", "evil.Tokenizer"]}
    edit_json(folder / "tokenizer_config.json", auto_map=tokenizers)
    with suppress(InputError):
        _ = open_model(folder).network
    with suppress(InputError):
        _ = open_model(folder).vocabulary.tokenize("heart")
    with suppress(InputError):
        load_with_new_head(open_model(folder), "token", ("O", "B"), 1)
    main(command_on(folder, tmp_path / "out"))
    assert not marker.exists()
    exec((folder / "evil.py").read_text())
    assert marker.exists()  # the file is live


def test_a_pipe_as_a_model_and_as_a_vocabulary(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p")
    with raises_input_error("special-file", "named pipe"):
        open_model(tmp_path / "p")
    with raises_input_error("special-file", "device"):
        open_model("/dev/zero")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(
    "name", [".", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
)
def test_what_this_user_may_not_read_is_reported(folder: Path, name: str) -> None:
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and str(parent) != "/":
            parent.chmod(0o755)
    assert open_model(folder).space.words  # imports what is imported late, as root
    (folder / name).chmod(0)
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            model = open_model(folder)
            _ = model.space, model.fast_tokenizer
        except InputError as error:
            code = 42 if "permission to read it is missing" in error.problem else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 42


def test_sound_sizes_pass(tiny_bert: Path, minilm: str) -> None:
    for folder in (tiny_bert, Path(minilm)):
        check_network(folder, read_config(folder), read_headers(folder))
        assert open_model(folder).network.dtype == torch.float32


def test_a_sharded_model_opens(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    expected = tensors[ROWS].clone()
    names = sorted(tensors)
    halves = {"model-1.safetensors": names[:5], "model-2.safetensors": names[5:]}
    for file, inside in halves.items():
        save_file(
            {name: tensors[name] for name in inside}, folder / file, metadata={"format": "pt"}
        )
    (folder / "model.safetensors").unlink()
    shards = {name: file for file, inside in halves.items() for name in inside}
    index({"metadata": {}, "weight_map": shards})(folder)
    model = open_model(folder)
    assert torch.equal(model.network.get_input_embeddings().weight, expected)


def test_the_parts_of_bert_are_not_tried(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tokenizer_trial.subprocess,
        "Popen",
        lambda *arguments, **more: pytest.fail("a process was started"),
    )
    _ = open_model(tiny_bert).fast_tokenizer


def test_a_sound_pattern_passes_and_its_verdict_is_remembered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = {"Regex": r"'s|'t| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"}
    part("pre_tokenizer", type="Split", pattern=pattern, behavior="Isolated", invert=False)(folder)
    _ = open_model(folder).fast_tokenizer
    monkeypatch.setattr(
        tokenizer_trial.subprocess, "Popen", lambda *arguments, **more: pytest.fail("tried again")
    )
    _ = open_model(folder).fast_tokenizer


def test_parts_that_expand_only_together_are_refused(folder: Path) -> None:
    parts = [
        {"type": "Replace", "pattern": {"String": old}, "content": new * 50}
        for old, new in (("a", "b"), ("b", "c"))
    ]
    part("normalizer", type="Sequence", normalizers=parts)(folder)
    with raises_input_error("invalid-tokenizer-part", "sequence"):
        _ = open_model(folder).fast_tokenizer


def test_a_part_that_never_ends_is_ended_with_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_trial, "SECONDS", 0.5)
    monkeypatch.setattr(tokenizer_trial, "SCRIPT", "print('Replace', flush=True)\nwhile True: pass")
    tokenizer_trial._try.cache_clear()
    begun = time.monotonic()
    with raises_input_error("invalid-tokenizer-part", "Replace", "0.5 s"):
        tokenizer_trial.try_parts(
            {"normalizer": {"type": "Replace", "pattern": {"String": "never"}, "content": ""}}
        )
    assert time.monotonic() - begun < 10
    tokenizer_trial._try.cache_clear()


def test_a_busy_machine_changes_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that waits for its turn takes no processor time: stopped here for longer than the
    limit.
    """
    monkeypatch.setattr(tokenizer_trial, "SECONDS", 0.5)
    monkeypatch.setattr(
        tokenizer_trial, "SCRIPT", "import time\ntime.sleep(1.5)\nprint('done', flush=True)"
    )
    tokenizer_trial._try.cache_clear()
    tokenizer_trial.try_parts(
        {"normalizer": {"type": "Replace", "pattern": {"String": "waits"}, "content": ""}}
    )
    monkeypatch.setattr(tokenizer_trial, "MAX_WALL_SECONDS", 0.5)
    tokenizer_trial._try.cache_clear()
    with raises_input_error("invalid-tokenizer-part", "0.5 s"):
        tokenizer_trial.try_parts(
            {"normalizer": {"type": "Replace", "pattern": {"String": "waits"}, "content": ""}}
        )
    tokenizer_trial._try.cache_clear()


def test_what_the_library_panics_with_is_an_input_error() -> None:
    """Not tried beforehand, as a pattern that only runs away on a text of its own."""
    made = build_tokenizer(("[UNK]", "a"))
    made.normalizer = normalizers.Replace(Regex(REGEX), "x")
    text = "a" * 50 + "!"
    for work in (lambda: encode(made, text), lambda: encode_batch(made, ["a", text])):
        with raises_input_error("tokenizer-failure"):
            work()


def test_lack_of_memory_is_no_fault_of_a_file() -> None:
    with pytest.raises(MemoryError), convert_library_errors("config.json"):
        raise MemoryError
    with (
        raises_input_error("library-failed", "KeyError"),
        convert_library_errors("config.json and weights do not fit together"),
    ):
        raise KeyError("hidden_size")


def test_blocks_give_what_one_batch_gives() -> None:
    made = build_tokenizer(("[UNK]", "a", "##b", "c"))
    texts = ["ab", "c", "", "cab a"] * 6_000
    assert [one.ids for one in encode_batch(made, texts)] == [
        one.ids for one in made.encode_batch(texts)
    ]
    assert (
        encode(made, "ab " * 9_000, add_special_tokens=False).ids
        == made.encode("ab " * 9_000, add_special_tokens=False).ids
    )
    assert encode_batch(made, []) == []


def test_only_one_place_calls_the_library_on_text() -> None:
    """Elsewhere a panic would be a traceback, and an endless block would not be seen."""
    package = Path(language_model.__file__).parents[1]
    calling = {
        str(path.relative_to(package))
        for path in list_modules("vocadapt")
        for call in (".encode_batch(", "tokenizer.encode(", "normalize_str(", "pre_tokenize_str(")
        if call in read_source(path)
    }
    # Scripts for other processes are text here.
    in_other_processes = {"transformers_js"}
    assert calling == {
        "text/tokenization.py",
        "text/splitter.py",
        "vocabulary/families/files/tokenizer_trial.py",
        *(f"models/loaders/{name}.py" for name in in_other_processes),
    }


def test_a_panic_in_a_process_of_its_own_is_one_sentence(folder: Path) -> None:
    part("normalizer", **REPLACE)(folder)
    command = [sys.executable, "-m", "vocadapt", "tokenize", "a" * 60 + "!", "--model", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) <= 3


def test_every_safe_part_is_one_of_the_library(folder: Path) -> None:
    for name in sorted(
        tokenizer_trial.SAFE - {"BertNormalizer", "BertPreTokenizer", "CharDelimiterSplit"}
    ):
        spec = json.loads(Tokenizer.from_file(str(folder / "tokenizer.json")).to_str())
        part = {"type": name, **OPTIONS.get(name, {})}
        assert any(_opens(spec | {kind: part}) for kind in ("normalizer", "pre_tokenizer")), name


OPTIONS: dict[str, dict[str, object]] = {
    "Strip": {"strip_left": True, "strip_right": True},
    "ByteLevel": {"add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    "Digits": {"individual_digits": True},
    "Punctuation": {"behavior": "Isolated"},
}


def _opens(spec: dict[str, object]) -> bool:
    try:
        Tokenizer.from_str(json.dumps(spec))
    except Exception:
        return False
    return True
