"""Making an .om of an ONNX model for the device that a session runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ascend_infer.config import ModelConfig
from ascend_infer.device import DeviceChoice
from ascend_infer.errors import ModelLoadError
from ascend_infer.options import SessionOptions

__all__ = ["compile_for_device"]

#: Milliseconds that batches in flight are given before a child process is started.
_DRAIN_MS = 60_000


def compile_for_device(
    onnx: Path, config: ModelConfig, device: DeviceChoice, options: SessionOptions
) -> Path:
    """Return a compiled model from the cache, made now if it is not there yet; blocks, for a card for minutes.

    Raises
    ------
    ModelLoadError
        No compiler (the text has the command to run), or the compiler's own errors.
    """
    if device.target.kind == "sim":
        from ascend_infer.simulator.cached import compile_cached

        return compile_cached(onnx, config)
    from ascend_infer import _native
    from ascend_infer.backends.acl_device import open_library
    from ascend_infer.compile import compile_onnx

    with _native.open_acl_device(open_library(device.target), device.target.index) as opened:
        soc = opened.soc_name
    return compile_onnx(onnx, config=config, soc=soc, allow_paths=options.allow_paths, starting=_no_copies)


@contextmanager
def _no_copies() -> Iterator[None]:
    """Hold batches back while a child process starts: ACL forbids that during an asynchronous copy."""
    from ascend_infer import _native

    if not _native.pause_work(_DRAIN_MS):
        raise ModelLoadError("the compiler cannot be started: batches on the device do not end")
    try:
        yield
    finally:
        _native.resume_work()
