"""Commands on the workspace: `jobs` (jobs, app, demo), `artifact_list`, `workspaces` (names, trash,
copies), `studies`, `search`, `reproduce` (published tables), and `step_command`, which builds the
command of a step from its declaration.
"""
