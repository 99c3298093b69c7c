"""AdaptedModel: a model to which a vocabulary plan and new embeddings were applied.

The network is the same except for its vocabulary. `AdaptedModel.save` writes an ordinary model
folder; `save_trained` writes the folder again after continued pretraining.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from vocadapt import __version__
from vocadapt.errors import InputError
from vocadapt.models.add_extension import add_extension
from vocadapt.models.card import render_model_card
from vocadapt.models.config_ids import Rename, make_renaming, read_config_files, rename_ids
from vocadapt.models.config_sizes import count_layers
from vocadapt.models.embedding_change import change_network, change_unused_outputs
from vocadapt.models.embedding_matrix.padding import MatrixRows
from vocadapt.models.extension_size import ModuleSettings, ModuleSize
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings
from vocadapt.models.loading import Loaded, load_network
from vocadapt.models.model_files import CONFIG, INDEX, list_weight_files
from vocadapt.models.model_folder import describe_id
from vocadapt.models.saving import save_network, write_json
from vocadapt.models.sentence_modules import copy_sentence_modules
from vocadapt.models.token_tensors import check_other_tables
from vocadapt.models.transformers_tokenizer import save_tokenizer
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.trainer import TrainedVectors
from vocadapt.system.files import read_json_object
from vocadapt.system.footprint import Footprint
from vocadapt.text.summary import Summarized, Summary
from vocadapt.vocabulary.initializers.initialize import NewEmbeddings
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer

if TYPE_CHECKING:
    import torch
    import transformers

RECORD = "vocadapt.json"  # the record of the adaptation
CARD = "README.md"
BASE = "base"  # folder of the original tokenizer
SEEN = "trained_on.txt"  # fingerprints of the examples that the model was fine-tuned on, if any


@dataclass(frozen=True, eq=False, repr=False)
class AdaptedModel(Summarized):
    """A network with a changed vocabulary, its tokenizer, and the inputs of the change.

    embeddings: the new ones. mode: tokenizer mode, a key of TOKENIZER_MODES. matrix_rows: numbers
    of rows of the embedding matrix before and after the change. domain: the word vectors that the
    plan or the new embeddings were computed from, if any; trained: how they were made, if they were
    not given.
    """

    base: LanguageModel
    network: "transformers.PreTrainedModel"
    tokenizer: Tokenizer
    plan: VocabularyPlan
    embeddings: NewEmbeddings
    mode: str
    matrix_rows: MatrixRows
    module: ModuleSize | None = None  # size of the extension module of each layer, if any
    # Names of stored tensors that the network's class does not have; copied when saved.
    unused: tuple[str, ...] = ()
    domain: EmbeddingSpace | None = None
    trained: TrainedVectors | None = None

    def summarize(self) -> Summary:
        """Return how the model was adapted, and the first new tokens with their initializers."""
        facts = {
            "network": type(self.network).__name__,
            "tokenizer": self.mode,
            "added": len(self.plan.added),
            "removed": len(self.plan.removed_tokens),
            "tokens": len(self.plan.tokens),
        }
        return Summary(f"of {self.base.name}", facts, self.embeddings.summarize().tables)

    def save(self, folder: str | Path, recipe: dict[str, Any] | None = None) -> Path:
        """Write an ordinary model folder: weights, config, adapted tokenizer, the original
        tokenizer in base/, a record and a model card. Returns the folder.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)

        # 1. Weights and tokenizers; the adapted tokenizer has the settings of the original one.
        base = self.base
        save_network(self.network, base, folder, self._rename_id)
        changed = change_unused_outputs(
            base, self.plan, self.embeddings, self.matrix_rows, self.unused
        )
        copy_unused_tensors(base.path, folder, self.unused, changed)
        save_tokenizer(base, base.tokenizer, self.tokenizer, folder)
        save_tokenizer(base, base.tokenizer, base.fast_tokenizer, folder / BASE)
        copy_other_files(base.path, folder)

        # 2. The record and the card.
        module = None
        if self.module:
            module = self.module.to_dict(count_layers(base.config))
        new_ids = [self.plan.after.ids[token] for token in self.embeddings.tokens]
        record = {
            "vocadapt": __version__,
            "base_model": base.hub_name or base.name,
            "on_hub": base.hub_name is not None,
            "family": self.plan.base.family,
            "tokenizer_mode": self.mode,
            "recipe": recipe,
            "plan": self.plan.to_dict(),
            "matrix": self.matrix_rows.to_dict(),
            "dropped_ids": self.dropped_ids,
            "module": module,
            "provenance": build_provenance_record(self.embeddings),
            "rows": hash_embeddings(get_embeddings(self.network)[new_ids]),
        }
        write_record(folder, record)
        return folder

    @property
    def dropped_ids(self) -> dict[str, list[str]]:
        """The removed tokens whose ids are dropped from config.json and generation_config.json, by
        file and key.
        """
        found = {}
        for file, content in read_config_files(self.base).items():
            for path, ids in rename_ids(content, self._rename_id).dropped.items():
                found[f"{file}: {'.'.join(path)}"] = [describe_id(self.base, i) for i in ids]
        return found

    @cached_property
    def _rename_id(self) -> Rename:
        return make_renaming(self.plan, self.matrix_rows)


