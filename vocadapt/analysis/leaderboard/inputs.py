"""What a leaderboard of initializers is made from: a model and a target → the plan, the materials,
the masked-word loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from vocadapt.analysis.leaderboard.leaderboard import Loss
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.contextual.masked_loss import (
    MaskedLoss,
    Window,
    WindowSettings,
    head_on,
    masked_word_loss,
    windows,
)
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.families.wordpiece import Vocabulary, vocabulary_of
from vocadapt.vocabulary.initializers.initialize import Materials, Rows
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.tokenizer import tokenizer_after


def materials_from_target(
    model: LanguageModel, target: Vocabulary, space: EmbeddingSpace
) -> Materials:
    """A target's vocabulary taken over whole, its rows (or vectors trained over its tokens) as the
    target space.
    """
    plan = plan_vocabulary(
        model.vocabulary, model.splitter, PlanSources(target=target), PlanSettings("transfer")
    )
    return Materials(plan, model.space, target=space)


def materials_from_vectors(model: LanguageModel, vectors: EmbeddingSpace) -> Materials:
    """The words that the model lacks added, their vectors as the target space."""
    plan = plan_vocabulary(
        model.vocabulary, model.splitter, PlanSources(domain=vectors), PlanSettings("append")
    )
    return Materials(plan, model.space, domain=vectors)


@dataclass(frozen=True, eq=False)
class HeldOutLoss:
    """Lines that nothing was trained on, asked of a model before and after a plan; each word is
    hidden or not in both.
    """

    model: LanguageModel
    plan: VocabularyPlan
    lines: Sequence[str]
    settings: WindowSettings

    @classmethod
    def of(cls, model: LanguageModel, plan: VocabularyPlan, lines: Sequence[str]) -> "HeldOutLoss":
        """The question at window lengths that the network can read; raises InputError where it has
        no masked-word head.
        """
        head_on(model.reader)
        positions = int(getattr(model.reader.config, "max_position_embeddings", 512))
        return cls(model, plan, lines, WindowSettings().within(positions))

    @cached_property
    def before(self) -> MaskedLoss:
        """The loss of the model as it is."""
        return masked_word_loss(
            self.model.reader, self.model.vocabulary, self._asked(self.model.vocabulary)
        )

    @property
    def mode(self) -> str:
        """How the plan's tokens come into the tokenizer."""
        return "exact-word" if self.plan.order is None else "replacement"

    @cached_property
    def _after(self) -> tuple[Vocabulary, tuple[Window, ...]]:
        vocabulary = vocabulary_of(tokenizer_after(self.model.fast_tokenizer, self.plan, self.mode))
        return vocabulary, self._asked(vocabulary)

    def _asked(self, vocabulary: Vocabulary) -> tuple[Window, ...]:
        return tuple(windows(self.lines, self.model.splitter, vocabulary, self.settings))

    @property
    def loss(self) -> Loss:
        """Nats per character of the hidden words under given rows."""

        def ask(rows: Rows) -> float:
            adapted = apply_plan(self.model, self.plan, rows, self.mode)
            return masked_word_loss(adapted.network.float(), *self._after).per_character

        return ask
