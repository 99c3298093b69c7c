"""Commands on the workspace: `jobs` (jobs, app, demo), `workspaces` (names, trash, copies), `studies`,
`search`, and `step_command`, which builds the command of a step from its declaration.
"""
