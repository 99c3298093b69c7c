"""Load and save the tokenizer of a model folder with transformers.

Some classes of transformers 5 rebuild a tokenizer from its vocabulary and lose parts of it:
RobertaTokenizer switches `ignore_merges` off, XLMRobertaTokenizer fixes the id of the unknown
token. A WordPiece tokenizer is rebuilt correctly; any other is saved for a class that reads
tokenizer.json as it is.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from vocadapt.files import read_json_object, show_path
from vocadapt.models.model_files import CONFIG
from vocadapt.models.model_folder import ModelFolder
from vocadapt.models.network_class import SAFE, convert_library_errors, run_quietly
from vocadapt.vocabulary.families import family_of
from vocadapt.vocabulary.families.family import DEFAULT

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

FILE, SETTINGS = "tokenizer.json", "tokenizer_config.json"
EXACT_CLASS = "TokenizersBackend"  # reads tokenizer.json without changes
PARTS = ("normalizer", "pre_tokenizer", "model")
# For some model types (Qwen2), AutoTokenizer of transformers 5 ignores the class in
# tokenizer_config.json, unless `auto_map` names a class of custom code. It then skips this code,
# which does not exist, and loads the class in tokenizer_config.json.
NO_OTHER_CLASS = {"AutoTokenizer": [None, EXACT_CLASS]}


def load_tokenizer(model: ModelFolder) -> "PreTrainedTokenizerFast":
    """Load the folder's tokenizer: with the class that the folder names, if that class tokenizes
    like the stored tokenizer, else with the generic class.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    # 1. Load it with the class that the folder names. Exception: to convert the files of an older
    #    model that is not a BERT, transformers needs additional packages.
    stored = json.loads(model.fast_tokenizer.to_str())
    if (model.path / CONFIG).exists():
        _ = model.config  # raises InputError for an invalid config.json
    has_file = (model.path / FILE).is_file()
    if not has_file and family_of(model.fast_tokenizer).name != DEFAULT:
        return _wrap_tokenizer(model)
    options: dict[str, Any] = dict(SAFE)
    if not has_file:
        options["do_lower_case"] = model.splitter.lowercase
    with convert_library_errors(f"{show_path(model.path)}: transformers cannot open its tokenizer"):
        tokenizer = run_quietly(lambda: AutoTokenizer.from_pretrained(model.path, **options))
    # 2. That class may rebuild parts of the tokenizer, as transformers 5 does for BERT. If a part
    #    differs from the stored one, use the generic class, which keeps all parts.
    loaded = json.loads(tokenizer.backend_tokenizer.to_str())
    if any(loaded[part] != stored[part] for part in PARTS):
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=model.fast_tokenizer,
            model_max_length=tokenizer.model_max_length,
            padding_side=tokenizer.padding_side,
            **tokenizer.special_tokens_map,
        )
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return tokenizer  # type: ignore[no-any-return]


def _wrap_tokenizer(model: ModelFolder) -> "PreTrainedTokenizerFast":
    """Build the transformers tokenizer of a folder without a tokenizer.json."""
    from transformers import PreTrainedTokenizerFast

    path = model.path / SETTINGS
    settings = read_json_object(path) if path.is_file() else {}
    options: dict[str, Any] = {
        f"{role}_token": model.vocabulary.roles[role] for role in model.vocabulary.role_ids
    }
    if "model_max_length" in settings:
        options["model_max_length"] = settings["model_max_length"]
    return PreTrainedTokenizerFast(tokenizer_object=model.fast_tokenizer, **options)


def save_tokenizer(settings: "PreTrainedTokenizerFast", tokenizer: Tokenizer, folder: Path) -> None:
    """Write a tokenizer into a folder, with special tokens and settings of a transformers
    tokenizer.

    settings: the transformers tokenizer. In a model folder, config.json must be written before.
    """
    settings.save_pretrained(folder)
    tokenizer.save(str(folder / FILE))
    if family_of(tokenizer).name == DEFAULT:
        return
    _edit_settings(folder, tokenizer_class=EXACT_CLASS)
    if (folder / CONFIG).is_file() and not _loads_exactly(folder, tokenizer):
        _edit_settings(folder, auto_map=NO_OTHER_CLASS)


def _loads_exactly(folder: Path, tokenizer: Tokenizer) -> bool:
    """Return whether AutoTokenizer loads a tokenizer as it is stored."""
    from transformers import AutoTokenizer

    loaded = run_quietly(lambda: AutoTokenizer.from_pretrained(folder, **SAFE))
    loaded_parts = json.loads(loaded.backend_tokenizer.to_str())
    parts = json.loads(tokenizer.to_str())
    return all(loaded_parts[part] == parts[part] for part in PARTS)


def _edit_settings(folder: Path, **changes: object) -> None:
    """Change values in the tokenizer_config.json of a folder."""
    path = folder / SETTINGS
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(
        json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
    )
