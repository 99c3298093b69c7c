"""Apply a vocabulary plan and new embeddings to a model: the same network with another vocabulary,
saved as an ordinary model folder.
"""

import json
import shutil
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tokenizers import Tokenizer

from vocadapt import __version__
from vocadapt.models.add_extension import extended
from vocadapt.models.card import model_card
from vocadapt.models.extension_size import ModuleSettings, ModuleSize
from vocadapt.models.language_model import LanguageModel, weight_files
from vocadapt.models.layers import input_rows, is_tied, output_bias, output_layer
from vocadapt.models.loading import load_network, quietly
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.initializers.initialize import NewEmbeddings
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer

if TYPE_CHECKING:
    import torch
    import transformers

RECORD = "vocadapt.json"  # what was done to the model, beside its weights
CARD = "README.md"
BASE = "base"  # folder of the original tokenizer
SEEN = "trained_on.txt"  # fingerprints of the examples that a model was fine-tuned on, where it was


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
    module: ModuleSize | None = None  # the extension module beside each layer, where there is one
    unused: tuple[
        str, ...
    ] = ()  # stored tensors the network's class does not know; carried over when saved
    domain: EmbeddingSpace | None = None

    def save(self, folder: str | Path, recipe: dict[str, Any] | None = None) -> Path:
        """Write an ordinary model folder: weights, config, adapted tokenizer, the original one in
        base/, a record and a card.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        quietly(lambda: self.network.save_pretrained(folder))
        carry_over(self.base.path, folder, self.unused)
        _save_tokenizers(self.base, self.tokenizer, folder)
        if (self.base.path / SEEN).is_file():
            shutil.copyfile(self.base.path / SEEN, folder / SEEN)
        record = {
            "vocadapt": __version__,
            "base_model": self.base.hub_name or self.base.name,
            "on_hub": self.base.hub_name is not None,
            "tokenizer_mode": self.mode,
            "recipe": recipe,
            "plan": self.plan.to_dict(),
            "module": (
                self.module.to_dict(int(self.base.config["num_hidden_layers"]))
                if self.module
                else None
            ),
            "provenance": provenance_record(self.rows),
            "rows": digest_of(
                input_rows(self.network)[[self.plan.ids[token] for token in self.rows.tokens]]
            ),
        }
        write_record(folder, record)
        return folder


def add_to_record(folder: Path, **facts: Any) -> None:
    """Add what is known only after saving (data, quality, departures, certificate) to an adapted
    folder's record and card.
    """
    write_record(folder, json.loads((folder / RECORD).read_text(encoding="utf-8")) | facts)


def before_of(model: LanguageModel) -> LanguageModel | None:
    """The tokenizer of an adapted model before its adaptation, from base/; None for
    any other model.
    """
    folder = model.path / BASE
    return (
        LanguageModel(folder, f"{model.name}/{BASE}")
        if (model.path / RECORD).is_file() and folder.is_dir()
        else None
    )


def digest_of(rows: "torch.Tensor") -> str:
    """A digest of rows as they are stored: by it a record tells whether they are still the same,
    each in its place.
    """
    import torch

    return blake2b(
        rows.detach().contiguous().view(torch.uint8).numpy().tobytes(), digest_size=16
    ).hexdigest()


def apply_plan(
    model: LanguageModel,
    plan: VocabularyPlan,
    rows: NewEmbeddings,
    mode: str = "exact-word",
    module: ModuleSettings | None = None,
) -> AdaptedModel:
    """Apply a plan and its new embeddings to a copy of a model, and add an extension module to every layer
    if requested.

    Embeddings and biases of kept tokens, and the head, are bit-identical; new embeddings are cast to
    the stored dtype. The output bias of a new token is 0; an output layer that is not tied to the
    embeddings gets the same new ones.
    """
    tokenizer = adapt_tokenizer(model.fast_tokenizer, plan, mode)
    if [tokenizer.token_to_id(token) for token in plan.ids] != list(plan.ids.values()):
        raise AssertionError("the tokenizer gave a token another id than the plan")
    loaded = load_network(model)
    network = loaded.network
    if plan.order is None:
        _widen(network, len(plan.tokens))
    else:
        _rename_ids(network, plan)
        _rearrange(network, plan)
    _write_rows(network, [plan.ids[token] for token in rows.tokens], rows)
    _clear_biases(network, [plan.ids[token] for token in plan.added_tokens])
    size = None
    if module is not None and module.size:
        network, size = (
            extended(network, module, len(plan.added)),
            ModuleSize.of(module, model.config),
        )
    return AdaptedModel(model, network, tokenizer, plan, rows, mode, size, loaded.unused)


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write the record of an adapted folder, and the model card made from it."""
    (folder / RECORD).write_text(
        json.dumps(record, ensure_ascii=False, allow_nan=False), encoding="utf-8"
    )
    (folder / CARD).write_text(model_card(record), encoding="utf-8")


