"""Chips of the tokens of a text: new and unknown ones marked, with ids and positions as tooltips."""

from collections.abc import Callable

from tokenizers import Tokenizer

from vocadapt.ui.components.markup import Chip
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.lens import tokenize_text


def build_chips(
    tokenizer: Tokenizer, vocabulary: Vocabulary, text: str, is_known: Callable[[str], bool]
) -> list[Chip]:
    """Tokenize a text; tokens for which `is_known` is False are marked as new."""
    chips = []
    for token in tokenize_text(tokenizer, text):
        kind = ""
        if token.token == vocabulary.unknown:
            kind = "unknown"
        elif not is_known(token.token):
            kind = "new"
        title = f"{token.token} · id {token.id} · characters {token.start}–{token.end}"
        mark = vocabulary.mark_of(token.token)
        chips.append(Chip(token.token, title, token.continues, kind, mark))
    return chips
