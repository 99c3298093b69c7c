"""Keeping a workspace in order.

Read in this order: `renames` (new names, and old links), `trash` (deleted artifacts and jobs, which
can be restored), `copies` (a workspace as a copy or as one file).
"""
