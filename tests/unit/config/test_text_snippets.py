"""Sixty-four snippets of protobuf text: accepted or refused as by protobuf's reference parser."""

import json
import math
from pathlib import Path

import pytest

from ascend_infer.config.findings import Findings
from ascend_infer.config.from_message import from_message
from ascend_infer.config.json_form import to_dict
from ascend_infer.config.parse import examine_config
from ascend_infer.config.schema import message_class
from ascend_infer.config.syntax import read_syntax

SNIPPETS = json.loads(Path(__file__).with_name("text_snippets.json").read_text(encoding="utf-8"))
ACCEPTED = [each for each in SNIPPETS if each["value"] is not None]
REFUSED = [each for each in SNIPPETS if each["value"] is None]
# Where ours is nearer to the mistake than the reference: the name of the second field, the extension's bracket.
NEARER = {"dynamic_batching {} dynamic_batching {}": [1, 21], "[ext.foo]: 1": [1, 1]}


def _subset(expected, got, path=""):
    """Assert that every value the reference read is in ours; it wrote 64-bit integers as strings."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            _subset(value, got[key], f"{path}.{key}")
    elif isinstance(expected, list):
        assert len(expected) == len(got), path
        for index, (one, other) in enumerate(zip(expected, got, strict=True)):
            _subset(one, other, f"{path}[{index}]")
    elif isinstance(got, int) and not isinstance(got, bool):
        assert int(expected) == got, path
    else:
        assert expected == got, path


@pytest.mark.parametrize("snippet", ACCEPTED, ids=[each["text"][:60] for each in ACCEPTED])
def test_accepts_and_reads_the_value(snippet):
    import google.protobuf
    from google.protobuf import text_format

    if "\\u" in snippet["text"] and int(google.protobuf.__version__.split(".")[0]) < 5:
        pytest.skip("protobuf before 5 reads \\u as a byte")
    findings = Findings()
    read_syntax(snippet["text"], findings)
    assert [str(found) for found in findings.diagnostics] == []
    message = text_format.Parse(snippet["text"], message_class()())
    config = from_message(message, findings)
    assert not findings.diagnostics
    _subset(snippet["value"], to_dict(config))


@pytest.mark.parametrize("snippet", REFUSED, ids=[each["text"][:60] for each in REFUSED])
def test_refuses_at_the_same_place(snippet):
    parsed, diagnostics = examine_config(snippet["text"])
    assert parsed is None
    place = NEARER.get(snippet["text"], snippet["line_column"])
    assert [diagnostics[0].line, diagnostics[0].column] == place
    assert diagnostics[0].message


def test_infinite_bucket():
    text = "model_metrics { metric_control { histogram_options { buckets: [1, inf] } } }"
    parsed, _ = examine_config(text)
    assert parsed is not None
    control = parsed.config.model_metrics.metric_control[0]
    assert control.histogram_options.buckets == (1.0, math.inf)


def test_there_are_as_many_snippets_as_were_recorded():
    assert (len(ACCEPTED), len(REFUSED)) == (39, 25)
