"""An extension in parts: `tests/test_extension_points.py` joins the other files of this folder
into one temporary file and names it in VOCADAPT_EXTENSIONS.

Each part imports what it needs, registers one entry, and uses no name of another part. It is
never imported as a module of the tests."""
