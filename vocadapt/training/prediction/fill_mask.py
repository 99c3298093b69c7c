"""Fill the masked word of a text: the most probable tokens under each tokenization of a model."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.abilities import has_masked_head
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.language_model import LanguageModel
from vocadapt.training.encoding.model_tokenizers import ENDS, Ids, ModelTokenizer, load_tokenizers
from vocadapt.training.labels import Logits

DEFAULT_K = 8


@dataclass(frozen=True)
class Filling:
    """The most probable tokens at the mask, under one tokenization.

    tokens: token and probability, most probable first; probabilities of all `n_candidates` tokens
    of the tokenization sum to 1.
    """

    tokens: tuple[tuple[str, float], ...]
    n_candidates: int


def fill_mask(
    model: LanguageModel,
    text: str,
    k: int = DEFAULT_K,
    tokenizers: Mapping[str, ModelTokenizer] | None = None,
) -> dict[str, Filling]:
    """Return the k most probable tokens at the mask of a text, by tokenization.

    Under the base tokenization the candidates are the tokens of the original vocabulary.
    tokenizers: those of the model (`load_tokenizers`), if they are already loaded. Raises
    InputError unless the text has exactly one mask and fits into the model, and if the model has no
    masked-language-model head.
    """
    if not has_masked_head(model):
        raise InputError(
            f"{model.name} was saved as {model.architecture or 'no model class'}, which cannot fill"
            " in masked words.",
            "Choose a model with a masked-language-model head, such as BertForMaskedLM.",
        )
    # 1. The wordpieces under each tokenization, with the special tokens.
    if tokenizers is None:
        tokenizers = load_tokenizers(model)
    encoded = {name: _encode(model, own, text) for name, own in tokenizers.items()}
    check_lengths(model, encoded)
    # 2. The logits at the mask, and the candidates with the highest ones.
    found = {}
    for name, own in tokenizers.items():
        logits = _compute_logits_at(model, encoded[name], own.specials["mask"])
        candidates = own.network_ids
        if candidates is None:
            candidates = np.arange(len(model.vocabulary), dtype=np.int32)
        found[name] = _select_best(model, logits, candidates, k)
    return found


def _encode(model: LanguageModel, tokenizer: ModelTokenizer, text: str) -> Ids:
    mask = model.vocabulary.roles.get("mask", "mask")
    if "mask" not in tokenizer.specials:
        raise InputError(
            f"The vocabulary of {model.name} has no mask token.",
            "Choose an encoder that was pretrained by masked-language modeling.",
        )
    ids = tokenizer.ids([text])[text]
    n_masks = int((ids == tokenizer.specials["mask"]).sum())
    if n_masks == 0:
        raise InputError(
            f"The text has no {mask}.", f"Write {mask} where the model should fill in a word."
        )
    if n_masks > 1:
        raise InputError(
            f"The text has {n_masks} masks, and one word is filled in at a time.",
            f"Leave one {mask}.",
        )
    return add_ends(tokenizer, ids)


def add_ends(tokenizer: ModelTokenizer, ids: Ids) -> Ids:
    """Return the ids of a text with the special tokens around it."""
    ends = [tokenizer.specials["cls"]], [tokenizer.specials["sep"]]
    return np.concatenate([ends[0], ids, ends[1]]).astype(np.int32)


def check_lengths(model: LanguageModel, encoded: Mapping[str, Ids]) -> None:
    """Raise InputError if a text is longer than the model's maximum input."""
    longest = count_positions(model.config)
    for name, ids in encoded.items():
        if longest is not None and len(ids) > longest:
            raise InputError(
                f"The text has {len(ids) - ENDS} wordpieces with the {name} tokenization, and"
                f" the model reads at most {longest - ENDS}.",
                "Shorten the text.",
            )


def _compute_logits_at(model: LanguageModel, ids: Ids, mask: int) -> Logits:
    import torch

    with torch.inference_mode():
        outputs = model.reader(input_ids=torch.from_numpy(ids.astype(np.int64))[None])
    # A model with a next-sentence head names them differently.
    logits = outputs.get("logits")
    if logits is None:
        logits = outputs["prediction_logits"]
    place = int(np.flatnonzero(ids == mask)[0])
    return np.asarray(logits[0, place].float().numpy())


def _select_best(model: LanguageModel, logits: Logits, candidates: Ids, k: int) -> Filling:
    from scipy.special import softmax

    probabilities = softmax(logits[candidates].astype(np.float64))
    # Ties are ordered by id: a stable sort of the negated values.
    best = np.argsort(-probabilities, kind="stable")[:k]
    tokens = model.vocabulary.tokens
    return Filling(
        tuple((tokens[candidates[row]], float(probabilities[row])) for row in best),
        len(candidates),
    )
