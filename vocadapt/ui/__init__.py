"""The lab in the browser: what the pages of `pages/` draw, and the only package that imports
streamlit.

A page is a script of about 30 lines in `pages/`; Streamlit runs it from top to bottom after every
click. It calls the functions of the folder of its own name here: `home`, `advise`, `jobs`,
`vectors`, `alignment`, `vocabulary`, `lens`, `initializers`, `adapt`, `pretraining`, `finetune`,
`try_it`, `errors`, `results`, `projection`, `change`, `diagnostics`. Begin with `view` in each.

Read in this order: `frame` (what surrounds every page), `components` (what several pages draw), one
page, for example `lens`; then `jobs` (steps in the background) and `serving` (the server process).
"""
