"""The parts of the pages, a folder each: `page` draws a part from top to bottom; blocks that
others read, too, have a module beside it (`view`, or one by its subject).

`home`, `lessons`, `jobs`, `storage`; `lens`, `vocabulary`, `text`, `advise`; `vectors`,
`alignment`, `adapt`, `initializers`; `try_it`, `projection`, `change`, `diagnostics`; `finetune`,
`results`, `pretraining`, `errors`, `studies`, `search`, `published`.
"""
