"""Copy the files of sentence-transformers, which define how sentence vectors are computed from
token vectors, such as the mean over tokens.
"""

import shutil
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.system.files import read_json

MODULES = "modules.json"
FILES = (MODULES, "sentence_bert_config.json", "config_sentence_transformers.json")
MODULE_FILES = ("config.json", "model.safetensors", "pytorch_model.bin")


def copy_sentence_modules(source: Path, folder: Path) -> None:
    """Copy the files of sentence-transformers from one model folder into another, if it has any.

    Folders of modules are copied only if they are directly in the model folder.
    """
    if not (source / MODULES).is_file():
        return
    for name in FILES:
        if (source / name).is_file():
            shutil.copyfile(source / name, folder / name)
    for name in _list_module_folders(source / MODULES):
        (folder / name).mkdir(exist_ok=True)
        for part in MODULE_FILES:
            if (source / name / part).is_file():
                shutil.copyfile(source / name / part, folder / name / part)


def _list_module_folders(file: Path) -> list[str]:
    """Return the folders that a modules.json names, without that of the model itself."""
    try:
        modules = read_json(file)
    except InputError:  # a damaged file is copied as it is
        return []
    if not isinstance(modules, list):
        return []
    places = [one.get("path") for one in modules if isinstance(one, dict)]
    return [
        place
        for place in places
        if isinstance(place, str) and place not in ("", ".", "..") and Path(place).name == place
    ]
