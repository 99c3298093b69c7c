"""Commands on vocabularies: `advise` (advise, tokenize, lens), `vocabulary` (vocabulary compare,
study, reduce, extension), `initializers` and the options of single initializers, `adapt` (adapt,
certify, presets), `packs` (pack show).
"""
