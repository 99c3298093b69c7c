"""The workspace and all operations in it.

Read in this order; each imports only those before it: `workspace` (folders, manifests, atomic
writing), `cluster` (a Ray cluster), `inputs` (what steps read), `steps` (a spec in, an artifact
out), `jobs` (steps in background processes), `results` (what steps made, read again), `experiments`
(studies, searches, published tables), `reports` (results computed from artifacts, for page and
command line), `housekeeping` (new names, trash, copies), `demo` (all steps on the demo's data),
`sharing` (options of a served lab).
"""
