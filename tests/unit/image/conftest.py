"""Pictures made on the spot, and a check after each test that no descriptor or thread is left."""

from __future__ import annotations

import gc
import io
import os
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from PIL import Image

Encode = Callable[..., bytes]


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    before, threads = _descriptors(), threading.active_count()
    yield
    if _descriptors() != before:
        gc.collect()  # what the test itself opened and dropped
    assert _descriptors() == before
    assert threading.active_count() == threads


def _descriptors() -> set[tuple[str, str]]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add((name, os.readlink(f"/proc/self/fd/{name}")))
        except FileNotFoundError:
            continue  # the one that listed the directory
    return found


@pytest.fixture(scope="session")
def photo() -> Image.Image:
    """Smooth, without symmetry: each corner has its own colour."""
    y, x = np.mgrid[0:48, 0:64]
    pixels = np.stack([x * 4, y * 5, (x + y) * 2], axis=-1).astype(np.uint8)
    return Image.fromarray(pixels)


@pytest.fixture(scope="session")
def encode() -> Encode:
    def encode(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
        file = io.BytesIO()
        image.save(file, kind, **options)
        return file.getvalue()

    return encode
