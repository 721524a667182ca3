"""Thousands of damaged files: each is read, or refused by the one exception type; nothing else comes out."""

from __future__ import annotations

import contextlib
import json
import random

import pytest

from ascend_infer import om
from ascend_infer.errors import ModelFileError
from ascend_infer.types import DataType, Gear, TensorSpec

PER_FILE = 1000
INTERESTING = (0, 1, 2, 0x7F, 0x80, 0xFF)


def simulator_model() -> bytes:
    import io

    stream = io.BytesIO()
    om.write_simulator_model(
        stream,
        onnx=b"\x08\x08" + b"O" * 50,
        inputs=[TensorSpec("x", DataType.FP32, (-1, 3, 8, 8))],
        outputs=[TensorSpec("y", DataType.INT64, (-1, 5))],
        gears=[Gear("batch", (n,)) for n in (1, 2, 8)],
        aipp={"x": om.OmAipp(input_format=3)},
    )
    return stream.getvalue()


def mutated(data: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(6)
    out = bytearray(data)
    if kind == 0:
        return bytes(out[: rng.randrange(len(out))])
    if kind == 1:  # a range goes missing, and the header does not know
        begin = rng.randrange(len(out))
        del out[begin : begin + rng.randrange(1, 40)]
    elif kind == 2:  # a range is doubled
        begin = rng.randrange(len(out))
        out[begin:begin] = out[begin : begin + rng.randrange(1, 40)]
    elif kind == 3:  # a field gets an extreme value
        place = rng.randrange(max(1, len(out) - 8))
        width = rng.choice((1, 2, 4, 8))
        out[place : place + width] = rng.choice((b"\0", b"\xff", b"\x7f", b"\x80")) * width
    else:
        for _ in range(rng.choice((1, 1, 2, 8))):
            place = rng.randrange(len(out))
            out[place] = rng.choice((rng.randrange(256), *INTERESTING))
    return bytes(out)


@pytest.mark.parametrize(
    "name",
    ["static_v2", "gears_v1", "gears_case", "unknown_shape", "bundle", "flow", "om2", "simulator"],
)
def test_mutated_files_are_read_or_refused(build, name):
    data = simulator_model() if name == "simulator" else build.ALL[name]()
    rng = random.Random(f"om {name}")
    refused = 0
    for _ in range(PER_FILE):
        case = mutated(data, rng)
        try:
            model = om.read_bytes(case, name="case")
        except ModelFileError as error:
            refused += 1
            assert error.path == "case"
            assert error.reason
            assert error.offset is None or 0 <= error.offset <= len(case)
            continue
        json.dumps(model.to_json())
        assert model._repr_html_().startswith("<div>")
        try:
            model.spec()
        except ModelFileError:
            continue
    assert PER_FILE // 10 < refused < PER_FILE


def test_every_truncation_is_refused(build):
    """A cut anywhere breaks the length rule; simulator models, which have no length, break their tables."""
    for data in (build.static_v2(), build.gears_v1(), simulator_model()):
        for end in range(len(data)):
            with pytest.raises(ModelFileError):
                om.read_bytes(data[:end])


def test_work_on_a_hostile_file_is_bounded_by_counts(build, monkeypatch):
    """Many gears times many inputs: shapes are not worked out, however small the file is."""
    from ascend_infer.om import gears as gears_module

    calls = 0
    real = gears_module.fill_gear

    def counted(*arguments):
        nonlocal calls
        calls += 1
        return real(*arguments)

    monkeypatch.setattr(gears_module, "fill_gear", counted)
    inputs = build.listed(*[build.described("x", 0, 2, 0, (-1,))] * 4000)
    import struct

    gears = struct.pack("<I", 4000) + struct.pack("<4000q", *range(4000))
    info = (
        build.tlv(0, inputs)
        + build.tlv(1, build.listed(build.described("y", 4, 2, 0, (1,))))
        + build.tlv(2, gears)
    )
    model = om.read_bytes(build.om([(8, info), (0, build.modeldef("n", build.graph("g")))]))
    assert calls == 0
    assert len(model.gears) == 4000
    assert len(model.spec().inputs) == 4000
    assert any("too many" in note for note in model.notes)


@pytest.mark.parametrize("name", ["static_v2", "gears_case", "simulator"])
def test_each_byte_damaged_in_turn(build, name):
    """No byte is beyond the rule: not those either that are decoded only where somebody asks for them."""
    data = simulator_model() if name == "simulator" else build.ALL[name]()
    for place in range(len(data)):
        for value in (0x00, 0x76, 0xFF):
            case = bytearray(data)
            case[place] = value
            with contextlib.suppress(ModelFileError):
                om.read_bytes(case)


def test_damage_inside_a_lazily_read_attribute_has_its_place_in_the_file():
    data = simulator_model()
    place = data.index(b"memory_size") + 14
    damaged = data[:place] + b"\x76" + data[place + 1 :]
    with pytest.raises(ModelFileError, match="none of protobuf's") as caught:
        om.read_bytes(damaged, name="case")
    assert caught.value.offset is not None
    assert abs(caught.value.offset - place) < 4
