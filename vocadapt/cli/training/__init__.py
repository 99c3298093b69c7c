"""Training commands: `pretrain` (pretrain, gates), `finetune` (tasks: the benchmarks; finetune,
evaluate, zero-shot), `predict` (predict, answer).
"""
