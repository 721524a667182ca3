"""Where pixels go: the arithmetic of the four policies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ascend_infer import image
from ascend_infer.errors import InvalidOptionError
from ascend_infer.image import Preset

sides = st.integers(1, 3000)
targets = st.tuples(st.integers(1, 300), st.integers(1, 300))
paddings = st.integers(0, 64)


@given(sides, sides, targets)
def test_letterbox_keeps_proportions_and_centres(width, height, size):
    placed = Preset(policy="letterbox", size=size).place(width, height)
    rows, columns = size
    scaled_width, scaled_height = placed.scaled
    assert scaled_width == columns or scaled_height == rows
    assert 1 <= scaled_width <= columns
    assert 1 <= scaled_height <= rows
    zoom = min(columns / width, rows / height)
    assert scaled_width == pytest.approx(width * zoom, abs=1)
    assert scaled_height == pytest.approx(height * zoom, abs=1)
    left, top = placed.offset
    assert 0 <= columns - scaled_width - 2 * left <= 1
    assert 0 <= rows - scaled_height - 2 * top <= 1


@given(sides, sides, targets, paddings)
def test_center_crop_covers_the_input(width, height, size, padding):
    placed = Preset(policy="center_crop", size=size, crop_padding=padding).place(width, height)
    rows, columns = size
    left, top = placed.offset
    assert left <= 0
    assert top <= 0
    assert placed.scaled[0] + left >= columns
    assert placed.scaled[1] + top >= rows
    assert placed.scaled[0] == columns + padding or placed.scaled[1] == rows + padding
    assert placed.box == (0, 0, width, height)


@given(sides, sides, targets, paddings)
def test_crop_resize_takes_a_centred_part_of_the_inputs_shape(width, height, size, padding):
    placed = Preset(policy="crop_resize", size=size, crop_padding=padding).place(width, height)
    left, top, right, bottom = placed.box
    assert 0 <= left < right <= width
    assert 0 <= top < bottom <= height
    assert 0 <= left - (width - right) <= 1
    assert 0 <= top - (height - bottom) <= 1
    assert placed.scaled == (size[1], size[0])


def test_the_odd_pixel_of_a_crop_is_where_the_efficientnet_recipe_has_it():
    # offset = ((image_height - padded_center_crop_size) + 1) // 2, and so for the width.
    assert image.preset("efficientnet_lite").place(333, 500).box == (21, 105, 312, 396)
    assert image.preset("efficientnet_lite").place(500, 333).box == (105, 21, 396, 312)


@given(sides, sides, st.integers(1, 400))
def test_square_sizes_are_the_published_arithmetic(width, height, side):
    crop = Preset(policy="crop_resize", size=(side, side)).place(width, height).box
    taken = max(1, int(min(width, height) * side / (side + 32)))
    assert crop[2] - crop[0] == taken
    assert crop[:2] == ((width - taken + 1) // 2, (height - taken + 1) // 2)
    placed = Preset(size=(side, side)).place(width, height)
    scaled = placed.scaled
    assert placed.offset == tuple(-round((length - side) / 2.0) for length in scaled)
    full = side + 32
    short, long = min(width, height), max(width, height)
    assert sorted(scaled) == sorted((full, int(full * long / short)))


@given(
    sides, sides, targets, paddings, st.sampled_from(["center_crop", "crop_resize", "letterbox", "stretch"])
)
def test_places_map_back_into_the_picture(width, height, size, padding, policy):
    placed = Preset(policy=policy, size=size, crop_padding=padding).place(width, height)
    left, top, right, bottom = placed.box
    x, y = placed.offset
    corners = [x, y, x + placed.scaled[0], y + placed.scaled[1]]
    np.testing.assert_allclose(placed.to_source(corners), [left, top, right, bottom], atol=1e-6)
    many = placed.to_source(np.zeros((5, 4)))
    assert many.shape == (5, 4)


def test_a_box_found_in_the_letterbox_is_found_again_in_the_picture():
    picture = Image.new("RGB", (640, 480), (0, 0, 0))
    picture.paste((255, 255, 255), (100, 200, 300, 400))
    preset = image.preset("letterbox", size=416)
    row = image.prepare(picture, preset)[0, 0]
    white = np.argwhere(row > 0.9)
    (top, left), (bottom, right) = white.min(0), white.max(0) + 1
    box = preset.place(640, 480).to_source([left, top, right, bottom])
    np.testing.assert_allclose(box, [100, 200, 300, 400], atol=2)


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (-1, 5), (2.5, 5), ("a", 5)])
def test_sizes_of_no_picture(size):
    with pytest.raises(InvalidOptionError):
        image.preset("unit").place(*size)
