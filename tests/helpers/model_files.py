"""Files of a model directory, written by name."""

from __future__ import annotations

from pathlib import Path


def make(root: Path, files: dict[str, str | bytes]) -> Path:
    """Write each file below a folder; returns the folder."""
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return root
