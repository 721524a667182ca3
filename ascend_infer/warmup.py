"""The requests of ``model_warmup``, run before a session is handed out (Triton's meaning, its ModelWarmup message)."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ascend_infer.backends.base import Executable
from ascend_infer.config import ModelConfig
from ascend_infer.config.model_config import ModelWarmup, ModelWarmupInput
from ascend_infer.errors import AscendInferError, ModelLoadError
from ascend_infer.regular_file import FileTooLargeError, read_regular
from ascend_infer.scheduling.apart import run_apart
from ascend_infer.scheduling.ragged import BatchAssembly
from ascend_infer.signature import Array, Signature
from ascend_infer.types import DataType

__all__ = ["warm_up"]

_LARGEST_TEXT = 256 * 1024 * 1024


def warm_up(
    config: ModelConfig,
    signature: Signature,
    executables: Sequence[Executable],
    data_file: Callable[[str], Path],
    assembly: BatchAssembly | None = None,
) -> None:
    """Run each sample ``count`` times (0 means once) on each instance, as one batch of ``batch_size``; 0 is skipped.

    Parameters
    ----------
    data_file : callable
        Name of an ``input_data_file`` to its path.
    assembly : BatchAssembly, optional
        Where the model has one: the sample is then a batch of ``batch_size`` requests of one row.

    Raises
    ------
    ModelLoadError
        A sample cannot be made or the model fails on it; names the sample.
    """
    for sample in config.model_warmup:
        if sample.batch_size == 0:
            continue
        try:
            rows = sample.batch_size if assembly is None else 1
            prepared = signature.prepare(_inputs(config, sample, data_file, rows), None, "no", True)
            feed = prepared.feed
            if assembly is not None:
                one = _Request([feed.get(name) for name in assembly.inputs], prepared.names, prepared.batch)
                feed = assembly.gather([one] * sample.batch_size).feed
            for executable in executables:
                for _ in range(max(1, sample.count)):
                    run_apart(executable, feed, prepared.names)
        except AscendInferError as error:
            raise ModelLoadError(
                f"model {signature.model!r}: failed to run warmup sample {sample.name!r}: {error}"
            ) from error
        except MemoryError as error:
            raise ModelLoadError(
                f"model {signature.model!r}: warmup sample {sample.name!r} does not fit into memory; lower its dims "
                "or its batch_size"
            ) from error


@dataclass(frozen=True, slots=True)
class _Request:
    """One of a sample's, as a BatchAssembly asks for it."""

    arrays: Sequence[Array | None]
    names: tuple[str, ...]
    rows: int


def _inputs(
    config: ModelConfig, sample: ModelWarmup, data_file: Callable[[str], Path], rows: int
) -> dict[str, Array]:
    generator = np.random.default_rng(0)
    inputs = {}
    for name, stated in sample.inputs.items():
        one = _one(name, stated, data_file, generator)
        inputs[name] = np.stack([one] * rows) if config.max_batch_size else one
    return inputs


def _one(
    name: str,
    stated: ModelWarmupInput,
    data_file: Callable[[str], Path],
    generator: np.random.Generator,
) -> Array:
    dtype = stated.data_type or DataType.FP32
    if stated.input_data_file:
        return _from_file(name, dtype, stated.dims, data_file(stated.input_data_file))
    if dtype is DataType.BYTES:
        empty: Array = np.full(stated.dims, b"", dtype=object)
        return empty
    if not stated.random_data:
        return np.zeros(stated.dims, dtype.numpy)
    if dtype is DataType.BOOL:
        return generator.integers(0, 2, stated.dims).astype(bool)
    if dtype.numpy.kind in "iu":
        bounds = np.iinfo(dtype.numpy)
        return generator.integers(bounds.min, bounds.max, stated.dims, dtype.numpy, endpoint=True)
    return generator.standard_normal(stated.dims).astype(dtype.numpy)


def _from_file(name: str, dtype: DataType, dims: tuple[int, ...], path: Path) -> Array:
    # How large a file of numbers is follows from its dims; text can be of any length.
    limit = _LARGEST_TEXT if dtype is DataType.BYTES else math.prod(dims) * dtype.itemsize
    try:
        data = read_regular(path, limit)
    except FileTooLargeError as error:
        size = "more" if error.size is None else f"{error.size:,} bytes"
        raise ModelLoadError(
            f"input {name!r}: {path} holds {size}, expected {limit:,} bytes"
            + (" at most" if dtype is DataType.BYTES else f" for {dtype}{list(dims)}")
        ) from error
    except OSError as error:
        raise ModelLoadError(f"input {name!r}: {path} cannot be read: {error.strerror}") from error
    try:
        if dtype is not DataType.BYTES:
            return np.frombuffer(data, dtype.numpy).reshape(dims)
        result: Array = np.array([*_strings(data)], dtype=object).reshape(dims)
        return result
    except (ValueError, struct.error) as error:
        raise ModelLoadError(
            f"input {name!r}: {path} holds {len(data)} bytes, which are no {dtype}{list(dims)}"
        ) from error


def _strings(data: bytes) -> Iterator[bytes]:
    """Read Triton's form of text: each element after its length, four bytes little-endian."""
    offset = 0
    while offset < len(data):
        (length,) = struct.unpack_from("<I", data, offset)
        offset += 4
        if offset + length > len(data):
            raise ValueError("an element is cut short")
        yield data[offset : offset + length]
        offset += length
