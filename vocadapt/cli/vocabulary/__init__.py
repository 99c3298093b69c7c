"""Commands on vocabularies: `advise` (advise, tokenize, lens), `vocabulary` (vocabulary compare,
study, reduce, extension), `trim` (vocabulary trim), `initializers` and the options of single
initializers, `adapt` (adapt, certify, presets), `packs` (pack show).
"""
