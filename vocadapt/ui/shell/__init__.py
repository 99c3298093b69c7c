"""What surrounds every page: `frame` (workspace, running jobs, errors) and `server` (runs Streamlit
inside its process), with `memory` (limits its caches), `garbage_collection` and `upload_limit`.
"""
