"""Writing outputs to .npz and .npy files, whole or not at all."""

from __future__ import annotations

import os
import secrets
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np

from ascend_infer.cli.results.texts import decoded
from ascend_infer.errors import InvalidOptionError

__all__ = ["check_target", "save_outputs"]

Array = np.ndarray[Any, np.dtype[Any]]


def check_target(path: str) -> None:
    """Refuse, before the model runs, what cannot be written to.

    Raises
    ------
    InvalidOptionError
    """
    folder = os.path.dirname(path) or "."
    if not path.endswith((".npz", ".npy")):
        raise _wrong(path, "a name that ends in .npz (all outputs) or .npy (one output)")
    if not os.path.isdir(folder):
        raise _wrong(path, f"a file in a directory that is there; {folder} is not")
    if os.path.isdir(path):
        raise _wrong(path, "a file, it is a directory")


def save_outputs(path: str, outputs: Mapping[str, Array]) -> None:
    """Write the arrays; an .npz file has a member for each output. Replaces a file at once.

    Text is written as numpy text, bfloat16 and narrower types, which .npy has no name for, as float32.

    Raises
    ------
    InvalidOptionError
        The file cannot be written, or an .npy file is to hold more than one output.
    """
    plain = {name: _plain(array) for name, array in outputs.items()}
    if path.endswith(".npy") and len(plain) != 1:
        listed = ", ".join(map(repr, plain))
        raise _wrong(path, f"a .npz file for {len(plain)} outputs ({listed}), or --output NAME for one")
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{secrets.token_hex(6)}")
    try:
        try:
            with open(temporary, "xb") as file:
                if path.endswith(".npy"):
                    _write(file, next(iter(plain.values())))
                else:
                    _write_archive(file, plain)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise _wrong(path, f"a file that can be written: {error.strerror or error}") from error


def _write_archive(file: BinaryIO, outputs: Mapping[str, Array]) -> None:
    # Not np.savez, whose keyword arguments have no room for an output called "file".
    with zipfile.ZipFile(file, "w", allowZip64=True) as archive:
        for name, array in outputs.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                _write(member, array)


def _write(file: Any, array: Array) -> None:
    np.lib.format.write_array(file, array, allow_pickle=False)


def _plain(array: Array) -> Array:
    if array.dtype == object:
        return decoded(array).astype(str)
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _wrong(path: str, expected: str) -> InvalidOptionError:
    return InvalidOptionError(f"--out {path}: expected {expected}", option="out", got=path)
