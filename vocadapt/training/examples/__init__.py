"""Examples of tasks: `examples` (with labels, and their splits), `tags` (tagging schemes),
`context_windows` (windows over long contexts, best spans).
"""
