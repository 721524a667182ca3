"""What kind of file carries the name ``.om``, by its first bytes, and what to do about the wrong ones."""

from __future__ import annotations

import re
from typing import Literal

from ascend_infer.errors import ModelFileError
from ascend_infer.om.damage import file_error
from ascend_infer.om.source import Source

__all__ = ["MAGIC", "file_kind"]

MAGIC = b"IMOD"

# A path: one line with a slash in it, or a name that ends like a model's.
_LINK = re.compile(r"[^\n<>]*[/\\][^\n<>]*|[^\n<>]+\.om2?")
_CONVERT = (
    "Convert the model with: atc --model=model.onnx --framework=5 --output=model --soc_version=<your SoC>"
)
_SIGNATURES = (
    (b"PICO", "is a HiSilicon SVP model (PICO), made for Hi3519/Hi3403 by another toolchain", _CONVERT),
    (b"\x89HDF", "is an HDF5 file (Keras weights), not an .om model", "Export it to ONNX first. " + _CONVERT),
    (b"TFL3", "is a TensorFlow Lite model, not an .om model", _CONVERT),
    (
        b"\x80\x02",
        "is a Python pickle (PyTorch weights), not an .om model",
        "Export it to ONNX first. " + _CONVERT,
    ),
    (b"\x1f\x8b", "is gzip-compressed", "Unpack it first: gzip -d"),
    (b"BZh", "is bzip2-compressed", "Unpack it first: bzip2 -d"),
    (b"7z\xbc\xaf", "is a 7z archive", "Unpack it first."),
    (b"\x7fELF", "is a program or library (ELF), not a model", "Check the path."),
    (b"\x28\xb5\x2f\xfd", "is zstd-compressed", "Unpack it first: zstd -d"),
)


def file_kind(source: Source) -> Literal["om", "zip"]:
    """Tell an .om file (``"om"``) and a ZIP (``"zip"``, perhaps an OM2) from everything else.

    Raises
    ------
    ModelFileError
        For everything else, by its name.
    """
    if source.size == 0:
        raise file_error(
            source.path, "is empty", "The copy or conversion that made it failed: do it again.", 0
        )
    head = source.read(0, min(source.size, 512))
    if head.startswith(MAGIC):
        return "om"
    if head.startswith(b"PK\x03\x04"):
        return "zip"
    raise _other(source.path, head, source.size)


def _other(path: str | None, head: bytes, size: int) -> ModelFileError:
    if head.startswith(b"version https://git-lfs."):
        found = re.search(rb"\nsize (\d{1,20})\n", head)
        bytes_of = f" of a file of {int(found[1]):,} bytes" if found else ""
        return file_error(
            path, f"is a Git LFS pointer{bytes_of}, not the model itself", "Run: git lfs pull", 0
        )
    for signature, reason, advice in _SIGNATURES:
        if head.startswith(signature) or (signature == b"TFL3" and head[4:8] == signature):
            return file_error(path, reason, advice, 0)
    if MAGIC.startswith(head[:4]):
        return file_error(path, f"has only {size} bytes of an .om file", offset=size)
    if _looks_like_onnx(head):
        return file_error(
            path, "is an ONNX model with the wrong suffix",
            "Name it model.onnx to run it on the CPU. " + _CONVERT, 0,
        )  # fmt: skip
    text = _as_text(head)
    if text is not None:
        if size <= 4096 and _LINK.fullmatch(text.strip()):
            return file_error(
                path,
                f"is a line of text ({text.strip()[:200]!r}), probably a symbolic link checked out as text",
                "Copy the file it names here, or clone with: git config core.symlinks true", 0,
            )  # fmt: skip
        if text.lstrip()[:1] == "<":
            return file_error(
                path,
                "is an HTML or XML page, probably the answer of a failed download",
                "Download it again.",
                0,
            )
        return file_error(path, f"is text, it begins with {text[:40]!r}", "Check the path. " + _CONVERT, 0)
    if not any(head):
        return file_error(path, "begins with nothing but zeros", offset=0)
    return file_error(
        path, f"is no .om file: it begins with {head[:4].hex(' ')}, not with {MAGIC.hex(' ')} (IMOD)",
        "Check that the path is right and that the file was copied as binary. " + _CONVERT, 0,
    )  # fmt: skip


def _looks_like_onnx(head: bytes) -> bool:
    # ModelProto: field 1 (ir_version, a small number), then producer_name, graph or opset_import.
    return (
        len(head) > 3 and head[0] == 0x08 and 1 <= head[1] <= 20 and head[2] in (0x12, 0x1A, 0x22, 0x3A, 0x42)
    )


def _as_text(head: bytes) -> str | None:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return None
        text = head[: error.start].decode("utf-8")
    return text if all(c.isprintable() or c in "\r\n\t" for c in text) else None
