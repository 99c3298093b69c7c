"""The kinds of tasks: TASK_KINDS holds one object for each, which does everything that is special
about it.

Read kind (TaskKind), classification with its base labeled_texts, then relations, nli, multilabel,
ner and qa. judgment holds the values that error analysis gets from a kind.
"""

from vocadapt.errors import check_choice
from vocadapt.extensions import register
from vocadapt.training.tasks.kinds.classification import Classification
from vocadapt.training.tasks.kinds.kind import TaskKind
from vocadapt.training.tasks.kinds.multilabel import MultiLabel
from vocadapt.training.tasks.kinds.ner import NamedEntities
from vocadapt.training.tasks.kinds.nli import NaturalLanguageInference
from vocadapt.training.tasks.kinds.qa import QuestionAnswering
from vocadapt.training.tasks.kinds.relations import Relations

__all__ = ["TASK_KINDS", "TaskKind", "find_kind", "register_task_kind"]

TASK_KINDS: dict[str, TaskKind] = {
    kind.name: kind
    for kind in (
        NamedEntities(),
        Relations(),
        Classification(),
        MultiLabel(),
        NaturalLanguageInference(),
        QuestionAnswering(),
    )
}


def register_task_kind(kind: TaskKind) -> None:
    """Add a kind of task; raises InputError for a name that is taken or invalid."""
    register(TASK_KINDS, "a kind of task", kind.name, kind)


def find_kind(name: str) -> TaskKind:
    """Return a kind of task by name; raises InputError for an unknown one."""
    check_choice("kind of task", name, TASK_KINDS)
    return TASK_KINDS[name]
