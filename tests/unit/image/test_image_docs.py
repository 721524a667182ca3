"""The examples of docs/images.md run as they stand."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

from ascend_infer import image
from ascend_infer.image import batch, presets, scores

PAGE = Path(__file__).parents[3] / "docs" / "images.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_page_has_examples():
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_example(number, tmp_path, monkeypatch, photo):
    for name in ("photo.jpg", "photos/a.jpg", "photos/b.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        photo.save(tmp_path / name)
    (tmp_path / "photos" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (tmp_path / "labels.txt").write_text("\n".join(f"class {index}" for index in range(1000)))
    monkeypatch.chdir(tmp_path)
    run = np.linspace(0, 1, 1000)
    exec(BLOCKS[number], {"image": image, "np": np, "model": lambda rows: np.stack([run] * len(rows))})


@pytest.mark.parametrize("module", [batch, presets, scores])
def test_docstring_examples(module):
    failed, tried = doctest.testmod(module)
    assert failed == 0
    assert tried > 0


def test_every_public_name_is_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in image.__all__ if name not in text] == []
    assert [name for name in image.PRESETS if f"`{name}`" not in text] == []
