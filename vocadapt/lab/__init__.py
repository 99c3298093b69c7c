"""The workspace and all operations in it.

Read in this order: `workspace` (folders, manifests, atomic writing), `artifacts` (the contents of
each kind of folder), `steps` (a spec in, an artifact out), `jobs` (steps in background processes),
`studies` (grids of fine-tunings, described by one file), `search` (hyperparameters by their dev
score), `published` (published tables, reproduced), `reports` (results computed from artifacts,
for page and command line), `housekeeping` (new names, trash, copies), `demo` (all steps on the
demo's data), `sharing` (options of a served lab).
"""
