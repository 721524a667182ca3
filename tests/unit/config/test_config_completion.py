"""Completing a configuration from a model's signature, and the ways in which the two disagree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_infer.config import complete, parse_config, to_pbtxt
from ascend_infer.config.rules import check_tensors_complete
from ascend_infer.errors import ConfigError
from ascend_infer.types import DataType, Gear, ModelSpec, TensorSpec


def tensor(name, *shape, dtype=DataType.FP32, optional=False):
    return TensorSpec(name, dtype, shape, optional=optional)


def onnx(inputs, outputs):
    return ModelSpec("onnx", tuple(inputs), tuple(outputs))


def om(inputs, outputs, batch_gears=()):
    return ModelSpec(
        "om", tuple(inputs), tuple(outputs), tuple(Gear("batch", (size,)) for size in batch_gears)
    )


RESNET = onnx([tensor("images", -1, 3, 224, 224)], [tensor("prob", -1, 1000)])
FIXED = onnx([tensor("images", 1, 3, 8, 8)], [tensor("prob", 1, 10)])


def completed(text, spec=RESNET):
    parsed = parse_config(text, file="config.pbtxt", name="m")
    return complete(parsed.config, spec, parsed=parsed)


def errors_of(text, spec=RESNET):
    with pytest.raises(ConfigError) as caught:
        completed(text, spec)
    return [each for each in caught.value.diagnostics if each.severity == "error"]


def test_a_silent_configuration_gets_everything_from_a_model_that_batches():
    result = completed('backend: "onnxruntime"')
    assert result.config.max_batch_size == 4
    assert result.config.dynamic_batching is not None
    assert result.config.dynamic_batching.preferred_batch_size == (4,)
    images = result.config.input[0]
    assert (images.name, images.data_type, images.dims) == ("images", DataType.FP32, (3, 224, 224))
    assert result.config.output[0].dims == (1000,)
    assert result.input_names == {"images": "images"}
    assert result.output_names == {"prob": "prob"}
    assert result.diagnostics == ()


def test_a_scheduler_that_is_stated_stays():
    result = completed('backend: "onnxruntime" dynamic_batching { max_queue_delay_microseconds: 7 }')
    assert result.config.max_batch_size == 4
    assert result.config.dynamic_batching.max_queue_delay_microseconds == 7
    result = completed('backend: "onnxruntime" sequence_batching { }')
    assert result.config.max_batch_size == 4
    assert result.config.dynamic_batching is None


def test_an_explicit_zero_is_no_batching():
    result = completed('backend: "onnxruntime" max_batch_size: 0')
    assert result.config.max_batch_size == 0
    assert result.config.dynamic_batching is None
    assert result.config.input[0].dims == (-1, 3, 224, 224)


def test_stated_tensors_without_a_batch_size_are_whole_shapes():
    result = completed('backend: "onnxruntime" input { name: "images" dims: [-1, 3, 224, 224] }')
    assert result.config.max_batch_size == 0
    assert result.config.output[0].dims == (-1, 1000)


def test_one_tensor_without_a_variable_first_dimension_means_no_batching():
    spec = onnx([tensor("a", -1, 4), tensor("table", 16, 4)], [tensor("y", -1, 4)])
    assert completed('backend: "onnxruntime"', spec).config.max_batch_size == 0
    spec = onnx([tensor("a", -1, 4)], [tensor("count")])
    assert completed('backend: "onnxruntime"', spec).config.max_batch_size == 0


def test_what_is_stated_is_checked_and_the_rest_filled_in():
    result = completed(
        'backend: "onnxruntime" max_batch_size: 8\ninput { name: "images" }\noutput { dims: [1000] }'
    )
    assert result.config.input[0].dims == (3, 224, 224)
    assert result.config.output[0].name == "prob"


def test_batching_with_a_fixed_first_dimension_says_what_to_write():
    found = errors_of('backend: "onnxruntime"\nmax_batch_size: 8', FIXED)
    assert (found[0].field, found[0].line, found[0].column) == ("max_batch_size", 2, 17)
    assert "does not support batching" in found[0].message
    assert "compiled for batch 1" in found[0].message
    assert "max_batch_size: 0" in found[0].hint


def test_batching_where_only_some_tensors_batch_names_the_others():
    spec = onnx([tensor("a", -1, 4), tensor("table", 16, 4)], [tensor("y", -1, 4)])
    found = errors_of('backend: "onnxruntime" max_batch_size: 8', spec)
    assert "table: FP32[16, 4]" in found[0].expected


def test_dims_that_include_the_batch_are_explained():
    found = errors_of(
        'backend: "onnxruntime" max_batch_size: 8\ninput { name: "images" dims: [-1, 3, 224, 224] }'
    )
    assert (found[0].field, found[0].line) == ("input[0].dims", 2)
    assert "5 dimensions" in found[0].message
    assert "write dims: [3, 224, 224]" in found[0].hint


def test_dims_without_the_batch_and_no_batch_size_are_explained():
    found = errors_of('backend: "onnxruntime" input { name: "images" dims: [3, 224, 224] }')
    assert "write dims: [-1, 3, 224, 224]" in found[0].hint
    assert "max_batch_size" in found[0].hint


def test_another_fixed_number_is_an_error():
    found = errors_of('backend: "onnxruntime" max_batch_size: 8 output { name: "prob" dims: [10] }')
    assert found[0].got == "[-1, 10]"
    assert found[0].expected == "[-1, 1000]"


def test_a_fixed_number_narrows_and_an_open_one_relaxes():
    spec = onnx([tensor("x", -1, -1, 4)], [tensor("y", -1, 2, 4)])
    result = completed(
        'backend: "onnxruntime" max_batch_size: 2 input { name: "x" dims: [7, 4] }'
        ' output { name: "y" dims: [-1, 4] }',
        spec,
    )
    assert result.config.input[0].dims == (7, 4)
    assert result.config.output[0].dims == (-1, 4)
    assert result.relaxed == ("y",)


def test_another_data_type_is_an_error_with_the_fix():
    found = errors_of(
        'backend: "onnxruntime" max_batch_size: 8\ninput { name: "images" data_type: TYPE_FP16 }'
    )
    assert (found[0].line, found[0].field, found[0].got) == (2, "input[0].data_type", "TYPE_FP16")
    assert found[0].hint == "write data_type: TYPE_FP32"


def test_unknown_names_get_a_suggestion():
    found = errors_of('backend: "onnxruntime" max_batch_size: 8 input { name: "image" }')
    assert found[0].field == "input[0].name"
    assert found[0].hint == "did you mean 'images'?"


def test_counts_of_inputs():
    spec = onnx([tensor("a", -1, 4), tensor("b", -1, 4)], [tensor("y", -1, 4)])
    found = errors_of('backend: "onnxruntime" max_batch_size: 2 input { name: "a" }', spec)
    assert "expects 1 inputs, model provides 2" in found[0].message
    assert "'b'" in found[0].hint
    optional = onnx([tensor("a", -1, 4), tensor("b", -1, 4, optional=True)], [tensor("y", -1, 4)])
    assert (
        len(completed('backend: "onnxruntime" max_batch_size: 2 input { name: "a" }', optional).config.input)
        == 1
    )


def test_outputs_may_be_a_part_of_the_models():
    spec = onnx([tensor("a", -1, 4)], [tensor("y", -1, 4), tensor("z", -1, 2)])
    result = completed('backend: "onnxruntime" max_batch_size: 2 output { name: "z" }', spec)
    assert result.output_names == {"z": "z"}


def test_all_disagreements_are_reported_together():
    found = errors_of(
        'backend: "onnxruntime" max_batch_size: 8\n'
        'input { name: "images" data_type: TYPE_INT8 dims: [3] }\n'
        'output { name: "probability" }'
    )
    assert {each.field for each in found} == {"input[0].data_type", "input[0].dims", "output[0].name"}


def test_scalars_become_one_element_with_an_empty_reshape():
    spec = onnx([tensor("x", -1)], [tensor("y", -1)])
    result = completed('backend: "onnxruntime" max_batch_size: 2', spec)
    assert result.config.input[0].dims == (1,)
    assert result.config.input[0].reshape.shape == ()
    whole = onnx([tensor("x")], [tensor("y", 3)])
    result = completed('backend: "onnxruntime"', whole)
    assert result.config.input[0].reshape.shape == ()


def test_reshape_is_what_the_model_sees():
    spec = onnx([tensor("x", -1, 2, 6)], [tensor("y", -1, 2)])
    text = 'backend: "onnxruntime" max_batch_size: 2 input { name: "x" dims: [12] reshape { shape: [%s] } }'
    assert completed(text % "2, 6", spec).config.input[0].dims == (12,)
    assert errors_of(text % "3, 4", spec)[0].field == "input[0].reshape.shape"


def test_a_ragged_input_has_no_shape_to_compare():
    spec = onnx([tensor("x", -1)], [tensor("y", -1)])
    text = 'backend: "onnxruntime" max_batch_size: 2 input { name: "x" dims: [-1] allow_ragged_batch: true }'
    assert completed(text, spec).config.input[0].dims == (-1,)


def test_tensors_that_the_scheduler_feeds_are_not_the_requests():
    spec = onnx(
        [tensor("x", -1, 2), tensor("START", -1, 1, dtype=DataType.INT32), tensor("state_in", -1, 4)],
        [tensor("y", -1, 2), tensor("state_out", -1, 4)],
    )
    text = """
