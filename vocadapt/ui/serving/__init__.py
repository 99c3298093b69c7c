"""The server process.

Read `server` first (it runs Streamlit inside this process), then its protection: `guard` (against
other sites) and `paths` (which paths a visitor may open). `preload` and `garbage_collection` make
it respond faster.
"""
