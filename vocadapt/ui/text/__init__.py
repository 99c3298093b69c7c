"""Part Text: `page` (the order of its blocks), `view` (a text), `intake_form` (imports one), `counting`
(counts its words for a model; other parts use it too).
"""