def copy_other_files(source: Path, folder: Path) -> None:
    """Copy the files of sentence-transformers, and the fingerprints of the examples that a model
    was fine-tuned on, into another model folder.
    """
    copy_sentence_modules(source, folder)
    if (source / SEEN).is_file():
        shutil.copyfile(source / SEEN, folder / SEEN)


def add_to_record(folder: Path, **facts: Any) -> None:
    """Add facts that are known only after saving (data, quality, departures, certificate) to the
    record and the model card of an adapted folder.
    """
    write_record(folder, read_json_object(folder / RECORD) | facts)


def add_footprint(folder: Path, step: str, footprint: Footprint) -> None:
    """Add the footprint of a step to the record and the card of an adapted folder, after those of
    the steps that made the model it started from.
    """
    record = read_json_object(folder / RECORD)
    former = record.get("footprints", [])
    write_record(folder, record | {"footprints": [*former, {"step": step, **footprint.to_dict()}]})


def open_base_model(model: LanguageModel) -> LanguageModel | None:
    """Open the original tokenizer of an adapted model, in base/; None for any other model."""
    folder = model.path / BASE
    if not (model.path / RECORD).is_file() or not folder.is_dir():
        return None
    return LanguageModel(folder, f"{model.name}/{BASE}")


def list_new_tokens(plan: Mapping[str, Any]) -> list[str]:
    """List the tokens with new embeddings from the plan in a record: replaced ones, then added."""
    return [
        *plan.get("replaced_tokens", ()),
        *(str(token) for token, *_ in plan.get("added_tokens", ())),
    ]


def hash_embeddings(rows: "torch.Tensor") -> str:
    """Hash the bytes of embeddings (n, width); the record stores the hash to detect changes."""
    import torch

    stored = rows.detach().contiguous().view(torch.uint8).numpy().tobytes()
    return blake2b(stored, digest_size=16).hexdigest()


def hash_new_embeddings(
    model: LanguageModel, record: Mapping[str, Any], matrix: "torch.Tensor"
) -> str:
    """Hash the embeddings of the tokens that the record of a model lists as new, in its order."""
    ids = [model.vocabulary.ids[token] for token in list_new_tokens(record.get("plan", {}))]
    return hash_embeddings(matrix.detach().cpu()[ids])