backend: "onnxruntime" max_batch_size: 2 %s
sequence_batching {
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }
  state { input_name: "state_in" output_name: "state_out" data_type: TYPE_FP32 dims: [4] }
}"""
    for stated in ("", 'input { name: "x" data_type: TYPE_FP32 dims: [2] }'):
        result = completed(text % stated, spec)
        assert result.input_names == {"x": "x"}
        assert result.output_names == {"y": "y"}


def test_a_type_that_no_configuration_can_name():
    spec = onnx([tensor("x", 2, dtype=DataType.COMPLEX64)], [tensor("y", 2)])
    assert "COMPLEX64" in errors_of('backend: "onnxruntime"', spec)[0].message


GEARS = om([tensor("images", -1, 3, 8, 8)], [tensor("Node_12:0:prob", -1, 10)], (1, 2, 4, 8))


def test_om_outputs_go_by_full_name_last_part_or_position():
    text = 'backend: "acl" max_batch_size: 8 output { name: "%s" }'
    for name in ("Node_12:0:prob", "prob"):
        result = completed(text % name, GEARS)
        assert result.output_names == {name: "Node_12:0:prob"}
        assert result.diagnostics == ()
    result = completed(text % "scores", GEARS)
    assert result.output_names == {"scores": "Node_12:0:prob"}
    assert "by its position" in result.diagnostics[0].message
    assert result.diagnostics[0].severity == "warning"


def test_om_names_are_short_where_nobody_named_them():
    assert completed('backend: "acl"', GEARS).output_names == {"prob": "Node_12:0:prob"}
    twice = om([tensor("x", -1, 2)], [tensor("a:0:y", -1, 2), tensor("b:0:y", -1, 2)], (1, 2))
    assert completed('backend: "acl"', twice).output_names == {"a:0:y": "a:0:y", "b:0:y": "b:0:y"}


def test_an_ambiguous_om_name_is_an_error():
    spec = om([tensor("x", -1, 2)], [tensor("a:0:y", -1, 2), tensor("b:0:y", -1, 2)], (1, 2))
    found = errors_of('backend: "acl" max_batch_size: 2 output { name: "y" } output { name: "z" }', spec)
    assert "'a:0:y', 'b:0:y'" in found[0].expected


def test_two_names_for_one_om_output_are_an_error():
    found = errors_of(
        'backend: "acl" max_batch_size: 8 output { name: "prob" } output { name: "Node_12:0:prob" }', GEARS
    )
    assert "are the same output" in found[0].message


def test_om_gears_are_the_default_and_the_measure_of_batch_sizes():
    assert completed('backend: "acl"', GEARS).config.max_batch_size == 8
    result = completed(
        'backend: "acl" max_batch_size: 16 dynamic_batching { preferred_batch_size: [4, 6] }', GEARS
    )
    assert {each.field for each in result.diagnostics} == {
        "max_batch_size",
        "dynamic_batching.preferred_batch_size[1]",
    }


def test_preferred_sizes_are_compared_with_the_gears_without_positions_too():
    text = 'backend: "acl" max_batch_size: 8 dynamic_batching { preferred_batch_size: [3, 8] }'
    found = complete(parse_config(text, name="m").config, GEARS).diagnostics
    assert [each.field for each in found] == ["dynamic_batching.preferred_batch_size[0]"]
    text = 'backend: "acl" max_batch_size: 6 dynamic_batching { }'
    assert complete(parse_config(text, name="m").config, GEARS).diagnostics == ()


def test_outputs_that_are_no_tensors():
    spec = ModelSpec("onnx", (tensor("x", 2),), (tensor("label", 2),), not_tensors={"scores": "sequence"})
    text = 'backend: "onnxruntime" output { name: "scores" data_type: TYPE_FP32 dims: 2 }'
    found = errors_of(text, spec)
    assert "is a sequence" in found[0].message
    assert found[0].field == "output[0].name"


def test_an_om_of_a_fixed_batch_takes_smaller_ones():
    spec = om([tensor("x", 4, 2)], [tensor("y", 4, 2)])
    result = completed('backend: "acl" max_batch_size: 4 input { name: "x" dims: [2] }', spec)
    assert result.config.output[0].dims == (2,)
    assert result.diagnostics == ()
    assert result.relaxed == ()
    result = completed('backend: "acl" max_batch_size: 8', spec)
    assert "larger batches are split" in result.diagnostics[0].message
    assert completed('backend: "acl"', spec).config.input[0].dims == (4, 2)


def test_an_om_of_unknown_rank_needs_dims():
    spec = om([tensor("x", -1, 2)], [tensor("y", -2)])
    assert "rank" in errors_of('backend: "acl" max_batch_size: 2', spec)[0].message
    result = completed('backend: "acl" max_batch_size: 2 output { name: "y" dims: [5, 5] }', spec)
    assert result.config.output[0].dims == (5, 5)


def test_without_positions_the_fields_are_named_all_the_same():
    config = parse_config('backend: "onnxruntime" max_batch_size: 8 input { name: "image" }', name="m").config
    with pytest.raises(ConfigError) as caught:
        complete(config, RESNET)
    assert caught.value.field == "input[0].name"
    assert caught.value.line is None


DTYPES = st.sampled_from([each for each in DataType if each.config_name])
SHAPES = st.lists(st.sampled_from([-1, 1, 2, 3, 8]), max_size=4).map(tuple)
TENSORS = st.lists(st.tuples(DTYPES, SHAPES), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(TENSORS, TENSORS, st.sampled_from(["onnx", "om"]), st.integers(0, 8))
def test_a_completed_configuration_fits_its_model_again(inputs, outputs, kind, largest):
    spec = ModelSpec(
        kind,
        tuple(TensorSpec(f"i{index}", *each) for index, each in enumerate(inputs)),
        tuple(TensorSpec(f"o{index}", *each) for index, each in enumerate(outputs)),
    )
    backend = "acl" if kind == "om" else "onnxruntime"
    parsed = parse_config(
        f'backend: "{backend}"' + (f" max_batch_size: {largest}" if largest else ""), name="m"
    )
    try:
        result = complete(parsed.config, spec, parsed=parsed)
    except ConfigError:
        # Only a batch size was stated, so that only the batch can be wrong.
        assert largest > 0
        return
    findings = parsed.findings()
    check_tensors_complete(result.config, findings)
    assert not findings.diagnostics
    assert result.relaxed == ()
    # Written out and read again, it completes to itself.
    again = parse_config(to_pbtxt(result.config), name="m")
    assert complete(again.config, spec, parsed=again).config == result.config
