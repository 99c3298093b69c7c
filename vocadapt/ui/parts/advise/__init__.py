"""Part Advice: `page` (the order of its blocks), `view`, `recommendation` (words and alignment, also
shown by Adapt).
"""
