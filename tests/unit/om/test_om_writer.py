"""Simulator models: what is written is read back exactly, guarded, and laid out as docs/om.md says."""

from __future__ import annotations

import io
import json
import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer import om
from ascend_infer.errors import InvalidOptionError, ModelFileError
from ascend_infer.om.graph_io import tensor_bytes
from ascend_infer.types import DataType, Gear, ModelSpec, TensorSpec

DTYPES = [dtype for dtype in DataType if dtype is not DataType.BYTES]
dims = st.lists(st.integers(1, 9), max_size=5).map(tuple)
names = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4, unique=True).filter(
    lambda found: "ascend_mbatch_shape_data" not in found
)


def written(**arguments) -> bytes:
    stream = io.BytesIO()
    om.write_simulator_model(stream, **{"onnx": b"ONNX", **arguments})
    return stream.getvalue()


def read(**arguments) -> om.OmModel:
    return om.read_bytes(written(**arguments))


def relu(shape=(-1, 3, 8, 8), **arguments):
    return {
        "inputs": [TensorSpec("x", DataType.FP32, shape)],
        "outputs": [TensorSpec("y", DataType.FP32, shape)],
        **arguments,
    }


@st.composite
def models(draw, kinds=("static", "batch", "hw", "dims", "shape")):
    """A whole set of arguments, and the kind of model that they ask for."""
    kind = draw(st.sampled_from(kinds))
    dtypes = st.sampled_from(DTYPES)
    shapes = {name: draw(dims) for name in draw(names)}
    gears, order = [], ()
    if kind == "batch":
        shapes = {name: (-1, *shape) for name, shape in shapes.items()}
        gears = [(n,) for n in draw(st.lists(st.integers(1, 64), min_size=1, max_size=5, unique=True))]
    elif kind == "hw":
        shapes = {name: (1, 3, -1, -1) if i == 0 else shape for i, (name, shape) in enumerate(shapes.items())}
        pair = st.tuples(st.integers(1, 99), st.integers(1, 99))
        gears = draw(st.lists(pair, min_size=1, max_size=4, unique=True))
    elif kind in ("dims", "shape"):
        opened = {n: tuple(draw(st.sampled_from([-1, d])) for d in s) for n, s in shapes.items()}
        first = next(iter(shapes))
        shapes = {**opened, first: (-1, *opened[first])}
        count = sum(shape.count(-1) for shape in shapes.values())
        if kind == "dims":
            row = st.lists(st.integers(1, 99), min_size=count, max_size=count).map(tuple)
            gears = draw(st.lists(row, min_size=1, max_size=4, unique=True))
            order = tuple(draw(st.permutations([n for n, s in shapes.items() if -1 in s])))
    inputs = [TensorSpec(name, draw(dtypes), shape) for name, shape in shapes.items()]
    outputs, per_gear = [], None
    if gears:
        ranks = [draw(st.integers(1, 4)) for _ in range(draw(st.integers(1, 3)))]
        per_gear = [[tuple(draw(st.integers(0, 50)) for _ in range(rank)) for rank in ranks] for _ in gears]
        outputs = [TensorSpec(f"out{i}", draw(dtypes), (-1,) * rank) for i, rank in enumerate(ranks)]
    else:
        outputs = [TensorSpec(name, draw(dtypes), draw(dims)) for name in draw(names)]
    return kind, {
        "onnx": draw(st.binary(min_size=1, max_size=40)),
        "inputs": inputs,
        "outputs": outputs,
        "gears": [Gear(kind, values) for values in gears],
        "gear_outputs": per_gear,
        "shape_order": order,
        "name": draw(st.text(max_size=50)),
        "soc": draw(st.text(max_size=12)),
        "work_size": draw(st.integers(0, 2**62)),
        "weight_size": draw(st.integers(0, 2**62)),
        "options": draw(
            st.dictionaries(st.text(max_size=5), st.integers() | st.booleans() | st.none(), max_size=2)
        ),
    }


