"""AdaptedModel: a model after a vocabulary plan and new embeddings were applied to it.

It is the same network with another vocabulary, saved as an ordinary model folder.
"""

import json
import shutil
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tokenizers import Tokenizer

from vocadapt import __version__
from vocadapt.models.add_extension import add_extension
from vocadapt.models.card import render_model_card
from vocadapt.models.extension_size import ModuleSettings, ModuleSize
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings, get_output_bias, get_output_layer, is_tied
from vocadapt.models.loading import load_network, run_quietly
from vocadapt.models.weights import weight_files
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.initializers.initialize import NewEmbeddings
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer

if TYPE_CHECKING:
    import torch
    import transformers

RECORD = "vocadapt.json"  # the record of what was done to the model
CARD = "README.md"
BASE = "base"  # folder of the original tokenizer
SEEN = "trained_on.txt"  # fingerprints of the examples that the model was fine-tuned on, if any


@dataclass(frozen=True, eq=False)
class AdaptedModel:
    """A network with a changed vocabulary, its tokenizer, and what it was made from.

    domain: the word vectors that the plan or the new embeddings came from, if any.
    """

    base: LanguageModel
    network: "transformers.PreTrainedModel"
    tokenizer: Tokenizer
    plan: VocabularyPlan
    rows: NewEmbeddings
    mode: str
    module: ModuleSize | None = None  # size of the extension module of each layer, if any
    # Names of stored tensors that the network's class does not have; copied when saved.
    unused: tuple[str, ...] = ()
    domain: EmbeddingSpace | None = None

    def save(self, folder: str | Path, recipe: dict[str, Any] | None = None) -> Path:
        """Write an ordinary model folder: weights, config, adapted tokenizer, the original one in
        base/, a record and a card. Returns the folder.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)

        # 1. Weights and tokenizers; the adapted tokenizer has the settings of the original one.
        run_quietly(lambda: self.network.save_pretrained(folder))
        copy_unused_tensors(self.base.path, folder, self.unused)
        self.base.tokenizer.save_pretrained(folder)
        self.base.tokenizer.save_pretrained(folder / BASE)
        self.tokenizer.save(str(folder / "tokenizer.json"))
        if (self.base.path / SEEN).is_file():
            shutil.copyfile(self.base.path / SEEN, folder / SEEN)

        # 2. The record and the card.
        module = None
        if self.module:
            module = self.module.to_dict(int(self.base.config["num_hidden_layers"]))
        new_ids = [self.plan.ids[token] for token in self.rows.tokens]
        record = {
            "vocadapt": __version__,
            "base_model": self.base.hub_name or self.base.name,
            "on_hub": self.base.hub_name is not None,
            "tokenizer_mode": self.mode,
            "recipe": recipe,
            "plan": self.plan.to_dict(),
            "module": module,
            "provenance": build_provenance_record(self.rows),
            "rows": hash_embeddings(get_embeddings(self.network)[new_ids]),
        }
        write_record(folder, record)
        return folder


def add_to_record(folder: Path, **facts: Any) -> None:
    """Add facts that are known only after saving (data, quality, departures, certificate) to the
    record and card of an adapted folder.
    """
    write_record(folder, json.loads((folder / RECORD).read_text(encoding="utf-8")) | facts)


def open_base_model(model: LanguageModel) -> LanguageModel | None:
    """Open the original tokenizer of an adapted model, in base/; None for any other model."""
    folder = model.path / BASE
    if not (model.path / RECORD).is_file() or not folder.is_dir():
        return None
    return LanguageModel(folder, f"{model.name}/{BASE}")


def hash_embeddings(rows: "torch.Tensor") -> str:
    """Hash embeddings (n, width) bit by bit, in order; the record tells by it whether they changed."""
    import torch

    stored = rows.detach().contiguous().view(torch.uint8).numpy().tobytes()
    return blake2b(stored, digest_size=16).hexdigest()


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
    to the stored dtype. The output bias of a new token is 0; an output layer that is not tied to
    the embeddings gets the same new ones.
    """
    tokenizer = adapt_tokenizer(model.fast_tokenizer, plan, mode)
    if [tokenizer.token_to_id(token) for token in plan.ids] != list(plan.ids.values()):
        raise AssertionError("the tokenizer gave a token another id than the plan")
    loaded = load_network(model)
    network = loaded.network

    # 1. A row for each token of the plan: kept tokens move, or keep their ids if some are appended.
    if plan.order is not None:
        _rename_ids(network, plan)
        _rearrange(network, plan)
    elif len(plan.tokens) > len(get_embeddings(network)):
        _resize(network, len(plan.tokens))

    # 2. The embeddings of the new and the replaced tokens, and the biases of the new ones.
    _write_embeddings(network, [plan.ids[token] for token in rows.tokens], rows)
    _clear_biases(network, [plan.ids[token] for token in plan.added_tokens])

    # 3. Extension modules.
    size = None
    if module is not None and module.size:
        network = add_extension(network, module, len(plan.added))
        size = ModuleSize.of(module, model.config)
    return AdaptedModel(model, network, tokenizer, plan, rows, mode, size, loaded.unused)


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write the record of an adapted folder, and the model card made from it."""
    (folder / RECORD).write_text(
        json.dumps(record, ensure_ascii=False, allow_nan=False), encoding="utf-8"
    )
    (folder / CARD).write_text(render_model_card(record), encoding="utf-8")


def _rearrange(network: "transformers.PreTrainedModel", plan: VocabularyPlan) -> None:
    """Move the embeddings and biases of kept tokens to their new ids; the others become zero, and
    are written later.

    Example: tokens a b c -> c a d: moves [0 1] <- [2 0], so the rows [A B C] become [C A 0].
    """
    import torch

    new, old = map(torch.from_numpy, plan.moves)
    before = [value.detach().clone() for value in _list_token_parameters(network)]
    _resize(network, len(plan.tokens))
    with torch.no_grad():
        for value, stored in zip(_list_token_parameters(network), before, strict=True):
            value.zero_()
            value[new] = stored[old]


def _list_token_parameters(
    network: "transformers.PreTrainedModel",
) -> "list[torch.nn.Parameter]":
    """List the parameters with an entry for each token: embeddings, untied output layer, output
    bias.
    """
    found = [get_embeddings(network)]
    output, bias = get_output_layer(network), get_output_bias(network)
    if output is not None and not is_tied(network):
        found.append(output.weight)
    if bias is not None:
        found.append(bias)
    return found


def _rename_ids(network: "transformers.PreTrainedModel", plan: VocabularyPlan) -> None:
    """Update the ids of special tokens in the configs and the embedding layer."""
    for config in (network.config, getattr(network, "generation_config", None)):
        if config is None:
            continue
        for key, value in config.to_dict().items():
            if key.endswith("_token_id") and isinstance(value, int | list):
                setattr(config, key, _rename_id(value, plan))
    embeddings: Any = network.get_input_embeddings()
    if embeddings.padding_idx is not None:
        embeddings.padding_idx = plan.ids[plan.base.tokens[embeddings.padding_idx]]


def _rename_id(value: "int | list[int]", plan: VocabularyPlan) -> "int | list[int] | None":
    """Return the new id of a token, or ids (a generation may end in any of several).

    An id that belongs to no token is unchanged; that of a removed token becomes None.
    """
    if isinstance(value, list):
        return [new for new in (_rename_id(old, plan) for old in value) if isinstance(new, int)]
    if not 0 <= value < len(plan.base):
        return value
    return plan.ids.get(plan.base.tokens[value])


def _resize(network: "transformers.PreTrainedModel", tokens: int) -> None:
    """Change the number of embeddings; the padding row and separate parameters stay such."""
    import torch

    separate = {name for name, _ in network.named_parameters()}
    padding = cast(Any, network.get_input_embeddings()).padding_idx
    network.resize_token_embeddings(tokens, mean_resizing=False)  # the default would resample means
    cast(Any, network.get_input_embeddings()).padding_idx = padding
    # Resizing an untied head ties its bias, and saving would then drop it: separate it again.
    for name in separate - {name for name, _ in network.named_parameters()}:
        parent, _, leaf = name.rpartition(".")
        module = network.get_submodule(parent)
        setattr(module, leaf, torch.nn.Parameter(getattr(module, leaf).detach().clone()))


def _write_embeddings(
    network: "transformers.PreTrainedModel", ids: list[int], rows: NewEmbeddings
) -> None:
    """Set the embeddings of `ids`, in an untied output layer too."""
    import torch

    matrices = [get_embeddings(network)]
    output = get_output_layer(network)
    if output is not None and not is_tied(network) and output.weight.shape == matrices[0].shape:
        matrices.append(output.weight)
    new = torch.from_numpy(rows.matrix.copy())
    with torch.no_grad():
        for matrix in matrices:
            matrix[torch.tensor(ids, dtype=torch.long)] = new.to(matrix.dtype)


def _clear_biases(network: "transformers.PreTrainedModel", ids: list[int]) -> None:
    """Set the output bias of the added tokens to 0."""
    import torch

    bias = get_output_bias(network)
    if bias is not None and ids:
        with torch.no_grad():
            bias[torch.tensor(ids)] = 0.0


def copy_unused_tensors(source: Path, folder: Path, unused: tuple[str, ...]) -> None:
    """Copy tensors that the network's class does not have (such as a next-sentence head) from the
    source folder to the saved file.
    """
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file

    if not unused:
        return
    target = folder / "model.safetensors"
    tensors = load_file(target)
    for file in weight_files(source):
        with safe_open(file, "pt") as stored:
            tensors |= {name: stored.get_tensor(name) for name in stored.keys() if name in unused}  # noqa: SIM118
    save_file(tensors, target, metadata={"format": "pt"})


def build_provenance_record(rows: NewEmbeddings) -> dict[str, object]:
    """Return the provenance as JSON: the distinct ways embeddings were made, and for each token the
    number of its way and its donors with weights.
    """
    ways = list(dict.fromkeys(source.how for source in rows.provenance))
    number = {how: i for i, how in enumerate(ways)}
    made = [[number[one.how], list(map(list, one.donors))] for one in rows.provenance]
    return {"how": ways, "tokens": dict(zip(rows.tokens, made, strict=True))}
