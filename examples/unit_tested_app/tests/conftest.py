"""What the tagger's tests share: its model, made once, and a few photos."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))

import colour_model

COLOURS = {"red": (220, 20, 30), "green": (20, 190, 40), "blue": (10, 30, 230), "dark": (12, 10, 9)}


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model directory."""
    return colour_model.write(tmp_path_factory.mktemp("model_repository"))


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    """One photo of each colour, and a grey one."""
    for name, colour in {**COLOURS, "grey": (128, 128, 128)}.items():
        Image.new("RGB", (64, 48), colour).save(tmp_path / f"{name}.png")
    return [tmp_path / f"{name}.png" for name in (*COLOURS, "grey")]
