"""Part Workspace: `page` (artifacts, trash, copies)."""
