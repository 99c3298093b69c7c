"""Commands on vocabularies: `advise`, `vocabulary` (vocabulary compare, study, reduce), `extension`
(vocabulary extension), `adapt` (adapt, certify, presets), `initializers` with its
`initializer_options`, `lens`, `tokenize`.
"""
