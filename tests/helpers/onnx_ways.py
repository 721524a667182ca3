"""The two ways to run an ONNX model: onnxruntime's library (C), and its Python module."""

from __future__ import annotations

import importlib.util

import pytest

WAYS = ("C", "Python")


def take(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have models loaded that way until the test is over; skips where it is not there."""
    from ascend_infer.backends import onnx, onnx_library

    if way == "Python":
        monkeypatch.setattr(onnx, "find_library", lambda: None)
    elif importlib.util.find_spec("ascend_infer._native") is None:
        pytest.skip("ascend_infer._native is not built")
    elif onnx_library.find_library() is None:
        pytest.skip("the installed onnxruntime has no library that C can load")
