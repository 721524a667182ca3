"""onnxruntime's Python module, imported with its telemetry off, as the sessions on the CPU do it.

Since 1.32 importing it writes a device id and a database below ``~/.cache/Microsoft`` unless
``ORT_DISABLE_TELEMETRY`` is set at that moment.
"""

from __future__ import annotations

import os
from typing import Any

__all__ = ["import_onnxruntime"]

_SWITCH = "ORT_DISABLE_TELEMETRY"


def import_onnxruntime() -> Any:
    """Import it; who has set the variable or imported it before has his way.

    Raises
    ------
    ImportError
        It is not installed.
    """
    stated = os.environ.get(_SWITCH)
    if stated is None:
        os.environ[_SWITCH] = "1"
    try:
        import onnxruntime
    finally:
        if stated is None:
            del os.environ[_SWITCH]
    return onnxruntime
