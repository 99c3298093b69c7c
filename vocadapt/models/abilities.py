"""The steps that not every architecture supports: fine-tuning, masked-language-model training and
extension modules.

Everything else (vectors, alignment, plans, initializers, certificate, trimming) works for every
model with token embeddings. This module does not import torch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vocadapt.errors import InputError
from vocadapt.models.extension_size import MODEL_TYPE
from vocadapt.models.model_folder import ModelFolder

# Model types for which transformers has heads for tokens, sequences, questions and masked tokens.
ENCODERS = frozenset(
    {
        MODEL_TYPE,
        "albert",
        "bert",
        "camembert",
        "data2vec-text",
        "deberta",
        "deberta-v2",
        "distilbert",
        "electra",
        "ernie",
        "megatron-bert",
        "mobilebert",
        "modernbert",
        "mpnet",
        "rembert",
        "roberta",
        "roberta-prelayernorm",
        "roformer",
        "xlm-roberta",
        "xlm-roberta-xl",
    }
)
# Model types whose "ForPreTraining" class has a masked-language-model head; ELECTRA's detects
# replaced tokens.
MASKED_PRETRAINING = frozenset(
    {MODEL_TYPE, "albert", "bert", "ernie", "megatron-bert", "mobilebert"}
)
# Classes to which extension modules can be added (Tai et al. 2020).
EXTENDABLE = (
    "BertModel",
    "BertForMaskedLM",
    "BertForPreTraining",
    "BertForTokenClassification",
    "BertForSequenceClassification",
    "BertForQuestionAnswering",
)


@dataclass(frozen=True)
class Ability:
    """A step that not every model supports.

    title: name of the step in a message. explain: returns why a model does not support it, "" if it
    does. remedy: the remedy in the message.
    """

    title: str
    explain: Callable[[ModelFolder], str]
    remedy: str


def is_encoder(config: Mapping[str, Any]) -> bool:
    """Return whether a config.json belongs to an encoder, which reads a text in both directions."""
    return config.get("model_type") in ENCODERS and not config.get("is_decoder")


def has_masked_head(model: ModelFolder) -> bool:
    """Return whether config.json names a class with a masked-language-model head."""
    if not is_encoder(model.config):
        return False
    if model.architecture.endswith("ForMaskedLM"):
        return True
    is_pretrained = model.architecture.endswith("ForPreTraining")
    return is_pretrained and model.config.get("model_type") in MASKED_PRETRAINING


def check_ability(model: ModelFolder, ability: str) -> None:
    """Raise InputError if a model does not support a step; `ability` is a key of ABILITIES."""
    kind = ABILITIES[ability]
    if reason := kind.explain(model):
        raise InputError(
            f"{kind.title} needs another model: {model.name} {reason}.",
            kind.remedy,
            code="unsuitable-model",
        )


def _explain_no_encoder(model: ModelFolder) -> str:
    if is_encoder(model.config):
        return ""
    kind = model.architecture or model.config.get("model_type", "unknown")
    return f"is not an encoder ({kind})"


def _explain_no_masked_training(model: ModelFolder) -> str:
    reason = _explain_no_encoder(model)
    if not reason and not has_masked_head(model):
        return f"has no masked-language-model head ({model.architecture})"
    return reason


def _explain_no_extension(model: ModelFolder) -> str:
    if model.architecture in EXTENDABLE and is_encoder(model.config):
        return ""
    return f"is a {model.architecture or 'model without a class'}, not a BERT"


ABILITIES = {
    "finetune": Ability(
        "Fine-tuning",
        _explain_no_encoder,
        "Choose an encoder, such as BERT, RoBERTa, DeBERTa or ModernBERT. Vectors, plans,"
        " initializers, trimming and the certificate work for this model.",
    ),
    "pretrain": Ability(
        "Masked-language-model training",
        _explain_no_masked_training,
        "Choose an encoder with a masked-language-model head, such as BertForMaskedLM.",
    ),
    "extend": Ability(
        "An extension module",
        _explain_no_extension,
        f"Choose a model of one of these classes: {', '.join(EXTENDABLE)}.",
    ),
}
