"""Writing configurations as text and as JSON, and reading both back."""

import json
import math
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_infer.config import ModelConfig, from_json, normalise, parse_config, to_json, to_pbtxt
from ascend_infer.config.findings import Findings
from ascend_infer.config.from_message import enum_member, from_message
from ascend_infer.config.json_form import _message, to_dict
from ascend_infer.config.message_classes import MESSAGE_CLASSES, attribute
from ascend_infer.config.scalars import RANGES
from ascend_infer.config.schema import ENUMS, MESSAGES, message_class
from ascend_infer.errors import ConfigError

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)


def _scalars(type_name):
    if type_name in ENUMS:
        return st.sampled_from([enum_member(type_name, value) for value in ENUMS[type_name]])
    if type_name in RANGES:
        return st.integers(*RANGES[type_name])
    if type_name == "bool":
        return st.booleans()
    if type_name == "float":
        return st.floats(width=32, allow_nan=False)
    if type_name == "double":
        return st.floats(allow_nan=False)
    return TEXT


@st.composite
def messages(draw, name="ModelConfig", depth=0):
    """Any message that the schema allows, most fields left out."""
    values = {}
    taken = set()
    for spec in MESSAGES[name].fields.values():
        if draw(st.integers(0, 2 + depth)) != 0:
            continue
        if spec.oneof is not None:
            if spec.oneof in taken:
                continue
            taken.add(spec.oneof)
        one = messages(spec.type, depth + 1) if spec.type in MESSAGES else _scalars(spec.type)
        if spec.label == "map":
            entries = draw(st.dictionaries(_scalars(spec.key_type), one, max_size=2))
            value = dict(sorted(entries.items()))
        elif spec.label == "many":
            value = draw(st.lists(one.filter(lambda each: each is not None), max_size=2).map(tuple))
        else:
            value = draw(one)
        values[attribute(spec.name)] = value
    return MESSAGE_CLASSES[name](**values)


def read(text):
    """Read text without filling in defaults or checking rules."""
    from google.protobuf import text_format

    findings = Findings()
    config = from_message(text_format.Parse(text, message_class()()), findings)
    assert not findings.diagnostics
    return config


@settings(max_examples=200, deadline=None)
@given(messages())
def test_text_reads_back_as_the_same_configuration(config):
    assert normalise(read(to_pbtxt(config))) == normalise(config)


@settings(max_examples=200, deadline=None)
@given(messages())
def test_json_reads_back_as_the_same_configuration(config):
    findings = Findings()
    assert _message("ModelConfig", json.loads(to_json(config)), "", findings) == config
    assert not findings.diagnostics


@settings(max_examples=100, deadline=None)
@given(messages())
def test_normalising_twice_changes_nothing(config):
    assert normalise(normalise(config)) == normalise(config)


RESNET = """
name: "resnet50_ge"
platform: "ge"                      # 注释
max_batch_size: 8
input [ { name: "images" data_type: TYPE_FP32 dims: [3, 224, 224] } ]
output [ { name: "prob" data_type: TYPE_FP32 dims: [1000] label_filename: "labels.txt" } ]
instance_group [ { count: 2 kind: KIND_GPU gpus: [0] }, { count: 2 kind: KIND_GPU gpus: [1] } ]
dynamic_batching { preferred_batch_size: [4, 8] max_queue_delay_microseconds: 100 }
parameters { key: "note" value { string_value: "say \\"hi\\"\\n\\t\\\\ 中文" } }
"""


def test_text_is_short_and_readable():
    config = parse_config(RESNET).config
    assert to_pbtxt(config) == (
        'name: "resnet50_ge"\n'
        'platform: "ge"\n'
        "max_batch_size: 8\n"
        "input [\n"
        '  { name: "images" data_type: TYPE_FP32 dims: [3, 224, 224] }\n'
        "]\n"
        "output [\n"
        '  { name: "prob" data_type: TYPE_FP32 dims: [1000] label_filename: "labels.txt" }\n'
        "]\n"
        "dynamic_batching { preferred_batch_size: [4, 8] max_queue_delay_microseconds: 100 }\n"
        "instance_group [\n"
        "  { kind: KIND_GPU count: 2 gpus: [0] },\n"
        "  { kind: KIND_GPU count: 2 gpus: [1] }\n"
        "]\n"
        'parameters { key: "note" value { string_value: "say \\"hi\\"\\n\\t\\\\ 中文" } }\n'
    )
    assert parse_config(to_pbtxt(config)).config == config


