"""ExBertModel and its heads: BERT's classes with layers that have an extension module.

Tensors have the same names as in BERT, so the weights of a BERT model with the same head can be
loaded; only the tensors of the extension are new.
"""

from torch import nn
from transformers import initialization as init
from transformers.models.bert.modeling_bert import (
    BertEmbeddings,
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    BertOnlyMLMHead,
    BertPooler,
    BertPreTrainedModel,
    BertPreTrainingHeads,
    BertSelfAttention,
)
from transformers.utils.output_capturing import OutputRecorder

from vocadapt.models.exbert.config import ExBertConfig
from vocadapt.models.exbert.layers import ExBertEncoder, ExBertLayer, Gate
from vocadapt.models.extension_size import compute_gate_bias


class ExBertPreTrainedModel(BertPreTrainedModel):
    """Base class: the config, the initialization of weights, and additional outputs.

    `output_gates=True` returns the gate of each layer, (batch, length, 1). All weights except the
    biases of the gates are initialized as in BERT.
    """

    config: ExBertConfig
    config_class = ExBertConfig
    # The names are fixed by transformers.
    _no_split_modules = ["BertEmbeddings", "ExBertLayer"]  # noqa: RUF012
    _can_record_outputs = {  # noqa: RUF012
        "hidden_states": ExBertLayer,
        "attentions": BertSelfAttention,
        "gates": OutputRecorder(Gate, index=0),
    }

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, Gate):
            init.constant_(module.bias, compute_gate_bias(self.config.gate_start))


class ExBertModel(ExBertPreTrainedModel, BertModel):
    """BERT whose layers each have an extension module and a gate."""

    def __init__(self, config: ExBertConfig, add_pooling_layer: bool = True) -> None:
        BertPreTrainedModel.__init__(self, config)
        self.gradient_checkpointing = False
        self.embeddings = BertEmbeddings(config)
        self.encoder = ExBertEncoder(config)
        self.pooler = BertPooler(config) if add_pooling_layer else None
        self.post_init()


class ExBertForMaskedLM(ExBertPreTrainedModel, BertForMaskedLM):
    """exBERT with a masked-language-model head, which predicts old and added tokens."""

    def __init__(self, config: ExBertConfig) -> None:
        BertPreTrainedModel.__init__(self, config)
        self.bert = ExBertModel(config, add_pooling_layer=False)
        self.cls = BertOnlyMLMHead(config)
        self.post_init()


class ExBertForPreTraining(ExBertPreTrainedModel, BertForPreTraining):
    """exBERT with a masked-language-model head and a next-sentence head."""

    def __init__(self, config: ExBertConfig) -> None:
        BertPreTrainedModel.__init__(self, config)
        self.bert = ExBertModel(config)
        self.cls = BertPreTrainingHeads(config)
        self.post_init()


class ExBertForTokenClassification(ExBertPreTrainedModel, BertForTokenClassification):
    """exBERT with a head that predicts a label for each wordpiece."""

    def __init__(self, config: ExBertConfig) -> None:
        BertPreTrainedModel.__init__(self, config)
        self.num_labels = config.num_labels
        self.bert = ExBertModel(config, add_pooling_layer=False)
        self.dropout, self.classifier = _build_classifier(config)
        self.post_init()


class ExBertForSequenceClassification(ExBertPreTrainedModel, BertForSequenceClassification):
    """exBERT with a head that predicts one or more labels for the whole text."""

    def __init__(self, config: ExBertConfig) -> None:
        BertPreTrainedModel.__init__(self, config)
        self.num_labels = config.num_labels
        self.bert = ExBertModel(config)
        self.dropout, self.classifier = _build_classifier(config)
        self.post_init()


class ExBertForQuestionAnswering(ExBertPreTrainedModel, BertForQuestionAnswering):
    """exBERT with a head that predicts the start and the end of an answer in a text."""

    def __init__(self, config: ExBertConfig) -> None:
        BertPreTrainedModel.__init__(self, config)
        self.num_labels = 2
        self.bert = ExBertModel(config, add_pooling_layer=False)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)
        self.post_init()


def _build_classifier(config: ExBertConfig) -> tuple[nn.Dropout, nn.Linear]:
    dropout = config.classifier_dropout
    if dropout is None:
        dropout = config.hidden_dropout_prob
    return nn.Dropout(dropout), nn.Linear(config.hidden_size, int(config.num_labels or 0))
