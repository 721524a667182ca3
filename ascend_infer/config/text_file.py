"""Reading a text file that a user named, bounded in size and refusing what cannot be one."""

from __future__ import annotations

import os
from pathlib import Path

from ascend_infer.config.findings import Findings
from ascend_infer.errors import ConfigError
from ascend_infer.regular_file import FileTooLargeError, NotRegularFileError, read_regular

__all__ = ["read_config_text", "read_lines"]

MAX_BYTES = 16 * 1024 * 1024
_LFS = b"version https://git-lfs.github.com/spec/v1"


def read_config_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a config.pbtxt.

    Raises
    ------
    ConfigError
        When it is missing, not a file, larger than 16 MiB, binary, not UTF-8 or a Git LFS pointer.
    """
    try:
        data = read_regular(path, MAX_BYTES)
    except NotRegularFileError as error:
        raise _refuse(path, f"{Path(path).name} is {error.kind}", "put a text file there") from error
    except FileTooLargeError as error:
        if error.size is None:
            raise _refuse(path, "the file grew beyond 16 MiB while it was read") from error
        raise _refuse(
            path, f"the file has {error.size} bytes", "a configuration has at most 16 MiB"
        ) from error
    except OSError as error:
        raise _refuse(path, f"the file cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the path
        raise _refuse(path, f"this is no path: {error}") from error
    if data.startswith(_LFS):
        raise _refuse(path, "the file is a Git LFS pointer", "fetch the content: git lfs pull")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise _refuse(path, "the file is UTF-16", "save it as UTF-8 without a byte order mark")
    if b"\0" in data:
        raise _refuse(path, f"the file is binary (a zero byte at offset {data.index(0)})", "write text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise _refuse(
            path,
            f"the file is not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start}",
            "save it as UTF-8",
            (line, column),
        ) from error


def _refuse(
    path: str | os.PathLike[str], message: str, hint: str | None = None, at: tuple[int, int] | None = None
) -> ConfigError:
    findings = Findings(str(path))
    findings.error("", message, hint=hint, at=at)
    return ConfigError(str(findings.diagnostics[0]), diagnostics=findings.diagnostics)


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """Return a label file's lines without their ends; an empty line counts, the end of the last one does not.

    Raises
    ------
    ConfigError
        As `read_config_text`.
    """
    text = read_config_text(path)
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    return lines[:-1] if lines and not lines[-1] else lines
