"""What every test gets: a check that nothing of ours outlives it."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from ascend_infer.testing.leaks import live_threads

# How long an example takes says more of the machine than of the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def _descriptors() -> dict[str, str]:
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[entry.name] = os.readlink(entry)
        except OSError:
            continue
    return found


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Fail the test that leaves a thread of ours or a file open."""
    threads, descriptors = live_threads(), _descriptors()
    yield
    if live_threads() > threads or _descriptors() != descriptors:
        # A cycle that holds a file is a leak only if the collector cannot free it.
        gc.collect()
    deadline = time.monotonic() + 5
    while live_threads() > threads and time.monotonic() < deadline:
        os.sched_yield()  # a thread that was told to end is on its way
    assert live_threads() <= threads, "threads left running"
    opened = {
        number: target for number, target in _descriptors().items() if descriptors.get(number) != target
    }
    files = [t for t in opened.values() if t.startswith("/") and not t.startswith(("/dev/", "/proc/"))]
    # onnxruntime and the interpreter keep some files of their own open once loaded.
    theirs = ("site-packages", "/lib/", "/.onnxruntime/")
    assert not [t for t in files if not any(part in t for part in theirs)], "files left open"
