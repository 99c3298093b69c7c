"""exBERT (Tai et al. 2020) as models of transformers: importing this package registers them with
the Auto classes.

    import vocadapt.models.exbert
    model = AutoModel.from_pretrained(folder)

Read in this order: `layers` (a layer of BERT, its extension module and the gate that mixes them),
`config`, `model` (models with such layers and BERT's heads).
"""

import transformers

from vocadapt.models.exbert.config import ExBertConfig
from vocadapt.models.exbert.model import (
    ExBertForMaskedLM,
    ExBertForPreTraining,
    ExBertForQuestionAnswering,
    ExBertForSequenceClassification,
    ExBertForTokenClassification,
    ExBertModel,
    ExBertPreTrainedModel,
)

__all__ = [
    "HEADS",
    "ExBertConfig",
    "ExBertForMaskedLM",
    "ExBertForPreTraining",
    "ExBertForQuestionAnswering",
    "ExBertForSequenceClassification",
    "ExBertForTokenClassification",
    "ExBertModel",
    "ExBertPreTrainedModel",
]

HEADS: dict[str, type[ExBertPreTrainedModel]] = {  # class of BERT: corresponding class of exBERT
    "BertModel": ExBertModel,
    "BertForMaskedLM": ExBertForMaskedLM,
    "BertForPreTraining": ExBertForPreTraining,
    "BertForTokenClassification": ExBertForTokenClassification,
    "BertForSequenceClassification": ExBertForSequenceClassification,
    "BertForQuestionAnswering": ExBertForQuestionAnswering,
}
AUTO = {
    "AutoModel": ExBertModel,
    "AutoModelForMaskedLM": ExBertForMaskedLM,
    "AutoModelForPreTraining": ExBertForPreTraining,
    "AutoModelForTokenClassification": ExBertForTokenClassification,
    "AutoModelForSequenceClassification": ExBertForSequenceClassification,
    "AutoModelForQuestionAnswering": ExBertForQuestionAnswering,
}

transformers.AutoConfig.register(ExBertConfig.model_type, ExBertConfig, exist_ok=True)
for auto, kind in AUTO.items():
    getattr(transformers, auto).register(ExBertConfig, kind, exist_ok=True)