@given(models())
def test_round_trip(case):
    kind, given_ = case
    data = written(**given_)
    model = om.read_bytes(data)
    assert model.dynamic == kind
    assert model.is_simulator_model
    assert model.differences == ()
    assert model.notes == ()
    assert model.name == given_["name"]
    assert model.weight_size == given_["weight_size"]
    assert model.work_size == (0 if kind == "shape" else given_["work_size"])
    visible = [tensor for tensor in model.inputs if not tensor.is_hidden]
    assert [(t.name, t.dtype, t.dims) for t in visible] == [
        (t.name, t.dtype, t.shape) for t in given_["inputs"]
    ]
    assert [(t.onnx_name, t.dtype) for t in model.outputs] == [(t.name, t.dtype) for t in given_["outputs"]]
    assert [gear.gear for gear in model.gears] == given_["gears"]
    assert [gear.output_dims for gear in model.gears] == [tuple(g) for g in given_["gear_outputs"] or []]
    for gear in model.gears:
        assert gear.input_dims is not None
        for tensor, filled in zip(visible, gear.input_dims, strict=True):
            assert tensor_bytes(filled, tensor.dtype_code) <= tensor.size
            assert all(a == b for a, b in zip(tensor.dims, filled, strict=True) if a != -1)
    spec = model.spec()
    assert [t.shape for t in spec.inputs] == [t.shape for t in given_["inputs"]]
    if not given_["gears"]:
        assert [t.shape for t in spec.outputs] == [t.shape for t in given_["outputs"]]
    offset, length = model.simulator_onnx
    assert data[offset : offset + length] == given_["onnx"]
    assert offset + length == len(data)
    parameters = model.simulator
    assert parameters["soc"] == given_["soc"]
    assert parameters["options"] == given_["options"]
    assert [gear["values"] for gear in parameters["gears"]] == [list(g.values) for g in given_["gears"]]
    json.dumps(model.to_json())


@given(models(kinds=["dims"]))
def test_dims_gears_take_their_values_in_order(case):
    _, given_ = case
    model = read(**given_)
    names = [tensor.name for tensor in given_["inputs"]]
    for gear in model.gears:
        taken = []
        for name in given_["shape_order"]:
            filled = gear.input_dims[names.index(name)]
            shape = given_["inputs"][names.index(name)].shape
            taken += [a for a, b in zip(filled, shape, strict=True) if b == -1]
        assert tuple(taken) == gear.values


def test_bytes_are_where_the_document_says(tmp_path):
    path = tmp_path / "model.om"
    om.write_simulator_model(
        path, **relu(onnx=b"0123456789", gears=[Gear("batch", (1,)), Gear("batch", (4,))])
    )
    data = path.read_bytes()
    assert data[:4] == b"IMOD"
    assert struct.unpack_from("<II", data, 4) == (256, 0x20000000)
    assert data[0x78:0x98].rstrip(b"\0") == b"ascend_infer sim 1"
    count, *entries = struct.unpack_from("<7I", data, 256)
    assert (count, entries[0], entries[1], entries[3], entries[4]) == (2, 8, 0, 0, entries[2])
    private = 284 + entries[2] + entries[5]
    count, kind, offset, size, kind2, offset2, size2 = struct.unpack_from("<7I", data, private)
    assert (count, kind, offset, kind2, offset2, size2) == (2, 0x53494D4A, 0, 0x53494D31, size, 10)
    parameters = json.loads(data[private + 28 : private + 28 + size])
    assert parameters["hidden_input"] == 1
    assert data[private + 28 + size :] == b"0123456789"
    assert om.simulator_onnx(path) == (private + 28 + size, 10)
    kind, _, tensors, size, layout, dtype = struct.unpack_from("<IIIQii", data, 284)
    assert (kind, tensors, size, layout, dtype) == (0, 2, 4 * 3 * 64 * 4, 0, 0)


