"""MODEL_INOUT_INFO: writing and reading are inverse, and every bad length is found."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer.om.damage import DamagedError
from ascend_infer.om.inout import InOutInfo, TensorInfo, pack_inout, parse_inout

int64 = st.integers(-(2**63), 2**63 - 1)
dims = st.lists(int64, max_size=6).map(tuple)
names = st.text(max_size=12)
tensors = st.builds(
    TensorInfo,
    name=names,
    dtype=st.integers(-1, 60).filter(lambda code: code != 28),
    format=st.integers(-1, 60).filter(lambda code: code != 40),
    dims=dims,
    dims_v2=dims,
    size=st.integers(0, 2**64 - 1),
    shape_range=st.lists(st.tuples(int64, int64), max_size=4).map(tuple),
)
gears = st.lists(dims, max_size=4).map(tuple)
infos = st.builds(
    InOutInfo,
    inputs=st.lists(tensors, max_size=3).map(tuple),
    outputs=st.lists(tensors, max_size=3).map(tuple),
    batch_gears=dims,
    hw_gears=gears,
    dims_gears=gears,
    output_shapes=st.lists(names, max_size=3).map(tuple),
    shape_order=st.lists(names, max_size=3).map(tuple),
)


@given(infos)
def test_round_trip(info):
    assert parse_inout(pack_inout(info)) == info


@given(infos, st.data())
def test_every_prefix_is_whole_blocks_or_damage(info, data):
    packed = pack_inout(info)
    cut = packed[: data.draw(st.integers(0, len(packed)))]
    try:
        parsed = parse_inout(cut)
    except DamagedError as error:
        assert 0 <= error.offset <= len(cut)
    else:
        assert pack_inout(parsed)[: len(cut)] == cut or not parsed.outputs


def test_layout_by_hand(build):
    data = build.tlv(0, build.listed(build.described("in", 24, 1, 4, (-1, 2), (2, 3), [(1, -1), (2, 2)])))
    data += build.tlv(99, b"of next year")
    data += build.tlv(3, struct.pack("<3I4q", 2, 2, 2, 10, 20, 30, 40))
    data += build.tlv(6, struct.pack("<3I", 2, 1, 2) + b"abc")
    assert parse_inout(data) == InOutInfo(
        inputs=(TensorInfo("in", 4, 1, (-1, 2), (2, 3), 24, ((1, -1), (2, 2))),),
        hw_gears=((10, 20), (30, 40)),
        shape_order=("a", "bc"),
    )


def test_reserved_format_and_undefined_type_become_minus_one(build):
    data = build.tlv(1, build.listed(build.described("o", 0, 40, 28, ())))
    assert (parse_inout(data).outputs[0].format, parse_inout(data).outputs[0].dtype) == (-1, -1)


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0",
        struct.pack("<II", 0, 5) + b"1234",
        struct.pack("<III", 0, 4, 0xFFFFFFFF),
        struct.pack("<III", 2, 4, 0xFFFFFFFF),
        struct.pack("<III", 3, 4, 0xFFFFFFFF),
        struct.pack("<IIIQiiIIII", 0, 36, 1, 0, 0, 0, 0, 7, 0, 0),
        struct.pack("<IIIQiiIIII", 0, 36, 1, 0, 0, 0, 0, 0, 0, 8),
        struct.pack("<IIIQiiIIII", 0, 36, 1, 0, 0, 0, 0, 8 * 129, 0, 0) + bytes(8 * 129),
    ],
)
def test_bad_lengths_are_damage(data):
    with pytest.raises(DamagedError):
        parse_inout(data)
