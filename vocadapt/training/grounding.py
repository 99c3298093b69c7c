"""Ground the embeddings of new tokens in a glossary: fit them so that the network predicts the
words of a description from the token that is described; everything else stays fixed.

An encoder reads "token : description" with a random part of the description masked, and predicts
it with its masked-language-model head. A decoder predicts each token of the description from those
before it. GTI (Chen et al. 2026, arXiv 2604.02324) trains decoders on such pairs; encoders are
ours. All forms of a word share one embedding.

Example: hypertension: persistently high blood pressure
    [CLS] hypertension : persistently [MASK] blood [MASK] [SEP]    → high, pressure
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.models.abilities import has_masked_head, is_encoder
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.contextual.masked_loss import compute_scores_at
from vocadapt.models.contextual.occurrences import find_ends
from vocadapt.models.contextual.word_vectors import pad_batch
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import has_token_logits
from vocadapt.progress import Progress, silent
from vocadapt.spaces.space import Matrix
from vocadapt.text.glossary import GlossaryEntry
from vocadapt.training.callbacks import check_finite
from vocadapt.training.embedding_fitter import EmbeddingFitter
from vocadapt.vocabulary.initializers.materials import Ground, GroundingSettings
from vocadapt.vocabulary.plan.plan import VocabularyPlan

if TYPE_CHECKING:
    import torch

MARK = ":"  # between a word and its description


@dataclass(frozen=True)
class Description:
    """A description as ids of the network.

    number: of the new embedding. ids: the whole input; an id of at least the vocabulary size is a
    new token. first, end: where the description begins and ends. is_truncated: whether it was too
    long, and is read in part.
    """

    number: int
    ids: tuple[int, ...]
    first: int
    end: int
    is_truncated: bool


def build_grounder(model: LanguageModel, entries: Sequence[GlossaryEntry]) -> Ground:
    """Return a function that grounds embeddings in a glossary."""
    return partial(ground_embeddings, model, entries)


def ground_embeddings(
    model: LanguageModel,
    entries: Sequence[GlossaryEntry],
    plan: VocabularyPlan,
    start: Matrix,
    settings: GroundingSettings,
    progress: Progress = silent,
) -> tuple[Matrix, NDArray[np.int64]]:
    """Return the grounded embeddings, (new tokens, dim) float32 in the order of the plan, and the
    number of descriptions of each, (new tokens,) int64; embeddings without one stay as in `start`.

    Raises InputError for a model without a language-model head, and if the glossary describes none
    of the new tokens.

    1. Find the descriptions of new tokens.
    2. In every pass, read all descriptions in random order, in batches.
    3. Update the embeddings of a batch to make its descriptions more probable; the learning rate
       decays linearly to 0.
    """
    # 1. Descriptions.
    descriptions = list(_read_descriptions(model, entries, plan, settings))
    numbers = np.array([one.number for one in descriptions], dtype=np.int64)
    n_new = len(plan.new_embeddings)
    counts = np.bincount(numbers, minlength=n_new).astype(np.int64)
    if not descriptions:
        raise InputError(
            f"The glossary describes none of the {n_new:,} new tokens.",
            "Give a glossary of the words that are added.",
            code="no-described-token",
        )
    predictor = _DescriptionPredictor(model, start, settings)
    n_truncated = sum(one.is_truncated for one in descriptions)
    progress(
        0.0,
        f"{int((counts > 0).sum()):,} of {n_new:,} new tokens have a description; {n_truncated:,}"
        f" of {len(descriptions):,} descriptions are truncated to {settings.length} wordpieces",
    )

    # 2. and 3. Passes.
    rng = np.random.default_rng(settings.seed)
    steps = settings.passes * -(-len(descriptions) // settings.batch)
    step = 0
    for _ in range(settings.passes):
        order = rng.permutation(len(descriptions)).tolist()
        for first in range(0, len(order), settings.batch):
            batch = [descriptions[i] for i in order[first : first + settings.batch]]
            found = predictor.compute_loss(batch, rng)
            loss = predictor.fitter.update(found, settings.lr * (1 - step / steps))
            step += 1
            name = f"step {step:,} of {steps:,}"
            check_finite(loss, name, settings.lr, "The loss of the descriptions is")
            progress(step / steps, f"{name}, loss {loss:.3f}")
    grounded = predictor.fitter.embeddings.numpy()
    return np.where(counts[:, None] > 0, grounded, start).astype(np.float32), counts


def _read_descriptions(
    model: LanguageModel,
    entries: Iterable[GlossaryEntry],
    plan: VocabularyPlan,
    settings: GroundingSettings,
) -> Iterator[Description]:
    vocabulary = model.vocabulary
    size = len(model.vocabulary)
    number_of = {
        vocabulary.fold_word(vocabulary.body(token)): number
        for number, token in enumerate(plan.new_embeddings)
        if token not in plan.forms
    }
    start, end = find_ends(vocabulary)
    length = min(settings.length, count_positions(model.config) or settings.length)

    def encode(text: str) -> list[int]:
        pieces = (vocabulary.tokenize(one) for one in model.splitter.pretokens(text))
        return [vocabulary.ids[piece] for tokens in pieces for piece in tokens]

    mark = encode(MARK)
    for entry in entries:
        # The word as the model's normalizer writes it, without a space marker.
        word = "".join(model.splitter.words(entry.word))
        number = number_of.get(vocabulary.fold_word(word))
        if number is None:
            continue
        before = [*start, size + number, *mark]
        described = encode(f" {entry.description}")
        room = length - len(before) - len(end)
        is_truncated = len(described) > room
        described = described[:room]
        if described:
            ids = (*before, *described, *end)
            yield Description(number, ids, len(before), len(before) + len(described), is_truncated)


class _DescriptionPredictor:
    def __init__(self, model: LanguageModel, start: Matrix, settings: GroundingSettings) -> None:
        from vocadapt.models.loading import load_network

        network: Any = load_network(model).network.float()
        self.masks = is_encoder(model.config)
        can_predict = has_masked_head(model) if self.masks else has_token_logits(network)
        if not can_predict:
            raise InputError(
                f"Grounding needs a language-model head, and {type(network).__name__} has none.",
                "Choose a model that was saved with one (such as BertForMaskedLM), or another"
                " initializer.",
                code="no-masked-head",
            )
        roles = model.vocabulary.role_ids
        self.pad, self.mask = roles.get("pad", 0), roles.get("mask", 0)
        self.fraction = settings.masked
        self.fitter = EmbeddingFitter(network, start, len(model.vocabulary))

    def compute_loss(
        self, batch: Sequence[Description], rng: np.random.Generator
    ) -> "torch.Tensor":
        """Compute the mean loss of the predicted tokens of a batch, in nats."""
        import torch

        # 1. Which tokens of each description are predicted: a random part, or all by a decoder.
        ids, attended = pad_batch([one.ids for one in batch], self.pad)
        places = torch.zeros(ids.shape, dtype=torch.bool)
        for row, one in enumerate(batch):
            count = one.end - one.first
            chosen = np.arange(count)
            if self.masks:
                chosen = rng.permutation(count)[: max(1, round(self.fraction * count))]
            places[row, one.first + torch.from_numpy(chosen)] = True

        # 2. Their logits: at the masked positions, or at the position before each.
        if self.masks:
            masked = torch.where(places, self.mask, ids)
            logits = compute_scores_at(self.fitter.network, masked, attended, places)
        else:
            output = self.fitter.network(input_ids=ids, attention_mask=attended)
            logits = output.logits[:, :-1][places[:, 1:]]
        return torch.nn.functional.cross_entropy(logits.float(), ids[places])