def apply_plan(
    model: LanguageModel,
    plan: VocabularyPlan,
    rows: NewEmbeddings,
    mode: str = "exact-word",
    module: ModuleSettings | None = None,
) -> AdaptedModel:
    """Apply a plan and its new embeddings to a copy of a model, and add an extension module to
    every layer if requested.

    Embeddings and biases of kept tokens, and the head, are bit-identical; new embeddings are cast
    to the stored dtype. The output bias of a new token is 0; in an output layer that is not tied to
    the embeddings, its weights and its bias are computed from those of old tokens. Raises
    InputError for a model with another tensor that has an entry for each token.
    """
    # The tokenizers library assigns the ids of added tokens: each must be the id in the plan, or
    # the model would look up the embedding of another token.
    tokenizer = adapt_tokenizer(model.fast_tokenizer, plan, mode)
    if [tokenizer.token_to_id(token) for token in plan.after.ids] != list(plan.after.ids.values()):
        raise InputError(
            f"The tokenizer of {model.name} cannot add the new tokens, each once and with its id.",
            "Leave out tokens that it has already, and texts that it never outputs as one token.",
        )
    loaded = load_network(model)
    network = loaded.network

    # 1. Give every token of the plan an embedding.
    check_other_tables(model, network, loaded.unused)
    matrix = change_network(model, network, plan, rows)

    # 2. Add extension modules.
    size = None
    if module is not None and module.size:
        network = add_extension(network, module, len(plan.added))
        size = ModuleSize.from_settings(module, model.config)
    return AdaptedModel(model, network, tokenizer, plan, rows, mode, matrix, size, loaded.unused)


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write the record of an adapted folder, and the model card that describes it."""
    (folder / RECORD).write_text(
        json.dumps(record, ensure_ascii=False, allow_nan=False), encoding="utf-8"
    )
    (folder / CARD).write_text(render_model_card(record), encoding="utf-8")


def save_tokenizers(model: LanguageModel, folder: Path) -> None:
    """Write the tokenizer of a model; for an adapted model also the original tokenizer and the
    record.
    """
    save_tokenizer(model, model.tokenizer, model.fast_tokenizer, folder)
    before = open_base_model(model)
    if before is not None:
        save_tokenizer(before, before.tokenizer, before.fast_tokenizer, folder / BASE)
        shutil.copyfile(model.path / RECORD, folder / RECORD)


def save_trained(
    model: LanguageModel, loaded: Loaded, folder: Path, dtype: "torch.dtype", report: dict[str, Any]
) -> None:
    """Write the folder of `model` with the current weights of its network, in `dtype`.

    For an adapted model, the `report` of the training is appended to the record, and the
    certificate is removed, because it describes the model before the training. The fingerprints of
    the examples that the model was fine-tuned on are copied.
    """
    # 1. Write the weights, their dtype in config.json, and the tensors that the class lacks.
    network = loaded.network
    weights = _cast_weights(network, dtype)
    save_network(network, model, folder, state_dict=weights)
    config = read_json_object(folder / CONFIG)
    write_json(folder / CONFIG, config | {"dtype": str(dtype).removeprefix("torch.")})
    copy_unused_tensors(model.path, folder, loaded.unused)
    # 2. Write the tokenizers, the fingerprints, and the record of an adapted model.
    save_tokenizers(model, folder)
    copy_other_files(model.path, folder)
    if (folder / RECORD).is_file():
        record = read_json_object(folder / RECORD)
        former = record.get("pretraining", ())
        record |= {"pretraining": [*former, report], "certificate": None}
        record["rows"] = hash_new_embeddings(model, record, get_embeddings(network).to(dtype))
        write_record(folder, record)


def copy_unused_tensors(
    source: Path,
    folder: Path,
    unused: tuple[str, ...],
    change: Mapping[str, "torch.Tensor"] | None = None,
) -> None:
    """Copy tensors that the network's class does not have (such as a next-sentence head) from the
    source folder to the saved files.

    change: new values of tensors that are not copied as they are, by name.
    """
    from safetensors import safe_open
    from safetensors.torch import save_file

    if not unused:
        return
    # 1. Collect these tensors, and those of the saved file to which they are added.
    target = list_weight_files(folder)[-1]
    tensors: dict[str, torch.Tensor] = {}
    for file in (target, *list_weight_files(source)):
        with safe_open(file, "pt") as stored:
            names = [name for name in stored.keys() if file == target or name in unused]  # noqa: SIM118
            tensors |= {name: stored.get_tensor(name) for name in names}
    tensors |= dict(change or {})
    save_file(tensors, target, metadata={"format": "pt"})

    # 2. If there are several files, list the tensors in the index.
    index = folder / INDEX
    if index.is_file():
        content = read_json_object(index)
        content["weight_map"] |= dict.fromkeys(unused, target.name)
        write_json(index, content)


def build_provenance_record(rows: NewEmbeddings) -> dict[str, object]:
    """Return the provenance as JSON: the distinct descriptions of how embeddings were computed, and
    for each token the number of its description and its donors with weights.
    """
    descriptions = list(dict.fromkeys(source.how for source in rows.provenance))
    number = {how: i for i, how in enumerate(descriptions)}
    origins = [[number[one.how], list(map(list, one.donors))] for one in rows.provenance]
    return {"how": descriptions, "tokens": dict(zip(rows.tokens, origins, strict=True))}


def _cast_weights(
    network: "transformers.PreTrainedModel", dtype: "torch.dtype"
) -> "dict[str, torch.Tensor]":
    """Return the weights in `dtype`; tied weights still share memory, as transformers requires."""
    changed: dict[tuple[int, Any], torch.Tensor] = {}
    weights = {}
    for name, value in network.state_dict().items():
        key = (value.data_ptr(), value.shape)
        if key not in changed:
            changed[key] = value.detach().cpu().to(dtype)
        weights[name] = changed[key]
    return weights
