"""onnxruntime's messages, without what only its own developers can use."""

from __future__ import annotations

import re

__all__ = ["plain_text"]

_PREFIX = re.compile(r"^\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : ")
_SOURCE = re.compile(r"\s*(?:/\S+?/)?onnxruntime(?:_src)?/\S+?\.(?:cc|h):\d+\s+\S[^\n]*?\)\s*(?:const\s*)?")


def plain_text(error: Exception) -> str:
    """Return a message without its code and C++ source lines; the class's name where nothing is left."""
    return _SOURCE.sub(" ", _PREFIX.sub("", str(error))).strip() or type(error).__name__
