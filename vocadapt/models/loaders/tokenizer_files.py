"""The libraries that read tokenizer files: tokenizers and sentencepiece."""

from tokenizers import Tokenizer

from vocadapt.models.edit import Edit
from vocadapt.models.load_states import DIFFERS, NOT_APPLICABLE, NOT_TRIED
from vocadapt.models.loaders.loader import Finding
from vocadapt.models.loaders.trial_texts import compare_ids, list_texts
from vocadapt.models.network_class import SAFE, run_quietly
from vocadapt.text.tokenization import encode_batch, is_library_error, summarize_error
from vocadapt.vocabulary.families.files.tokenizer_checks import TOKENIZER

SENTENCEPIECE = "*.model"  # pattern of the files of SentencePiece


def try_tokenizers(edit: Edit) -> Finding:
    """Compare the ids of tokenizer.json, as the library tokenizers reads it, with those of
    AutoTokenizer.
    """
    from transformers import AutoTokenizer

    folder = edit.after.path
    texts = list_texts(edit)
    if not (folder / TOKENIZER).is_file():
        return NOT_APPLICABLE, f"the folder has no {TOKENIZER}"
    try:
        loaded = run_quietly(lambda: AutoTokenizer.from_pretrained(folder, **SAFE))
        stored = Tokenizer.from_file(str(folder / TOKENIZER))
        stored.no_truncation()  # a call of AutoTokenizer switches both off, too
        stored.no_padding()
    except BaseException as error:
        if not is_library_error(error):
            raise
        return DIFFERS, f"cannot be loaded: {summarize_error(error)}"
    expected = [loaded(text)["input_ids"] for text in texts]
    found = [encoding.ids for encoding in encode_batch(stored, texts)]
    return compare_ids(texts, expected, found)


def try_sentencepiece(edit: Edit) -> Finding:
    """Check that the folder has no file of SentencePiece: it would lack the new tokens."""
    files = ", ".join(sorted(path.name for path in edit.after.path.glob(SENTENCEPIECE)))
    if not files:
        return NOT_APPLICABLE, f"the tokenizer is stored only in {TOKENIZER}"
    if edit.added or edit.rearranged:
        return DIFFERS, f"{files} has the tokens of the original model: remove it"
    return NOT_TRIED, f"{files} was not compared"