def test_real_cann_refuses_it_three_times_over():
    data = written(**relu(shape=(1, 3)))
    assert struct.unpack_from("<I", data, 0x4C) == (0,)  # the length rule: 145006
    assert struct.unpack_from("<Q", data, 0xB8) == (0,)
    model = om.read_bytes(data)
    assert model.soc_version == "AscendInferSim"  # no SoC of that name
    assert all(p.type != 2 for part in model.parts for p in part.partitions)  # no TASK_INFO
    unmarked = bytearray(data)
    unmarked[0x78] = 0
    with pytest.raises(ModelFileError, match="145006"):
        om.read_bytes(unmarked)


def test_batch_gears_need_no_output_shapes():
    model = read(**relu(gears=[Gear("batch", (n,)) for n in (8, 1, 4)]))
    assert [gear.output_dims for gear in model.gears] == [((n, 3, 8, 8),) for n in (8, 1, 4)]
    assert model.outputs[0].dims == (8, 3, 8, 8)
    assert [t.size for t in model.inputs] == [8 * 3 * 64 * 4, 4]
    assert model.spec().outputs[0].shape == (-1, 3, 8, 8)


def test_spec_brings_its_own_gears():
    x = TensorSpec("x", DataType.FP16, (-1, 4))
    model = read(spec=ModelSpec("onnx", (x,), (x,), gears=(Gear("batch", (2,)),)))
    assert [gear.values for gear in model.gears] == [(2,)]


def test_shape_ranges():
    model = read(**relu(shape=(-1, 4)), shape_ranges={"x": [(1, 16), (4, 4)]})
    assert model.inputs[0].shape_range == ((1, 16), (4, 4))
    assert model.outputs[0].shape_range == ((1, -1), (4, 4))
    assert (model.dynamic, model.inputs[0].size) == ("shape", 0)
    assert model.header is not None
    assert model.header.is_dynamic


@pytest.mark.parametrize(
    ("code", "dims_v2"),
    [
        (1, (2, 12, 8, 1)), (2, (2, 8, 8, 4)), (3, (2, 8, 8, 3)), (4, (2, 8, 8, 1)),
        (7, (2, 8, 8, 4)), (8, (2, 8, 8, 2)), (9, (2, 16, 8, 1)), (10, (2, 8, 8, 4)),
    ],
)  # fmt: skip
def test_aipp_feeds_pictures(code, dims_v2):
    model = read(**relu(shape=(2, 3, 8, 8)), aipp={"x": om.OmAipp(input_format=code)})
    x = model.inputs[0]
    assert (x.dtype, x.format_name, x.dims, x.dims_v2) == (DataType.UINT8, "NHWC", (2, 8, 8, 3), dims_v2)
    assert x.size == tensor_bytes(dims_v2, 4)
    assert model.simulator["aipp"][0]["src_image_size"] == [8, 8]
    assert model.simulator["inputs"][0]["onnx_dims"] == [2, 3, 8, 8]


def test_aipp_is_read_back_as_it_was_given():
    aipp = om.OmAipp(
        input_format=1, src_image_size=(16, 12), crop=(2, 4, 6, 7), padding=(1, 1, 0, 1), padding_value=0.5,
        csc_switch=True, rbuv_swap_switch=True, ax_swap_switch=True, matrix=((1, -2, 3), (4, 5, 6), (7, 8, -9)),
        input_bias=(1, 2, 3), output_bias=(4, 5, 6), mean=(1.0, 2.0, 3.0, 4.0), min=(0.5, 0.0, 0.25, 0.0),
        var_reci=(0.125, 1.0, 2.0, 0.5),
    )  # fmt: skip
    model = read(**relu(shape=(1, 3, 8, 8)), aipp={"x": aipp})
    assert model.inputs[0].aipp == aipp
    assert model.differences == ()
    assert model.inputs[0].dims_v2 == (1, 18, 16, 1)
    entry = model.simulator["aipp"][0]
    assert (entry["crop"], entry["padding"], entry["layout"]) == ([2, 4, 6, 7], [1, 1, 0, 1], "NCHW")


