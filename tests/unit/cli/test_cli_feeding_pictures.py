"""Pictures that the command line names as a model's inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fed_words import PICTURE, feed
from PIL import Image

from ascend_infer.errors import ImageError, InvalidInputError, InvalidOptionError
from ascend_infer.types import DataType, TensorSpec


class TestPictures:
    @pytest.fixture
    def photo(self, tmp_path: Path) -> str:
        pixels = np.linspace(0, 255, 30 * 40 * 3).reshape(30, 40, 3).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / "photo.png")
        return str(tmp_path / "photo.png")

    def test_size_and_layout_follow_from_the_input(self, photo: str, capsys: Any) -> None:
        assert feed(photo, PICTURE, preset="unit")["images"].shape == (1, 3, 8, 12)
        nhwc = TensorSpec("images", DataType.FP32, (-1, 8, 12, 3))
        assert feed(photo, nhwc, preset="unit")["images"].shape == (1, 8, 12, 3)
        assert "preset unit, 8x12 RGB NHWC float32" in capsys.readouterr().err

    def test_what_is_stated_wins(self, photo: str) -> None:
        open_size = TensorSpec("images", DataType.FP32, (-1, 3, -1, -1))
        assert feed(photo, open_size, preset="imagenet")["images"].shape == (1, 3, 224, 224)
        assert feed(photo, open_size, preset="imagenet", size="32x48")["images"].shape == (1, 3, 32, 48)
        fields = json.dumps({"preset": "unit", "size": 16, "layout": "NHWC"})
        assert feed(photo, PICTURE, preset=fields)["images"].shape == (1, 16, 16, 3)

    def test_the_configurations_parameter_is_the_default(self, photo: str) -> None:
        plain = feed(photo, PICTURE, preset="unit")["images"]
        assert np.array_equal(feed(photo, PICTURE, parameter="unit")["images"], plain)
        assert np.array_equal(feed(photo, PICTURE, parameter=json.dumps({"preset": "unit"}))["images"], plain)

    def test_without_a_preset_the_presets_are_listed(self, photo: str) -> None:
        with pytest.raises(InvalidOptionError, match=r"imagenet, efficientnet_lite, .*key: \"preprocess\""):
            feed(photo, PICTURE)

    def test_several_are_a_batch(self, photo: str) -> None:
        assert feed([f"images={photo}"] * 3, PICTURE, preset="unit")["images"].shape == (3, 3, 8, 12)

    def test_the_data_type_is_the_inputs(self, photo: str) -> None:
        half = TensorSpec("images", DataType.FP16, (-1, 3, 8, 12))
        assert feed(photo, half, preset="unit")["images"].dtype == np.float16
        pixels = TensorSpec("images", DataType.UINT8, (-1, 3, 8, 12))
        assert feed(photo, pixels, preset="raw")["images"].dtype == np.uint8
        with pytest.raises(InvalidInputError, match="--preset raw"):
            feed(photo, pixels, preset="unit")

    def test_a_model_without_a_batch_takes_one(self, photo: str) -> None:
        single = TensorSpec("images", DataType.FP32, (3, 8, 12))
        assert feed(photo, single, preset="unit")["images"].shape == (3, 8, 12)

    def test_a_picture_is_known_by_its_bytes(self, photo: str, tmp_path: Path) -> None:
        other = tmp_path / "photo.upload"
        other.write_bytes(Path(photo).read_bytes())
        assert feed(str(other), PICTURE, preset="unit")["images"].shape == (1, 3, 8, 12)

    def test_a_broken_one_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "b.jpg").write_bytes(b"\xff\xd8\xff\xe0 and no more")
        with pytest.raises(ImageError, match=r"b\.jpg"):
            feed(str(tmp_path / "b.jpg"), PICTURE, preset="unit")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"preset": "imagnet"}, "did you mean 'imagenet'"),
            ({"preset": "{broken"}, "is no JSON"),
            ({"preset": '{"sise": 3}'}, "no field 'sise'"),
            ({"preset": "unit", "size": "large"}, "expected a number such as 224"),
            ({"parameter": "{broken"}, "parameter 'preprocess' of the configuration"),
        ],
    )
    def test_wrong_options(self, photo: str, options: dict[str, str], message: str) -> None:
        with pytest.raises(InvalidOptionError, match=message):
            feed(photo, PICTURE, **options)
