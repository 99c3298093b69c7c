"""Everything that can be chosen by name, in one list: what the command line, the pages and the
tests iterate.

A new alignment, initializer, plan, tokenizer mode, preset, task or scorer registers beside its
siblings and appears here by that.
"""

from collections.abc import Mapping

from vocadapt.analysis.errors.slicing import SLICES
from vocadapt.models.extension_size import SIZES
from vocadapt.recipe import PRESETS
from vocadapt.spaces.alignment.alignment import METHODS
from vocadapt.spaces.projection.methods import METHODS as PROJECTIONS
from vocadapt.training.finetune.mixture import TOKENIZATIONS
from vocadapt.training.finetune.settings import FINETUNING_PRESETS
from vocadapt.training.masked.stages import PRETRAINING_PRESETS, STAGES
from vocadapt.training.scoring.registry import SCORERS
from vocadapt.training.tasks.task import KINDS as TASKS
from vocadapt.vocabulary.families.wordpiece_training import TRAINERS
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS
from vocadapt.vocabulary.plan.augmentation import AUGMENTATIONS
from vocadapt.vocabulary.plan.plan import KINDS
from vocadapt.vocabulary.plan.reduction import REDUCTIONS
from vocadapt.vocabulary.plan.tokenizer import TOKENIZER_MODES


def catalog() -> Mapping[str, Mapping[str, str]]:
    """Group → name → the sentence that explains it."""
    return {
        "preset": {name: recipe.about for name, recipe in PRESETS.items()},
        "alignment": {name: method.about for name, method in METHODS.items()},
        "projection": {name: method.about for name, method in PROJECTIONS.items()},
        "initializer": {name: initializer.about for name, initializer in INITIALIZERS.items()},
        "reduction": {name: reduction.about for name, reduction in REDUCTIONS.items()},
        "augmentation": {name: augmentation.about for name, augmentation in AUGMENTATIONS.items()},
        "trainer": {name: trainer.about for name, trainer in TRAINERS.items()},
        "plan": {name: kind.about for name, kind in KINDS.items()},
        "tokenizer": {name: mode.about for name, mode in TOKENIZER_MODES.items()},
        "module": {name: size.about for name, size in SIZES.items()},
        "task": TASKS,
        "training": {name: training.about for name, training in FINETUNING_PRESETS.items()},
        "stage": STAGES,
        "pretraining": {
            name: pretraining.about for name, pretraining in PRETRAINING_PRESETS.items()
        },
        "tokenization": TOKENIZATIONS,
        "slice": {name: one.about for name, one in SLICES.items()},
        "scorer": {name: scorer.about for name, scorer in SCORERS.items()},
    }
