"""Commands on results: `results` (results; score: predictions of any program), `compare` (error
analysis).
"""
