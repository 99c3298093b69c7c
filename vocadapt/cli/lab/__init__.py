"""Commands on the workspace: `jobs` (jobs; the lab in the browser; demo), and `step_command`: the
command that a step gets from its declaration.
"""
