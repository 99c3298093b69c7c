"""Initializers: embeddings of new tokens.

Read in this order: `materials` (inputs, results, settings, registry), `initialize` (the entry
point), `mixing` (weighted sums of old embeddings), `methods` (copies, random embeddings, means,
mixtures, and those that use the network), `sparse` (matching pursuit),
`stacked` (from context and form), `stacked_quality` (how precisely that places words),
`outputs` (weights of new tokens in an output layer of its own).
"""
