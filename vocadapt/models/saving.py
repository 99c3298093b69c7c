"""Write the network of a model into a folder, with the token ids of its config files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.models.config_ids import Rename, list_ids, rename_ids
from vocadapt.models.model_files import CONFIG, GENERATION
from vocadapt.models.model_folder import ModelFolder
from vocadapt.models.network_class import run_quietly

if TYPE_CHECKING:
    import transformers


def save_network(
    network: "transformers.PreTrainedModel",
    model: ModelFolder,
    folder: Path,
    rename: Rename = lambda i: i,
    **options: Any,
) -> None:
    """Write the weights and the config files of a network that was loaded from `model`.

    rename: from the ids in the model's files to new ones. options: of `save_pretrained`.

    What transformers leaves out is carried over: settings of generation of a class that does not
    generate, and ids in config.json that only older versions read.
    """
    from transformers import GenerationConfig

    # 1. transformers loads a generation config with contradictory settings (Llama 2), but refuses
    #    to save it once an id has changed: write it separately.
    generation: Any = getattr(network, "generation_config", None)
    try:
        if generation is not None:
            network.generation_config = GenerationConfig()
        run_quietly(lambda: network.save_pretrained(folder, **options))
    finally:
        if generation is not None:
            network.generation_config = generation
    (folder / GENERATION).unlink(missing_ok=True)
    if model.generation:
        write_json(folder / GENERATION, rename_ids(model.generation, rename).content)
    elif generation is not None and network.can_generate():
        generation.to_json_file(folder / GENERATION)

    # 2. Add the entries with ids that config.json lacks.
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    renamed = rename_ids(model.config, rename).content
    left_out = {path[0] for path in list_ids(model.config)}.difference(config)
    if left_out:
        write_json(folder / CONFIG, config | {key: renamed[key] for key in left_out})


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write a JSON file as transformers does."""
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")
