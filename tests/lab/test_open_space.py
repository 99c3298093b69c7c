import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.lab.inputs.open_space import open_space


def test_word_vectors_and_models_open_alike(vectors, tiny_bert):
    words, model = open_space(vectors), open_space(tiny_bert)
    assert (words.kind, model.kind) == ("word vectors", "wordpieces")
    assert words.space.kinds.special == frozenset() and "[CLS]" in model.space.kinds.special
    assert words.space.dim == model.space.dim == 16 and "##ing" in model.space


def test_what_is_neither_is_refused(tmp_path):
    with raises_input_error("no-vectors-or-model"):
        open_space(tmp_path / "nothing", offline=True)


def test_a_bare_vocabulary_has_no_rows(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    with pytest.raises(InputError):
        open_space(tmp_path / "vocab.txt")
