"""What the reader says of models of every age and kind."""

from __future__ import annotations

import pytest

from ascend_infer import om
from ascend_infer.errors import InvalidOptionError, ModelFileError
from ascend_infer.types import DataType, Gear, TensorSpec


def test_static_model_of_cann_8(build):
    model = om.read_bytes(build.static_v2())
    assert (model.kind, model.name, model.dynamic, model.io_source) == (
        "model",
        "net",
        "static",
        "inout_info",
    )
    assert (model.soc_version, model.atc_version, model.framework) == ("Ascend310P3", "7.6.0.1.220", "Onnx")
    assert model.cann_version == "8.0.RC2"
    assert (model.work_size, model.weight_size, model.stream_count, model.event_count) == (4096, 64, 2, 1)
    assert model.op_counts == {"Conv2D": 2, "Data": 1, "NetOutput": 1}
    assert model.task_counts == {"KERNEL": 2, "END_GRAPH": 1, "CMO": 1}
    assert model.attributes["om_info_list"] == "64, 0, 0, 9"
    assert model.differences == ()
    assert model.notes == ()
    assert not model.is_simulator_model
    (x,), (y,) = model.inputs, model.outputs
    assert (x.name, x.dtype, x.format_name, x.dims, x.dims_v2, x.size) == (
        "x", DataType.FP32, "NCHW", (1, 3, 4, 4), (1, 3, 4, 4), 192,
    )  # fmt: skip
    assert (y.name, y.onnx_name, y.dims, y.size) == ("c2:0:prob", "prob", (1, 10), 40)
    assert model.header is not None
    assert model.header.is_wide
    assert not model.header.is_dynamic


def test_spec_is_what_a_caller_sees(build):
    spec = om.read_bytes(build.gears_v1()).spec()
    assert spec.format == "om"
    assert spec.inputs == (TensorSpec("d", DataType.UINT8, (-1, 24, 16, 1)),)
    assert spec.outputs == (TensorSpec("conv1:0:conv1", DataType.FP32, (-1, 5)),)
    assert spec.gears == tuple(Gear("batch", (n,)) for n in (1, 4, 8))
    assert spec.metadata["dynamic"] == "batch"


def test_model_of_2020_without_any_description(build):
    model = om.read_bytes(build.gears_v1())
    assert model.header is not None
    assert (model.header.version, model.header.model_count, model.header.platform_version) == (
        0x10000000, 1, "1.11.z.0",
    )  # fmt: skip
    assert (model.io_source, model.dynamic, model.work_size) == ("graph", "batch", 1024)
    d, hidden = model.inputs
    assert (d.dims, d.dims_v2, d.size, d.is_hidden) == ((-1, 16, 16, 3), (-1, 24, 16, 1), 3072, False)
    assert (hidden.is_hidden, hidden.dtype) == (True, DataType.INT64)
    assert [gear.input_dims for gear in model.gears] == [((n, 24, 16, 1),) for n in (1, 4, 8)]
    assert [gear.output_dims for gear in model.gears] == [((n, 5),) for n in (1, 4, 8)]
    assert model.outputs[0].onnx_name == "conv1"


def test_static_aipp(build):
    aipp = om.read_bytes(build.gears_v1()).inputs[0].aipp
    assert aipp is not None
    assert (aipp.mode, aipp.format_name, aipp.src_image_size, aipp.crop) == (
        "static",
        "YUV420SP_U8",
        (16, 16),
        None,
    )
    assert (aipp.csc_switch, aipp.mean[:3], aipp.var_reci) == (True, (104, 117, 123), (0.5, 0.25, 1, 1))
    assert aipp.matrix[0] == (298, -100, 0)
    assert "NV12" in aipp.instruction((-1, 24, 16, 1))


def test_dims_gears_fill_in_the_designated_order(build):
    model = om.read_bytes(build.gears_case())
    assert model.dynamic == "dims"
    assert [gear.values for gear in model.gears] == [(4, 1, 4), (8, 2, 8)]
    assert [gear.input_dims for gear in model.gears] == [((1, 4), (4, 3)), ((2, 8), (8, 3))]
    assert [gear.output_dims for gear in model.gears] == [((1, 3), (7,)), ((2, 3), (7,))]
    assert [tensor.name for tensor in model.outputs] == ["output_0_case_0", "output_1_case_1"]
    assert [tensor.shape for tensor in model.spec().outputs] == [(-1, 3), (7,)]


def test_gears_of_no_known_kind_are_noted(build):
    model = om.read_bytes(build.gears_case(kind=1))
    assert model.dynamic == "dims"
    assert any("ACL refuses" in note for note in model.notes)


