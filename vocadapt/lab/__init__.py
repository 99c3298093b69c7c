"""The workspace and everything that is done in it.

Read in this order: `workspace` (folders, manifests, safe writing), `artifacts` (what a folder of
each kind holds), `steps` (a spec in, an artifact out), `jobs` (steps in background processes),
`reports` (answers computed from artifacts, for page and command line alike), `demo` (all steps on
the demo's data).
"""
