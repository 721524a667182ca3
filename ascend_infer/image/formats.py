"""Which image files are read, told by their first bytes, and what else such bytes often are.

Only raster formats whose size stands in the header are read. Left out on purpose: EPS (Pillow runs
Ghostscript on it, a child process), ICO and ICNS (the picture inside may be larger than the header says),
and formats without a signature, for which any file could be taken. What the application has registered with
Pillow itself (HEIF, for one) is read too. ``PIL.Image.open`` is not used, since its own limit on pixels is a
setting of the whole process and warns instead of refusing.
"""

from __future__ import annotations

import importlib
from typing import IO, Any, NamedTuple

from PIL import Image

__all__ = ["FORMATS", "Format", "diagnose", "identify"]


class Format(NamedTuple):
    """A format and the class of Pillow's that reads it."""

    name: str
    module: str
    cls: str

    def open(self, file: IO[bytes]) -> Image.Image:
        """Read the header; pixels are not decoded, the file stays the caller's."""
        opener = getattr(importlib.import_module(self.module), self.cls)
        # Without a name Pillow cannot map the file into memory, which would hold a descriptor.
        image: Image.Image = opener(file, "")
        return image


FORMATS: dict[str, Format] = {
    name: Format(name, module, cls)
    for name, module, cls in (
        # Not jpeg_factory: of a multi-picture file the first picture is wanted, and that is a plain JPEG.
        ("JPEG", "PIL.JpegImagePlugin", "JpegImageFile"),
        ("PNG", "PIL.PngImagePlugin", "PngImageFile"),
        ("GIF", "PIL.GifImagePlugin", "GifImageFile"),
        ("BMP", "PIL.BmpImagePlugin", "BmpImageFile"),
        ("WEBP", "PIL.WebPImagePlugin", "WebPImageFile"),
        ("TIFF", "ascend_infer.image.tiff", "TiffFile"),
        ("PPM", "PIL.PpmImagePlugin", "PpmImageFile"),
        ("JPEG2000", "PIL.Jpeg2KImagePlugin", "Jpeg2KImageFile"),
        ("AVIF", "PIL.AvifImagePlugin", "AvifImageFile"),
    )
}

_SIGNATURES = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG2000"),
    (b"\xff\x4f\xff\x51", "JPEG2000"),
)

_OTHER_THINGS = (
    (b"version https://git-lfs", "it is a Git LFS pointer; run `git lfs pull` to get the file itself"),
    (b"%!PS", "it is PostScript, a program; convert it to PNG"),
    (b"\xc5\xd0\xd3\xc6", "it is EPS, a program; convert it to PNG"),
    (b"%PDF", "it is a PDF; convert its pages to PNG"),
    (b"PK\x03\x04", "it is a zip archive; unpack it"),
    (b"\x1f\x8b", "it is gzip data; unpack it"),
    (b"\x93NUMPY", "it is a numpy file; np.load it and give the array"),
    (b"8BPS", "it is a Photoshop file; export it as PNG"),
    (b"\0\0\1\0", "it is an icon; save it as PNG"),
    (b"\x1aE\xdf\xa3", "it is a video; give single frames"),
)


def identify(prefix: bytes) -> Format | None:
    """Return the format of a file that begins with these bytes (32 are enough); None when unknown."""
    for signature, name in _SIGNATURES:
        if prefix.startswith(signature):
            return FORMATS[name]
    if prefix[:4] == b"RIFF" and prefix[8:12] == b"WEBP":
        return FORMATS["WEBP"]
    if prefix[:1] == b"P" and prefix[1:2] in b"123456" and prefix[2:3].isspace():
        return FORMATS["PPM"]
    if prefix[4:8] == b"ftyp" and prefix[8:12] in (b"avif", b"avis"):
        return FORMATS["AVIF"]
    return _registered(prefix)


def _registered(prefix: bytes) -> Format | None:
    for name in list(Image.ID):
        factory: Any
        factory, accept = Image.OPEN[name]
        module, cls = str(getattr(factory, "__module__", "")), str(getattr(factory, "__name__", ""))
        if module.startswith("PIL.") or not hasattr(importlib.import_module(module), cls):
            continue
        if accept is not None and accept(prefix) is True:
            return Format(name, module, cls)
    return None


def diagnose(prefix: bytes, *, in_memory: bool = False) -> str:
    """Say what bytes that are no image file seem to be, and what to do; those in memory may be meant as a path."""
    for signature, text in _OTHER_THINGS:
        if prefix.startswith(signature):
            return text
    if prefix[4:8] == b"ftyp":
        if prefix[8:12] in (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"):
            return (
                "it is HEIC; install pillow-heif and call its register_heif_opener(), or convert it to JPEG"
            )
        return "it is a video; give single frames"
    start = prefix.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(b"<svg"):
        return "it is SVG, a drawing without pixels; render it to PNG"
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"{")):
        return "it is a text document, such as a server's error page saved under an image's name"
    if len(prefix) < 32 and prefix.isascii() and prefix.decode("ascii").isprintable():
        advice = "a path is given as str, not as bytes" if in_memory else "get a fresh copy of the file"
        return f"it is the text {prefix.decode('ascii')!r}; {advice}"
    return (
        f"it begins with {prefix[:8]!r}, and no file of {', '.join(FORMATS)} does; "
        "raw pixels are given as an array, other formats as a PIL image"
    )