def test_several_models_with_attributes_coded_twice(build):
    model = om.read_bytes(build.unknown_shape())
    assert model.dynamic == "shape"
    assert [part.name for part in model.parts] == ["root", "sub_1", "sub_2"]
    assert [tensor.name for tensor in model.inputs] == ["q", "p"]
    assert model.inputs[0].shape_range == ((1, 16), (2, 2))
    assert (model.work_size, model.weight_size) == (0, 6)
    assert model.spec().inputs[0].shape == (-1, 2)


def test_attributes_of_later_models_are_decoded_with_the_roots_tables(build):
    from ascend_infer.om.graph_io import derive_io
    from ascend_infer.om.modeldef import parse_modeldef

    data = build.unknown_shape()
    parts = om.read_bytes(data).parts
    blobs = [data[p.offset : p.offset + p.size] for part in parts for p in part.partitions if p.type == 0]
    root = parse_modeldef(blobs[0])
    for blob in blobs[1:]:
        assert [t.name for t in derive_io(parse_modeldef(blob, root.tables)).info.inputs] == ["q", "p"]
        assert [t.name for t in derive_io(parse_modeldef(blob)).info.inputs] == ["p", "q"]


def test_differences_between_description_and_graph_are_reported(build):
    data = build.static_v2()
    changed = data.replace(
        build.described("x", 192, 0, 0, (1, 3, 4, 4)), build.described("x", 96, 0, 1, (1, 3, 4, 4))
    )
    model = om.read_bytes(changed)
    assert model.inputs[0].dtype is DataType.FP16
    assert len(model.differences) == 2
    assert any("size is 96 in MODEL_INOUT_INFO, 192 in the graph" in text for text in model.differences)


def test_gears_that_only_the_graph_has_are_shown(build):
    data = build.gears_v1()
    root = om.read_bytes(data).parts[0].partitions[0]
    info = build.tlv(0, build.listed(build.described("d", 3072, 1, 4, (-1, 16, 16, 3), (-1, 24, 16, 1))))
    parts = [(8, info), (0, data[root.offset : root.offset + root.size])]
    model = om.read_bytes(build.om(parts, version=0x10000000))
    assert model.dynamic == "batch"
    assert any("batch gears differ" in text for text in model.differences)
    assert any("1 inputs in MODEL_INOUT_INFO, 2 in the graph" in text for text in model.differences)


def test_sizes_that_a_dynamic_graph_does_not_keep_are_no_difference(build):
    root = build.graph(
        "g", build.data("x", 1, (2, 2), 0), build.net_output(build.tensor(1, (-1,), "ND"), sources=[("a", 0)])
    )
    info = build.tlv(0, build.listed(build.described("x", 16, 0, 0, (2, 2))))
    info += build.tlv(1, build.listed(build.described("output_0_a_0", 0, 2, 0, (-1,))))
    parts = [(8, info), (0, build.modeldef("n", root)), (2, build.tasks(0))]
    model = om.read_bytes(build.om(parts, unknown=1))
    assert model.differences == ()
    assert (model.dynamic, model.inputs[0].size) == ("shape", 16)


def test_unknown_types_formats_and_partitions_are_shown_not_refused(build):
    root = build.graph(
        "g",
        build.data("x", 33, (1, 2), 0, 2, "ND"),
        build.data("y", 99, (1, 2), 1, 2, "FRACTAL_NZ"),
        build.net_output(build.tensor(2, (1, 2), format_for_int=build.a_int(200)), sources=[("q", 3)]),
        build.op("new", "SomethingOfNextYear", attributes={"v": build.b(17, b"xx")}),
    )
    model = om.read_bytes(build.om([(0, build.modeldef("n", root)), (77, b"?"), (2, build.tasks(250))]))
    assert [t.dtype_name for t in model.inputs] == ["34 (HIFLOAT8)", "100 (unknown)"]
    assert model.inputs[1].format_name == "format 29 (FRACTAL_NZ)"
    assert model.outputs[0].format_name == "format 200"
    assert model.parts[0].partitions[1].name == "type 77"
    assert model.task_counts == {"type 250": 1}
    with pytest.raises(ModelFileError, match=r"HIFLOAT8.*numpy"):
        model.spec()


def test_a_model_without_tasks_or_with_many_partitions_is_noted(build):
    root = build.graph("g", build.data("x", 1, (1,), 0), build.net_output(build.tensor(1, (1,), "ND")))
    model = om.read_bytes(build.om([(0, build.modeldef("n", root)), *[(90, b"")] * 9]))
    assert any("no device tasks" in note for note in model.notes)
    assert any("10 partitions" in note for note in model.notes)


