"""Steps: a spec in, an artifact out.

Read in this order: `step` (what is declared about a step, the registry, one step to run, and what
it works with), `run` (`run_step`, checkpoints), `command_lines` (a spec as its command line); then
the steps themselves, a file each, in the order of STEPS: begin with `vectors`, which is short.
`noise_baselines` trains vectors a second time, for the step `change`. What is known before a step
starts: `guards` (warnings), `task_guards` and `pretraining_guards` (those of trainings),
`forecasts` (how long a step takes). `vocadapt.lab.experiments` registers the steps that run others.

The settings of a step are a class such as `VectorsStep`, which is not a `Step`: a `Spec` finds its
step by the class of its settings.

A new step is one file: a frozen dataclass of settings (`vocadapt.settings.setting`), a function
that fills `context.draft` and returns the headline figures, and `STEP = Step(…)`, registered below
or, by an extension, with `register_step`. That gives it a command, a form, jobs, checkpoints and a
manifest. A command or a page of its own is optional: an entry in `cli/run.py`, a file in `pages/`.
"""

from vocadapt.lab.steps import (
    adapt,
    alignment,
    change,
    contextual,
    continue_pretraining,
    convert,
    corpus,
    finetune,
    import_layout,
    import_vectors,
    initializers,
    packs,
    pretrain,
    projection,
    vectors,
    word_counts,
)
from vocadapt.lab.steps.step import STEPS, Role, Step, register_step

__all__ = ["STEPS", "Role", "Step", "register_step"]

for module in (
    corpus,
    word_counts,
    vectors,
    contextual,
    import_vectors,
    alignment,
    adapt,
    initializers,
    pretrain,
    continue_pretraining,
    finetune,
    convert,
    projection,
    change,
    import_layout,
):
    register_step(module.STEP)
for step in (packs.MAKE, packs.APPLY, packs.REMOVE):
    register_step(step)
