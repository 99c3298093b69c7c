"""Experiments: many trainings that are compared.

Read in this order: `studies` (grids of fine-tunings, described by one file), `search`
(hyperparameters by their dev score), `published` (published tables, reproduced). Their steps are
registered here, because they run other steps: code that reads the jobs or artifacts of any step
imports STEPS from here.
"""

from vocadapt.lab.experiments.search import step as search
from vocadapt.lab.experiments.studies import study
from vocadapt.lab.steps import STEPS, register_step

__all__ = ["STEPS"]

for one in (study.STEP, search.SEARCH, search.SEEDS):
    register_step(one)
