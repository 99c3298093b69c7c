"""Other programs that load an adapted model: what is compared, what is reported, what is not tried."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.material.architectures import build_tiny_model
from tests.material.changed_architectures import add_words
from tests.material.files import edit_json
from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import find_numbers
from vocadapt.models.certificate.certificate import Certificate, Check, certify
from vocadapt.models.edit import Edit
from vocadapt.models.language_model import open_model
from vocadapt.models.loaders import loader as loader_module
from vocadapt.models.loaders import python_packages, registry, transformers_js
from vocadapt.models.loaders.loader import Loader, LoadResult, try_loader
from vocadapt.models.loaders.registry import LOADERS, LoaderSettings, register_loader, try_loaders
from vocadapt.models.loaders.trial_texts import (
    FORMS,
    compare_ids,
    encode_texts,
    find_reason,
    list_texts,
    run_program,
    run_python,
)

SLOW = [name for name, loader in LOADERS.items() if not loader.is_quick]
FAMILIES = ("bert", "roberta", "xlm-roberta")  # WordPiece, byte-level BPE, Unigram


def adapt(folder: Path, name: str, **changes: Any) -> Edit:
    before = open_model(build_tiny_model(name, folder / "before", **changes))
    return Edit(before, open_model(add_words(before).save(folder / "after")))


@pytest.fixture(scope="module")
def edits(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Edit]:
    """An adapted model of each family, made once."""
    made: dict[str, Edit] = {}

    def find(name: str) -> Edit:
        if name not in made:
            made[name] = adapt(tmp_path_factory.mktemp(name), name)
        return made[name]

    return find


def results(edit: Edit, *names: str) -> dict[str, LoadResult]:
    found = try_loaders(edit, LoaderSettings(names or ("quick",)))
    return {result.name: result for result in found}


# tokenizers


@pytest.mark.parametrize("name", FAMILIES)
def test_the_tokenizers_library_gives_the_ids_of_auto_tokenizer(
    edits: Callable[[str], Edit], name: str
) -> None:
    found = results(edits(name))["tokenizers"]
    assert found.state == "loads" and find_numbers(found.detail) == [19]
    assert found.version


@pytest.mark.parametrize("name", FAMILIES)
def test_texts_hold_added_words_alone_and_within_others(
    edits: Callable[[str], Edit], name: str
) -> None:
    edit = edits(name)
    texts = list_texts(edit)
    assert texts[: len(edit.lines)] == list(edit.lines)
    assert {"tachycardia", "nontachycardia", "(tachycardia)-tachycardia,"} <= set(texts)
    whole = edit.after.vocabulary.ids[edit.after.vocabulary.spell("tachycardia")]
    ids = dict(zip(texts, encode_texts(edit.after, texts), strict=True))
    in_sentence = FORMS[-1].format("tachycardia")
    assert whole in ids[in_sentence] and whole not in ids["nontachycardia"]


def test_a_class_that_rebuilds_the_tokenizer_differs(tmp_path: Path) -> None:
    """RobertaTokenizer of transformers loses `ignore_merges`, and so the added words."""
    edit = adapt(tmp_path, "roberta")
    edit_json(edit.after.path / "tokenizer_config.json", tokenizer_class="RobertaTokenizer")
    found = results(Edit(edit.before, open_model(edit.after.path)))["tokenizers"]
    assert found.state == "differs" and repr(FORMS[-1].format("tachycardia")) in found.detail


def test_a_tokenizer_that_was_edited_after_saving_differs(tmp_path: Path) -> None:
    """BertTokenizer of transformers takes the casing from its config."""
    edit = adapt(tmp_path, "bert")
    content = json.loads((edit.after.path / "tokenizer.json").read_text(encoding="utf-8"))
    normalizer = {**content["normalizer"], "lowercase": False}
    edit_json(edit.after.path / "tokenizer.json", normalizer=normalizer)
    found = results(Edit(edit.before, open_model(edit.after.path)))["tokenizers"]
    assert found.state == "differs" and repr(edit.lines[0]) in found.detail


def test_a_tokenizer_that_cannot_be_read_differs(tmp_path: Path) -> None:
    edit = adapt(tmp_path, "roberta")
    assert edit.added and edit.after.fast_tokenizer
    edit_json(edit.after.path / "tokenizer.json", model={"type": "unheard-of"})
    found = results(edit)["tokenizers"]
    assert found.state == "differs" and found.detail.startswith("cannot be ")


# SentencePiece


def test_a_saved_folder_has_no_sentencepiece_file(tmp_path: Path) -> None:
    build_tiny_model("xlm-roberta", tmp_path / "before")
    (tmp_path / "before" / "sentencepiece.bpe.model").write_bytes(b"old")
    before = open_model(tmp_path / "before")
    after = open_model(add_words(before).save(tmp_path / "after"))
    found = results(Edit(before, after))["sentencepiece"]
    assert found.state == "not applicable" and "tokenizer.json" in found.detail
    assert not list(after.path.rglob("*.model"))

    (after.path / "sentencepiece.bpe.model").write_bytes(b"old")
    found = results(Edit(before, after))["sentencepiece"]
    assert found.state == "differs" and found.detail.startswith("sentencepiece.bpe.model has")


def test_a_sentencepiece_file_is_no_fault_if_no_token_changed(tmp_path: Path) -> None:
    before = open_model(build_tiny_model("xlm-roberta", tmp_path / "before"))
    (before.path / "sentencepiece.bpe.model").write_bytes(b"old")
    assert results(Edit(before, before))["sentencepiece"].state == "not tried"


# Packages that are not installed, and those that are not requested


def test_only_quick_loaders_are_tried_by_default(edits: Callable[[str], Edit]) -> None:
    found = results(edits("bert"))
    assert list(found) == list(LOADERS)
    assert {found[name].detail for name in SLOW} == {"not requested"}
    assert {found[name].state for name in SLOW} == {"not tried"}
    one = results(edits("xlm-roberta"), "sentencepiece")
    assert one["tokenizers"].state == "not tried"
    assert one["sentencepiece"].state == "not applicable"


@pytest.mark.parametrize("name", SLOW)
def test_missing_packages_are_named(
    edits: Callable[[str], Edit], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(loader_module, "find_spec", lambda package: None)
    monkeypatch.setattr(transformers_js.shutil, "which", lambda program: None)
    found = results(edits("bert"), name)[name]
    assert found.state == "not tried" and found.detail.endswith("not installed")
    assert found.version == ""


def test_a_missing_node_package_is_named(
    edits: Callable[[str], Edit], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(transformers_js.shutil, "which", lambda program: "node")
    monkeypatch.setenv(transformers_js.VARIABLE, str(tmp_path))
    found = results(edits("bert"), "transformers-js")["transformers-js"]
    assert found.state == "not tried" and transformers_js.PACKAGE in found.detail


def test_the_node_package_is_found_in_folders_above(tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "@huggingface" / "transformers"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "4.3.1"}', encoding="utf-8")
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert transformers_js.find_package(tmp_path / "a" / "b") == package


# Slow loaders, with programs that answer what the test says


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[Any]]:
    """Let the programs give these answers, one after the other; returns what they are asked."""

    def prepare(*given: Any) -> list[Any]:
        asked: list[Any] = []
        waiting = list(given)

        def answer(_: Any, content: Any, folder: str | None = None) -> Any:
            asked.append(content)
            one = waiting.pop(0)
            return one(content[1]) if callable(one) else one

        package = tmp_path / "node_modules" / "@huggingface" / "transformers"
        package.mkdir(parents=True)
        (package / "package.json").write_text('{"version": "4.3.1"}', encoding="utf-8")
        monkeypatch.setenv(transformers_js.VARIABLE, str(tmp_path))
        monkeypatch.setattr(transformers_js.shutil, "which", lambda program: "node")
        monkeypatch.setattr(transformers_js, "run_program", answer)
        monkeypatch.setattr(python_packages, "run_python", answer)
        monkeypatch.setattr(loader_module, "find_spec", lambda package: True)
        return asked

    return prepare


def test_ids_of_transformers_js(
    edits: Callable[[str], Edit], answers: Callable[..., list[Any]]
) -> None:
    edit = edits("bert")

    def drop_last(texts: list[str]) -> list[list[int]]:
        ids = [list(one) for one in encode_texts(edit.after, texts)]
        ids[0].pop()
        return ids

    error = "SyntaxError: bad file"
    answers(
        lambda texts: encode_texts(edit.after, texts),
        drop_last,
        lambda texts: encode_texts(edit.before, texts),
        error,
    )
    found = [results(edit, "transformers-js")["transformers-js"] for _ in range(3)]
    assert [one.state for one in found] == ["loads", "differs", "differs"]
    assert all(one.detail.startswith("version 4.3.1: ") for one in found)
    assert find_numbers(found[0].detail)[2:] == [19]
    assert find_numbers(found[1].detail)[2:] == [1, 19, 19]  # the original model has all ids
    assert repr(edit.lines[0]) in found[1].detail
    assert found[2].detail.endswith(error)


@pytest.mark.parametrize(
    ("gap", "state"),
    [(0.0, "loads"), (9e-5, "loads"), (2e-4, "differs"), (float("nan"), "differs")],
)
def test_outputs_may_differ_by_rounding(
    edits: Callable[[str], Edit], answers: Callable[..., list[Any]], gap: float, state: str
) -> None:
    answers({"gap": gap})
    assert results(edits("bert"), "onnx")["onnx"].state == state


def test_what_fails_on_the_original_is_no_fault_of_the_edit(
    edits: Callable[[str], Edit], answers: Callable[..., list[Any]]
) -> None:
    edit = edits("bert")
    asked = answers("ValueError: no padding", "ValueError: no padding", "ValueError: bad", {})
    first, second = (results(edit, "onnx")["onnx"] for _ in range(2))
    assert first.state == "not applicable" and first.detail.endswith("no padding")
    assert second.state == "differs" and second.detail.endswith("ValueError: bad")
    folders = [Path(folder) for folder, _ in asked]
    assert folders == [edit.after.path, edit.before.path] * 2


def test_sentence_transformers_compares_ids_and_embeddings(
    tmp_path: Path, answers: Callable[..., list[Any]]
) -> None:
    edit, name = adapt(tmp_path, "roberta"), "sentence-transformers"
    answers(
        lambda texts: {"ids": encode_texts(edit.after, texts), "gap": 0.0},
        lambda texts: {"ids": encode_texts(edit.after, texts), "gap": 1.0},
        lambda texts: {"ids": [[] for _ in texts], "gap": 0.0},
    )
    assert [results(edit, name)[name].state for _ in range(3)] == ["loads", "differs", "differs"]
    (edit.before.path / "modules.json").write_text("[]", encoding="utf-8")
    found = results(edit, name)[name]
    assert found.state == "differs" and "modules.json" in found.detail


def test_encoder_decoders_and_extension_modules_are_not_exported(
    tmp_path: Path, answers: Callable[..., list[Any]]
) -> None:
    edit = adapt(tmp_path, "t5")
    answers()
    assert results(edit, "onnx")["onnx"].state == "not applicable"


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ["onnx", "sentence-transformers"])
def test_installed_packages_load_an_adapted_model(
    edits: Callable[[str], Edit], name: str, family: str
) -> None:
    """Runs if the extra `export` is installed, as .ci/nightly does."""
    for package in LOADERS[name].packages:
        pytest.importorskip(package)
    found = results(edits(family), name)[name]
    assert found.state == "loads", found.detail


# Processes


def test_a_process_answers_on_its_last_line_and_is_offline() -> None:
    script = (
        "import json, os, sys; print('noise');"
        " print(json.dumps([json.load(sys.stdin), os.environ['HF_HUB_OFFLINE'], '' in sys.path]))"
    )
    assert run_python(script, ["é"]) == [["é"], "1", False]


def test_the_reason_of_a_failed_process_is_its_error() -> None:
    assert run_python("raise ValueError('no\\nway')", 0) == "ValueError: no"
    assert run_python("pass", 0) == "no message"
    error = "Error: Cannot find it"
    stack = f"file.js:3\n\n{error}\n    at main (file.js:3)\n\nNode.js v20"
    assert find_reason(stack) == error
    assert isinstance(run_program([sys.executable, "-c", "1/0"], 0), str)


def test_ids_are_compared_text_by_text() -> None:
    state, detail = compare_ids(["a", "b"], [[1], [2]], [[1], [2]])
    assert state == "loads" and find_numbers(detail) == [2]
    state, detail = compare_ids(["a", "b"], [[1], [2]], [[1], [2, 3]])
    assert state == "differs" and find_numbers(detail) == [1, 2] and detail.endswith("'b'")


# The certificate


def test_the_certificate_lists_the_loaders_and_its_verdict_does_not_depend_on_them(
    edits: Callable[[str], Edit],
) -> None:
    bad = LoadResult("sentencepiece", "SentencePiece", "differs", "a.model: remove it")
    certificate = Certificate((Check("outputs", True, "equal"),), (bad,))
    assert certificate.passed
    assert certificate.to_dict()["loads"] == [asdict(bad)]
    edit = edits("bert")
    old = edit.after.path / "old.model"
    old.write_bytes(b"old")
    try:
        made = certify(edit.before, edit.after, loaders=LoaderSettings(("sentencepiece",)))
    finally:
        old.unlink()
    assert made.passed and [one.name for one in made.loads] == list(LOADERS)
    assert [one.name for one in made.loads if one.state == "differs"] == ["sentencepiece"]


def test_a_loader_of_ones_own_is_tried_and_its_name_checked(
    edits: Callable[[str], Edit], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Loader("Mine", "nothing", lambda edit: ("loads", f"{len(edit.added)} tokens"))
    monkeypatch.setattr(registry, "LOADERS", LOADERS.copy())
    register_loader("mine", mine)
    assert results(edits("bert"), "mine")["mine"].detail == f"{len(edits('bert').added)} tokens"
    assert try_loader("mine", mine, edits("bert"), False).state == "not tried"
    with raises_input_error("unknown-choice", "theirs"):
        LoaderSettings(("theirs",))
    with raises_input_error("taken-name", "onnx"):
        register_loader("onnx", mine)
