"""vocadapt: adapt the vocabulary of a pretrained language model to a new domain.

Read `pipeline` first: the whole method in one function, with its settings in `recipe` and those of
published methods in `presets` and their changes in `recipe_changes`. Then one package after the
other; each imports only those before it: `text`, `report`, `spaces`, `vocabulary`, `models`,
`training`, `analysis`, `published`, then pipeline, `lab`, and `cli` and `ui` side by side.

Below all packages: `errors` (InputError, the errors that users see), `settings` (the declaration of
a setting), `given_settings` (settings as a user gives them), `extensions` (registries and files
that extend them), `progress`, and `system` (files, processes, energy: the machine).
"""

from vocadapt.extensions import load_extensions

__version__ = "0.1.0"

load_extensions()
