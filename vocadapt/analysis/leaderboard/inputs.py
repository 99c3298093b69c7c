"""Inputs of a leaderboard of initializers: plan, materials and held-out loss of a model and a
target.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from vocadapt.analysis.leaderboard.leaderboard import Loss
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.contextual.masked_loss import (
    MaskedLoss,
    MaskedWindow,
    WindowSettings,
    build_loss_windows,
    check_masked_head,
    compute_masked_loss,
)
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.families import Vocabulary, vocabulary_of
from vocadapt.vocabulary.initializers.initialize import Materials, NewEmbeddings
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer

USUAL_POSITIONS = 512  # tokens of an input, if the config states no limit


def build_target_materials(
    model: LanguageModel, target: Vocabulary, space: EmbeddingSpace
) -> Materials:
    """Build materials that replace the vocabulary by a target's.

    space: the target's embeddings, or vectors of its tokens.
    """
    plan = plan_vocabulary(
        model.vocabulary, model.splitter, PlanSources(target=target), PlanSettings("transfer")
    )
    return Materials(plan, model.space, target=space)


def build_vector_materials(model: LanguageModel, vectors: EmbeddingSpace) -> Materials:
    """Build materials that add the words with a vector that the model lacks."""
    plan = plan_vocabulary(
        model.vocabulary, model.splitter, PlanSources(domain=vectors), PlanSettings("append")
    )
    return Materials(plan, model.space, domain=model.vocabulary.spell_words(vectors))


@dataclass(frozen=True, eq=False)
class HeldOutLoss:
    """Masked-language-model loss on held-out lines before and after a plan is applied; the same
    words are masked.
    """

    model: LanguageModel
    plan: VocabularyPlan
    lines: Sequence[str]
    settings: WindowSettings

    @classmethod
    def of(cls, model: LanguageModel, plan: VocabularyPlan, lines: Sequence[str]) -> "HeldOutLoss":
        """Build the loss of a model, with windows short enough for the network.

        Raises InputError if the model has no masked-language-model head.
        """
        check_masked_head(model.reader)
        positions = count_positions(model.config) or USUAL_POSITIONS
        return cls(model, plan, lines, WindowSettings().within(positions))

    @cached_property
    def before(self) -> MaskedLoss:
        """The loss of the unchanged model."""
        return compute_masked_loss(
            self.model.reader, self.model.vocabulary, self._build_windows(self.model.vocabulary)
        )

    @property
    def mode(self) -> str:
        """How the plan's tokens are added to the tokenizer."""
        return "exact-word" if self.plan.order is None else "replacement"

    @cached_property
    def _after(self) -> tuple[Vocabulary, tuple[MaskedWindow, ...]]:
        tokenizer = adapt_tokenizer(self.model.fast_tokenizer, self.plan, self.mode)
        # A tokenizer does not declare the roles of its special tokens; the model's files do.
        declared = self.model.vocabulary.declared_roles
        vocabulary = replace(vocabulary_of(tokenizer), declared_roles=declared)
        return vocabulary, self._build_windows(vocabulary)

    def _build_windows(self, vocabulary: Vocabulary) -> tuple[MaskedWindow, ...]:
        return tuple(build_loss_windows(self.lines, self.model.splitter, vocabulary, self.settings))

    @property
    def loss(self) -> Loss:
        """The loss as a function of the new embeddings, in nats per character of the masked
        words.
        """

        def evaluate(rows: NewEmbeddings) -> float:
            adapted = apply_plan(self.model, self.plan, rows, self.mode)
            return compute_masked_loss(adapted.network.float(), *self._after).per_character

        return evaluate