def test_wrong_offsets_in_the_table_are_noted_and_ignored(build):
    parts = [(0, build.modeldef("n", build.graph("g", build.net_output(build.tensor(1, (1,), "ND")))))]
    body = build.table(parts, shift=99)
    model = om.read_bytes(build.header(len(body)) + body)
    assert model.outputs[0].dims == (1,)
    assert any("offset 99" in note for note in model.notes)


def test_external_weights_are_listed(build):
    root = build.graph(
        "g",
        build.op("w", "FileConstant", attributes={"location": build.a_str("weight_0.bin")}),
        build.op("v", "FileConstant", attributes={"location": build.a_str("weight_0.bin")}),
        build.net_output(build.tensor(1, (1,), "ND")),
    )
    assert om.read_bytes(build.om([(0, build.modeldef("n", root))])).external_weights == ("weight_0.bin",)


def test_dynamic_aipp_input_is_hidden(build):
    named = build.a_named(aipp_mode=build.a_int(2), max_src_image_size=build.a_int(1000))
    root = build.graph(
        "g",
        build.data("x", 4, (1, 8, 8, 3), 0, 1000, "NHWC", aipp=named,
                   _data_related_aipp_mode=build.a_str("dynamic_aipp")),
        build.op("ascend_dynamic_aipp_data", "AippData", attributes={"index": build.a_int(1)},
                 inputs=[build.tensor(4, (160,), "ND", 160)]),
        build.net_output(build.tensor(1, (1,), "ND")),
    )  # fmt: skip
    model = om.read_bytes(build.om([(0, build.modeldef("n", root))]))
    assert model.inputs[1].is_hidden
    assert model.inputs[0].aipp is not None
    assert (model.inputs[0].aipp.mode, model.inputs[0].aipp.max_src_image_size) == ("dynamic", 1000)
    assert [t.name for t in model.spec().inputs] == ["x"]


@pytest.mark.parametrize(
    ("command", "version"),
    [
        ("/usr/local/Ascend/ascend-toolkit/8.0.0/aarch64-linux/bin/atc.bin --model=x", "8.0.0"),
        ("/usr/local/Ascend/cann-8.5.0/bin/atc --model=x", "8.5.0"),
        ("/usr/local/Ascend/ascend-toolkit/latest/bin/atc --model=/ascend-toolkit/7.0.0/m.onnx", ""),
        ("", ""),
    ],
)
def test_cann_version_comes_from_the_compilers_path(build, command, version):
    root = build.graph("g", build.net_output(build.tensor(1, (1,), "ND")))
    data = build.om([(0, build.modeldef("n", root, atc_cmdline=build.a_str(command)))])
    assert om.read_bytes(data).cann_version == version


def test_output_is_found_by_full_name_and_by_onnx_name(build):
    model = om.read_bytes(build.static_v2())
    assert model.output_index("c2:0:prob") == model.output_index("prob") == 0
    with pytest.raises(ModelFileError, match="'c2:0:prob'"):
        model.output_index("nothing")


def test_reading_a_path_and_reading_bytes_agree(build, tmp_path):
    path = tmp_path / "model.om"
    path.write_bytes(build.static_v2())
    left, right = om.read(path).to_json(), om.read_bytes(path.read_bytes()).to_json()
    assert left.pop("path") == str(path)
    assert right.pop("path") is None
    assert left == right


def test_read_bytes_refuses_what_is_no_buffer():
    with pytest.raises(InvalidOptionError, match="list"):
        om.read_bytes([1, 2])  # type: ignore[arg-type]


def test_weights_are_not_read(build, tmp_path):
    """A sparse file of 1 GiB of weights is read within a few kilobytes."""
    import tracemalloc

    data = build.static_v2(weights=b"")
    path = tmp_path / "big.om"
    gigabyte = 1 << 30
    head = bytearray(data)
    # The weights are entry 2 of the table at 256 (8 bytes, then 24 an entry) and lie before the kernels.
    size_at, length_at = 256 + 8 + 2 * 24 + 16, 0xB8
    head[size_at : size_at + 8] = gigabyte.to_bytes(8, "little")
    head[length_at : length_at + 8] = (len(data) - 256 + gigabyte).to_bytes(8, "little")
    tail = len(build.KERNEL) + len(build.tasks(0, 0, 31, 19, memory=4096))
    with path.open("wb") as file:
        file.write(head[:-tail])
        file.seek(gigabyte, 1)
        file.write(head[-tail:])
    om.read(path)
    tracemalloc.start()
    try:
        model = om.read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.weight_size == gigabyte
    assert peak < 1 << 20
