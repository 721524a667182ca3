"""What people get wrong in a config.pbtxt, and whether the error says what to write instead."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_infer.config import parse_config
from ascend_infer.config.findings import Findings
from ascend_infer.config.parse import examine_config
from ascend_infer.config.schema import message_class
from ascend_infer.config.syntax import read_syntax
from ascend_infer.config.tree import positions
from ascend_infer.errors import ConfigError

X = 'input [ { name: "x" data_type: TYPE_FP32 dims: [3] } ]\n'


def errors_of(text):
    with pytest.raises(ConfigError) as caught:
        parse_config(text, file="config.pbtxt")
    return [each for each in caught.value.diagnostics if each.severity == "error"]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("max_batchsize: 8", (1, 1), ["max_batchsize", "did you mean max_batch_size?"]),
        ("maxBatchSize: 8", (1, 1), ["did you mean max_batch_size?"]),
        ("inputs { }", (1, 1), ["did you mean input?"]),
        ('input { name: "x" dtype: TYPE_FP32 }', (1, 19), ["did you mean data_type?"]),
        ('input { name: "x" shape: [1] }', (1, 19), ["did you mean dims?"]),
        ("name: resnet50_ge", (1, 7), ['name: "resnet50_ge"']),
        ("default_model_filename: sub/net-v1.5.om", (1, 25), ['"sub/net-v1.5.om"']),
        ("name: “resnet50”", (1, 7), ["U+201C", "LEFT DOUBLE QUOTATION MARK", "straight quotes"]),
        ("name: ‘resnet50’", (1, 7), ["U+2018", "straight quotes"]),
        ('name: "resnet50”\nmax_batch_size: 8', (1, 7), ["U+201D"]),
        ('name： "a"', (1, 5), ["U+FF1A", "FULLWIDTH COLON", "write ':'"]),
        ('name: "a"， max_batch_size: 1', (1, 10), ["U+FF0C", "write ','"]),
        ('name: "a"； max_batch_size: 1', (1, 10), ["U+FF1B", "write ';'"]),
        ('input ｛ name: "x" ｝', (1, 7), ["U+FF5B", "write '{'"]),
        ('\ufeffname: "a"', (1, 1), ["U+FEFF", "byte order mark"]),
        ('na\u200bme: "a"', (1, 3), ["U+200B", "ZERO WIDTH SPACE", "delete it"]),
        ("input { dims: [4, 8,] }", (1, 20), ["ends in ','", "delete the comma"]),
        ("input { dims: [1 2] }", (1, 18), ["',' is missing"]),
        ("input { dims: [,2] }", (1, 16), ["value is missing"]),
        # The comma separates fields, so the 2 stands where a field's name should.
        ("input { dims: 1, 2 }", (1, 18), ["'2'"]),
        ("input { data_type: FP32 }", (1, 20), ["did you mean TYPE_FP32?"]),
        ("input { data_type: float32 }", (1, 20), ["did you mean TYPE_FP32?"]),
        ("input { data_type: TYPE_FLOAT }", (1, 20), ["did you mean TYPE_FP32?"]),
        ("input { data_type: TYPE_BYTES }", (1, 20), ["did you mean TYPE_STRING?"]),
        ('input { data_type: "TYPE_FP32" }', (1, 20), ["TYPE_FP32 without quotes"]),
        ("instance_group { kind: KIND_NPU }", (1, 24), ["KIND_GPU, which means the NPU"]),
        ("instance_group { kind: CPU }", (1, 24), ["did you mean KIND_CPU?"]),
        ('"name": "a"', (1, 1), ["in quotes", "name: without quotes"]),
        ('{ "name": "a" }', (1, 1), ["JSON"]),
        ('parameters { "a": { string_value: "1" } }', (1, 14), ['{ key: "a" value: ... }']),
        ("input { optional: TRUE }", (1, 19), ["write true"]),
        ("input { optional: yes }", (1, 19), ["write true"]),
        ("input { optional: no }", (1, 19), ["write false"]),
        ('input [ { name: "x" } { name: "y" } ]', (1, 23), ["',' is missing"]),
        ('name = "a"', (1, 6), ["'='", "write name:"]),
        ('name "a"', (1, 6), ["':' is missing"]),
        ("input { dims [3] }", (1, 14), ["':' is missing"]),
        ("dynamic_batching {\n  preferred_batch_size: [4]\n", (1, 18), ["never closed", "add '}'"]),
        ("input [\n  { dims: [3] }\n", (1, 7), ["never closed", "add ']'"]),
        ("input { dims: [3, 4 }", (1, 15), ["never closed"]),
        ('name: "a" }', (1, 11), ["closes nothing"]),
        ('name: "a" // the name', (1, 11), ["'//'", "comments begin with #"]),
        ('/* the\nname */ name: "a"', (1, 1), ["'/*'", "comments begin with #"]),
        ("max_batch_size: 4\nmax_batch_size: 8", (2, 1), ["given twice", "line 1"]),
        ('max_batch_size: "8"', (1, 17), ["write 8 without quotes"]),
        ("max_batch_size: 8.0", (1, 17), ["write 8"]),
        ("max_batch_size: 3000000000", (1, 17), ["2147483647"]),
        ("max_batch_size: - 1", (1, 17), ["write -1"]),
        ("max_batch_size: [8]", (1, 17), ["one value, not a list"]),
        ("max_batch_size:\nname: 'a'", (2, 1), ["has no value"]),
        ("name: 'a", (1, 7), ["not closed"]),
        ('name: "a\\q\\xZZ"', (1, 7), ["backslash"]),
        ("dynamic_batching: true", (1, 19), ["expected", "'{'"]),
        ("input ( name: 'x' )", (1, 7), ["'('"]),
        ("dynamic_batching { }\nsequence_batching { }", (2, 1), ["exclude each other", "line 1"]),
        ("dynamic_batching { max_batch_size: 8 }", (1, 20), ["belongs to ModelConfig"]),
        ('input { name: "x" ]', (1, 19), ["closed by ']'"]),
    ],
)
def test_says_where_and_what_to_write(text, place, words):
    found = errors_of(text)
    here = [each for each in found if all(word in str(each) for word in words)]
    assert here, [str(each) for each in found]
    assert (here[0].line, here[0].column) == place


def test_a_long_number_is_shown_cut():
    assert any(f"'{'1' * 57}...'" in str(found) for found in errors_of("input [ " + "1" * 100 + " ]"))


def test_one_missing_brace_is_one_error():
    text = X.replace(" } ]", " ]") + 'output [ { name: "y" } ]\nmax_batch_size: 8\n'
    found = errors_of(text)
    assert len(found) == 1
    assert found[0].line == 1
    assert "line 1" in found[0].message


def test_an_unclosed_message_is_noticed_at_the_next_field_of_the_outer_one():
    text = "dynamic_batching {\n  preferred_batch_size: [4]\nmax_batch_size: 8\n" + X
    found = errors_of(text)
    assert len(found) == 1
    assert found[0].line == 3
    assert "line 1" in str(found[0].hint)


def test_several_mistakes_are_reported_together_in_order():
    text = (
        "name: net\n"
        "max_batchsize: 8\n"
        "input [ { name: 'x' data_type: FP32 dims: [1 2] } ]\n"
        "instance_group { kind: KIND_NPU }\n"
    )
    found = errors_of(text)
    assert [each.line for each in found] == [1, 2, 3, 3, 4]


def test_a_kind_of_character_is_reported_once_and_counted():
    text = "name: “a”\nplatform: “ge”\ninput { name: “x” }"
    found = errors_of(text)
    assert len(found) == 2
    assert all("3 times" in each.message for each in found)


def test_json_gives_one_error_about_it_not_one_for_each_name():
    found = errors_of('{ "name": "a", "max_batch_size": 8, "input": [ { "name": "x", "dims": [1] } ] }')
    assert len(found) == 1


@pytest.mark.parametrize("space", ["\u3000", "\u00a0"])
def test_other_spaces_are_accepted_by_protobuf_for_python_and_warned_about(space):
    parsed = parse_config(f'name:{space}"a"{space}max_batch_size: 2')
    assert parsed.config.max_batch_size == 2
    warning = parsed.warnings[0]
    assert (warning.line, warning.column) == (1, 6)
    assert f"U+{ord(space):04X}" in warning.message


def test_a_duplicate_that_protobuf_accepts_is_a_warning():
    parsed = parse_config("max_batch_size: 0\nmax_batch_size: 4")
    assert parsed.config.max_batch_size == 4
    assert [each.line for each in parsed.warnings] == [2]


def test_comments_and_strings_may_hold_anything():
    text = 'name: "“模型”：{"  # 注释 “ ” ： { [\nmax_batch_size: 8 # {'
    parsed = parse_config(text)
    assert parsed.config.name == "“模型”：{"
    assert parsed.warnings == ()


def test_positions_of_all_kinds_of_fields():
    text = (
        'name: "m"\n'
        "input [\n"
        '  { name: "x" dims: [3, 4] },\n'
        '  { name: "y"\n'
        "    reshape { shape: [ ] } }\n"
        "]\n"
        'parameters { key: "k" value { string_value: "v" } }\n'
        "dynamic_batching { priority_queue_policy { key: 2 value { max_queue_size: 3 } } }\n"
        'metric_tags { value: "b" key: "a" }\n'
    )
    parsed, _ = examine_config(text)
    assert parsed is not None
    expected = {
        "name": (1, 7),
        "input": (2, 1),
        "input[0]": (3, 3),
        "input[0].dims": (3, 15),
        "input[0].dims[1]": (3, 25),
        "input[1].name": (4, 11),
        "input[1].reshape": (5, 5),
        "input[1].reshape.shape": (5, 15),
        'parameters["k"]': (7, 12),
        'parameters["k"].string_value': (7, 45),
        "dynamic_batching.priority_queue_policy[2].max_queue_size": (8, 75),
        'metric_tags["a"]': (9, 22),
    }
    for path, place in expected.items():
        assert parsed.position(path) == place, path
    assert parsed.position("max_batch_size") is None
    assert parsed.nearest_position("input[1].reshape.shape[7]") == (5, 15)


def test_a_number_that_no_enum_value_has_is_refused():
    found = errors_of("instance_group { kind: 9 }")
    assert (found[0].line, found[0].field) == (1, "instance_group[0].kind")


def test_deep_nesting_and_thousands_of_errors_end_soon():
    assert errors_of("input " + "{ input " * 20_000)
    found = errors_of("} " * 5_000)
    assert len(found) < 200
    assert errors_of("a: [" * 20_000)


PIECES = [
    *"{}[]<>():\",;=#/-+'\\ \n\t.",
    "“",
    "”",
    "：",
    "\u3000",
    "\ufeff",
    "TYPE_FP32",
    "FP32",
    "4",
    "-1",
    "0x1",
    "1e2",
    "true",
    "name",
    '"x"',
    "'y'",
    "dims",
    "input",
    "parameters",
    "key",
    "value",
    "zz",
    "//",
    "é",
    "\\x41",
    "08",
    "max_batch_size: 4 ",
    'input { name: "x" } ',
]
GOOD = [
    X,
    'name: "m" parameters { key: "a" value { string_value: "1" } }',
    "dynamic_batching { preferred_batch_size: [4, 8] default_queue_policy { timeout_action: DELAY } }",
    "version_policy: { specific { versions: [1, 3] } } instance_group [ { kind: KIND_GPU gpus: 0 }, { } ]",
]


@st.composite
def damaged(draw):
    text = draw(st.sampled_from(GOOD))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 4))
        text = text[:start] + draw(st.sampled_from(["", *PIECES])) + text[start + length :]
    return text


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(damaged(), st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join), st.text(max_size=40))
)
def test_the_token_pass_finds_an_error_exactly_where_protobuf_refuses(text):
    from google.protobuf import text_format

    try:
        text_format.Parse(text, message_class()())
        accepted = True
    except (text_format.ParseError, ValueError):
        accepted = False
    findings = Findings()
    positions(read_syntax(text, findings))
    if not accepted:
        assert findings.errors
        for found in findings.errors:
            assert found.line is not None
            assert 1 <= found.line <= text.count("\n") + 1
    else:
        # Repeated defaults and full-width digits: protobuf for Python lets them pass, protobuf for C++ does not.
        assert all("twice" in each.message or "U+" in each.message for each in findings.errors)
