"""Components that several pages share.

Read first `blocks` (figure, table, note, Details & export), `pickers` (choice of models, spaces and
runs), `setting_inputs` (inputs of declared settings, and of numbers that may be left empty), and
`intake` (uploads and paths), `mistakes` (errors as messages). The others have one purpose each:
`example_texts`, `tables`, `glossary`, `keyword_in_context`, `word_query`, `word_links`,
`slice_form`, `text_file` (typed or uploaded), `curves` (loss and dev score of a training).
"""