def _rearrange(network: "transformers.PreTrainedModel", plan: VocabularyPlan) -> None:
    """Move the embeddings and biases of kept tokens to their new ids; the others are
    written later.
    """
    import torch

    new, old = (torch.from_numpy(ids) for ids in plan.moves)
    held = [value.detach().clone() for value in _by_token(network)]
    _resize(network, len(plan.tokens))
    with torch.no_grad():
        for value, before in zip(_by_token(network), held, strict=True):
            value.zero_()
            value[new] = before[old]


def _by_token(network: "transformers.PreTrainedModel") -> "list[torch.nn.Parameter]":
    """The parameters with an entry for each token: input rows, output rows of their own, output
    bias.
    """
    own = output_layer(network) is not None and not is_tied(network)
    bias = output_bias(network)
    return [
        input_rows(network),
        *([output_layer(network).weight] if own else []),
        *([bias] if bias is not None else []),
    ]


def _rename_ids(network: "transformers.PreTrainedModel", plan: VocabularyPlan) -> None:
    """Ids of special tokens that the config and the embedding layer hold become the ids of the same
    tokens after the plan.
    """
    for owner in (network.config, getattr(network, "generation_config", None)):
        named = {
            key: value
            for key, value in (owner.to_dict() if owner else {}).items()
            if key.endswith("_token_id")
        }
        for key, value in named.items():
            if isinstance(value, int | list):
                setattr(owner, key, _renamed(value, plan))
    embeddings: Any = network.get_input_embeddings()
    if embeddings.padding_idx is not None:
        embeddings.padding_idx = plan.ids[plan.base.tokens[embeddings.padding_idx]]


def _renamed(value: "int | list[int]", plan: VocabularyPlan) -> "int | list[int] | None":
    """One id, or several (a generation may end in any of them), after the plan; one that names no
    token stays as it is.
    """
    if isinstance(value, list):
        return [i for i in (_renamed(one, plan) for one in value) if isinstance(i, int)]
    return plan.ids.get(plan.base.tokens[value]) if 0 <= value < len(plan.base) else value


def _widen(network: "transformers.PreTrainedModel", tokens: int) -> None:
    """Make room for `tokens` embeddings; a model with more of them keeps them."""
    if tokens > len(input_rows(network)):
        _resize(network, tokens)


def _resize(network: "transformers.PreTrainedModel", tokens: int) -> None:
    """Another number of rows; parameters of their own stay such, and the padding row is the one it
    was.
    """
    separate, embeddings = (
        {name for name, _ in network.named_parameters()},
        cast(Any, network.get_input_embeddings()),
    )
    padding = embeddings.padding_idx
    network.resize_token_embeddings(tokens, mean_resizing=False)  # the default would resample means
    cast(Any, network.get_input_embeddings()).padding_idx = padding
    for name in separate - {name for name, _ in network.named_parameters()}:
        _unshare(network, name)


def _unshare(network: "transformers.PreTrainedModel", name: str) -> None:
    """Give a parameter its own storage again: resizing an untied head ties its bias, and saving
    would then drop it.
    """
    import torch

    parent, _, leaf = name.rpartition(".")
    module = network.get_submodule(parent)
    setattr(module, leaf, torch.nn.Parameter(getattr(module, leaf).detach().clone()))


def _write_rows(
    network: "transformers.PreTrainedModel", ids: list[int], rows: NewEmbeddings
) -> None:
    """Set the rows of `ids`, in the output layer too where that has a matrix of its own."""
    import torch

    matrices = [input_rows(network)]
    output = output_layer(network)
    if output is not None and not is_tied(network) and output.weight.shape == matrices[0].shape:
        matrices.append(output.weight)
    with torch.no_grad():
        for matrix in matrices:
            matrix[torch.tensor(ids, dtype=torch.long)] = torch.from_numpy(rows.matrix.copy()).to(
                matrix.dtype
            )


def _clear_biases(network: "transformers.PreTrainedModel", ids: list[int]) -> None:
    """Set the output bias of the added tokens to 0."""
    import torch

    bias = output_bias(network)
    if bias is not None and ids:
        with torch.no_grad():
            bias[torch.tensor(ids)] = 0.0


def _save_tokenizers(base: LanguageModel, adapted: Tokenizer, folder: Path) -> None:
    """The adapted tokenizer at the folder's root under the original's settings, the original one in
    base/.
    """
    base.tokenizer.save_pretrained(folder)
    base.tokenizer.save_pretrained(folder / BASE)
    adapted.save(str(folder / "tokenizer.json"))


def carry_over(source: Path, folder: Path, unused: tuple[str, ...]) -> None:
    """Add tensors that the network's class does not use (a next-sentence head beside a masked-word
    head) to the saved file.
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


def provenance_record(rows: NewEmbeddings) -> dict[str, object]:
    """Provenance as JSON: the distinct ways rows were made, and for each token which way and its
    donors with weights.
    """
    ways = list(dict.fromkeys(source.how for source in rows.provenance))
    place = {how: i for i, how in enumerate(ways)}
    tokens = {
        token: [place[source.how], [list(donor) for donor in source.donors]]
        for token, source in zip(rows.tokens, rows.provenance, strict=True)
    }
    return {"how": ways, "tokens": tokens}
