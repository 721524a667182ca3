"""How the reader's parts say that a file is wrong: one sentence and a place, before the file has a name."""

from __future__ import annotations

from ascend_infer.errors import ModelFileError

__all__ = ["COPY_AGAIN", "DamagedError", "file_error"]

COPY_AGAIN = (
    "The file is damaged: copy or convert it again and compare its size and checksum with the original's."
)


class DamagedError(ValueError):
    """Bytes that break the file's own rules.

    Attributes
    ----------
    reason : str
        One sentence without a path or a place.
    offset : int
        Byte at which it shows, counted from the beginning of the part that was parsed.
    """

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(f"{reason} at byte {offset}")
        self.reason = reason
        self.offset = offset


def file_error(
    path: str | None, reason: str, advice: str = COPY_AGAIN, offset: int | None = None
) -> ModelFileError:
    """Make the one exception that reading a model file raises: where, what, and what to do."""
    place = "" if offset is None else f" (byte {offset})"
    return ModelFileError(
        f"{path or 'model in memory'}: {reason}{place}. {advice}", path=path, reason=reason, offset=offset
    )
