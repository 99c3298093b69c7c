"""Certificate: checks that prove that an edit of a vocabulary changed nothing else.

Read in this order: `edit` (the two models), `certificate` (the checks), `reload_process` (loading
the result in a process without vocadapt).
"""
