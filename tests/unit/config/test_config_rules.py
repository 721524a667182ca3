"""Rules that the recorded cases do not cover, and what is only a warning."""

import pytest

from ascend_infer.config import parse_config
from ascend_infer.errors import ConfigError

HEAD = 'name: "m" backend: "onnxruntime" max_batch_size: 8\n'
X = 'input { name: "x" data_type: TYPE_FP32 dims: [4] } output { name: "y" data_type: TYPE_FP32 dims: [4] }\n'


def findings_of(text, name=None):
    try:
        return parse_config(text, name=name).warnings
    except ConfigError as error:
        return error.diagnostics


def errors_of(text, name=None):
    return [each for each in findings_of(text, name) if each.severity == "error"]


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("model_metrics { metric_control { } }", "model_metrics.metric_control[0]", "'metric_identifier'"),
        (
            "model_metrics { metric_control { metric_identifier { } histogram_options { buckets: 1 } } }",
            "model_metrics.metric_control[0].metric_identifier",
            "'family'",
        ),
        (
            'model_metrics { metric_control { metric_identifier { family: "f" } } }',
            "model_metrics.metric_control[0]",
            "'histogram_options'",
        ),
        (
            'model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { } } }',
            "model_metrics.metric_control[0].histogram_options",
            "'buckets'",
        ),
        (
            "response_cache { enable: true } sequence_batching { }",
            "response_cache.enable",
            "sequence batching",
        ),
        (
            "dynamic_batching { priority_levels: 2 default_priority_level: 3 }",
            "dynamic_batching.default_priority_level",
            "[1, 2]",
        ),
        (
            "dynamic_batching { preserve_ordering: true priority_levels: 1 default_priority_level: 1 "
            "priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 5 } } }",
            "dynamic_batching.priority_queue_policy[1].timeout_action",
            "DELAY",
        ),
        (
            "sequence_batching { direct { minimum_slot_utilization: 1.5 } }",
            "sequence_batching.direct.minimum_slot_utilization",
            "[0.0, 1.0]",
        ),
        (
            "sequence_batching { oldest { preferred_batch_size: [16] } }",
            "sequence_batching.oldest.preferred_batch_size[0]",
            "<= max batch size",
        ),
        (
            "sequence_batching { control_input { control { int32_false_true: [0, 1] } } }",
            "sequence_batching.control_input[0]",
            "must have a name",
        ),
        (
            'sequence_batching { control_input { name: "S" control { } } }',
            "sequence_batching.control_input[0].control[0]",
            "exactly one pair",
        ),
        (
            'sequence_batching { control_input { name: "S" control { int32_false_true: 1 fp32_false_true: 1 } } }',
            "sequence_batching.control_input[0].control[0]",
            "exactly one pair",
        ),
        (
            'sequence_batching { control_input { name: "S" control { bool_false_true: [true] } } }',
            "sequence_batching.control_input[0].control[0].bool_false_true",
            "exactly 2 entries",
        ),
        (
            'sequence_batching { control_input { name: "A" control { int32_false_true: [0, 1] } } '
            'control_input { name: "B" control { int32_false_true: [0, 1] } } }',
            "sequence_batching.control_input[1].control[0].kind",
            "multiple CONTROL_SEQUENCE_START",
        ),
        ("sequence_batching { state { } }", "sequence_batching.state[0]", "'input_name'"),
        ("instance_group { kind: KIND_CPU gpus: 0 }", "instance_group[0].gpus", "KIND_CPU"),
        ("instance_group { kind: KIND_GPU gpus: -1 }", "instance_group[0].gpus[0]", "invalid gpu id -1"),
        ("version_policy { specific { } }", "version_policy.specific", "at least one version"),
        (
            "version_policy { specific { versions: -3 } }",
            "version_policy.specific.versions[0]",
            "non-negative",
        ),
        (
            'batch_input { kind: BATCH_ITEM_SHAPE target_name: "N" data_type: TYPE_FP32 source_input: ["x", "x"] }',
            "batch_input[0].source_input",
            "expects 1 source input, got 2",
        ),
        (
            'batch_input { target_name: "N" data_type: TYPE_INT64 source_input: "x" }',
            "batch_input[0].data_type",
            "TYPE_INT32 or TYPE_FP32",
        ),
        (
            'batch_output { target_name: ["y", "y"] source_input: "x" }',
            "batch_output[0].target_name[1]",
            "only be specified once",
        ),
        (
            'model_warmup { name: "w" batch_size: 9 inputs '
            '{ key: "x" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } }',
            "model_warmup[0].batch_size",
            "larger batch",
        ),
        (
            'model_warmup { name: "w" batch_size: 1 inputs '
            '{ key: "x" value { data_type: TYPE_FP16 dims: 4 zero_data: true } } }',
            'model_warmup[0].inputs["x"].data_type',
            "another data type",
        ),
    ],
)
def test_errors(text, field, words):
    found = errors_of(HEAD + X + text)
    assert [each.field for each in found if words in each.message] == [field], [str(each) for each in found]
    assert found[0].line == 3


