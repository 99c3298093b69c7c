"""The workspace on disk.

Read in this order: `workspace` (kinds of artifacts and their folders), `manifest` (what an artifact
was made from), `drafts` and `locks` (atomic writing, several processes), `strict_json` and
`file_cache` (reading), `disk_space`; then `uploads`, `notes`, `slices` and `packing` (what pages
keep or send).
"""
