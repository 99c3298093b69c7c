"""Embeddings of new words from hidden states: the layers of a network join the pieces of a word,
and a linear map leads from the joined state back to the embeddings.

The map is fitted on words of the model's own vocabulary, whose embeddings are known: each is
divided into pieces as if it were no token, and the network reads it alone. The hidden state at the
last piece is the input of the map, the embedding of the word its output. The layer is chosen by the
cosine of mapped states to the embeddings of words that were held out of the fit.

Sources: FragMend (Mehta et al. 2026, arXiv 2604.16656) for initialization from the layer that joins
pieces; Kaplan et al. 2025, "From tokens to words", for the linear map.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.models.contextual.occurrences import find_ends
from vocadapt.models.contextual.word_vectors import (
    check_state_layer,
    count_layers,
    iterate_batches,
    load_until_layer,
)
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.space import Matrix, normalize_rows
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.initializers.materials import (
    JoinedEmbeddings,
    JoinSettings,
    Materials,
    compute_mean_embedding,
    list_trained_tokens,
)
from vocadapt.vocabulary.initializers.mixing import average_pieces
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

if TYPE_CHECKING:
    import torch

BATCH = 256  # words that the network reads at a time
MIN_LETTERS = 4  # of a word that the map is fitted on; shorter ones are often parts of words
MIN_WORDS = 10
HELD_OUT = 0.2  # fraction of the words that chooses the layer


@dataclass(frozen=True, eq=False)
class StateMap:
    """The linear map from the hidden states of a layer to embeddings.

    mean_state (width,), matrix (width, dim), mean_embedding (dim,). cosine: mean centered cosine on
    held-out words; words: number of words that it was fitted on.
    """

    layer: int
    mean_state: Matrix
    matrix: Matrix
    mean_embedding: Matrix
    cosine: float = 0.0
    words: int = 0

    def apply(self, states: Matrix) -> Matrix:
        """Map states (n, width) to embeddings (n, dim) float32."""
        mapped = (states - self.mean_state) @ self.matrix + self.mean_embedding
        return np.asarray(mapped, dtype=np.float32)


class PieceJoiner:
    """Runs a network on words that are split into pieces; loads the network on first use."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model

    @cached_property
    def reader(self) -> "StateReader":
        """Reads hidden states."""
        return StateReader(self.model)

    def join(self, materials: Materials, settings: JoinSettings) -> JoinedEmbeddings:
        """Map hidden states to the embeddings of the new tokens of the materials."""
        return join_pieces(self.model, materials, settings)

    def compute_states(self, words: Sequence[Sequence[str]], layer: int) -> Matrix:
        """Return the states of a layer at the last piece of each word, (words, width)."""
        check_state_layer(self.model, layer, "state_layer")
        return self.reader.read(words, (layer,))[:, 0]


def join_pieces(
    model: LanguageModel, materials: Materials, settings: JoinSettings
) -> JoinedEmbeddings:
    """Compute the embeddings of the new tokens of a plan from their joined hidden states.

    Raises InputError for a layer that the model lacks, and if fewer than 10 of its own words can be
    divided into pieces.
    """
    tokens, vocabulary = materials.plan.new_embeddings, materials.plan.base
    check_state_layer(model, settings.layer, "layer")
    reader = StateReader(model)
    # 1. Fit the map on words of the model that remain in the materials.
    states_of_words = part(materials.progress, 0.0, 0.5)
    mapping = fit_state_map(reader, vocabulary, materials, settings, states_of_words)

    # 2. Map the state of each new token that the model can spell.
    pieces = [vocabulary.tokenize_token(token) for token in tokens]
    is_joined = np.array([bool(one) and vocabulary.unknown not in one for one in pieces], bool)
    spelled = [one for one, joined in zip(pieces, is_joined, strict=True) if joined]
    matrix, _ = average_pieces(materials, tokens)
    agreement = np.full(len(tokens), np.nan, np.float32)
    if spelled:
        last = reader.layers
        states = reader.read(spelled, (mapping.layer, last), part(materials.progress, 0.5, 0.75))
        joined = mapping.apply(states[:, 0])
        matrix[is_joined] = joined

        # 3. Does the network treat the embedding as it treats the pieces? Output rows of another
        #    width cannot be read as embeddings.
        if materials.model.dim == model.dim:
            alone = reader.read_embeddings(joined, last, part(materials.progress, 0.75, 1.0))
            agreement[is_joined] = np.einsum(
                "ij,ij->i", normalize_rows(alone), normalize_rows(states[:, 1])
            )
    how = (
        f"hidden state of layer {mapping.layer} at its last piece, mapped by ridge regression on"
        f" {mapping.words:,} words"
    )
    return JoinedEmbeddings(matrix, is_joined, agreement, how)