def test_image_size_gears_with_yuv_pictures():
    gears = [Gear("hw", (8, 16)), Gear("hw", (4, 4))]
    model = read(
        **relu(shape=(1, 3, -1, -1)), gears=gears, gear_outputs=[[(1, 3, 8, 16)], [(1, 3, 4, 4)]],
        aipp={"x": om.OmAipp(input_format=1)},
    )  # fmt: skip
    assert model.inputs[0].dims_v2 == (1, -1, -1, 1)
    assert [gear.input_dims for gear in model.gears] == [((1, 12, 16, 1),), ((1, 6, 4, 1),)]
    assert [gear["onnx_inputs"] for gear in model.simulator["gears"]] == [[[1, 3, 8, 16]], [[1, 3, 4, 4]]]


def test_outputs_are_named_as_atc_does():
    onnx = pytest.importorskip("onnx")
    node = onnx.helper.make_node("Split", ["x"], ["a", "b"], name="/body/split:1")
    value = [onnx.helper.make_tensor_value_info(n, 1, [2]) for n in ("x", "a", "b")]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", value[:1], value[1:]))
    tensors = [TensorSpec(n, DataType.FP32, (2,)) for n in ("x", "a", "b")]
    found = read(onnx=model.SerializeToString(), inputs=tensors[:1], outputs=tensors[1:])
    assert [t.name for t in found.outputs] == [
        "PartitionedCall_/body/split_1:0:a",
        "PartitionedCall_/body/split_1:1:b",
    ]
    assert [t.onnx_name for t in found.outputs] == ["a", "b"]


X = TensorSpec("x", DataType.FP32, (-1, 3))
B2 = [Gear("batch", (2,))]


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ({"onnx": b""}, "onnx"),
        ({"inputs": None}, "spec"),
        ({"spec": ModelSpec("onnx", (X,), (X,))}, "spec"),
        ({"inputs": []}, "inputs"),
        ({"inputs": [X, X]}, "inputs"),
        ({"inputs": [TensorSpec("", DataType.FP32, (1,))]}, "inputs"),
        ({"inputs": [TensorSpec("\ud800", DataType.FP32, (1,))]}, "inputs"),
        ({"inputs": [TensorSpec("x", DataType.BYTES, (1,))]}, "inputs"),
        ({"inputs": [TensorSpec("x", DataType.FP32, (-2,))]}, "inputs"),
        ({"inputs": [TensorSpec("x", DataType.FP32, (2**31 - 1,) * 3)]}, "inputs"),
        ({"inputs": [TensorSpec("ascend_mbatch_shape_data", DataType.FP32, (1,))]}, "inputs"),
        ({"gears": [Gear("batch", (0,))]}, "gears"),
        ({"gears": B2 * 2}, "gears"),
        ({"gears": [Gear("batch", (2,)), Gear("hw", (2, 2))]}, "gears"),
        ({"gears": [Gear("batch", (1, 2))]}, "gears"),
        ({"gears": [Gear("hw", (2, 2))]}, "gears"),
        ({"gears": [Gear("dims", (2, 2))]}, "gears"),
        ({"gears": [Gear("batch", (n,)) for n in range(1, 102)]}, "gears"),
        ({"gears": B2, "inputs": [TensorSpec("x", DataType.FP32, (2, 3))]}, "gears"),
        ({"gears": B2, "inputs": [TensorSpec("x", DataType.FP32, (2, -1))]}, "gears"),
        ({"gears": B2, "outputs": [TensorSpec("y", DataType.FP32, (-1, -1))]}, "gear_outputs"),
        ({"gears": B2, "gear_outputs": []}, "gear_outputs"),
        ({"gears": B2, "gear_outputs": [[]]}, "gear_outputs"),
        ({"gears": B2, "gear_outputs": [[(2, 4)]]}, "gear_outputs"),
        ({"gears": B2, "gear_outputs": [[(-1, 3)]]}, "gear_outputs"),
        ({"gear_outputs": [[(2, 3)]]}, "gear_outputs"),
        ({"gears": B2, "shape_order": ["x"]}, "shape_order"),
        ({"gears": B2, "shape_ranges": {"x": [(1, 2), (3, 3)]}}, "shape_ranges"),
        ({"shape_ranges": {"z": []}}, "shape_ranges"),
        ({"shape_ranges": {"x": [(1, 2)]}}, "shape_ranges"),
        ({"shape_ranges": {"x": [(5, 2), (3, 3)]}}, "shape_ranges"),
        ({"shape_ranges": {"x": [(1, 2), (1, 3)]}}, "shape_ranges"),
        ({"aipp": {"z": om.OmAipp(input_format=3)}}, "aipp"),
        ({"aipp": {"x": om.OmAipp(input_format=3)}}, "aipp"),
        ({"name": "\ud800"}, "name"),
        ({"work_size": -1}, "work_size"),
        ({"weight_size": 1.5}, "weight_size"),
        ({"options": {"x": object()}}, "options"),
        ({"options": {"x": float("nan")}}, "options"),
    ],
)
def test_arguments_that_do_not_fit(arguments, option):
    base = {"inputs": [X], "outputs": [TensorSpec("y", DataType.FP32, (-1, 3))]}
    with pytest.raises(InvalidOptionError) as caught:
        written(**{**base, **arguments})
    assert caught.value.option == option


