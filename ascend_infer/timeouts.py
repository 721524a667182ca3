"""Seconds to wait, as callers give them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ascend_infer.refusal import wrong_option

__all__ = ["LONGEST", "checked_timeout", "given_timeout", "nanoseconds", "seconds_given"]

#: Seconds; whoever waits longer waits for ever. A clock's nanoseconds have room for this many more of them.
LONGEST = 2.0**32


def checked_timeout(timeout: Any) -> float:
    """Return seconds, 0 for what is past and at most ``LONGEST``, or raise InvalidOptionError."""
    return max(0.0, given_timeout(timeout))


def given_timeout(timeout: Any) -> float:
    """Return seconds as they were given, below 0 too: an error repeats them. At most ``LONGEST`` either way."""
    if (
        not isinstance(timeout, bool)
        and isinstance(timeout, Real | np.floating | np.integer)
        and timeout == timeout
    ):
        return float(max(-LONGEST, min(timeout, LONGEST)))
    raise wrong_option("timeout", timeout, "seconds as a number, or None to wait as long as it takes")


def nanoseconds(timeout: float | None) -> int:
    """Return a request's timeout as the queue has it: 0 for none, 1 for one of 0 s, negative for what is past."""
    return 0 if timeout is None else int(timeout * 1e9) or 1


def seconds_given(timeout: int) -> float:
    """Return the seconds that were given, from the queue's nanoseconds."""
    return 0.0 if timeout == 1 else timeout / 1e9
