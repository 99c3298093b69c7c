"""The lab in the browser: what the pages of `pages/` draw, and the only package that imports
streamlit.

A page is a script in `pages/`, which Streamlit runs from top to bottom after every click. It names
its parts, which `state.pages` declares; each part is drawn by the function `draw` in the module
`page` of its folder in `parts`.

Read in this order; each imports only those before it: `text` (numbers and tokens as text), `state`
(the visitor, the address, what was read), `components` (what several parts draw), `jobs` (steps in
the background), one of the `parts`, for example `lens`, and `shell` (what surrounds every page, and
the server).
"""
