"""Parts that several pages draw.

Read first `blocks` (figure, table, note), `pickers` (choice of models, spaces and runs),
`setting_inputs` (inputs of declared settings; `optional_input` for numbers that may be empty),
`intake` (uploads and paths), and `export` (Details & export). The others draw one thing each:
`markup` and `markup_style` (HTML of tokens), `token_chips`, `example_texts`, `bars`, `number_formats`, `estimates`, `glossary`,
`keyword_in_context`, `word_query`.
"""
