"""The examples run as their first lines say, each in a process of its own."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import onnx_models as made
import pytest
from example_run import EXAMPLES, colour_model, loaded, run, write_photos
from PIL import Image

import ascend_infer as ai
from ascend_infer.testing import LeakCheck

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)


def test_the_unit_tested_application(tmp_path: Path) -> None:
    app = EXAMPLES / "unit_tested_app"
    done = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "--rootdir", app, app)
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = len(
        re.findall(r"^def test_", (app / "tests" / "test_photo_tagger.py").read_text(), re.MULTILINE)
    )
    assert f"{wanted} passed" in done.stdout

    made = run(tmp_path, app / "colour_model.py")
    assert made.returncode == 0, made.stderr
    Image.new("RGB", (9, 9), (250, 0, 0)).save(tmp_path / "photo.png")
    done = run(tmp_path, app / "photo_tagger.py", made.stdout.strip(), "photo.png")
    assert (done.stdout, done.stderr, done.returncode) == ("photo.png: red\n", "", 0)


@pytest.fixture
def colours(tmp_path: Path) -> Path:
    return colour_model(tmp_path / "model_repository")


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    return write_photos(tmp_path)


def test_a_grey_release(
    tmp_path: Path, colours: Path, photos: list[Path], assert_no_leaks: type[LeakCheck]
) -> None:
    example = loaded(EXAMPLES / "grey_release.py")
    keys = [f"user {number}" for number in range(2000)]
    with example.GreyRelease(colours, old=1, new=2, share=0.1, device="cpu") as release:
        first = {key for key in keys if release.version_of(key) == 2}
        assert 140 < len(first) < 260
        release.share = 0.3
        second = {key for key in keys if release.version_of(key) == 2}
        assert first < second
        assert 500 < len(second) < 700
        images = {"photo": ai.image.prepare(photos[0], "unit", size=32)}
        for key in keys[:50]:
            assert release.infer(key, images).version == (2 if key in second else 1)
        wanted = {1: 50 - len(second & set(keys[:50])), 2: len(second & set(keys[:50]))}
        assert {version: numbers.requests for version, numbers in release.numbers.items()} == wanted
        with pytest.raises(ai.errors.InvalidInputError):
            release.infer(keys[0], {"nothing": 1})
        assert sum(numbers.failures for numbers in release.numbers.values()) == 1

    options = ("--preset", "unit", "--share", "0.5", "--requests", "40")
    done = run(tmp_path, EXAMPLES / "grey_release.py", colours, photos[0], *options)
    assert (done.returncode, done.stderr) == (0, "")
    counts = [int(count) for count in re.findall(r"version \d: (\d+) requests, 0 failed", done.stdout)]
    assert len(counts) == 2
    assert sum(counts) == 40
    assert min(counts) > 8
    done = run(tmp_path, EXAMPLES / "grey_release.py", colours, photos[0], "--new", "7")
    assert done.returncode == 1
    assert "error: " in done.stderr


def test_a_new_version_that_fails_is_backed_by_the_old_one(
    tmp_path: Path, assert_no_leaks: type[LeakCheck]
) -> None:
    example = loaded(EXAMPLES / "grey_release.py")
    model = made.model_directory(tmp_path, "net", made.failing_reshape())
    made.write(made.identity(dims=("n",)), model / "2" / "model.onnx")
    # Version 1 is the one that fails on odd sizes here: it plays the new one.
    with example.GreyRelease(model, old=2, new=1, share=1.0, device="cpu") as release:
        assert release.infer("a", np.ones(3, np.float32)).version == 2
        assert release.infer("a", np.ones(4, np.float32)).version == 1
        assert (release.numbers[1].requests, release.numbers[1].failures) == (2, 1)
        assert release.numbers[2].requests == 1
        release.sessions[2].infer(np.ones(4, np.float32))  # counted by the session, whoever asks it
        assert (release.numbers[2].requests, release.numbers[2].failures) == (2, 0)
        assert release.numbers[2].mean_ms > 0
