"""Load and save the tokenizer of a model folder with transformers.

Some classes of transformers 5 rebuild a tokenizer from its vocabulary and lose parts of it:
RobertaTokenizer switches `ignore_merges` off, XLMRobertaTokenizer fixes the id of the unknown
token. A WordPiece tokenizer is rebuilt correctly; any other is saved for a class that reads
tokenizer.json as it is.

Everything of the folder that is not the vocabulary is carried over as it is: the entries of
tokenizer_config.json, chat templates, declared special tokens, truncation and padding.
"""

import json
import shutil
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from vocadapt.models.model_files import ADDED_TOKENS, CONFIG, list_chat_templates
from vocadapt.models.model_folder import ModelFolder
from vocadapt.models.network_class import SAFE, convert_library_errors, run_quietly
from vocadapt.models.saving import write_json
from vocadapt.system.files import read_json_object, show_path
from vocadapt.vocabulary.families import family_of
from vocadapt.vocabulary.families.family import DEFAULT
from vocadapt.vocabulary.families.files.tokenizer_checks import (
    SPECIAL_MAP,
    TOKENIZER,
    TOKENIZER_CONFIG,
)
from vocadapt.vocabulary.families.files.tokenizer_json import read_flags

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

EXACT_CLASS = "TokenizersBackend"  # reads tokenizer.json without changes
PARTS = ("normalizer", "pre_tokenizer", "model")
# For some model types (Qwen2), AutoTokenizer of transformers 5 ignores the class in
# tokenizer_config.json, unless `auto_map` names a class of custom code. It then skips this code,
# which does not exist, and loads the class in tokenizer_config.json.
NO_OTHER_CLASS = {"AutoTokenizer": [None, EXACT_CLASS]}
# Entries of tokenizer_config.json that depend on the class.
CLASS_ENTRIES = ("tokenizer_class", "auto_map")
# Attributes of a tokenizer whose defaults depend on its class.
ATTRIBUTES = (
    "clean_up_tokenization_spaces",
    "model_input_names",
    "padding_side",
    "split_special_tokens",
    "truncation_side",
)


