"""Short pretraining."""

import numpy as np

from vocadapt.models.language_model import open_model
from vocadapt.text.corpus import open_corpus
from vocadapt.training.masked.continued import ContinuedSettings, continue_and_save
from vocadapt.training.masked.from_scratch import ScratchSettings
from vocadapt.training.masked.settings import MaskedSettings

# From scratch, continued, and of sentence pairs.
SMALL = ScratchSettings(
    vocabulary=90,
    layers=1,
    hidden=32,
    training=MaskedSettings(length=16, batch=8, lr=3e-3, tokens=16 * 8 * 60, seed=1),
)
QUICK = MaskedSettings(length=16, batch=8, lr=3e-3, tokens=16 * 8 * 12)
QUICK_PAIRS = MaskedSettings(length=32, batch=8, lr=3e-3, tokens=32 * 8 * 6)


def trained(folder, long_text, out, stage, **options):
    training = options.pop("training", QUICK)
    out.mkdir()
    return continue_and_save(
        open_model(folder),
        open_corpus([long_text]),
        ContinuedSettings(stage, training=training, **options),
        out,
    )


def write_meals(path, lines=900, sentence="We had {} today."):
    """Lines in which each word follows from its neighbors: counts alone cannot guess them."""
    rng = np.random.default_rng(5)
    kinds = (["red apples", "green pears", "blue plums"], ["hot tea", "cold milk", "warm wine"])
    with path.open("w", encoding="utf-8") as file:
        for _ in range(lines):
            meal = " and ".join(str(rng.choice(kind)) for kind in kinds for _ in range(2))
            file.write(sentence.format(meal) + "\n")
    return path
