"""The reader of .om files, and everything that can be asked of a model."""

from __future__ import annotations

import json

from ascend_infer import om
from ascend_infer.errors import ModelFileError

__all__ = ["feed"]


def with_true_length(data: bytes) -> bytes:
    """Put the length that the file really has into its header, so that inputs get past the first check."""
    if data[:4] != b"IMOD" or len(data) < 256:
        return data
    out = bytearray(data)
    body = len(data) - 256
    if any(out[0xB8:0xC0]):
        out[0xB8:0xC0] = body.to_bytes(8, "little")
    elif any(out[0x4C:0x50]):
        out[0x4C:0x50] = body.to_bytes(4, "little")
    return bytes(out)


def feed(data: bytes) -> None:
    for case in (data, with_true_length(data)):
        try:
            model = om.read_bytes(case)
            json.dumps(model.to_json())
            model._repr_html_()
            model.spec()
        except ModelFileError:
            pass
