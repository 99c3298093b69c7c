"""Config of an exBERT: the config of BERT with the sizes of the extension."""

from transformers import BertConfig

from vocadapt.models.extension_size import MODEL_TYPE


class ExBertConfig(BertConfig):
    """BERT's config with the sizes of each layer's extension module (0: no module), the number of
    added tokens, and the initial gate.

    The added tokens are the last `extension_vocab_size` of the `vocab_size` embeddings. Raises
    ValueError if the hidden size of the module is not a multiple of the number of heads, and for a
    decoder.
    """

    model_type = MODEL_TYPE

    extension_hidden_size: int = 0
    extension_intermediate_size: int = 0
    extension_vocab_size: int = 0
    gate_start: float = 0.5

    def __post_init__(self, **kwargs: object) -> None:
        super().__post_init__(**kwargs)
        if self.is_decoder or self.add_cross_attention:
            raise ValueError(
                "exBERT is an encoder: is_decoder and add_cross_attention must be false"
            )
        if self.extension_hidden_size % self.num_attention_heads:
            units = self.extension_hidden_size
            heads = self.num_attention_heads
            raise ValueError(
                f"extension_hidden_size ({units}) is not a multiple of the number of attention"
                f" heads ({heads})"
            )
        if bool(self.extension_hidden_size) != bool(self.extension_intermediate_size):
            raise ValueError(
                "extension_hidden_size and extension_intermediate_size must both be given, or"
                " neither"
            )
