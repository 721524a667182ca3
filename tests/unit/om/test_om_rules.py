"""Single rules of GE for names, dims and sizes, each on the smallest file that shows it."""

from __future__ import annotations

import io

import pytest

from ascend_infer import om
from ascend_infer.errors import ModelFileError
from ascend_infer.types import DataType, Gear, TensorSpec


@pytest.fixture
def model(build):
    def make(*ops, parts=(), attributes=None, **fields):
        root = build.modeldef("n", build.graph("g", *ops), **(attributes or {}))
        return om.read_bytes(build.om([(0, root), *parts], **fields))

    return make


def test_fractal_z_outputs_are_shown_as_hwck(model, build):
    ranges = build.a_lists((1, 2), (3, 4), (5, 6), (7, 8))
    output = build.tensor(1, (10, 20, 30, 40), "FRACTAL_Z", shape_range=ranges)
    found = model(build.net_output(output)).outputs[0]
    assert found.dims == (30, 40, 20, 10)
    assert found.shape_range == ((5, 6), (7, 8), (3, 4), (1, 2))
    assert found.format_name == "format 4 (FRACTAL_Z)"


def test_special_sizes_win_over_the_descriptors(model, build):
    found = model(
        build.data("x", 1, (4,), 0, 96, "ND", special=16),
        build.data("y", 1, (4,), 1, 96, "ND", special=0),
        build.net_output(build.tensor(1, (4,), "ND", 96, _special_output_size=build.a_int(20)),
                         build.tensor(1, (4,), "ND", 96, _special_output_size=build.a_int(-1))),
    )  # fmt: skip
    assert [tensor.size for tensor in found.inputs] == [16, 96]
    assert [tensor.size for tensor in found.outputs] == [20, 16]


@pytest.mark.parametrize(("dtype", "size"), [(28, 3), (29, 1), (13, 0), (16, 40), (27, 10)])
def test_sizes_of_narrow_and_wide_types(model, build, dtype, size):
    assert model(build.net_output(build.tensor(dtype, (5,), "ND"))).outputs[0].size == size


def test_sizes_beyond_any_memory_are_unknown(model, build):
    assert model(build.net_output(build.tensor(1, (2**62,) * 100, "ND"))).outputs[0].size == 0


def test_more_dimensions_than_acl_describes_are_damage(model, build):
    with pytest.raises(ModelFileError, match="129 dimensions"):
        model(build.net_output(build.tensor(1, (1,) * 129, "ND")))


def test_names_of_outputs(model, build):
    sources = [("conv", 1), ("relu", 0)]
    tensors = [build.tensor(1, (1,), "ND")] * 2

    def names(*given):
        attributes = {"attr_model_out_nodes_name": build.a_strs(*given)}
        found = model(build.net_output(*tensors, sources=sources), attributes=attributes)
        return [(tensor.name, tensor.onnx_name) for tensor in found.outputs]

    assert names("a", "b:7") == [("a:1", "a:1"), ("b:7", "b:7")]
    assert names("a:0:p:0", "b:1:q") == [("a:0:p:0", "p:0"), ("b:1:q", "q")]
    assert names("a") == [("output_0_conv_1", "output_0_conv_1"), ("output_1_relu_0", "output_1_relu_0")]


def test_work_memory_is_the_tasks_or_the_attributes_or_none(model, build):
    attributes = {"memory_size": build.a_int(500)}
    output = build.net_output(build.tensor(1, (1,), "ND"))
    with_memory = [(2, build.tasks(0, memory=700))]
    assert model(output, parts=with_memory, attributes=attributes).work_size == 700
    assert model(output, parts=[(2, build.tasks(0))], attributes=attributes).work_size == 500
    assert model(output, parts=with_memory, attributes=attributes, unknown=1).work_size == 0


def test_a_model_count_of_zero_means_one(build):
    root = build.modeldef("n", build.graph("g", build.net_output(build.tensor(1, (1,), "ND"))))
    body = build.table([(0, root)])
    assert len(om.read_bytes(build.header(len(body), models=0) + body).parts) == 1


def test_batch_of_an_old_model_that_does_not_list_its_outputs(model, build):
    found = model(
        build.data("x", 1, (8, 3), 0, 96, "ND", _mbatch_origin_input_dims=build.a_ints(-1, 3)),
        build.op("s", "StreamSwitchN", attributes={
            "_batch_num": build.a_int(2), "_pred_value_0": build.a_ints(1), "_pred_value_1": build.a_ints(8)}),
        build.net_output(build.tensor(1, (8, 5), "ND"), build.tensor(1, (5,), "ND")),
        version=0x10000000,
    )  # fmt: skip
    assert [gear.output_dims for gear in found.gears] == [None, None]
    assert [tensor.shape for tensor in found.spec().outputs] == [(-1, 5), (5,)]


