"""Text on the screen: `number_formats`, `markup`, `markup_style` and `bars` (HTML of tokens and
their scores, escaped), `sources` (cited works).
"""
