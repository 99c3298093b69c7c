"""Folders without a tokenizer.json: their tokenizer is opened, saved and loaded by transformers
without the packages that transformers would convert it with.
"""

import json
from pathlib import Path

from tests.material.sentencepiece_file import LINES, PIECES, START, write_folder
from vocadapt.models.language_model import open_model
from vocadapt.models.transformers_tokenizer import save_tokenizer


def test_a_sentencepiece_folder_is_saved_for_transformers(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = write_folder(tmp_path / "old", "xlm-roberta", [*START, *PIECES])
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 77}))
    model = open_model(folder)
    assert model.tokenizer.mask_token == "<mask>" and model.tokenizer.model_max_length == 77
    save_tokenizer(model, model.tokenizer, model.fast_tokenizer, tmp_path / "new")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "new")
    assert loaded.cls_token == "<s>" and loaded.model_max_length == 77
    for line in LINES:
        assert loaded(line)["input_ids"] == model.fast_tokenizer.encode(line).ids
