"""Part Text: `page` (the order of its blocks), `view` (a text), `intake_form` (imports one)."""
