"""Part Workspace: `page` (the order of its blocks), `view` (artifacts, trash, copies)."""