def fit_state_map(
    reader: "StateReader",
    vocabulary: Vocabulary,
    materials: Materials,
    settings: JoinSettings,
    progress: Progress = silent,
) -> StateMap:
    """Fit the map from the hidden states of divided words to their embeddings.

    1. Draw words of the model, and divide them into pieces of the other tokens.
    2. Read their states in every layer, or in the layer of the settings.
    3. Choose the layer whose map has the highest mean cosine to held-out embeddings.
    4. Fit it again on all words.
    """
    # 1. Words with known embeddings.
    space = materials.model
    words, pieces = _divide_own_words(vocabulary, materials, settings)
    embeddings = space.matrix[space.rows(words)]

    # 2. States: layer 0 is the embedding output, in which nothing is joined yet.
    layers: Sequence[int] = range(1, reader.layers + 1)
    if settings.layer:
        layers = (settings.layer,)
    states = reader.read(pieces, layers, progress)

    # 3. The layer.
    fitted = len(words) - max(1, round(HELD_OUT * len(words)))
    mean = compute_mean_embedding(space)
    truth = normalize_rows(embeddings[fitted:] - mean)
    cosines: list[float] = []
    for place, layer in enumerate(layers):
        own = states[:, place]
        mapping = _fit_ridge(layer, own[:fitted], embeddings[:fitted], settings.ridge)
        found = normalize_rows(mapping.apply(own[fitted:]) - mean)
        cosines.append(float(np.einsum("ij,ij->i", found, truth).mean()))
    best = int(np.argmax(cosines))

    # 4. All words.
    mapping = _fit_ridge(layers[best], states[:, best], embeddings, settings.ridge)
    return replace(mapping, cosine=cosines[best], words=len(words))


