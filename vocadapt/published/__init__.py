"""Published tables as data, and what is computed from them.

Read `tables` (source, table, cell) and `reader` (TOML → tables; the files are in the folder
tables) first; then `csv_values` (a CSV that fills empty cells), `comparison` (a published
cell and our score), `base_models` (whether a model's content contradicts its name), `coverage`
(fraction of a gap between two models that a third one covers), `model_sizes` (scores by module
size, training hours and epochs), `costs` (CO2 by Strubell's formula) and `styles` (bold, underlined
and colored cells).

No value is from memory. A value that no text at hand prints stays empty, with its reason.
"""
