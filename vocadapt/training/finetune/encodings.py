"""Encoding of examples of any kind."""

from collections.abc import Mapping, Sequence

from vocadapt.errors import InputError
from vocadapt.training.finetune.encoding import (
    Encoded,
    EncodingSettings,
    ModelTokenizer,
    encode_texts,
    encode_words,
)
from vocadapt.training.finetune.question_encoding import encode_questions
from vocadapt.training.tasks.examples import Example, Question, Sentence, Text


def encode(
    examples: Sequence[Example],
    tokenizers: Mapping[str, ModelTokenizer],
    settings: EncodingSettings,
) -> Encoded:
    """Encode examples of one kind; raises InputError for several kinds, and for none."""
    words = [example for example in examples if isinstance(example, Sentence)]
    texts = [example for example in examples if isinstance(example, Text)]
    questions = [example for example in examples if isinstance(example, Question)]
    if not examples or len(examples) not in (len(words), len(texts), len(questions)):
        raise InputError(
            "Expected examples of one kind, and at least one.",
            "Give sentences, texts, or questions.",
        )
    if words:
        return encode_words(words, tokenizers, settings)
    if texts:
        return encode_texts(texts, tokenizers, settings)
    return encode_questions(questions, tokenizers, settings)
