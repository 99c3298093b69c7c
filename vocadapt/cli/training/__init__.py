"""Commands on trainings: `pretrain`, `tasks` (benchmarks), `finetune` (finetune, evaluate), `predict`,
`answer`, `gates` (of an exBERT), `zero_shot`.
"""
