"""Pictures to batches: pixels against Pillow and numpy by hand, rows, threads, errors."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ascend_infer import image
from ascend_infer.errors import ImageError, InvalidOptionError
from ascend_infer.image import rows


def test_imagenet_is_the_torchvision_recipe(photo):
    # Resize(256), CenterCrop(224), ToTensor, Normalize of torchvision, written out.
    width, height = photo.size
    resized = photo.resize((int(256 * width / height), 256), Image.Resampling.BILINEAR)
    left, top = round((resized.width - 224) / 2), round((resized.height - 224) / 2)
    cropped = np.asarray(resized.crop((left, top, left + 224, top + 224)), np.float64)
    expected = (cropped / 255 - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    batch = image.prepare(photo, "imagenet")
    assert (batch.shape, batch.dtype) == ((1, 3, 224, 224), np.float32)
    assert batch.flags.c_contiguous
    np.testing.assert_allclose(batch[0], expected.transpose(2, 0, 1), rtol=1e-6, atol=1e-6)


def test_stretch_variant_of_imagenet(photo):
    pixels = np.asarray(photo.resize((224, 224), Image.Resampling.BILINEAR), np.float32) / np.float32(255)
    expected = (pixels - np.float32([0.485, 0.456, 0.406])) / np.float32([0.229, 0.224, 0.225])
    batch = image.prepare(photo, "imagenet", policy="stretch")
    np.testing.assert_allclose(batch[0], expected.transpose(2, 0, 1), rtol=1e-4, atol=1e-5)


def test_efficientnet_lite_is_bit_for_bit_the_recipe(photo):
    side = int(48 * 32 / 64)
    left, top = (64 - side + 1) // 2, (48 - side + 1) // 2
    cropped = photo.crop((left, top, left + side, top + side)).resize((32, 32), Image.Resampling.BICUBIC)
    expected = ((np.asarray(cropped, np.float32) - 127) / 128).transpose(2, 0, 1)
    assert np.array_equal(image.prepare(photo, "efficientnet_lite", size=32)[0], expected)


def test_letterbox_pads_with_its_colour(photo):
    row = image.prepare(photo, "letterbox", size=64)[0]
    assert np.all(row[:, :8] == np.float32(128 / 255))
    assert np.all(row[:, -8:] == np.float32(128 / 255))
    np.testing.assert_array_equal(
        row[:, 8:-8], (np.asarray(photo) / 255).astype(np.float32).transpose(2, 0, 1)
    )
    red = image.prepare(photo, "raw", policy="letterbox", size=64, pad_color=(255, 0, 0), channels="BGR")[0]
    assert red[:, 0, 0].tolist() == [0, 0, 255]


@pytest.mark.parametrize("filter", ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"])
def test_filters_are_pillows(photo, filter):
    expected = np.asarray(photo.resize((20, 10), Image.Resampling[filter.upper()]))
    got = image.prepare(photo, "raw", policy="stretch", size=(10, 20), filter=filter, layout="NHWC")
    assert np.array_equal(got[0], expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("channels", ["RGB", "BGR", "L"])
def test_layouts_channels_and_dtypes_hold_the_same_pixels(photo, dtype, layout, channels):
    if dtype == "uint8":
        preset = image.preset("raw", size=(48, 64), policy="stretch", layout=layout, channels=channels)
    else:
        preset = image.preset(
            "unit", mean=0.25, size=(48, 64), policy="stretch", layout=layout, channels=channels, dtype=dtype
        )
    batch = image.prepare([photo, photo], preset)
    assert batch.shape == (2, *preset.shape)
    assert batch.dtype == dtype
    pixels = np.asarray(photo.convert("L"))[..., None] if channels == "L" else np.asarray(photo)
    pixels = pixels[..., ::-1] if channels == "BGR" else pixels
    expected = pixels if dtype == "uint8" else (pixels / 255 - 0.25).astype(dtype)
    expected = expected.transpose(2, 0, 1) if layout == "NCHW" else expected
    np.testing.assert_allclose(
        batch[0].astype(float), expected.astype(float), atol=1e-3 if dtype == "float16" else 1e-7
    )
    assert np.array_equal(batch[0], batch[1])


def test_what_counts_as_one_and_what_as_many(tmp_path, photo, encode):
    path = tmp_path / "a.png"
    photo.save(path)
    array = np.asarray(photo)
    one = [str(path), path, encode(photo), io.BytesIO(encode(photo)), photo, array, array[..., 0]]
    for source in [*one, np.frombuffer(encode(photo), np.uint8)]:
        assert image.prepare(source, "unit", size=8).shape == (1, 3, 8, 8)
    many = [
        [path, path],
        (str(path), photo),
        (p for p in [path, array]),
        np.stack([array, array]),
        np.array([str(path), str(path)], dtype=object),
        np.array([str(path), str(path)]),
        {path: 1, str(path): 2}.keys(),
    ]
    for sources in many:
        assert image.prepare(sources, "unit", size=8).shape == (2, 3, 8, 8)
    assert image.prepare([], "unit", size=8).shape == (0, 3, 8, 8)


@pytest.mark.parametrize("images", [None, 5, {"a": 1}, object()])
def test_what_is_neither(images):
    with pytest.raises(InvalidOptionError) as caught:
        image.prepare(images)
    assert caught.value.option == "images"


def test_a_directory_is_told_to_give_its_files(tmp_path):
    with pytest.raises(ImageError, match="glob"):
        image.prepare(tmp_path)


def test_out_is_filled_and_returned(photo):
    out = np.full((4, 3, 16, 16), 7, np.float32)
    batch = image.prepare([photo] * 3, "unit", size=16, out=out[:3])
    assert batch.base is out
    assert np.array_equal(batch, image.prepare([photo] * 3, "unit", size=16))
    assert np.all(out[3] == 7)


@pytest.mark.parametrize(
    "out",
    [
        np.empty((3, 3, 16, 16), np.float32),
        np.empty((2, 16, 16, 3), np.float32),
        np.empty((2, 3, 16, 16), np.float64),
        np.empty((2, 3, 16, 16), ">f4"),
        np.empty((2, 3, 16, 32), np.float32)[..., ::2],
        np.broadcast_to(np.float32(0), (2, 3, 16, 16)),
        [[0.0]],
        b"",
    ],
)
def test_out_that_does_not_fit(photo, out):
    with pytest.raises(InvalidOptionError, match="expected a writable") as caught:
        image.prepare([photo, photo], "unit", size=16, out=out)
    assert caught.value.option == "out"


def test_a_read_only_out(photo):
    out = np.zeros((1, 3, 16, 16), np.float32)
    out.setflags(write=False)
    with pytest.raises(InvalidOptionError, match="read-only"):
        image.prepare(photo, "unit", size=16, out=out)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 9), st.integers(1, 6), st.integers(0, 2**31))
def test_threads_change_nothing(count, threads, seed):
    rng = np.random.default_rng(seed)
    shapes = rng.integers(1, 60, (count, 2))
    pictures = [rng.integers(0, 256, (*shape, 3), dtype=np.uint8) for shape in shapes]
    together = image.prepare(pictures, "imagenet", size=24, threads=threads)
    alone = [image.prepare(picture, "imagenet", size=24, threads=1)[0] for picture in pictures]
    assert together.shape == (count, 3, 24, 24)
    assert all(np.array_equal(a, b) for a, b in zip(together, alone, strict=True))


def test_one_picture_starts_no_thread(photo, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a thread was made")

    monkeypatch.setattr(rows, "Thread", refuse)
    assert image.prepare(photo, "unit", size=8, threads=16).shape == (1, 3, 8, 8)
    assert image.prepare([photo] * 5, "unit", size=8, threads=1).shape == (5, 3, 8, 8)


def test_threads_follow_the_cpus_of_the_process(photo, monkeypatch):
    started: list[str] = []

    class Counting(threading.Thread):
        def start(self) -> None:
            started.append(self.name)
            super().start()

    monkeypatch.setattr(rows, "Thread", Counting)
    monkeypatch.setattr("ascend_infer.image.batch.cpu_budget", lambda: 3)
    image.prepare([photo] * 10, "unit", size=8)
    assert len(started) == 2  # and the caller's own


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_bad_thread_counts(photo, threads):
    with pytest.raises(InvalidOptionError) as caught:
        image.prepare(photo, threads=threads)
    assert caught.value.option == "threads"


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_bad_picture_is_the_one_that_is_raised(tmp_path, photo, threads):
    sources = [photo, photo, tmp_path / "first.jpg", photo, tmp_path / "second.jpg", photo]
    for _ in range(20):
        with pytest.raises(ImageError) as caught:
            image.prepare(sources, "unit", size=8, threads=threads)
        assert caught.value.source.endswith("first.jpg")


def test_errors_without_a_path_say_which_row(photo):
    with pytest.raises(ImageError, match=r"images\[2\]"):
        image.prepare([photo, photo, b"junk"], "unit", size=8)


@pytest.mark.parametrize("threads", [1, 3])
def test_prepare_many_goes_on(tmp_path, photo, threads):
    out = np.full((5, 3, 8, 8), 9, np.float32)
    sources = [photo, b"junk", photo, tmp_path / "none.jpg", photo]
    batch, errors = image.prepare_many(sources, "unit", size=8, threads=threads, out=out)
    assert batch is out
    assert list(errors) == [1, 3]
    assert not batch[1].any()
    assert not batch[3].any()
    good = image.prepare(photo, "unit", size=8)[0]
    assert all(np.array_equal(batch[row], good) for row in (0, 2, 4))
    assert image.prepare_many([], "unit").errors == {}


def test_the_same_lazy_image_many_times(tmp_path, photo, monkeypatch):
    path = tmp_path / "a.png"
    photo.save(path)
    pending: list[int] = []

    class Watching(threading.Thread):
        def start(self) -> None:
            pending.append(len(lazy.tile))  # what is still to be decoded, by whichever thread comes first
            super().start()

    monkeypatch.setattr(rows, "Thread", Watching)
    with Image.open(path) as lazy:
        assert lazy.tile
        batch = image.prepare([lazy] * 16, "unit", size=16, threads=4)
    assert pending == [0, 0, 0]
    assert np.array_equal(batch, image.prepare([photo] * 16, "unit", size=16))


def test_many_lazy_images_of_open_files(tmp_path, photo):
    paths = [tmp_path / f"{number}.png" for number in range(8)]
    for path in paths:
        photo.save(path)
    assert image.prepare([Image.open(path) for path in paths], "unit", size=16, threads=4).shape[0] == 8


def test_calls_from_many_threads_at_once(photo, encode):
    data = encode(photo, "JPEG")
    expected = image.prepare([data] * 4, "imagenet", size=32)
    wrong: list[object] = []
    start = threading.Barrier(4)

    def call() -> None:
        start.wait()
        for _ in range(5):
            batch = image.prepare([data] * 4, "imagenet", size=32, threads=2)
            wrong.extend(np.flatnonzero((batch != expected).any(axis=(1, 2, 3))))

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_fast_is_close_and_off_by_default(encode):
    y, x = np.mgrid[0:1200, 0:1600]
    big = Image.fromarray(np.stack([x // 8, y // 8, (x + y) // 16], axis=-1).astype(np.uint8))
    data = encode(big, "JPEG", quality=92)
    for policy in ("center_crop", "crop_resize", "letterbox", "stretch"):
        exact = image.prepare(data, "raw", policy=policy, size=112)
        fast = image.prepare(data, "raw", policy=policy, size=112, fast=True)
        difference = np.abs(exact.astype(int) - fast.astype(int))
        assert difference.mean() < 1.0, policy
    with pytest.raises(InvalidOptionError):
        image.prepare(data, fast="yes")


def test_fast_decodes_fewer_pixels_and_turns_them_right(encode, monkeypatch):
    sizes = []
    load = Image.Image.load

    def spy(self):
        sizes.append(self.size)
        return load(self)

    exif = Image.Exif()
    exif[0x0112] = 6
    data = encode(Image.new("RGB", (1000, 400), (40, 90, 160)), "JPEG", exif=exif)
    monkeypatch.setattr(Image.Image, "load", spy)
    batch = image.prepare(data, "letterbox", size=(100, 50), fast=True)
    # Upright it is 400x1000, which has to become 40x100: twice that is left at 1/4.
    assert (250, 100) in sizes
    assert not {(1000, 400), (500, 200), (125, 50)} & set(sizes)
    assert np.allclose(batch[0, :, 50, 25] * 255, (40, 90, 160), atol=3)
    assert np.allclose(batch[0, :, 50, 0] * 255, 128, atol=0.1)


def test_transparent_pictures_use_the_presets_background():
    clear = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    assert image.prepare(clear, "raw", size=8).min() == 255
    assert image.prepare(clear, "raw", size=8, background=(1, 1, 1)).max() == 1


def test_the_smallest_picture_goes_through_every_policy():
    for policy in ("center_crop", "crop_resize", "letterbox", "stretch"):
        batch = image.prepare(np.full((1, 1, 3), 77, np.uint8), "raw", policy=policy, size=(5, 9))
        assert 77 in batch, policy


def test_a_large_strip_is_the_same_when_only_its_part_is_scaled(monkeypatch):
    from ascend_infer.image import render as module

    rng = np.random.default_rng(3)
    strip = rng.integers(0, 256, (40, 900, 3), dtype=np.uint8)
    whole = image.prepare(strip, "raw", size=64)
    monkeypatch.setattr(module, "_WHOLE_SCALED_PIXELS", 1000)
    part = image.prepare(strip, "raw", size=64)
    assert np.abs(whole.astype(int) - part.astype(int)).max() <= 2


def test_paths_may_be_a_generator_over_a_folder(tmp_path: Path, photo):
    for number in range(3):
        photo.save(tmp_path / f"{number}.jpg")
    assert image.prepare(tmp_path.glob("*.jpg"), "unit", size=8).shape[0] == 3