@pytest.mark.parametrize(
    "aipp",
    [
        om.OmAipp(mode="dynamic"),
        om.OmAipp(input_format=3, resize=(2, 2)),
        om.OmAipp(input_format=5),
        om.OmAipp(input_format=3, src_image_size=(9, 8)),
        om.OmAipp(input_format=3, crop=(0, 0, 8, 8)),
        om.OmAipp(input_format=3, crop=(4, 0, 8, 8), src_image_size=(10, 8)),
        om.OmAipp(input_format=3, padding=(4, 4, 0, 0)),
        om.OmAipp(input_format=3, mean=(float("inf"), 0, 0, 0)),
    ],
)
def test_aipp_that_does_not_fit(aipp):
    with pytest.raises(InvalidOptionError):
        read(**relu(shape=(1, 3, 8, 8)), aipp={"x": aipp})


def test_odd_yuv_pictures_and_shapes_that_are_no_picture():
    with pytest.raises(InvalidOptionError, match="even"):
        read(**relu(shape=(1, 3, 7, 8)), aipp={"x": om.OmAipp(input_format=1)})
    with pytest.raises(InvalidOptionError, match="channels"):
        read(**relu(shape=(1, 5, 8, 8)), aipp={"x": om.OmAipp(input_format=1)})


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "model.om"
    om.write_simulator_model(path, **relu(onnx=b"old"))
    before = path.read_bytes()

    def refuse(*_arguments):
        raise OSError(28, "no space left")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(ModelFileError, match="no space left"):
        om.write_simulator_model(path, **relu(onnx=b"new"))
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.om"]
    with pytest.raises(ModelFileError, match="cannot be written"):
        om.write_simulator_model(tmp_path / "no" / "model.om", **relu(onnx=b"new"))
    om.write_simulator_model(path, **relu(onnx=b"new"))
    assert path.read_bytes().endswith(b"new")


def test_damaged_parameters_are_refused():
    data = written(**relu(shape=(1, 3)))
    place = data.index(b'{"aipp"')
    for change in (b"[", b"\xff"):
        with pytest.raises(ModelFileError, match="parameters"):
            om.read_bytes(data[:place] + change + data[place + 1 :])
    with pytest.raises(ModelFileError, match="container version"):
        om.read_bytes(data.replace(b'"version":1', b'"version":7'))
    onnx_type = (0x53494D31).to_bytes(4, "little")
    with pytest.raises(ModelFileError, match="no partition of type 0x53494d31"):
        om.read_bytes(data.replace(onnx_type, b"\xff\0\0\0"))
