"""Commands on the workspace: `jobs` (jobs, app, demo), `workspaces` (names, trash, copies), `studies`,
`search`, `reproduce` (published tables), and `step_command`, which builds the command of a step from
its declaration.
"""
