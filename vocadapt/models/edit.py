"""Edit: a model before and after a change of its vocabulary, with the record of the change. All
checks of the certificate take an Edit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vocadapt.models.adapted_model import RECORD
from vocadapt.models.extension_size import is_extended
from vocadapt.models.language_model import LanguageModel
from vocadapt.system.files import read_json_object
from vocadapt.vocabulary.plan.plan import KINDS

if TYPE_CHECKING:
    import torch

LINES = (
    "The patient was treated with a new drug for two weeks.",
    "We found no difference between the groups (p = 0.42).",
    "Blood pressure, heart rate and pain were recorded at each visit.",
    "It was a long trial; nobody knew what the outcome would be.",
)


@dataclass(frozen=True, eq=False)
class Edit:
    """The model before and after an edit, the record of the edit, and lines of text on which the
    outputs are compared.
    """

    before: LanguageModel
    after: LanguageModel
    lines: tuple[str, ...] = LINES

    @cached_property
    def replaced(self) -> frozenset[str]:
        """Old tokens whose embeddings were replaced on purpose, as listed in the record."""
        return frozenset(self.plan.get("replaced_tokens", ()))

    @property
    def rearranged(self) -> bool:
        """Whether the plan in the record is of a kind that removes or moves tokens."""
        kind = KINDS.get(str(self.plan.get("kind")))
        return kind is not None and kind.rearranges

    @property
    def extended(self) -> bool:
        """Whether the edit added extension modules."""
        return is_extended(self.after.config) and not is_extended(self.before.config)

    @property
    def plan(self) -> dict[str, Any]:
        """The vocabulary plan in the record; empty if there is none."""
        return dict(self.record.get("plan", {}))

    @cached_property
    def record(self) -> dict[str, Any]:
        """The record in the folder of the edited model; empty if there is none."""
        path = self.after.path / RECORD
        return read_json_object(path) if path.is_file() else {}

    @cached_property
    def added(self) -> tuple[str, ...]:
        """Tokens that only the edited model has."""
        before = self.before.vocabulary
        return tuple(token for token in self.after.vocabulary.tokens if token not in before)

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """Tokens of both models whose embeddings must be unchanged."""
        common = filter(self.after.vocabulary.__contains__, self.before.vocabulary.tokens)
        return tuple(token for token in common if token not in self.replaced)

    def ids(self, model: LanguageModel, tokens: Sequence[str]) -> "torch.Tensor":
        """Return the ids of `tokens` in one of the two models, (tokens,) int64."""
        import torch

        return torch.tensor([model.vocabulary.ids[token] for token in tokens], dtype=torch.long)
