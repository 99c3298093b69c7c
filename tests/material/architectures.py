"""Tiny random networks of every type of architecture, saved as folders with a tokenizer of their own
kind: WordPiece, byte-level BPE or Unigram, with the special tokens and post-processor of the real one.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

TEXT = (
    "the patients of the trial had heart disease and high blood pressure",
    "we study the treatment of pain with a drug, and a placebo for the group",
    "Cancer cells of the patient: the hypertension was low.",
)
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;-()'=?!/"
WORDS = tuple(dict.fromkeys(word for line in TEXT for word in line.split()))
# The expressions by which Llama 3 and Qwen 2 split a text, up to the number of digits.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LONG = 64  # positions of the networks


@dataclass(frozen=True)
class TinyTokenizer:
    """A tokenizer with its special tokens by role, and the class of transformers that saved it."""

    tokenizer: Tokenizer
    special: dict[str, str]
    saved_by: str


@dataclass(frozen=True)
class Architecture:
    """A class of transformers with the config of a tiny network.

    positions: tokens that its inputs have at most.
    """

    family: str
    network: str
    config: dict[str, Any]
    tokenizer: Callable[[], TinyTokenizer]
    positions: int = LONG
    special_ids: dict[str, str] = field(default_factory=dict)  # key of config.json: role


BODY = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": LONG,
}
GROUPED = {**BODY, "num_key_value_heads": 2}


def build_wordpiece() -> TinyTokenizer:
    """The tokenizer of BERT."""
    from tests.material.tiny_bert import TINY_TOKENS

    special = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    ids = {token: i for i, token in enumerate(TINY_TOKENS)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(list(special.values()))
    _set_template(tokenizer, "[CLS]", "[SEP]")
    return TinyTokenizer(tokenizer, special, "BertTokenizer")


def build_roberta() -> TinyTokenizer:
    """The byte-level BPE of RoBERTa."""
    first = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = _train_bytes(first, pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.add_special_tokens([*first, AddedToken("<mask>", lstrip=True, special=True)])
    pairs = [(token, tokenizer.token_to_id(token)) for token in ("</s>", "<s>")]
    tokenizer.post_processor = processors.RobertaProcessing(*pairs, add_prefix_space=False)
    special = {
        "bos_token": "<s>",
        "cls_token": "<s>",
        "eos_token": "</s>",
        "sep_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    return TinyTokenizer(tokenizer, special, "RobertaTokenizer")


def build_gpt2() -> TinyTokenizer:
    """The byte-level BPE of GPT-2, which puts no token around a text."""
    tokenizer = _train_bytes([], pre_tokenizers.ByteLevel(add_prefix_space=False))
    end = "<|endoftext|>"
    tokenizer.add_special_tokens([end])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    special = {"bos_token": end, "eos_token": end, "unk_token": end}
    return TinyTokenizer(tokenizer, special, "GPT2Tokenizer")


def build_modernbert() -> TinyTokenizer:
    """The byte-level BPE of ModernBERT, whose special tokens are the last ones."""
    tokenizer = _train_bytes([], pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.normalizer = normalizers.NFC()
    special = {
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "mask_token": "[MASK]",
    }
    tokenizer.add_special_tokens(list(special.values()))
    _set_template(tokenizer, "[CLS]", "[SEP]")
    return TinyTokenizer(tokenizer, special, "PreTrainedTokenizerFast")


def build_llama() -> TinyTokenizer:
    """The byte-level BPE of Llama 3, with `ignore_merges`."""
    tokenizer = _train_bytes([], _split_by(SPLIT), ignore_merges=True)
    special = {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}
    tokenizer.add_special_tokens(list(special.values()))
    start = special["bos_token"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A",
        pair=f"{start} $A {start} $B",
        special_tokens=[(start, tokenizer.token_to_id(start))],
    )
    return TinyTokenizer(tokenizer, special, "PreTrainedTokenizerFast")


def build_qwen() -> TinyTokenizer:
    """The byte-level BPE of Qwen 2."""
    tokenizer = _train_bytes([], _split_by(SPLIT.replace("{1,3}", "")))
    tokenizer.normalizer = normalizers.NFC()
    special = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    tokenizer.add_special_tokens(list(special.values()))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return TinyTokenizer(tokenizer, special, "Qwen2Tokenizer")


def build_xlm_roberta() -> TinyTokenizer:
    """The Unigram of XLM-R."""
    special = {
        "bos_token": "<s>",
        "cls_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "sep_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    tokenizer = _build_unigram(["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"])
    _set_template(tokenizer, "<s>", "</s>")
    return TinyTokenizer(tokenizer, special, "XLMRobertaTokenizer")


def build_deberta() -> TinyTokenizer:
    """The Unigram of DeBERTa-v2 and v3."""
    special = {
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "unk_token": "[UNK]",
        "mask_token": "[MASK]",
    }
    tokenizer = _build_unigram(["[PAD]", "[CLS]", "[SEP]", "[UNK]"], ["[MASK]"])
    _set_template(tokenizer, "[CLS]", "[SEP]")
    return TinyTokenizer(tokenizer, special, "DebertaV2Tokenizer")


def build_albert() -> TinyTokenizer:
    """The Unigram of ALBERT, which lowercases."""
    special = {
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    tokenizer = _build_unigram(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], [])
    tokenizer.normalizer = normalizers.Lowercase()
    _set_template(tokenizer, "[CLS]", "[SEP]")
    return TinyTokenizer(tokenizer, special, "AlbertTokenizer")


ROBERTA_IDS = {
    "bos_token_id": "bos_token",
    "eos_token_id": "eos_token",
    "pad_token_id": "pad_token",
}
ARCHITECTURES = {
    "bert": Architecture("bert", "BertForMaskedLM", BODY, build_wordpiece),
    "electra": Architecture(
        "electra", "ElectraForMaskedLM", {**BODY, "embedding_size": 16}, build_wordpiece
    ),
    "electra-discriminator": Architecture(
        "electra", "ElectraForPreTraining", BODY, build_wordpiece
    ),
    "distilbert": Architecture(
        "distilbert",
        "DistilBertForMaskedLM",
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": LONG},
        build_wordpiece,
    ),
    "roberta": Architecture(
        "roberta",
        "RobertaForMaskedLM",
        {**BODY, "max_position_embeddings": LONG + 2, "type_vocab_size": 1},
        build_roberta,
        special_ids=ROBERTA_IDS,
    ),
    "xlm-roberta": Architecture(
        "xlm-roberta",
        "XLMRobertaForMaskedLM",
        {**BODY, "max_position_embeddings": LONG + 2, "type_vocab_size": 1},
        build_xlm_roberta,
        special_ids=ROBERTA_IDS,
    ),
    "deberta-v2": Architecture(
        "deberta-v2",
        "DebertaV2ForMaskedLM",
        {
            **BODY,
            "relative_attention": True,
            "position_buckets": 16,
            "pos_att_type": ["p2c", "c2p"],
            "share_att_key": True,
            "norm_rel_ebd": "layer_norm",
            "position_biased_input": False,
            "type_vocab_size": 0,
        },
        build_deberta,
    ),
    "deberta-v3": Architecture(  # its head multiplies by the input embeddings themselves
        "deberta-v2",
        "DebertaV2ForMaskedLM",
        {**BODY, "relative_attention": True, "position_biased_input": False, "legacy": False},
        build_deberta,
    ),
    "albert": Architecture(
        "albert",
        "AlbertForMaskedLM",
        {**BODY, "embedding_size": 16},
        build_albert,
        special_ids={"bos_token_id": "cls_token", "eos_token_id": "sep_token"},
    ),
    "modernbert": Architecture(
        "modernbert",
        "ModernBertForMaskedLM",
        {**BODY, "local_attention": 16, "global_attn_every_n_layers": 2},
        build_modernbert,
        special_ids={
            "bos_token_id": "cls_token",
            "cls_token_id": "cls_token",
            "eos_token_id": "sep_token",
            "sep_token_id": "sep_token",
        },
    ),
    "gpt2": Architecture(
        "gpt2",
        "GPT2LMHeadModel",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": LONG},
        build_gpt2,
        special_ids={"bos_token_id": "bos_token", "eos_token_id": "eos_token"},
    ),
    "llama": Architecture(
        "llama",
        "LlamaForCausalLM",
        GROUPED,
        build_llama,
        special_ids={"bos_token_id": "bos_token", "eos_token_id": "eos_token"},
    ),
    "qwen2": Architecture(
        "qwen2",
        "Qwen2ForCausalLM",
        {**GROUPED, "tie_word_embeddings": True},
        build_qwen,
        special_ids={"eos_token_id": "eos_token"},
    ),
    "qwen3": Architecture(
        "qwen3",
        "Qwen3ForCausalLM",
        {**GROUPED, "head_dim": 12},
        build_qwen,
        special_ids={"eos_token_id": "eos_token"},
    ),
    "t5": Architecture(
        "t5",
        "T5ForConditionalGeneration",
        {
            "d_model": 32,
            "num_layers": 2,
            "num_heads": 4,
            "d_ff": 48,
            "d_kv": 8,
            "n_positions": LONG,
        },
        build_wordpiece,
        special_ids={"eos_token_id": "sep_token", "decoder_start_token_id": "pad_token"},
    ),
}


def build_tiny_model(
    name: str,
    folder: Path,
    tokenizer: Callable[[], TinyTokenizer] | None = None,
    network: str = "",
    padded_to: int = 1,
    **config: Any,
) -> Path:
    """Save a tiny random network of an architecture, of ARCHITECTURES, and its tokenizer.

    tokenizer: another one than the architecture's own. network: another class.
    padded_to: the embedding matrix has a multiple of these rows.
    """
    import torch
    import transformers

    architecture = ARCHITECTURES[name]
    own = (tokenizer or architecture.tokenizer)()
    # 1. The config, with the ids of the special tokens.
    size = own.tokenizer.get_vocab_size()
    rows = -(-size // padded_to) * padded_to
    roles = {"pad_token_id": "pad_token", **architecture.special_ids}
    special = {
        key: own.tokenizer.token_to_id(own.special.get(role, "")) for key, role in roles.items()
    }
    kind = getattr(transformers, network or architecture.network)
    settings = kind.config_class(vocab_size=rows, **architecture.config | special | config)
    # 2. The network: biases that start at zero get values that a lost copy would show.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = kind(settings)
        for key, parameter in made.named_parameters():
            if key.endswith("bias"):
                torch.nn.init.normal_(parameter)
    made.save_pretrained(folder)
    save_tiny_tokenizer(own, folder)
    return folder


def save_tiny_tokenizer(own: TinyTokenizer, folder: Path) -> None:
    """Save a tokenizer as the class of the real one saves it."""
    import transformers

    saved = transformers.PreTrainedTokenizerFast(tokenizer_object=own.tokenizer, **own.special)
    saved.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["tokenizer_class"] = own.saved_by
    path.write_text(json.dumps(content), encoding="utf-8")


def _train_bytes(first: list[str], pre_tokenizer: Any, ignore_merges: bool = False) -> Tokenizer:
    """Train a byte-level BPE on the text; `first`: its first tokens."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=360,
        special_tokens=first,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def _split_by(pattern: str) -> Any:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _build_unigram(first: list[str], last: list[str]) -> Tokenizer:
    """Build a Unigram of the words of the text and of all characters."""
    pieces = [(f"▁{word}", -4.0 - i / 8) for i, word in enumerate(WORDS)]
    pieces += [("s", -5.0), ("ing", -6.0), ("tension", -7.0), ("▁", -6.5), ("▁hyper", -9.5)]
    known = {piece for piece, _ in pieces}
    pieces += [(letter, -10.0) for letter in LETTERS if letter not in known]
    vocabulary = [*((token, 0.0) for token in first), *pieces, *((token, 0.0) for token in last)]
    unknown = next(i for i, token in enumerate(first) if "unk" in token.lower())
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=unknown, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([*first, *last])
    return tokenizer


def _set_template(tokenizer: Tokenizer, start: str, end: str) -> None:
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B {end}",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (start, end)],
    )
