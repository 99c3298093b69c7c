"""Continued pretraining of a model that was just adapted, before it is saved for the first time."""

import shutil
import weakref
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from vocadapt.models.adapted_model import AdaptedModel, add_to_record
from vocadapt.models.add_extension import check_extendable
from vocadapt.models.contextual.masked_loss import check_masked_head
from vocadapt.models.extension_size import ModuleSettings, is_extended
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.network_class import get_class_name
from vocadapt.progress import Progress, silent
from vocadapt.system.files import create_temporary_folder
from vocadapt.text.corpus import Corpus
from vocadapt.training.masked.continued import (
    ContinuedModel,
    ContinuedSettings,
    check_continued,
    continue_pretraining,
)
from vocadapt.training.masked.losses import find_next_sentence_head
from vocadapt.training.trained_parameters import find_new_ids


@dataclass(frozen=True, eq=False)
class ContinuedAdaptation(AdaptedModel):
    """An adapted model after continued pretraining.

    training: the trained network and the training metrics. Its `model` is the adapted model before
    the training, in a temporary folder that exists as long as this object.
    """

    training: ContinuedModel = field(kw_only=True)

    @property
    def untrained(self) -> LanguageModel:
        """The adapted model before the training."""
        return self.training.model

    @property
    def keeps_old_weights(self) -> bool:
        """Whether the training changed only the new embeddings and the extension modules."""
        settings = self.training.settings
        if settings.only_new_embeddings:
            return True
        if settings.stage == "embeddings":
            return bool(find_new_ids(self.untrained))
        return settings.stage == "extension" and not settings.train_heads

    def save(self, folder: str | Path, recipe: dict[str, Any] | None = None) -> Path:
        """Write the trained model as an ordinary model folder, like `AdaptedModel.save`."""
        self.training.save(Path(folder))
        add_to_record(Path(folder), recipe=recipe)
        return Path(folder)


def check_adaptable(
    model: LanguageModel, module: ModuleSettings, settings: ContinuedSettings
) -> None:
    """Raise InputError if a model cannot be loaded, extended, or trained with the settings.

    Called before any long computation.
    """
    class_name = get_class_name(model)
    model.check_rows()
    if module.size:
        check_extendable(class_name)
    if not settings.stage:
        return
    check_continued(model, settings, is_extended(model.config) or bool(module.size), adapted=True)
    check_masked_head(model.network)
    if settings.nsp:
        find_next_sentence_head(model.network)


def continue_adaptation(
    adapted: AdaptedModel,
    corpus: Corpus,
    settings: ContinuedSettings,
    checkpoint: Path | None = None,
    progress: Progress = silent,
) -> ContinuedAdaptation:
    """Continue pretraining of an adapted model on a text.

    checkpoint: folder for checkpoints, from which an interrupted training resumes.
    """
    folder = create_temporary_folder()
    try:
        before = open_model(adapted.save(folder / "before"))
        training = continue_pretraining(before, corpus, settings, checkpoint or folder, progress)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    names = [attribute.name for attribute in fields(AdaptedModel)]
    values = {name: getattr(adapted, name) for name in names}
    values["network"] = training.loaded.network
    result = ContinuedAdaptation(**values, training=training)
    weakref.finalize(result, shutil.rmtree, folder, ignore_errors=True)
    return result
