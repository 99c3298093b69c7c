"""What the program asks of the machine; nothing here knows words or models.

`files` and `zip_files` (safe reading and writing), `json_values` (dataclasses as JSON),
`shipped_files` (pages and demo beside the package), `cores` (how many may be used), `forecasts`
(how long work takes under the load of the machine), `processes` (children that end with their
parent), `footprint` (energy and CO2).
"""
