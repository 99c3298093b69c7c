"""Parts that several pages draw.

Read first `blocks` (figure, table, note, Details & export), `pickers` (choice of models, spaces and
runs), `setting_inputs` (inputs of declared settings, and of numbers that may be left empty), and
`intake` (uploads and paths). The others draw one thing each: `markup` and `markup_style` (HTML of
tokens), `example_texts`, `bars`, `number_formats`, `glossary`,
`keyword_in_context`, `word_query`.
"""