def test_json_has_tritons_form():
    config = parse_config(
        'name: "add_sub" backend: "python" max_batch_size: 8 '
        'input { name: "INPUT0" data_type: TYPE_FP32 dims: [4] } '
        "dynamic_batching { max_queue_delay_microseconds: 500 } instance_group { kind: KIND_CPU }"
    ).config
    value = json.loads(to_json(config))
    assert list(value)[:7] == [
        "name",
        "platform",
        "backend",
        "runtime",
        "version_policy",
        "max_batch_size",
        "input",
    ]
    assert value["input"] == [
        {
            "name": "INPUT0",
            "data_type": "TYPE_FP32",
            "format": "FORMAT_NONE",
            "dims": [4],
            "is_shape_tensor": False,
            "allow_ragged_batch": False,
            "optional": False,
            "is_non_linear_format_io": False,
        }
    ]
    assert value["version_policy"] == {"latest": {"num_versions": 1}}
    assert value["dynamic_batching"] == {
        "preferred_batch_size": [8],
        "max_queue_delay_microseconds": 500,
        "preserve_ordering": False,
        "priority_levels": 0,
        "default_priority_level": 0,
        "priority_queue_policy": {},
    }
    assert value["instance_group"][0] == {
        "name": "add_sub_0",
        "kind": "KIND_CPU",
        "count": 1,
        "gpus": [],
        "secondary_devices": [],
        "profile": [],
        "passive": False,
        "host_policy": "",
    }
    assert value["optimization"]["input_pinned_memory"] == {"enable": True}
    assert value["default_model_filename"] == "model.py"
    assert value["model_warmup"] == []
    for absent in ("sequence_batching", "ensemble_scheduling", "response_cache", "model_metrics"):
        assert absent not in value


def test_json_reads_what_protobuf_reads():
    config = from_json(
        {
            "name": "m",
            "maxBatchSize": "8",
            "backend": "onnxruntime",
            "input": [{"name": "x", "data_type": "type_fp32", "dims": ["3", 4.0], "reshape": None}],
            "dynamic_batching": {
                "priority_levels": 2,
                "default_priority_level": 1,
                "priority_queue_policy": {"1": {"max_queue_size": 5}},
            },
            "instance_group": [{"kind": 2}],
        }
    )
    assert config.max_batch_size == 8
    assert config.input[0].dims == (3, 4)
    assert config.dynamic_batching.priority_queue_policy[1].max_queue_size == 5
    assert config.instance_group[0].kind.value == "KIND_CPU"
    assert from_json(to_json(config)) == config
    assert from_json(to_json(config).encode()) == config


@pytest.mark.parametrize(
    ("source", "field", "words"),
    [
        ('{"max_batchsize": 1}', "max_batchsize", "did you mean max_batch_size?"),
        ('{"max_batch_size": "x"}', "max_batch_size", "integer"),
        ('{"max_batch_size": 1.5}', "max_batch_size", "integer"),
        ('{"max_batch_size": true}', "max_batch_size", "integer"),
        ('{"max_batch_size": 3000000000}', "max_batch_size", "2147483647"),
        ('{"max_batch_size": -1}', "max_batch_size", "non-negative"),
        ('{"name": 7}', "name", "text"),
        ('{"input": {}}', "input", "list"),
        ('{"input": [7]}', "input[0]", "object"),
        ('{"input": [{"optional": "yes"}]}', "input[0].optional", "true or false"),
        ('{"input": [{"data_type": "FP32"}]}', "input[0].data_type", "did you mean TYPE_FP32?"),
        ('{"parameters": []}', "parameters", "map"),
        ('{"dynamic_batching": {}, "sequence_batching": {}}', "sequence_batching", "exclude each other"),
        ('{"name": "a", "name": "b"}', "name", "twice"),
        ("[]", None, "object"),
        ("{", None, "no JSON"),
        ("[" * 100_000, None, "no JSON"),
        ('{"name": "other"}', "name", "not 'm'"),
    ],
)
def test_json_mistakes_are_named(source, field, words):
    with pytest.raises(ConfigError) as caught:
        from_json(source, name="m")
    assert caught.value.field == field
    assert words in str(caught.value)


def test_infinite_numbers_survive_both_forms():
    text = "model_metrics { metric_control { histogram_options { buckets: [1, 2.5, inf] } } }"
    config = read(text)
    assert read(to_pbtxt(config)).model_metrics == config.model_metrics
    written = to_dict(config)["model_metrics"]["metric_control"][0]["histogram_options"]["buckets"]
    assert written == [1.0, 2.5, "Infinity"]
    findings = Findings()
    back = _message("ModelConfig", to_dict(config), "", findings)
    assert back.model_metrics.metric_control[0].histogram_options.buckets[2] == math.inf


def test_configurations_pickle():
    config = parse_config(RESNET).config
    assert pickle.loads(pickle.dumps(config)) == config


def test_an_empty_configuration_is_an_empty_text():
    assert to_pbtxt(ModelConfig()) == ""
    assert to_pbtxt(parse_config("").config) == ""
