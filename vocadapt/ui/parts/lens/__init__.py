"""Part Lens.

Read in this order: `page` (the order of its blocks), `view` (a typed text), `corpus` (a whole text
of the workspace), `demo_card` (the first screen of the demo).
"""
