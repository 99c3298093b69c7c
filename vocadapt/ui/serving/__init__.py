"""The server process.

Read `server` first (it runs Streamlit inside this process), then its protection: `guard` (against
other sites), `paths` (which paths a visitor may open), `visitors` (a workspace for each visitor) and
`accounts` (sign-out, and failed sign-ins). `preload` and `garbage_collection` make it respond faster;
`memory` limits its caches, `upload_limit` the uploads of a session.
"""
