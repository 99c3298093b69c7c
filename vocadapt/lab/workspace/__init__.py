"""The workspace on disk.

Read in this order: `workspace` (kinds of artifacts and their folders), `manifest` (provenance of an
artifact), `records` (files that name other files), `drafts` and `locks` (atomic writing, concurrent
processes), `strict_json` and `file_cache` (reading), `limits` (of a served lab), `disk_space`,
`visitors` (their folders), `rates` (of energy and CO2); then `saved_results` (facts and
tensors of a step), `notes`, `listing` (of artifacts), `slices`, `lesson_progress`, `trials`
(whether a sentence was tried, not those of a search) and `packing` (files that pages store or
send).
"""
