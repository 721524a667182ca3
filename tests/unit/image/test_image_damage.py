"""Damaged files and files that claim to be huge: one error each, no grey, no memory, no warning."""

from __future__ import annotations

import contextlib
import io
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, features

from ascend_infer import image
from ascend_infer.errors import ImageError

KINDS = [
    ("JPEG", {}),
    ("JPEG", {"progressive": True}),
    ("PNG", {}),
    ("GIF", {}),
    ("BMP", {}),
    ("PPM", {}),
    ("TIFF", {}),
    ("WEBP", {"lossless": True}),
]


def encoded(kind: str, options: dict[str, object]) -> bytes:
    rng = np.random.default_rng(5)
    noise = rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_truncated_file_is_an_error_or_whole_but_never_grey(tmp_path, kind, options):
    if kind == "WEBP" and not features.check("webp"):
        pytest.skip("this Pillow has no WebP")
    data = encoded(kind, options)
    whole = image.decode(data)
    path = tmp_path / "cut"
    refused = 0
    for length in sorted({1, 2, 10, 33, *range(50, len(data), max(1, len(data) // 40)), len(data) - 1}):
        path.write_bytes(data[:length])
        try:
            got = image.decode(path)
        except ImageError as error:
            refused += error.source == str(path)
        else:
            # Only an end mark or a checksum is missing: all pixels are there.
            assert np.array_equal(got, whole), length
    assert refused > 30


@pytest.mark.parametrize(("kind", "options"), KINDS)
@settings(max_examples=40, deadline=None)
@given(flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=6))
def test_damaged_bytes_give_a_picture_or_an_image_error(kind, options, flips):
    if kind == "WEBP" and not features.check("webp"):
        pytest.skip("this Pillow has no WebP")
    data = bytearray(encoded(kind, options))
    for place, change in flips:
        # Mostly the header, where it matters most.
        data[place % (len(data) if place % 2 else 64)] ^= change
    try:
        array = image.decode(bytes(data), max_pixels=10**6)
    except ImageError as error:
        array = np.zeros((1, 1, 3), np.uint8) if error.source else None
    assert array is not None
    assert array.shape[2] == 3


@settings(max_examples=60, deadline=None)
@given(
    start=st.sampled_from([b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM", b"II*\0", b"P6\n"]),
    rest=st.binary(),
)
def test_a_signature_and_then_nonsense(start, rest):
    with contextlib.suppress(ImageError):
        image.decode(start + rest, max_pixels=10**6)


def png_header(width: int, height: int) -> bytes:
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))


def png_bomb(width: int, height: int) -> bytes:
    body = zlib.compress(b"\0" * 1000)
    chunk = b"IDAT" + body
    return (
        png_header(width, height)
        + struct.pack(">I", len(body))
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
    )


def gif_bomb(width: int, height: int, frame: tuple[int, int]) -> bytes:
    screen = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    extension = b"\x21\xf9\x04\0\0\0\0\0"
    return screen + extension + b"," + struct.pack("<HHHHB", 0, 0, *frame, 0) + b"\x02\x02\x44\x01\0;"


def bmp_bomb(width: int, height: int) -> bytes:
    return (
        b"BM"
        + struct.pack("<IHHI", 54, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, *[0] * 6)
    )


@pytest.mark.parametrize(
    "bomb",
    [
        png_bomb(100_000, 100_000),
        png_bomb(12_000, 10_000),  # between Pillow's warning and its error
        gif_bomb(65_535, 65_535, (65_535, 65_535)),
        gif_bomb(10, 10, (12_000, 10_000)),
        bmp_bomb(30_000, 30_000),
        b"P6\n50000 50000\n255\n" + b"\0" * 100,
    ],
    ids=["png", "png-12000x10000", "gif", "gif-frame", "bmp", "ppm"],
)
def test_bombs_are_refused_before_anything_is_decoded(bomb):
    tracemalloc.start()
    try:
        with pytest.raises(ImageError, match="was not decoded"):
            image.load(bomb)
        with pytest.raises(ImageError, match="was not decoded"):
            image.prepare(bomb)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_the_limit_is_exact_and_may_be_lifted(photo, encode):
    data = encode(photo)
    assert image.load(data, max_pixels=48 * 64).size == (64, 48)
    with pytest.raises(ImageError, match="64x48"):
        image.load(data, max_pixels=48 * 64 - 1)
    assert image.load(data, max_pixels=None).size == (64, 48)
    with pytest.raises(ImageError, match="max_pixels"):
        image.load(Image.open(io.BytesIO(data)), max_pixels=100)


def test_pillows_own_limit_is_neither_changed_nor_applied(photo, encode, monkeypatch):
    # Cropping and the tiles of a TIFF are compared with it too, outside Image.open.
    pictures = [encode(photo, "BMP"), encode(photo, "PNG"), encode(photo, "TIFF"), encode(photo, "JPEG")]
    pictures.append(encode(photo, "TIFF", compression="tiff_lzw"))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    for data in pictures:
        assert image.prepare(data, "efficientnet_lite", size=16, crop_padding=2).shape == (1, 3, 16, 16)
    assert Image.MAX_IMAGE_PIXELS == 100


def test_a_strip_is_not_blown_up():
    strip = np.zeros((1, 60_000, 3), np.uint8)
    strip[:, 30_000:] = 255
    row = image.prepare(strip, "unit")[0]
    assert row.shape == (3, 224, 224)
    assert 0.3 < row.mean() < 0.7
    tall = image.prepare(strip.transpose(1, 0, 2), "letterbox")[0]
    assert tall.shape == (3, 416, 416)
