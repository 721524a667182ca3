"""Presets: what they compute, what they refuse, and that a config can hold them."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer import image
from ascend_infer.errors import InvalidOptionError
from ascend_infer.image import PRESETS, Preset

X = np.arange(256, dtype=np.float64)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("unit", X / 255),
        ("letterbox", X / 255),
        ("signed_unit", X / 127.5 - 1),
        ("efficientnet_lite", (X - 127) / 128),
    ],
)
def test_normalisation_is_the_published_one(name, formula):
    table = image.preset(name).table()
    assert table.dtype == np.float32
    assert table.shape == (3, 256)
    np.testing.assert_allclose(table, np.broadcast_to(formula, (3, 256)), rtol=2e-7, atol=1e-8)


def test_imagenet_is_torchvisions():
    table = image.preset("imagenet").table()
    for channel, (mean, std) in enumerate([(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)]):
        np.testing.assert_allclose(table[channel], (X / 255 - mean) / std, rtol=2e-7, atol=1e-7)
    default = image.preset("imagenet")
    assert (default.size, default.policy, default.crop_padding) == ((224, 224), "center_crop", 32)


def test_overrides_change_only_what_they_name():
    changed = image.preset("imagenet", policy="stretch", size=(10, 20))
    assert changed.shape == (3, 10, 20)
    assert changed.mean == PRESETS["imagenet"].mean
    assert PRESETS["imagenet"].size == (224, 224)
    assert image.preset("imagenet") is PRESETS["imagenet"]
    assert image.preset(changed, layout="NHWC").shape == (10, 20, 3)
    assert image.preset("unit", channels="L").shape == (1, 224, 224)
    assert image.preset("unit", dtype=np.float16).dtype == "float16"
    assert image.preset("unit", mean=np.array([1, 2, 3]), size=np.int64(8)).mean == (1.0, 2.0, 3.0)


def test_each_colour_keeps_its_mean_when_the_order_turns():
    turned = image.preset("imagenet", channels="BGR")
    assert turned.mean == (0.406, 0.456, 0.485)
    assert turned.std == (0.225, 0.224, 0.229)
    assert image.preset(turned, channels="RGB") == PRESETS["imagenet"]
    assert image.preset("imagenet", channels="BGR", mean=(1, 2, 3)).mean == (1, 2, 3)
    rgb = image.prepare(np.full((4, 4, 3), (9, 90, 200), np.uint8), "imagenet", size=4)
    bgr = image.prepare(np.full((4, 4, 3), (9, 90, 200), np.uint8), "imagenet", size=4, channels="BGR")
    assert np.array_equal(rgb[:, ::-1], bgr)


def test_a_dict_may_change_a_named_preset():
    assert image.preset({"preset": "imagenet", "size": 240}) == image.preset("imagenet", size=240)
    assert image.preset({"size": [4, 6]}).size == (4, 6)
    assert image.preset({"preset": "unit"}, size=9).size == (9, 9)


@pytest.mark.parametrize("name", list(PRESETS))
def test_round_trip_through_json(name):
    one = PRESETS[name]
    assert one.name == name
    assert Preset.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert image.preset(one.to_dict()) == one
    assert pickle.loads(pickle.dumps(one)) == one
    assert hash(one) == hash(Preset.from_dict(one.to_dict()))


floats = st.floats(-300, 300, allow_nan=False).filter(lambda x: abs(x) > 1e-3)


@given(
    st.builds(
        Preset,
        size=st.tuples(st.integers(1, 512), st.integers(1, 512)),
        policy=st.sampled_from(["center_crop", "crop_resize", "letterbox", "stretch"]),
        crop_padding=st.integers(0, 64),
        pad_color=st.tuples(*[st.integers(0, 255)] * 3),
        background=st.none() | st.tuples(*[st.integers(0, 255)] * 3),
        scale=floats,
        mean=st.tuples(floats, floats, floats),
        std=st.tuples(floats, floats, floats),
        channels=st.sampled_from(["RGB", "BGR"]),
        layout=st.sampled_from(["NCHW", "NHWC"]),
    )
)
def test_any_preset_survives_json_and_has_a_finite_table(one):
    assert Preset.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    table = one.table()
    assert np.isfinite(table).all()
    expected = (X * one.scale - np.array(one.mean)[:, None]) / np.array(one.std)[:, None]
    assert np.array_equal(table, expected.astype(np.float32))


def test_tables_are_shared_and_cannot_be_spoiled():
    table = image.preset("unit").table()
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1


@pytest.mark.parametrize("name", ["imagnet", "Imagenet", "nothing like it", ""])
def test_unknown_names_list_the_known_ones(name):
    with pytest.raises(InvalidOptionError) as caught:
        image.preset(name)
    assert caught.value.option == "preset"
    for known in PRESETS:
        assert known in str(caught.value)
    if name.lower().startswith("imag"):
        assert "did you mean 'imagenet'" in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("size", 0),
        ("size", -3),
        ("size", 2.5),
        ("size", True),
        ("size", (1, 2, 3)),
        ("size", "224"),
        ("size", None),
        ("size", 10**6),
        ("policy", "centre_crop"),
        ("policy", None),
        ("crop_padding", -1),
        ("filter", "cubic"),
        ("filter", 3),
        ("pad_color", (1, 2)),
        ("pad_color", 300),
        ("background", "white"),
        ("scale", 0),
        ("scale", float("nan")),
        ("scale", "1/255"),
        ("mean", (1, 2)),
        ("mean", ()),
        ("mean", float("inf")),
        ("std", 0),
        ("std", (1, 0, 1)),
        ("std", [1, 2, "x"]),
        ("channels", "rgb"),
        ("layout", "CHW"),
        ("dtype", "float64"),
        ("dtype", object()),
        ("name", 3),
    ],
)
def test_bad_fields_name_themselves(field, value):
    with pytest.raises(InvalidOptionError) as caught:
        image.Preset(**{field: value})
    assert caught.value.option == field
    assert str(caught.value).startswith(f"{field}=")
    assert "expected" in str(caught.value) or "it is one of" in str(caught.value)
    with pytest.raises(InvalidOptionError):
        Preset.from_dict({field: value})


def test_uint8_allows_no_normalisation():
    assert image.preset("raw").table().dtype == np.uint8
    with pytest.raises(InvalidOptionError, match="raw"):
        image.preset("imagenet", dtype="uint8")


def test_float16_must_be_able_to_hold_the_result():
    with pytest.raises(InvalidOptionError, match="float16"):
        image.preset("unit", scale=1000.0, dtype="float16")


def test_unknown_fields():
    with pytest.raises(InvalidOptionError, match="did you mean 'layout'"):
        image.preset("unit", layuot="NCHW")
    with pytest.raises(InvalidOptionError, match="size"):
        Preset.from_dict({"width": 3})
    with pytest.raises(InvalidOptionError, match="prepare_many"):
        image.prepare(np.zeros((2, 2), np.uint8), on_error="collect")
    for nothing in (None, 5, ["imagenet"]):
        with pytest.raises(InvalidOptionError):
            image.preset(nothing)
    with pytest.raises(InvalidOptionError):
        Preset.from_dict("imagenet")


def test_presets_cannot_be_changed():
    with pytest.raises(TypeError):
        PRESETS["mine"] = Preset()  # type: ignore[index]
    with pytest.raises(AttributeError):
        PRESETS["unit"].size = (1, 1)  # type: ignore[misc]
