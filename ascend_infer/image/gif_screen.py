"""How large a GIF's first frame makes it, read from the file's own blocks.

Pillow grows the picture to a frame that reaches past the screen, and only warns when that makes it huge.
Block layout: GIF89a specification, sections 18 to 26.
"""

from __future__ import annotations

from typing import IO

__all__ = ["first_frame_reach"]

_EXTENSION, _IMAGE = b"!", b","


def first_frame_reach(file: IO[bytes]) -> tuple[int, int]:
    """Return width and height that hold the screen and the first frame; the screen's when there is no frame.

    The file stands at its beginning; where it stands afterwards is not defined.
    """
    header = file.read(13)
    if len(header) < 13:
        return 0, 0
    width, height = _word(header, 6), _word(header, 8)
    if header[10] & 0x80:
        file.read(3 << ((header[10] & 7) + 1))
    while (block := file.read(1)) == _EXTENSION:
        file.read(1)
        while length := file.read(1):
            if length == b"\0":
                break
            file.read(length[0])
    place = file.read(8) if block == _IMAGE else b""
    if len(place) < 8:
        return width, height
    return max(width, _word(place, 0) + _word(place, 4)), max(height, _word(place, 2) + _word(place, 6))


def _word(data: bytes, offset: int) -> int:
    return int.from_bytes(data[offset : offset + 2], "little")
