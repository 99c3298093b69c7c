"""Page Diagnostics: `view`, `relations` (lexical relations), `cached` (its cached figures)."""