@pytest.mark.parametrize(
    ("dims", "reshape", "words"),
    [
        ("[2, 4, -1, 6]", "[8, -1, 1, 6]", None),
        ("[-1]", "[-1, 1]", None),
        ("[1]", "[]", None),
        ("[1, 1]", "[]", None),
        ("[2, 4, -1, 6]", "[8, -1, 7]", "different size"),
        ("[-1, 2]", "[2, -1]", "different size"),
        ("[2]", "[]", "different size"),
        ("[-1, -1]", "[-1]", "different number of variable-size dimensions"),
        ("[4]", "[0]", "reshape dimensions must be"),
    ],
)
def test_reshape(dims, reshape, words):
    text = HEAD + f'input {{ name: "x" data_type: TYPE_FP32 dims: {dims} reshape {{ shape: {reshape} }} }}'
    found = errors_of(text)
    if words is None:
        assert found == []
    else:
        assert words in found[0].message


def test_an_empty_reshape_without_batching_is_a_scalar_and_warned_about():
    parsed = parse_config(
        'name: "m" backend: "onnxruntime" input { name: "x" dims: 1 reshape { } } output { }'
    )
    assert any(each.field == "input[0].reshape" for each in parsed.warnings)


@pytest.mark.parametrize(
    ("platform", "backend", "wanted"),
    [
        ("ge", "", ("npu_ge", "model.om")),
        ("", "ge", ("ge", "model.om")),
        ("", "npu_ge", ("npu_ge", "model.om")),
        ("", "acl", ("acl", "model.om")),
        ("ge", "acl", ("acl", "model.om")),
        ("onnxruntime_onnx", "", ("onnxruntime", "model.onnx")),
        ("", "onnxruntime", ("onnxruntime", "model.onnx")),
        ("pytorch_libtorch", "", ("pytorch", "model.pt")),
        ("libtorch", "", ("pytorch", "model.pt")),
        ("torch_aoti", "", ("pytorch", "model.pt2")),
        ("torch_aoti", "pytorch", ("pytorch", "model.pt2")),
        ("tensorrt_plan", "", ("tensorrt", "model.plan")),
        ("tensorflow_savedmodel", "", ("tensorflow", "model.savedmodel")),
        ("tensorflow_graphdef", "tensorflow", ("tensorflow", "model.graphdef")),
        ("", "openvino", ("openvino", "model.xml")),
        ("", "python", ("python", "model.py")),
        ("ensemble", "", ("", "")),
    ],
)
def test_platforms_backends_and_files(platform, backend, wanted):
    text = f'name: "m" platform: "{platform}" backend: "{backend}"'
    if platform == "ensemble":
        text = ensemble(("x", "y"))
    parsed = parse_config(text)
    assert (parsed.config.backend, parsed.config.default_model_filename) == wanted
    assert parsed.warnings == ()


def test_a_backend_beside_an_ensemble_is_an_error():
    assert [each.field for each in errors_of(ensemble(("x", "y")) + ' backend: "python"')] == ["backend"]


def test_parameters_of_the_ge_backend():
    known = 'name: "m" backend: "npu_ge" ' + " ".join(
        f'parameters {{ key: "{key}" value {{ string_value: "1" }} }}'
        for key in (
            "device_ids",
            "dump_graph",
            "graph.ge.dynamicDims",
            "ge.aicoreNum",
            "session.x",
            "global.y",
        )
    )
    assert findings_of(known) == ()
    found = findings_of('backend: "npu_ge"\nparameters { key: "device_idss" value { string_value: "1" } }')
    assert (found[0].severity, found[0].line, found[0].hint) == ("warning", 2, "did you mean 'device_ids'?")
    other = 'backend: "acl" parameters { key: "whatever" value { string_value: "1" } }'
    assert findings_of(other) == ()
    static = 'parameters { key: "static_model" value { string_value: "1" } }'
    both = f'backend: "npu_ge" max_batch_size: 2 dynamic_batching {{ }} {static}'
    assert "exclude" in findings_of(both)[0].message


