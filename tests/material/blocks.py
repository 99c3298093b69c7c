"""A tiny vocabulary for blocks of tokens."""

from vocadapt.vocabulary.families import vocabulary_of
from vocadapt.vocabulary.families.wordpiece import build_tokenizer

TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "heart", "pain", "##s", "##ful", "a")
VOCABULARY = vocabulary_of(build_tokenizer(TOKENS))
CLS, SEP, MASK, HEART, PAIN, S, FUL, A = 2, 3, 4, 5, 6, 7, 8, 9
