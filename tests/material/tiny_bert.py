"""A tiny BERT with random weights, and its tokens."""

import string
from pathlib import Path

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    "the",
    "a",
    "of",
    "and",
    "in",
    "with",
    "is",
    "was",
    "for",
    "patients",
    "patient",
    "disease",
    "diseases",
    "cancer",
    "drug",
    "drugs",
    "treatment",
    "heart",
    "blood",
    "cell",
    "cells",
    "pain",
    "acid",
    "trial",
    "trials",
    "placebo",
    "we",
    "study",
    "group",
    "high",
    "low",
    "pressure",
    "##s",
    "##ed",
    "##ing",
    "##tension",
    "hyper",
    "hypo",
    "##card",
    "tachy",
    "##itis",
    "##oma",
    "cafe",
]
LETTERS = list(string.ascii_lowercase) + list(string.digits)
TINY_TOKENS = list(
    dict.fromkeys(
        [
            *SPECIAL,
            "[unused0]",
            *string.punctuation,
            *LETTERS,
            *(f"##{letter}" for letter in LETTERS),
            *WORDS,
        ]
    )
)


def build_tiny_bert(
    folder: Path,
    head: str = "BertForMaskedLM",
    dim: int = 16,
    tokens: list[str] | None = None,
    lowercase: bool = True,
    **config: object,
) -> Path:
    """Save a two-layer BERT with random weights and a WordPiece tokenizer, as transformers itself
    saves one.
    """
    import torch
    import transformers

    tokens = tokens or TINY_TOKENS
    settings = transformers.BertConfig(
        vocab_size=len(tokens),
        hidden_size=dim,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * dim,
        max_position_embeddings=64,
        pad_token_id=0,
        **config,
    )
    state = torch.random.get_rng_state()
    torch.manual_seed(0)
    network = getattr(transformers, head)(settings)
    for name, parameter in network.named_parameters():
        if name.endswith(
            "bias"
        ):  # biases start at zero: give them values that a lost copy would show
            torch.nn.init.normal_(parameter)
    torch.random.set_rng_state(state)
    network.save_pretrained(folder)
    transformers.BertTokenizer(
        vocab={token: i for i, token in enumerate(tokens)}, do_lower_case=lowercase
    ).save_pretrained(folder)
    return folder