def load_tokenizer(model: ModelFolder) -> "PreTrainedTokenizerFast":
    """Load the folder's tokenizer: with the class that the folder names, if that class tokenizes
    like the stored tokenizer, else with the generic class.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    # 1. Load it with the class that the folder names. Exception: to convert the files of an older
    #    model that is not a BERT, transformers needs additional packages.
    if (model.path / CONFIG).exists():
        _ = model.config  # raises InputError for an invalid config.json
    has_file = (model.path / TOKENIZER).is_file()
    if not has_file and family_of(model.fast_tokenizer).name != DEFAULT:
        return _wrap_tokenizer(model)
    options: dict[str, Any] = dict(SAFE)
    if not has_file:
        options["do_lower_case"] = model.splitter.lowercase
    with convert_library_errors(f"{show_path(model.path)}: transformers cannot open its tokenizer"):
        tokenizer = run_quietly(lambda: AutoTokenizer.from_pretrained(model.path, **options))
    # 2. That class may rebuild parts of the tokenizer, as transformers 5 does for BERT. If a part
    #    differs from the stored one, use the generic class, which keeps all parts.
    if not _have_equal_parts(tokenizer.backend_tokenizer, model.fast_tokenizer):
        options = {name: getattr(tokenizer, name) for name in ATTRIBUTES}
        options |= dict(tokenizer.special_tokens_map)
        if has_file:
            options |= SAFE
            generic = PreTrainedTokenizerFast.from_pretrained
            tokenizer = run_quietly(lambda: generic(model.path, **options))
        else:
            options["model_max_length"] = tokenizer.model_max_length
            tokenizer = PreTrainedTokenizerFast(tokenizer_object=model.fast_tokenizer, **options)
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return tokenizer  # type: ignore[no-any-return]


def _wrap_tokenizer(model: ModelFolder) -> "PreTrainedTokenizerFast":
    from transformers import PreTrainedTokenizerFast

    settings = read_settings(model.path, TOKENIZER_CONFIG)
    options: dict[str, Any] = {
        f"{role}_token": model.vocabulary.roles[role] for role in model.vocabulary.role_ids
    }
    if "model_max_length" in settings:
        options["model_max_length"] = settings["model_max_length"]
    return PreTrainedTokenizerFast(tokenizer_object=model.fast_tokenizer, **options)


def save_tokenizer(
    model: ModelFolder, settings: "PreTrainedTokenizerFast", tokenizer: Tokenizer, folder: Path
) -> None:
    """Write a tokenizer into a folder, with everything else of the tokenizer of a model.

    model: the model whose tokenizer was changed; settings: its transformers tokenizer.
    tokenizer: the changed one. In a model folder, config.json must be written before.
    """
    # 1. What transformers writes has the special tokens that its class adds.
    settings.save_pretrained(folder, save_jinja_files=False)
    content = read_json_object(folder / TOKENIZER_CONFIG)
    is_exact = family_of(tokenizer).name != DEFAULT
    if is_exact:
        content |= {name: getattr(settings, name) for name in ATTRIBUTES}
        content["tokenizer_class"] = EXACT_CLASS

    # 2. The tokenizer, with truncation and padding.
    write_tokenizer_file(model, tokenizer, folder / TOKENIZER)

    # 3. The entries and the files of the model.
    after = tokenizer.get_vocab(with_added_tokens=True)
    stored = {
        name: keep_tokens(value, model.vocabulary, after)
        for name, value in read_settings(model.path, TOKENIZER_CONFIG).items()
    }
    if ADDED_TOKENS in stored:
        stored[ADDED_TOKENS] = _list_added_tokens(tokenizer)
    for name in CLASS_ENTRIES:
        stored.pop(name, None)
    for name in ("auto_map", "chat_template"):  # unless the model has its template there
        content.pop(name, None)
    write_json(folder / TOKENIZER_CONFIG, content | stored)
    if special := read_settings(model.path, SPECIAL_MAP):
        write_json(folder / SPECIAL_MAP, keep_tokens(special, model.vocabulary, after))
    _copy_chat_templates(model.path, folder)

    # 4. Some types of models are loaded with their own class nevertheless.
    if is_exact and (folder / CONFIG).is_file() and not _loads_exactly(folder, tokenizer):
        write_json(folder / TOKENIZER_CONFIG, content | stored | {"auto_map": NO_OTHER_CLASS})


def _copy_chat_templates(source: Path, folder: Path) -> None:
    for file in list_chat_templates(source):
        target = folder / file.relative_to(source)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(file, target)


def write_tokenizer_file(model: ModelFolder, tokenizer: Tokenizer, file: Path) -> None:
    """Write a tokenizer.json with the truncation and the padding of a model's own, whose padding id
    follows its token.
    """
    limits = dict(model.limits)
    if not limits:
        tokenizer.save(str(file))
        return
    if "padding" in limits:
        tokens = model.vocabulary.tokens
        i = limits["padding"]["pad_id"]
        new = tokenizer.token_to_id(tokens[i]) if 0 <= i < len(tokens) else None
        if new is not None:
            limits["padding"] = {**limits["padding"], "pad_id": new}
    content = json.loads(tokenizer.to_str()) | limits
    file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def read_settings(folder: Path, name: str) -> dict[str, Any]:
    """Read a JSON file of the tokenizer of a folder; {} if there is none."""
    file = folder / name
    return read_json_object(file) if file.is_file() else {}


def keep_tokens(value: Any, before: Container[str], after: Container[str]) -> Any:
    """Return a value of a tokenizer's settings without the tokens that were removed from lists of
    special tokens: transformers would add them again.
    """
    if isinstance(value, dict):
        return {name: keep_tokens(one, before, after) for name, one in value.items()}
    if not isinstance(value, list):
        return value
    names = [one.get("content") if isinstance(one, dict) else one for one in value]
    return [
        one
        for one, name in zip(value, names, strict=True)
        if not isinstance(name, str) or name not in before or name in after
    ]


def _list_added_tokens(tokenizer: Tokenizer) -> dict[str, dict[str, Any]]:
    return {
        str(i): {"content": token.content, **read_flags(token)}
        for i, token in tokenizer.get_added_tokens_decoder().items()
    }


def _loads_exactly(folder: Path, tokenizer: Tokenizer) -> bool:
    from transformers import AutoTokenizer

    loaded = run_quietly(lambda: AutoTokenizer.from_pretrained(folder, **SAFE))
    return _have_equal_parts(loaded.backend_tokenizer, tokenizer)


def _have_equal_parts(loaded: Tokenizer, stored: Tokenizer) -> bool:
    """Return whether two tokenizers split a text into the same tokens. Truncation and padding of
    the loaded one are switched off.
    """
    loaded.no_truncation()
    loaded.no_padding()
    texts = loaded.to_str(), stored.to_str()
    if texts[0] == texts[1]:  # in most cases, and parsing a large vocabulary is slow
        return True
    one, other = map(json.loads, texts)
    return all(one[part] == other[part] for part in PARTS)