@pytest.mark.parametrize("kind", ["hw", "hw with YUV"])
def test_image_size_gears(model, build, kind):
    aipp = {}
    origin, v2 = (1, 3, -1, -1), (1, 3, -1, -1)
    if kind != "hw":
        origin, v2 = (1, -1, -1, 3), (1, -1, -1, 1)
        aipp = {
            "aipp": build.a_named(aipp_mode=build.a_int(1), input_format=build.a_int(1)),
            "_data_related_aipp_mode": build.a_str("static_aipp"),
            "input_dims": build.a_ints(*v2),
        }
    found = model(
        build.data("x", 4, (1, 8, 8, 3), 0, 96, "NHWC", _mbatch_origin_input_dims=build.a_ints(*origin), **aipp),
        build.op("c", "Case", attributes={
            "_batch_num": build.a_int(2), "_pred_value_0": build.a_ints(8, 16), "_pred_value_1": build.a_ints(4, 2),
            "mbatch_dynamic_type": build.a_int(2)}),
        build.net_output(build.tensor(1, (5,), "ND")),
    )  # fmt: skip
    assert found.dynamic == "hw"
    filled = [gear.input_dims[0] for gear in found.gears]
    assert filled == ([(1, 3, 8, 16), (1, 3, 4, 2)] if kind == "hw" else [(1, 12, 16, 1), (1, 6, 2, 1)])
    assert found.spec().inputs[0].shape == v2


def test_gears_that_do_not_match_the_inputs_are_noted(model, build):
    found = model(
        build.data("x", 1, (8, 3), 0, 96, "ND", _mbatch_origin_input_dims=build.a_ints(-1, 3)),
        build.op("c", "Case", attributes={
            "_batch_num": build.a_int(3), "_pred_value_0": build.a_ints(8, 16, 4),
            "mbatch_dynamic_type": build.a_int(3)}),
        build.net_output(build.tensor(1, (5,), "ND")),
    )  # fmt: skip
    assert found.gears[0].input_dims is None
    assert any("no values for gear 1 of 3" in note for note in found.notes)
    assert any("does not match the open dimensions" in note for note in found.notes)
    found = model(
        build.op("c", "Case", attributes={"_batch_num": build.a_int(10**9)}),
        build.op("net", "NetOutput", inputs=[build.tensor(1, (5,), "ND")]),
    )
    assert any("1000000000 gears" in note for note in found.notes)


def test_indices_that_are_no_order_are_noted(model, build):
    found = model(
        build.data("a", 1, (1,), 5), build.data("b", 1, (1,)), build.data("c", 1, (1,), 5),
        build.net_output(build.tensor(1, (1,), "ND")),
    )  # fmt: skip
    assert {tensor.name for tensor in found.inputs} == {"a", "b", "c"}
    assert any("no order of 3 inputs" in note for note in found.notes)


def test_a_root_without_outputs_has_no_signature(model, build):
    found = model(build.data("a", 1, (1,), 0), build.op("b", "Data"))
    assert any("no NetOutput" in note for note in found.notes)
    with pytest.raises(ModelFileError, match="nothing of its outputs"):
        found.spec()


def test_partitions_that_together_exceed_the_file(build):
    data = bytearray(build.om([(0, b"\x0a\x01n"), (1, b"WWWW")]))
    data[256 + 4 + 12 + 8] = 5  # the second is one byte longer than what is left
    with pytest.raises(ModelFileError, match="5 bytes from byte"):
        om.read_bytes(data)


def test_submodels_of_other_kinds_are_passed_over(build):
    root = build.graph("flow", build.net_output(build.tensor(1, (1,), "ND")))
    others = (build.b(3, b"PYTHON FUNCTION"), build.b(1, "x"), b"\x1a\xff", b"\x1b", build.b(3, b""))
    parts = [(0, build.modeldef("flow", root)), *((7, other) for other in others)]
    body = build.table(parts, wide=True)
    model = om.read_bytes(build.header(len(body), kind=3, wide=True) + body)
    assert (model.kind, model.members) == ("flow", ())


def test_simulator_models_describe_the_gear_with_the_most_input_bytes():
    stream = io.BytesIO()
    om.write_simulator_model(
        stream,
        onnx=b"O",
        inputs=[TensorSpec("x", DataType.FP32, (-1, -1))],
        outputs=[TensorSpec("y", DataType.FP32, (-1,))],
        gears=[Gear("dims", (2, 9)), Gear("dims", (5, 5)), Gear("dims", (1, 2))],
        gear_outputs=[[(7,)], [(3,)], [(1,)]],
    )
    model = om.read_bytes(stream.getvalue())
    assert model.outputs[0].dims == (3,)  # of (5, 5), which is the largest
    assert model.outputs[0].size == 28  # of (2, 9), where the output is the largest
    assert model.inputs[0].size == 100


def test_a_crop_without_a_size_takes_the_networks():
    stream = io.BytesIO()
    om.write_simulator_model(
        stream,
        onnx=b"O",
        inputs=[TensorSpec("x", DataType.FP32, (1, 3, 6, 8))],
        outputs=[TensorSpec("y", DataType.FP32, (1,))],
        aipp={"x": om.OmAipp(input_format=3, src_image_size=(20, 10), crop=(1, 2, 0, 0))},
    )
    model = om.read_bytes(stream.getvalue())
    assert model.simulator["aipp"][0]["crop"] == [1, 2, 8, 6]
    assert model.inputs[0].dims_v2 == (1, 10, 20, 3)
