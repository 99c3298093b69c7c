"""Part Text: `page` (a text), `intake_form` (imports one), `counting` (counts its words for a
model) and `needed_size` (how much text is enough); other parts use the last two as well.
"""
