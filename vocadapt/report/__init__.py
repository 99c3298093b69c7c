"""Results for readers and programs: what a table and a finding are, and one writer for each output.

A package that computes a result declares its columns once, beside the result. A writer returns a
table as text; it writes no file.

Read in this order: `table` (columns, tables and findings), `formats` (how numbers are written), and
the writers `terminal`, `csv_files`, `markdown`, `latex` and `html`. The last two share `styled` (a
data frame of pandas), all of documents `text` (untrusted text in a line). The pages have theirs in
`ui.components.tables`, and notebooks shorter tables in `text.summary`.
"""
