"""Architectures for pretraining from scratch, with their configs in transformers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vocadapt.vocabulary.families import Vocabulary

if TYPE_CHECKING:
    import transformers

HEAD_SIZE = 64  # dimension of an attention head, as in BERT


@dataclass(frozen=True)
class NetworkSize:
    """Size of a network.

    length: maximum number of tokens of an input.
    """

    layers: int
    hidden: int
    length: int

    @property
    def heads(self) -> int:
        """Number of attention heads per layer."""
        return max(1, self.hidden // HEAD_SIZE)


@dataclass(frozen=True)
class Architecture:
    """An architecture.

    about: its description. network, config: names of its transformers classes, with a
    masked-language-model head. describe: returns the values of its config.
    """

    about: str
    network: str
    config: str
    describe: Callable[[NetworkSize, Vocabulary], Mapping[str, Any]]

    def build(self, size: NetworkSize, vocabulary: Vocabulary) -> "transformers.PreTrainedModel":
        """Build a network with random weights."""
        import transformers

        kind = getattr(transformers, self.config)
        config = kind(**_describe_size(size, vocabulary), **self.describe(size, vocabulary))
        return getattr(transformers, self.network)(config)  # type: ignore[no-any-return]


def _describe_size(size: NetworkSize, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "vocab_size": len(vocabulary),
        "hidden_size": size.hidden,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "pad_token_id": vocabulary.role_ids["pad"],
    }


def _describe_bert(size: NetworkSize, vocabulary: Vocabulary) -> dict[str, Any]:
    return {"intermediate_size": 4 * size.hidden, "max_position_embeddings": size.length}


def _describe_roberta(size: NetworkSize, vocabulary: Vocabulary) -> dict[str, Any]:
    roles = vocabulary.role_ids
    return {
        "intermediate_size": 4 * size.hidden,
        # Positions are numbered from the id of the padding token plus 1.
        "max_position_embeddings": size.length + roles["pad"] + 1,
        "type_vocab_size": 1,
        "bos_token_id": roles["cls"],
        "eos_token_id": roles["sep"],
    }


def _describe_modernbert(size: NetworkSize, vocabulary: Vocabulary) -> dict[str, Any]:
    roles = vocabulary.role_ids
    return {
        # A gated layer has three matrices instead of two: 1.5 times the width, as published.
        "intermediate_size": 3 * size.hidden // 2,
        "max_position_embeddings": size.length,
        "bos_token_id": roles["cls"],
        "eos_token_id": roles["sep"],
        "cls_token_id": roles["cls"],
        "sep_token_id": roles["sep"],
    }


ARCHITECTURES = {
    "bert": Architecture(
        "layers of BERT with learned positions and next-sentence segments (Devlin et al. 2019)",
        "BertForMaskedLM",
        "BertConfig",
        _describe_bert,
    ),
    "roberta": Architecture(
        "layers of BERT with learned positions, without segments (Liu et al. 2019)",
        "RobertaForMaskedLM",
        "RobertaConfig",
        _describe_roberta,
    ),
    "modernbert": Architecture(
        "rotary positions, gated layers, local attention in two of three layers (Warner et al."
        " 2024)",
        "ModernBertForMaskedLM",
        "ModernBertConfig",
        _describe_modernbert,
    ),
}
