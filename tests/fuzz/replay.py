"""A corpus through its target, without a fuzzer."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

__all__ = ["CORPUS", "TARGETS", "replay", "target"]

CORPUS = Path(__file__).parent / "corpus"
TARGETS = tuple(
    sorted(path.stem.removesuffix("_target") for path in Path(__file__).parent.glob("*_target.py"))
)


def target(name: str) -> Callable[[bytes], None]:
    """Return what takes one input; whatever it lets out is a finding."""
    feed: Callable[[bytes], None] = importlib.import_module(f"{name}_target").feed
    return feed


def replay(feed: Callable[[bytes], None], folder: Path) -> int:
    """Feed every file of a folder; returns how many there are. What comes out has a note that names the file."""
    files = sorted(folder.iterdir())
    for file in files:
        try:
            feed(file.read_bytes())
        except BaseException as error:
            error.add_note(f"on {file}")
            raise
    return len(files)
