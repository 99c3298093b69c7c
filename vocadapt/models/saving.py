"""Write a model folder again after its weights were trained, with its tokenizers, record
and card.
"""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.models.adapted_model import (
    BASE,
    RECORD,
    SEEN,
    copy_unused_tensors,
    hash_embeddings,
    open_base_model,
    write_record,
)
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings
from vocadapt.models.loading import Loaded, run_quietly

if TYPE_CHECKING:
    import torch
    import transformers


def save_tokenizers(model: LanguageModel, folder: Path) -> None:
    """Write the tokenizer of a model; of an adapted one also the original tokenizer and the
    record.
    """
    model.tokenizer.save_pretrained(folder)
    model.fast_tokenizer.save(str(folder / "tokenizer.json"))
    before = open_base_model(model)
    if before is not None:
        before.tokenizer.save_pretrained(folder / BASE)
        before.fast_tokenizer.save(str(folder / BASE / "tokenizer.json"))
        shutil.copyfile(model.path / RECORD, folder / RECORD)


def save_trained(
    model: LanguageModel, loaded: Loaded, folder: Path, dtype: "torch.dtype", report: dict[str, Any]
) -> None:
    """Write the folder of `model` with the weights of its network as they are now, in `dtype`.

    An adapted model's record gets the `report` of the training behind those it has; its
    certificate, which spoke of the edit before any training, is left out: `certify` looks at the
    folder as it is. What it was fine-tuned on is remembered.
    """
    network = loaded.network
    weights = _weights(network, dtype)
    run_quietly(lambda: network.save_pretrained(folder, state_dict=weights))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["dtype"] = str(dtype).removeprefix("torch.")
    (folder / "config.json").write_text(
        json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )
    copy_unused_tensors(model.path, folder, loaded.unused)
    save_tokenizers(model, folder)
    if (model.path / SEEN).is_file():
        shutil.copyfile(model.path / SEEN, folder / SEEN)
    if (folder / RECORD).is_file():
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        record |= {"pretraining": [*record.get("pretraining", ()), report], "certificate": None}
        write_record(folder, record | _digest(record, weights, network, model))


def _weights(
    network: "transformers.PreTrainedModel", dtype: "torch.dtype"
) -> "dict[str, torch.Tensor]":
    """Return the weights in `dtype`; those that share memory still do, because transformers relies
    on it.
    """
    changed: dict[tuple[int, Any], torch.Tensor] = {}
    weights = {}
    for name, value in network.state_dict().items():
        key = (value.data_ptr(), value.shape)
        if key not in changed:
            changed[key] = value.detach().cpu().to(dtype)
        weights[name] = changed[key]
    return weights


def _digest(
    record: dict[str, Any], weights: dict[str, Any], network: Any, model: LanguageModel
) -> dict[str, str]:
    """The digest of the new rows as they became, in the order of the record."""
    name = next(
        name for name, value in network.named_parameters() if value is get_embeddings(network)
    )
    plan, ids = record["plan"], model.vocabulary.ids
    tokens = [*plan.get("replaced_tokens", ()), *(word[0] for word in plan["added_tokens"])]
    return {"rows": hash_embeddings(weights[name][[ids[token] for token in tokens]])}
