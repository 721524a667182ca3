"""Every pixel format that Pillow reads comes out as upright 8-bit RGB."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from PIL import Image, ImageOps, features
from PIL.PngImagePlugin import PngInfo

from ascend_infer import image
from ascend_infer.errors import ImageError
from ascend_infer.image.formats import FORMATS


def corners(array: np.ndarray) -> list[list[int]]:
    return [array[y, x].tolist() for y in (0, -1) for x in (0, -1)]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_exif_orientation(photo, encode, orientation, kind):
    if kind == "WEBP" and not features.check("webp"):
        pytest.skip("this Pillow has no WebP")
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"quality": 95, "subsampling": 0} if kind == "JPEG" else {}
    options |= {"lossless": True} if kind == "WEBP" else {}
    data = encode(photo, kind, exif=exif, **options)
    with Image.open(io.BytesIO(data)) as opened:
        expected = np.asarray(ImageOps.exif_transpose(opened).convert("RGB"))
    assert np.array_equal(image.decode(data), expected)
    assert expected.shape[:2] == ((48, 64) if orientation < 5 else (64, 48))
    with Image.open(io.BytesIO(data)) as opened:
        assert np.array_equal(image.decode(opened), expected)


def test_upright_means_the_corners_are_where_they_belong(photo, encode):
    stored = photo.transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise when shown
    assert corners(image.decode(encode(stored, exif=exif))) == corners(np.asarray(photo))


@pytest.mark.parametrize("exif", [b"Exif\0\0garbage", b"Exif\0\0", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff"])
def test_broken_exif_does_not_spoil_the_picture(photo, encode, exif):
    plain = encode(photo, "JPEG")
    segment = b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's own, about the EXIF
        assert np.array_equal(image.decode(plain[:2] + segment + plain[2:]), image.decode(plain))


@pytest.mark.parametrize("value", [0, 9, 65535])
def test_unknown_orientations_count_as_upright(photo, encode, value):
    exif = Image.Exif()
    exif[0x0112] = value
    assert np.array_equal(image.decode(encode(photo, exif=exif)), np.asarray(photo))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "CMYK", "YCbCr", "HSV"])
def test_opaque_modes_are_what_pillow_makes_of_them(photo, mode):
    converted = photo.convert(mode)
    assert np.array_equal(image.decode(converted), np.asarray(converted.convert("RGB")))


def test_cmyk_jpeg(encode):
    data = encode(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG", quality=95)
    red, green, blue = image.decode(data)[8, 8].tolist()
    assert red > 240
    assert green < 15
    assert blue < 15


def test_sixteen_bit_grey_is_scaled_not_clipped(encode):
    values = np.array([[0, 128, 129, 257, 32768, 65535]], np.uint16)
    data = encode(Image.fromarray(values))
    assert image.decode(data)[0, :, 1].tolist() == [0, 0, 1, 1, 128, 255]
    assert image.decode(Image.fromarray(values.astype(np.int32)))[0, :, 1].tolist() == [0, 0, 1, 1, 128, 255]
    big_endian = Image.frombytes("I;16B", (6, 1), values.astype(">u2").tobytes())
    assert image.decode(big_endian)[0, :, 1].tolist() == [0, 0, 1, 1, 128, 255]


@pytest.mark.parametrize("value", [-1, 65536])
def test_integers_of_unknown_range_are_refused(value):
    with pytest.raises(ImageError, match="range"):
        image.load(Image.fromarray(np.full((2, 2), value, np.int32)))


def test_float_images():
    assert image.decode(Image.fromarray(np.float32([[0, 1]])))[0, :, 0].tolist() == [0, 255]
    with pytest.raises(ImageError, match="0 to 1"):
        image.load(Image.fromarray(np.float32([[0, 200]])))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "RGBa", "La", "PA"])
def test_alpha_is_composited_on_the_background(mode):
    clear = Image.new("LA" if mode in ("LA", "La") else "RGBA", (2, 2), 0)
    picture = Image.new("PA", (2, 2), 0) if mode == "PA" else clear.convert(mode)
    assert image.decode(picture)[0, 0].tolist() == [255, 255, 255]
    assert image.decode(picture, background=(10, 20, 30))[0, 0].tolist() == [10, 20, 30]
    assert image.decode(picture, background=None)[0, 0].tolist() == [0, 0, 0]


def test_half_transparent_is_mixed_and_opaque_is_kept():
    picture = Image.new("RGBA", (2, 1), (200, 100, 0, 255))
    picture.putpixel((1, 0), (0, 0, 0, 128))
    first, second = image.decode(picture)[0].tolist()
    assert first == [200, 100, 0]
    assert second == pytest.approx([127] * 3, abs=1)


def test_palette_with_transparency(encode):
    picture = Image.new("P", (2, 1), 0)
    picture.putpalette([255, 0, 0, 0, 255, 0])
    picture.putpixel((1, 0), 1)
    for transparency in (0, b"\x00\xff"):
        data = encode(picture, transparency=transparency)
        assert image.decode(data)[0].tolist() == [[255, 255, 255], [0, 255, 0]]
        assert image.decode(data, background=None)[0].tolist() == [[255, 0, 0], [0, 255, 0]]


def test_grey_and_rgb_with_a_transparent_colour(encode):
    grey = encode(Image.new("L", (2, 2), 7), transparency=7)
    rgb = encode(Image.new("RGB", (2, 2), (1, 2, 3)), transparency=(1, 2, 3))
    assert image.decode(grey).min() == 255
    assert image.decode(rgb).min() == 255


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_several_frames_the_first(encode, kind):
    if kind == "WEBP" and not features.check("webp"):
        pytest.skip("this Pillow has no WebP")
    frames = [Image.new("RGB", (8, 8), color) for color in ((255, 0, 0), (0, 255, 0), (0, 0, 255))]
    options = {"lossless": True} if kind == "WEBP" else {}
    data = encode(frames[0], kind, save_all=True, append_images=frames[1:], **options)
    assert image.decode(data)[4, 4].tolist() == [255, 0, 0]


@pytest.mark.parametrize("kind", ["BMP", "PPM", "TIFF", "GIF", "WEBP", "JPEG2000", "AVIF"])
def test_every_listed_format_is_read(photo, encode, kind):
    needed = {"WEBP": "webp", "JPEG2000": "jpg_2000", "AVIF": "avif"}.get(kind)
    if needed and needed not in features.get_supported():
        pytest.skip(f"this Pillow has no {kind}")
    assert image.decode(encode(photo, kind)).shape == (48, 64, 3)


@pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_adobe_deflate", "packbits"])
def test_compressed_tiff_from_a_file_leaves_it_closed(tmp_path, photo, compression):
    path = tmp_path / "a.tif"
    photo.save(path, compression=compression)
    assert np.array_equal(image.decode(path), np.asarray(photo))


def test_a_reader_that_this_pillow_lacks(photo, encode, monkeypatch):
    without = FORMATS["PPM"]._replace(module="PIL.NoSuchPlugin")
    monkeypatch.setitem(FORMATS, "PPM", without)
    with pytest.raises(ImageError, match="upgrade Pillow"):
        image.load(encode(photo, "PPM"))


def test_text_in_a_png_is_harmless(photo, encode):
    text = PngInfo()
    text.add_text("comment", "x" * 1000, zip=True)
    assert np.array_equal(image.decode(encode(photo, pnginfo=text)), np.asarray(photo))
