"""Results for readers and programs: what a table and a finding are, and one writer for each output.

Read in this order: `table` (columns, tables and findings), `formats` (how numbers are written), and the
writers `terminal`, `csv_files`, `markdown`, `latex` and `html`; the last two share `styled` (a data frame of
pandas), and documents `text` (untrusted text in a line). The pages have theirs in
`ui.components.tables`. A floor that computes a result declares its columns beside it, once.
"""