def test_gear_padding_names_an_input():
    text = HEAD + X + 'parameters { key: "gear_pad.z" value { string_value: "0.0" } }'
    assert "names no input" in findings_of(text)[0].message


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("max_batch_size: 0 dynamic_batching { }", "dynamic_batching"),
        (X.split(" output ")[0] + "max_batch_size: 4", None),
        ('platform: "onnxruntime_onnx" backend: "python"', "platform"),
        ("instance_group { kind: KIND_GPU gpus: [1, 1] }", "instance_group[0].gpus[1]"),
        ('model_warmup { name: "w" }', "model_warmup[0]"),
        (
            "dynamic_batching { priority_queue_policy { key: 1 value { } } } max_batch_size: 2",
            "dynamic_batching.priority_queue_policy",
        ),
        (
            "dynamic_batching { default_priority_level: 1 } max_batch_size: 2",
            "dynamic_batching.default_priority_level",
        ),
        (
            'max_batch_size: 2 input { name: "x" dims: [-1, 3, 224, 224] } output { name: "y" }',
            "input[0].dims",
        ),
    ],
)
def test_warnings(text, field):
    found = findings_of(text)
    assert [each.severity for each in found] == ["warning"], [str(each) for each in found]
    assert found[0].field == field


def test_defaults_of_triton():
    config = parse_config('name: "m" backend: "python" max_batch_size: 6 dynamic_batching { }').config
    assert config.version_policy.latest.num_versions == 1
    assert config.dynamic_batching.preferred_batch_size == (6,)
    assert config.optimization.input_pinned_memory.enable
    assert config.optimization.output_pinned_memory.enable
    assert [(group.name, group.count) for group in config.instance_group] == [("m", 1)]
    config = parse_config(
        'name: "m" backend: "python" instance_group [ { }, { name: "own" count: 3 } ] '
        "max_batch_size: 5 sequence_batching { oldest { } } "
        "optimization { input_pinned_memory { } }"
    ).config
    assert [(group.name, group.count) for group in config.instance_group] == [("m_0", 1), ("own", 3)]
    assert config.sequence_batching.max_sequence_idle_microseconds == 1_000_000
    assert config.sequence_batching.oldest.preferred_batch_size == (5,)
    assert not config.optimization.input_pinned_memory.enable
    assert config.optimization.output_pinned_memory.enable


def test_the_name_is_the_directorys():
    assert parse_config("", name="m").config.name == "m"
    found = errors_of('max_batch_size: 1\nname: "other"', name="m")
    assert (found[0].line, found[0].column, found[0].field) == (2, 7, "name")


STEP = '{ model_name: "a" model_version: -1 input_map { key: "x" value: "%s" } output_map { key: "y" value: "%s" } }'


def ensemble(*steps, inputs=("x",), outputs=("y",)):
    tensors = [f'input {{ name: "{name}" data_type: TYPE_FP32 dims: 4 }}' for name in inputs]
    tensors += [f'output {{ name: "{name}" data_type: TYPE_FP32 dims: 4 }}' for name in outputs]
    listed = ", ".join(STEP % step for step in steps)
    return f'name: "e" platform: "ensemble" {" ".join(tensors)} ensemble_scheduling {{ step [ {listed} ] }}'


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        (ensemble(("x", "y"), ("x", "y")), 'ensemble_scheduling.step[1].output_map["y"]', "only once"),
        (
            ensemble(("x", "x"), ("x", "y")),
            'ensemble_scheduling.step[0].output_map["y"]',
            "cannot be written",
        ),
        (ensemble(("x", "y"), inputs=("x", "z")), "input[1]", "'z' is not used"),
        (ensemble(("b", "b"), ("x", "y")), "ensemble_scheduling.step[0]", "can never run"),
        (ensemble(("x", "a"), ("a", "b"), ("b", "y")), None, None),
        (ensemble(("b", "y"), ("a", "b"), ("x", "a")), None, None),
        ('platform: "ensemble" optimization { } ensemble_scheduling { }', "optimization", "optimization"),
        (
            'platform: "ensemble" ensemble_scheduling { step { input_map { key: "x" value: "x" } } }',
            "ensemble_scheduling.step[0]",
            "'model_name'",
        ),
    ],
)
def test_ensembles(text, field, words):
    found = errors_of(text)
    if field is None:
        assert found == []
    else:
        assert any(each.field == field and words in each.message for each in found), [str(e) for e in found]


def test_looking_up_tensors_and_parameters():
    config = parse_config(HEAD + X + 'parameters { key: "k" value { string_value: "v" } }').config
    assert config.input_by_name("x") is config.input[0]
    assert config.output_by_name("y") is config.output[0]
    assert config.input_by_name("y") is config.output_by_name("x") is None
    assert (config.parameter("k"), config.parameter("none"), config.parameter("none", "d")) == ("v", "", "d")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("input { dims: [4, 3, 3] format: FORMAT_NCHW }", None),
        ("input { dims: [-1, 4, 3, 3] format: FORMAT_NCHW }", "max_batch_size stands for it"),
    ],
)
def test_formats(text, words):
    found = errors_of(HEAD + text)
    assert (found == []) if words is None else (words in str(found[0]))
