"""Checks of a model folder before transformers reads it.

Read in this order: `config_rules` (types and ranges in config.json), `network_sizes` (config.json
against the stored tensors, before memory is allocated for the network).
"""
