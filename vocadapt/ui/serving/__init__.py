"""The server process.

Read `server` first (Streamlit inside this process), then what protects it: `guard` (requests of
other sites) and `paths` (which paths a visitor may open). `preload` and `garbage_collection` make
it answer faster.
"""
