"""Seconds to wait, as callers give them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ascend_infer.refusal import wrong_option

__all__ = ["LONGEST", "checked_timeout"]

#: Seconds; whoever waits longer waits for ever. A clock's nanoseconds have room for this many more of them.
LONGEST = 2.0**32


def checked_timeout(timeout: Any) -> float:
    """Return seconds, 0 for what is past and at most ``LONGEST``, or raise InvalidOptionError."""
    if (
        not isinstance(timeout, bool)
        and isinstance(timeout, Real | np.floating | np.integer)
        and timeout == timeout
    ):
        return max(0.0, float(min(timeout, LONGEST)))
    raise wrong_option("timeout", timeout, "seconds as a number, or None to wait as long as it takes")
