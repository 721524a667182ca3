"""onnxruntime's Python module, imported in this one place; models that run natively do without it.

Since 1.32 importing it writes a device id and a database of usage events below ``~/.cache/Microsoft``, unless
``ORT_DISABLE_TELEMETRY`` is set at that moment (seen on 1.32.0). A library that someone embeds does not do that
on its own; an application that wants it imports onnxruntime first, or sets the variable to 0.
"""

from __future__ import annotations

import os
from typing import Any

from ascend_infer.backends.onnx_library import not_installed

__all__ = ["ort"]

_SWITCH = "ORT_DISABLE_TELEMETRY"


def _import() -> Any:
    stated = os.environ.get(_SWITCH)
    if stated is None:
        os.environ[_SWITCH] = "1"
    try:
        import onnxruntime
    except ImportError as error:
        raise not_installed() from error
    finally:
        if stated is None:
            del os.environ[_SWITCH]
    return onnxruntime


ort: Any = _import()
