"""The parts of the pages, a folder each: `page` draws a part from top to bottom, `view` has its
blocks (in `adapt`: `form`, `plan` and `model`).

`home`, `lessons`, `jobs`, `storage`; `lens`, `vocabulary`, `text`, `advise`; `vectors`, `alignment`, `adapt`,
`initializers`; `try_it`, `projection`, `change`, `diagnostics`; `finetune`, `results`, `pretraining`, `errors`,
`studies`, `search`, `published`.
"""
