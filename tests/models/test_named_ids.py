"""Ids that a config or a chat template names are not free for new words."""

from pathlib import Path
from typing import Any

import pytest

from tests.material.architectures import TinyTokenizer, build_llama, build_tiny_model
from tests.material.files import edit_json
from vocadapt.models.language_model import open_model

RESERVED = tuple(f"<|reserved_special_token_{i}|>" for i in range(4))


def build_reserved() -> TinyTokenizer:
    own = build_llama()
    own.tokenizer.add_special_tokens(list(RESERVED))
    return own


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("config.json", "eos_token_id"),
        ("generation_config.json", "suppress_tokens"),
        ("tokenizer_config.json", "chat_template"),
        ("tokenizer_config.json", "pad_token"),
        ("chat_template.jinja", ""),
    ],
)
def test_a_reserved_token_that_a_file_names_is_not_free(
    tmp_path: Path, file: str, name: str
) -> None:
    folder = build_tiny_model("llama", tmp_path / "model", build_reserved)
    ids = open_model(folder).vocabulary.ids
    assert open_model(folder).vocabulary.reserved_tokens == RESERVED
    value: Any = [ids["<|end_of_text|>"], ids[RESERVED[1]]]
    if name in ("chat_template", "pad_token"):
        value = RESERVED[1]
    if name:
        edit_json(folder / file, **{name: value})
    else:
        (folder / file).write_text(f"{{{{ '{RESERVED[1]}' }}}}")
    found = open_model(folder).vocabulary
    assert found.reserved_tokens == (RESERVED[0], *RESERVED[2:])
    assert open_model(folder).fast_tokenizer.token_to_id(RESERVED[1]) == ids[RESERVED[1]]
