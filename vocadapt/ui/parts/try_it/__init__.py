"""Part Try it: `page` (the order of its blocks), `choice` (the picker of runs and models), `view` (a
fine-tuned run), `filling` (any other model).
"""
