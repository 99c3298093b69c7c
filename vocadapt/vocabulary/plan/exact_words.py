"""Check on a text that exact words leave the tokens of all other words as they are.

Whether they do in every text follows from the merges of a model, and one merge of 500,000 that
joins tokens across a space is enough to refuse them (Gemma 3: > + ▁</). A text can show more: if
none of its lines changes when the tokenizer is prepared for exact words, they are added.
"""

from dataclasses import replace

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.text.corpus import Corpus
from vocadapt.vocabulary.families import family_of
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.trim_lines import ChangedLines, read_lines, tokenize_lines


def check_exact_words(
    plan: VocabularyPlan, tokenizer: Tokenizer, corpus: Corpus | None, progress: Progress = silent
) -> VocabularyPlan:
    """Return the plan, with the number of lines on which exact words were checked if the tokenizer
    alone does not guarantee the rule.

    Raises InputError if a line of the text changes, or if there is no text to check.
    """
    family = family_of(tokenizer)
    try:
        family.check_exact_words(tokenizer)
    except InputError as error:
        prepared = family.prepare_exact_words(tokenizer)
        if prepared is None:
            raise
        if corpus is None or corpus.counted_by is not None:
            raise InputError(
                error.problem,
                f"Give a text, on which this is checked. Or: {error.remedy}",
                code=error.code,
            ) from error
        found = count_lines_with_other_tokens(corpus, tokenizer, prepared, progress)
        if found.changed or not found.lines:
            raise InputError(
                f"{error.problem} In {found.changed:,} of the {found.lines:,} lines of the text,"
                " exact words would change other tokens.",
                error.remedy,
                code=error.code,
            ) from error
        note = (
            "Exact words could change how other words are tokenized; they change none in the"
            f" {found.lines:,} lines of the text."
        )
        note = " ".join(filter(None, (plan.note, note)))
        return replace(plan, checked_lines=found.lines, note=note)
    return plan


def count_lines_with_other_tokens(
    corpus: Corpus, before: Tokenizer, after: Tokenizer, progress: Progress = silent
) -> ChangedLines:
    """Count the nonblank lines that two tokenizers of equal ids tokenize differently."""
    n_lines = n_changed = 0
    ids = (*before.get_vocab().values(), *after.get_vocab().values())
    names = range(max(ids, default=-1) + 1)  # tokens are compared by their ids, which may have gaps
    for lines, fraction in read_lines(corpus):
        old = tokenize_lines(before, names, lines)
        new = tokenize_lines(after, names, lines)
        n_changed += sum(one != other for one, other in zip(old, new, strict=True))
        n_lines += len(lines)
        progress(fraction, "checking that exact words change no other word")
    return ChangedLines(n_lines, n_changed)
