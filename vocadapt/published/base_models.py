"""Published base models, by content: whether a folder or a vocabulary can be what its name says.

A vocabulary is identified by its digest. Weights cannot be identified, because a model after
continued pretraining has the same vocabulary and configuration. Their content can only contradict
the name.
"""

import hashlib
from collections.abc import Mapping

from vocadapt.errors import InputError
from vocadapt.models.model_folder import ModelFolder

# Name without the owner → SHA-256 of the tokens, in the order of their ids, one a line.
VOCABULARIES: Mapping[str, str] = {
    "bert-base-uncased": "0f052197aac305fe42f378b5c61554b7bacb34b8be4af83fec2cfdcdffbc9973",
    "bert-base-cased": "9dd1dce5943e4cdda015102aa80afbf7df7b09cb6902ea212276a853acae9789",
    "BiomedNLP-PubMedBERT-base-uncased-abstract-fulltext": (
        "d9dee999c871e5fd52b7ab5de35c7bdf48cb4685ccd4cadcfff8d6b293694da8"
    ),
}
# All of them have the architecture of BERT base.
CONFIGURATION = {
    "num_hidden_layers": 12,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
}


def shorten_name(name: str) -> str:
    """Return a base model's name without its owner and without a remark."""
    return name.partition(";")[0].rpartition("/")[2]


def find_contradiction(name: str, model: ModelFolder) -> str | None:
    """Return how the content of a model, or of a bare vocabulary, contradicts its name.

    "" if it does not; None if nothing is known of a base model of this name.
    """
    expected = VOCABULARIES.get(shorten_name(name))
    if expected is None:
        return None
    try:
        if digest_tokens(model.vocabulary.tokens) != expected:
            return "its vocabulary is different"
        if model.path.is_file():  # a bare vocabulary
            return ""
        for key, value in CONFIGURATION.items():
            found = model.config.get(key)
            if found != value:
                return f"its {key} is {found}, not {value}"
    except InputError as error:  # files of a model are missing or broken
        return error.problem
    return ""


def digest_tokens(tokens: tuple[str, ...]) -> str:
    """Return the SHA-256 of tokens, one a line."""
    return hashlib.sha256("\n".join(tokens).encode()).hexdigest()