def _divide_own_words(
    vocabulary: Vocabulary, materials: Materials, settings: JoinSettings
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Draw words of the vocabulary, and divide each into pieces without the drawn words."""
    model = materials.model
    pool = [
        token
        for token in list_trained_tokens(materials.plan, model)
        if vocabulary.position(token) == "word start"
        and vocabulary.body(token).isalpha()
        and len(vocabulary.body(token)) >= MIN_LETTERS
    ]
    order = np.random.default_rng(settings.seed).permutation(len(pool))
    # At most half of the words, so that pieces of words remain.
    drawn = [pool[i] for i in order[: min(settings.words, len(pool) // 2)].tolist()]
    others = vocabulary.without(frozenset(drawn))
    words: list[str] = []
    divided: list[tuple[str, ...]] = []
    for word in drawn:
        pieces = others.tokenize_token(word)
        if len(pieces) > 1 and vocabulary.unknown not in pieces:
            words.append(word)
            divided.append(pieces)
    if len(words) < MIN_WORDS:
        raise InputError(
            f"{model.name} has {len(words):,} words that can be divided into pieces, too few to map"
            " hidden states to embeddings.",
            "Choose another initializer, such as syntactic.",
            code="too-few-words",
        )
    return words, divided


def _fit_ridge(layer: int, states: Matrix, embeddings: Matrix, ridge: float) -> StateMap:
    """Fit embeddings ≈ (states − mean) A + mean by ridge regression, in double precision."""
    mean_state = states.mean(axis=0, dtype=np.float64)
    mean_embedding = embeddings.mean(axis=0, dtype=np.float64)
    centered = states - mean_state
    squares = centered.T @ centered
    penalty = ridge * np.trace(squares) / len(squares)
    matrix = np.linalg.solve(
        squares + penalty * np.eye(len(squares)), centered.T @ (embeddings - mean_embedding)
    )
    return StateMap(layer, mean_state, matrix, mean_embedding)


class StateReader:
    """Reads the hidden states of single words, each alone between the special tokens."""

    def __init__(self, model: LanguageModel) -> None:
        self.layers = count_layers(model)
        self.network: Any = load_until_layer(model, self.layers)
        vocabulary = model.vocabulary
        self.ids, roles = vocabulary.ids, vocabulary.role_ids
        self.pad, self.unknown = roles.get("pad", 0), vocabulary.ids.get(vocabulary.unknown, 0)
        self.start, self.end = find_ends(vocabulary)

    def read(
        self, words: Sequence[Sequence[str]], layers: Sequence[int], progress: Progress = silent
    ) -> Matrix:
        """Return the states at the last piece of each word, (words, layers, width) float32."""
        rows = [[*self.start, *(self.ids[one] for one in word), *self.end] for word in words]
        return self._read(rows, layers, lambda ids, chosen: {"input_ids": ids}, progress)

    def read_embeddings(
        self, embeddings: Matrix, layer: int, progress: Progress = silent
    ) -> Matrix:
        """Return the states of words that are one token with these embeddings, (words, width)."""
        import torch

        from vocadapt.training.separated_embeddings import find_scale

        lookup = self.network.get_input_embeddings()
        scaled = torch.from_numpy(embeddings) * find_scale(lookup)

        def embed(ids: "torch.Tensor", chosen: NDArray[np.int64]) -> "dict[str, torch.Tensor]":
            looked_up = lookup(ids).clone()
            looked_up[:, len(self.start)] = scaled[torch.from_numpy(chosen)]
            return {"inputs_embeds": looked_up}

        rows = [[*self.start, self.unknown, *self.end]] * len(embeddings)
        return self._read(rows, (layer,), embed, progress)[:, 0]

    def _read(
        self,
        rows: Sequence[list[int]],
        layers: Sequence[int],
        build_inputs: "Callable[[torch.Tensor, NDArray[np.int64]], dict[str, torch.Tensor]]",
        progress: Progress,
    ) -> Matrix:
        """Return the states at the last token before the end."""
        import torch

        states: Matrix | None = None
        done = 0
        with torch.no_grad():
            for chosen, ids, attended in iterate_batches(rows, BATCH, self.pad):
                inputs = build_inputs(ids, chosen)
                output = self.network(**inputs, attention_mask=attended, output_hidden_states=True)
                at = attended.sum(dim=1) - 1 - len(self.end)
                picked = [output.hidden_states[layer] for layer in layers]
                found = torch.stack([one[torch.arange(len(ids)), at] for one in picked], dim=1)
                if states is None:
                    states = np.empty((len(rows), *found.shape[1:]), np.float32)
                states[chosen] = found.numpy()
                done += len(chosen)
                progress(done / len(rows), "reading hidden states")
        return cast(Matrix, states)


def compute_agreement(
    model: LanguageModel, tokens: Sequence[str], progress: Progress = silent
) -> Matrix:
    """Return how well the network joins the pieces of each token: the cosine of the last hidden
    states with the joined embedding and with the pieces, (tokens,); NaN for tokens that it cannot
    spell.

    It is a weak sign of a good embedding (docs/initializers.md).
    """
    plan = VocabularyPlan(model.vocabulary, tuple(AddedWord(token, ()) for token in tokens))
    materials = Materials(plan, model.space, progress=progress)
    return join_pieces(model, materials, JoinSettings()).agreement
