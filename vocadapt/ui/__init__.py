"""The lab in the browser: what the pages of `pages/` draw, and the only package that imports
streamlit.

A page is a script in `pages/`, which Streamlit runs from top to bottom after every click. It names
its parts, which `frame.pages` declares; each part is drawn by the function `draw` in the module
`page` of its folder here: `home`, `jobs`, `storage`, `lens`, `vocabulary`, `text`, `advise`, `vectors`,
`alignment`, `adapt`, `initializers`, `try_it`, `projection`, `change`, `diagnostics`, `finetune`,
`results`, `pretraining`, `errors`, `studies`, `search`, `published`; `lessons` holds the lessons. Begin with
`page` in each.

Read in this order: `frame` (what surrounds every page), `components` (what several pages draw), one
page, for example `lens`; then `jobs` (steps in the background) and `serving` (the server process).
"""
