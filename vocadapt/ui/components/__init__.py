"""Components that several pages share.

Read first `blocks` (figure, table, note, Details & export), `pickers` (choice of models, spaces and
runs), `setting_inputs` (inputs of declared settings, and of numbers that may be left empty), and
`intake` (uploads and paths). The others have one purpose each: `markup` and `markup_style` (HTML of
tokens), `example_texts`, `bars`, `number_formats`, `tables`, `glossary`, `sources` (cited works),
`keyword_in_context`, `word_query`, `word_links`, `slice_form`,
`text_file` (typed or uploaded).
"""
