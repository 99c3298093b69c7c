"""Everything of a tokenizer that is not its vocabulary survives adapting, trimming, and applying and
removing a pack: settings, chat templates, flags of added tokens, truncation and padding.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer
from transformers import AutoTokenizer

from tests.material.architectures import TEXT, TinyTokenizer, build_qwen, build_tiny_model
from tests.material.files import edit_json
from tests.material.packs import adapt_words
from vocadapt.models.certificate.certificate import Edit, run_check
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.packs.apply import apply_pack
from vocadapt.models.packs.make import make_pack
from vocadapt.pipeline import Sources, adapt
from vocadapt.presets import build_trim
from vocadapt.text.corpus import open_corpus

WORDS = ("tachycardia", "euthymia", "hyperoxia")
SETTINGS: dict[str, Any] = {
    "add_bos_token": False,
    "additional_special_tokens": ["<|box_start|>"],
    "bos_token": None,
    "chat_template": "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}",
    "clean_up_tokenization_spaces": True,
    "errors": "replace",
    "model_input_names": ["input_ids", "attention_mask"],
    "model_max_length": 500,
    "padding_side": "left",
    "split_special_tokens": False,
    "our_own_entry": {"list": [1, "two"]},
}


def build_chat_tokenizer() -> TinyTokenizer:
    """The tokenizer of Qwen with two added tokens that are not special, and one that is."""
    own = build_qwen()
    own.tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("<tool>")])
    own.tokenizer.add_special_tokens(["<|box_start|>"])
    return own


def build_chat_model(folder: Path) -> LanguageModel:
    build_tiny_model("qwen3", folder, build_chat_tokenizer)
    edit_json(folder / "tokenizer_config.json", **SETTINGS)
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    # Truncation and padding, as sentence-transformers stores them.
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    padding = next(t for t in content["added_tokens"] if t["content"] == "<|endoftext|>")
    content["truncation"] = {
        **{"direction": "Right", "max_length": 16},
        **{"strategy": "LongestFirst", "stride": 0},
    }
    content["padding"] = {
        **{"strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": None},
        **{"pad_id": padding["id"], "pad_type_id": 0, "pad_token": "<|endoftext|>"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return open_model(folder)


def edit_model(kind: str, model: LanguageModel, folder: Path) -> LanguageModel:
    """Change the vocabulary of a model in one of the ways."""
    if kind == "trim":
        text = folder.with_name("text.txt")
        text.write_text(f"{TEXT[0]}\n", encoding="utf-8")
        adapted = adapt(build_trim(cover=1.0), model, Sources(corpus=open_corpus([text])))
        return open_model(adapted.save(folder))
    after = open_model(adapt_words(model.path, WORDS, folder))
    if kind == "pack":
        apply_pack(model, make_pack(model, after, "words"), folder.with_name("packed"))
        return open_model(folder.with_name("packed"))
    return after


@pytest.mark.parametrize("kind", ["adapt", "trim", "pack"])
def test_all_but_the_vocabulary_is_carried_over(tmp_path: Path, kind: str) -> None:
    before = build_chat_model(tmp_path / "before")
    after = edit_model(kind, before, tmp_path / "after")
    check = run_check("tokenizer settings", Edit(before, after))
    assert check.passed, check.detail

    # 1. The stored settings, without our own words for them.
    stored = json.loads((after.path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert {name: stored.get(name) for name in SETTINGS} == SETTINGS

    # 2. As plain transformers loads them.
    old, new = (AutoTokenizer.from_pretrained(model.path) for model in (before, after))
    assert new.chat_template == SETTINGS["chat_template"]
    messages = [{"role": "user", "content": "pain"}]
    text = [one.apply_chat_template(messages, tokenize=False) for one in (old, new)]
    assert text[0] == text[1] == "<|im_start|>pain<|im_end|>"
    assert new.padding_side == "left" and new.model_max_length == 500
    assert new.extra_special_tokens == old.extra_special_tokens == ["<|box_start|>"]
    for token in ("<think>", "<tool>", "<|box_start|>"):
        flags = [
            next(t for t in one.added_tokens_decoder.values() if t.content == token).__getstate__()
            for one in (old, new)
        ]
        assert flags[0] == flags[1]

    # 3. Truncation and padding; the padding id follows its token.
    raw = [Tokenizer.from_file(str(m.path / "tokenizer.json")) for m in (before, after)]
    lengths = [[len(e.ids) for e in one.encode_batch(["pain", TEXT[0] * 4])] for one in raw]
    assert lengths[0] == lengths[1] == [16, 16]
    assert raw[1].encode("pain").ids[-1] == after.vocabulary.ids["<|endoftext|>"]
    assert after.vocabulary.tokens and len(after.fast_tokenizer.encode(TEXT[0] * 4)) > 16


def test_chat_templates_in_files_and_declared_special_tokens_are_carried_over(
    tmp_path: Path,
) -> None:
    before = build_chat_model(tmp_path / "before")
    edit_json(before.path / "tokenizer_config.json", chat_template=None)
    (before.path / "chat_template.jinja").write_text("{{ messages[0].content }}!")
    (before.path / "additional_chat_templates").mkdir()
    (before.path / "additional_chat_templates" / "tools.jinja").write_text("tools")
    special = {"eos_token": {"content": "<|im_end|>", "lstrip": False, "special": True}}
    (before.path / "special_tokens_map.json").write_text(json.dumps(special))
    after = edit_model("adapt", open_model(before.path), tmp_path / "after")
    for name in (
        "chat_template.jinja",
        "additional_chat_templates/tools.jinja",
        "special_tokens_map.json",
    ):
        old, new = ((model.path / name).read_text() for model in (before, after))
        assert json.loads(old) == json.loads(new) if name.endswith("json") else old == new
    check = run_check("tokenizer settings", Edit(open_model(before.path), after))
    assert check.passed, check.detail


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("tokenizer_config.json", {"our_own_entry": {"list": [1]}}),
        ("tokenizer_config.json", {"chat_template": "{{ messages }}"}),
        ("tokenizer.json", {"padding": None}),
        ("tokenizer.json", {"truncation": None}),
    ],
)
def test_the_certificate_names_what_differs(tmp_path: Path, file: str, change: Any) -> None:
    before = build_chat_model(tmp_path / "before")
    after = edit_model("adapt", before, tmp_path / "after")
    edit_json(after.path / file, **change)
    check = run_check("tokenizer settings", Edit(before, open_model(after.path)))
    assert not check.passed and next(iter(change)) in check.detail


def test_a_changed_flag_of_an_added_token_is_found(tmp_path: Path) -> None:
    before = build_chat_model(tmp_path / "before")
    after = edit_model("trim", before, tmp_path / "after")
    content = json.loads((after.path / "tokenizer.json").read_text(encoding="utf-8"))
    next(t for t in content["added_tokens"] if t["content"] == "<tool>")["special"] = True
    (after.path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    check = run_check("tokenizer settings", Edit(before, open_model(after.path)))
    assert not check.passed and "<tool>" in check.detail
