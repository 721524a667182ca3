from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from scale_model import scale_directory

import ascend_infer as ai


@pytest.fixture
def session(tmp_path: Path) -> Iterator[ai.Session]:
    """A session of the model that doubles its four numbers; two instances."""
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    with ai.Session(scale_directory(tmp_path / "models"), device="cpu", instances=2, threads=1) as opened:
        yield opened
