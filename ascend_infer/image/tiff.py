"""TIFF without Pillow's limit on the size of tiles, which warns once the process's own limit is passed.

The sizes have been compared with ``max_pixels`` before this decodes anything.
"""

from __future__ import annotations

from PIL import Image, TiffImagePlugin

__all__ = ["TiffFile"]


class TiffFile(TiffImagePlugin.TiffImageFile):
    """Pillow's TIFF reader, with the memory of large tiles allocated before it would warn of them."""

    def load_prepare(self) -> None:
        """Allocate what the tiles are decoded into."""
        tile = getattr(self, "_tile_size", None)  # Pillow 11 and later
        if tile is not None and getattr(self, "_im", self) is None:
            self.im = Image.new(self.mode, tile).im
        super().load_prepare()
