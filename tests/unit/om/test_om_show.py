"""How a model shows itself: JSON with stable keys, a table for notebooks."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from ascend_infer import om

KEYS = {
    "path", "kind", "name", "file_size", "is_simulator_model", "soc_version", "cann_version", "atc_version",
    "framework", "command_line", "dynamic", "work_size", "weight_size", "stream_count", "event_count", "io_source",
    "inputs", "outputs", "gears", "differences", "notes", "external_weights", "attributes", "header", "parts",
    "simulator", "simulator_onnx", "members",
}  # fmt: skip
FILES = ["static_v2", "gears_v1", "gears_case", "unknown_shape", "bundle", "flow", "om2"]


@pytest.mark.parametrize("name", FILES)
def test_json_has_the_same_keys_for_every_kind(build, name):
    value = om.read_bytes(build.ALL[name]()).to_json()
    assert value.keys() == KEYS
    assert json.loads(json.dumps(value)) == value


def test_json_says_what_to_feed(build):
    value = om.read_bytes(build.gears_v1()).to_json()
    d = value["inputs"][0]
    assert (d["dtype"], d["dims_v2"], d["aipp"]["format_name"]) == ("UINT8", [-1, 24, 16, 1], "YUV420SP_U8")
    assert "NV12" in d["aipp"]["feed"]
    assert value["gears"][2] == {
        "kind": "batch", "values": [8], "input_dims": [[8, 24, 16, 1]], "output_dims": [[8, 5]],
    }  # fmt: skip


class Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", FILES)
def test_html_is_well_formed(build, name):
    parser = Balanced()
    parser.feed(om.read_bytes(build.ALL[name]())._repr_html_())
    assert parser.open == []
    assert "net" in parser.text or name in ("flow", "unknown_shape")


def test_html_shows_and_escapes(build):
    root = build.graph(
        "g",
        build.data("<script>", 1, (-1, 4), 0, 16, "ND"),
        build.net_output(build.tensor(1, (1,), "ND")),
    )
    page = om.read_bytes(build.om([(0, build.modeldef("<b>n", root))]))._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "? × 4" in page
    page = om.read_bytes(build.gears_v1())._repr_html_()
    assert "fed by the runtime" in page
    assert "batch gear" in page
    assert 'title="conv1:0:conv1"' in page


def test_html_stays_compact_for_wide_models(build):
    outputs = [build.tensor(1, (1,), "ND")] * 3000
    model = om.read_bytes(build.om([(0, build.modeldef("n", build.graph("g", build.net_output(*outputs))))]))
    assert len(model.outputs) == 3000
    assert len(model._repr_html_()) < 30_000


def test_repr_is_one_short_line(build):
    assert repr(om.read_bytes(build.gears_v1())) == (
        "<OmModel 'net': model, batch, inputs=[d: UINT8[-1, 24, 16, 1]], outputs=[conv1:0:conv1: FP32[8, 5]], "
        "gears=[[1], [4], [8]]>"
    )
