"""Part Try it: `page` (a fine-tuned run), `choice` (the picker of runs and models), `filling` (any
other model).
"""
