"""The ways in which a picture may be handed over, and what is said when it cannot be."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ascend_infer import image
from ascend_infer.errors import AscendInferError, ImageError, InvalidOptionError


def pixels(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture)


@pytest.mark.parametrize("kind", ["str", "Path", "bytes", "bytearray", "memoryview", "file", "array", "pil"])
def test_every_kind_of_source_gives_the_same_pixels(tmp_path, photo, encode, kind):
    data = encode(photo)
    path = tmp_path / "фото 1.png"
    path.write_bytes(data)
    source = {
        "str": str(path),
        "Path": path,
        "bytes": data,
        "bytearray": bytearray(data),
        "memoryview": memoryview(data),
        "file": io.BytesIO(data),
        "array": np.frombuffer(data, np.uint8),
        "pil": photo,
    }[kind]
    loaded = image.load(source)
    assert loaded.mode == "RGB"
    assert np.array_equal(pixels(loaded), pixels(photo))
    if kind == "file":
        assert not source.closed


def test_decode_gives_an_array_of_ones_own(photo, encode):
    array = image.decode(encode(photo))
    assert (array.shape, array.dtype) == ((48, 64, 3), np.uint8)
    assert array.flags.writeable
    assert array.flags.c_contiguous
    own = np.asarray(photo).copy()
    again = image.decode(own)
    again[...] = 0
    assert own.any()


def test_an_unseekable_file_is_read(photo, encode):
    class Pipe(io.RawIOBase):
        def __init__(self, data: bytes) -> None:
            self.data = io.BytesIO(data)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer) -> int:
            return self.data.readinto(buffer)

    assert np.array_equal(image.decode(Pipe(encode(photo))), pixels(photo))


def test_a_file_is_read_from_where_it_stands(photo, encode):
    file = io.BytesIO(b"header" + encode(photo))
    file.seek(6)
    assert np.array_equal(image.decode(file), pixels(photo))


def test_a_pil_image_stays_open_and_as_it_was(tmp_path, photo):
    path = tmp_path / "a.png"
    photo.save(path)
    with Image.open(path) as opened:
        loaded = image.load(opened)
        assert loaded is not opened
        loaded.putpixel((0, 0), (9, 9, 9))
        assert opened.getpixel((0, 0)) == photo.getpixel((0, 0))


def test_the_loaded_picture_is_free_of_its_file_and_metadata(tmp_path, photo):
    path = tmp_path / "a.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6
    photo.save(path, exif=exif, dpi=(72, 72))
    loaded = image.load(path)
    path.unlink()
    assert type(loaded) is Image.Image
    assert loaded.info == {}
    assert loaded.getexif().get(0x0112) is None


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 5), np.uint8),
        np.zeros((3, 5, 1), np.uint8),
        np.zeros((3, 5, 3), np.uint8),
        np.zeros((3, 5, 4), np.uint8),
        np.zeros((3, 5, 3), np.float16),
        np.zeros((3, 5, 3), np.float64),
        np.zeros((3, 5), np.uint16),
        np.zeros((3, 5), np.bool_),
        np.zeros((6, 10, 3), np.uint8)[::2, ::2],
        np.asfortranarray(np.zeros((3, 5, 3), np.uint8)),
    ],
)
def test_arrays_of_each_shape_and_dtype(array):
    assert image.decode(array).shape == (3, 5, 3)


def test_array_values_keep_their_meaning():
    assert image.decode(np.array([[0.0, 0.5, 1.0]]))[0, :, 0].tolist() == [0, 128, 255]
    assert image.decode(np.array([[0, 257, 65535]], np.uint16))[0, :, 0].tolist() == [0, 1, 255]
    assert image.decode(np.array([[False, True]]))[0, :, 0].tolist() == [0, 255]
    assert image.decode(np.float32([[-0.0005, 1.0005]]))[0, :, 0].tolist() == [0, 255]


def test_bfloat16_arrays():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert image.decode(np.ones((2, 2), ml_dtypes.bfloat16)).max() == 255


def test_channels_first_only_when_told():
    array = np.zeros((3, 20, 30), np.uint8)
    array[0] = 200
    assert image.decode(array, source_layout="CHW")[0, 0].tolist() == [200, 0, 0]
    assert image.decode(array[:1], source_layout="CHW").shape == (20, 30, 3)
    with pytest.raises(ImageError, match="source_layout='CHW'"):
        image.load(array)
    with pytest.raises(ImageError, match="source_layout='HWC'"):
        image.load(array.transpose(1, 2, 0), source_layout="CHW")


def test_objects_that_numpy_can_see():
    class Tensor:
        shape, dtype = (2, 2), "uint8"

        def __array__(self, dtype=None, copy=None):
            return np.full((2, 2), 7, np.uint8)

    assert image.decode(Tensor()).max() == 7


@pytest.mark.parametrize(
    "source",
    [
        None,
        7,
        object(),
        Image.Image,
        [1, 2],
        np.zeros((2, 2, 2), np.uint8),
        np.zeros((2, 2, 2, 3), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros(4, np.float32),
        np.zeros((2, 2), np.int64),
        np.full((2, 2), np.nan),
        np.full((2, 2), 255.0),
        np.full((2, 2), -np.inf),
        np.array([["a", "b"]]),
        np.zeros((2, 2), np.complex64),
        b"",
        bytearray(),
        b"not a picture at all",
        b"RIFF0000WAVEfmt ",
        np.zeros(0, np.uint8),
        io.BytesIO(),
        io.StringIO("text"),
        Image.new("RGB", (0, 5)),
        "",
        "a\0b",
        "x" * 5000,
        "no/such/file.jpg",
        "https://example.org/cat.jpg",
    ],
    ids=lambda source: type(source).__name__,
)
def test_what_is_no_picture_is_one_image_error(source):
    with pytest.raises(ImageError) as caught:
        image.load(source)
    assert caught.value.source
    assert caught.value.source in str(caught.value)
    with pytest.raises(ImageError):
        image.decode(source)


def test_closed_file_object(photo, encode):
    file = io.BytesIO(encode(photo))
    file.close()
    with pytest.raises(ImageError):
        image.load(file)


def test_closed_pil_image(tmp_path, photo):
    path = tmp_path / "a.png"
    photo.save(path)
    opened = Image.open(path)
    opened.close()
    with pytest.raises(ImageError):
        image.load(opened)


def test_paths_that_are_no_files(tmp_path):
    (tmp_path / "empty.jpg").touch()
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "loop.jpg").symlink_to("loop.jpg")
    expected = {
        "": "is a directory",
        "empty.jpg": "empty",
        "pipe.jpg": "no regular file",
        "loop.jpg": "cannot be opened",
        "missing.jpg": "no such file",
        "empty.jpg/x": "cannot be opened",
    }
    for name, text in expected.items():
        path = tmp_path / name
        with pytest.raises(ImageError, match=text) as caught:
            image.load(path)
        assert caught.value.source == str(path)


def test_a_file_that_may_not_be_read(tmp_path, photo, monkeypatch):
    path = tmp_path / "secret.png"
    photo.save(path)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ImageError, match="permissions"):
        image.load(path)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
        (b"<!DOCTYPE html><html>404</html>", "error page"),
        (b'{"error": "denied"}', "error page"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
        (b"%PDF-1.7 ", "PDF"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "PostScript"),
        (b"PK\x03\x04rest", "zip"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "pillow-heif"),
        (b"\0\0\0\x18ftypisom\0\0\0\0", "video"),
        (b"\0\0\1\0\1\0\x10\x10", "icon"),
        (b"\x93NUMPY\x01\0", "np.load"),
        (b"photo.jpg", "str, not as bytes"),
        (b"\x12\x34\x56", "raw pixels"),
    ],
)
def test_what_else_a_file_is_gets_said(data, text):
    with pytest.raises(ImageError, match=text):
        image.load(data)


def test_a_file_of_text_is_not_taken_for_a_path(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.jpg")
    path.write_bytes(b"gone")
    with pytest.raises(ImageError, match="it is the text 'gone'; get a fresh copy of the file$"):
        image.load(path)


def test_formats_that_the_application_registers(photo):
    class Doubled(Image.Image):
        pass

    def factory(file, _name):
        file.read(4)
        return Image.new("RGB", (2, 2), tuple(file.read(3)))

    factory.__name__ = "factory"
    import sys

    module = sys.modules[__name__]
    module.factory = factory  # type: ignore[attr-defined]
    Image.register_open("TEST-RGB", factory, lambda prefix: prefix.startswith(b"TRGB"))
    try:
        assert image.decode(b"TRGB\x01\x02\x03")[0, 0].tolist() == [1, 2, 3]
    finally:
        Image.ID.remove("TEST-RGB")
        del Image.OPEN["TEST-RGB"]


@pytest.mark.parametrize(
    "options",
    [
        {"max_pixels": 0},
        {"max_pixels": "many"},
        {"max_pixels": True},
        {"source_layout": "chw"},
        {"background": "white"},
        {"background": (1, 2)},
        {"background": (1, 2, 256)},
    ],
)
def test_bad_options(photo, options):
    with pytest.raises(InvalidOptionError) as caught:
        image.load(photo, **options)
    assert caught.value.option in options
    assert isinstance(caught.value, AscendInferError)


def test_relative_paths_say_where_they_were_looked_for(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ImageError) as caught:
        image.load(Path("cat.jpg"))
    assert str(tmp_path) in str(caught.value)
