"""Commands on results: `score` (predictions of any program), `results`, `compare` (error analysis)."""
