"""What every test gets: a check that nothing of ours outlives it."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest


def _descriptors() -> dict[str, str]:
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[entry.name] = os.readlink(entry)
        except OSError:
            continue
    return found


def _threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("ascend_infer")}


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Fail the test that leaves a thread of ours or a file open."""
    threads, descriptors = _threads(), _descriptors()
    yield
    if _threads() - threads or _descriptors() != descriptors:
        # A cycle that holds a file is a leak only if the collector cannot free it.
        gc.collect()
    left = _threads() - threads
    for thread in left:
        thread.join(5)
    assert not [thread.name for thread in left if thread.is_alive()], "threads left running"
    opened = {
        number: target for number, target in _descriptors().items() if descriptors.get(number) != target
    }
    files = [t for t in opened.values() if t.startswith("/") and not t.startswith(("/dev/", "/proc/"))]
    # onnxruntime and the interpreter keep some files of their own open once loaded.
    assert not [t for t in files if "site-packages" not in t and "/lib/" not in t], "files left open"
