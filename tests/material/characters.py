"""A tiny BERT with the character-level tokenizer of the extension's tokenizer family."""

import string
from pathlib import Path

WORDS = ("heart", "blood", "patients", "pain", "drug", "cancer")
SPECIAL = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}


def build_character_bert(folder: Path) -> Path:
    """Save a BERT that takes words apart into characters, the first one marked: ▁p l a c e b o.

    WORDS are tokens of their own.
    """
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    letters = string.ascii_lowercase + string.digits + string.punctuation
    starts = [f"▁{start}" for start in (*letters, *WORDS)]
    ids = {token: i for i, token in enumerate([*SPECIAL.values(), "▁", *letters, *starts])}
    merges = [("▁", letter) for letter in letters]
    tokenizer = Tokenizer(models.BPE(ids, merges, unk_token="<unk>", ignore_merges=True))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Metaspace()]
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(list(SPECIAL.values()))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", ids["<s>"]), ("</s>", ids["</s>"])]
    )
    named = {f"{role}_token": token for role, token in SPECIAL.items()}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(
        folder
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(ids),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        pad_token_id=ids["<pad>"],
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    return folder
