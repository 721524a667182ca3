"""What an .om file says of its inputs and outputs and cannot be so, in sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ascend_infer.om.model import OmTensor

__all__ = ["implausible"]

_MOST_NOTES = 8
#: Elements that no address reaches.
_TOO_MANY = 1 << 48


def implausible(inputs: Sequence[OmTensor], outputs: Sequence[OmTensor]) -> tuple[str, ...]:
    """Return a note for each tensor whose name or dims cannot be meant; the first few of them."""
    found = []
    for kind, tensors in (("input", inputs), ("output", outputs)):
        for name, count in Counter(tensor.name for tensor in tensors).items():
            if count > 1:
                found.append(f"{count} {kind}s are called {name!r}: ACL finds only the first of them by name")
        for tensor in tensors:
            wrong = _wrong(tensor.dims) or _wrong(tensor.dims_v2)
            if wrong:
                found.append(f"{kind} {tensor.name!r} {wrong}: the file is damaged or no compiler's")
    more = len(found) - _MOST_NOTES
    return (*found[:_MOST_NOTES], *([f"and {more} more of that kind"] if more > 0 else []))


def _wrong(dims: Sequence[int]) -> str:
    # -1 is an open dimension, -2 an unknown rank.
    odd = next((dim for dim in dims if dim < -2), None)
    if odd is not None:
        return f"has a dimension of {odd}"
    if math.prod(dim for dim in dims if dim > 0) > _TOO_MANY:
        return f"of {list(dims)} has more elements than any memory holds"
    return ""
