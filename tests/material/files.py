"""Files that tests change."""

import json
from pathlib import Path


def edit_json(path: Path, **changes: object) -> None:
    """Change keys of a JSON file in place."""
    content = json.loads(path.read_text(encoding="utf-8"))
    content.update(changes)
    path.write_text(json.dumps(content), encoding="utf-8")
