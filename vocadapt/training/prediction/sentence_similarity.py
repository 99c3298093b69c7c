"""Similarity of two sentences under each tokenization of a model, which needs no head."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.language_model import LanguageModel
from vocadapt.training.encoding.model_tokenizers import ModelTokenizer, load_tokenizers
from vocadapt.training.prediction.fill_mask import add_ends, check_lengths


def compare_sentences(
    model: LanguageModel,
    first: str,
    second: str,
    tokenizers: Mapping[str, ModelTokenizer] | None = None,
) -> dict[str, float]:
    """Return the cosine of the mean-pooled embeddings of two sentences, by tokenization.

    The embedding of a sentence is the mean of the last hidden states of all its wordpieces, special
    tokens included (Reimers and Gurevych 2019). The base tokenization reads old embeddings only, so
    its value is that of the model before it was adapted. tokenizers: those of the model, if they
    are already loaded. Raises InputError for an empty sentence, and for one that is too long.
    """
    if not (first.strip() and second.strip()):
        raise InputError("A sentence is empty.", "Type two sentences.")
    if tokenizers is None:
        tokenizers = load_tokenizers(model)
    found = {}
    for name, own in tokenizers.items():
        vectors = [_embed(model, own, sentence) for sentence in (first, second)]
        lengths = [float(np.linalg.norm(vector)) for vector in vectors]
        found[name] = float(vectors[0] @ vectors[1] / (lengths[0] * lengths[1]))
    return found


def _embed(model: LanguageModel, tokenizer: ModelTokenizer, sentence: str) -> Any:
    """Return the mean of the last hidden states of a sentence, (dim,) float64."""
    import torch

    ids = add_ends(tokenizer, tokenizer.ids([sentence])[sentence])
    check_lengths(model, {tokenizer.name: ids})
    with torch.inference_mode():
        inputs = torch.from_numpy(ids.astype(np.int64))[None]
        states = model.reader.base_model(input_ids=inputs)[0]
    return states[0].double().mean(dim=0).numpy()
