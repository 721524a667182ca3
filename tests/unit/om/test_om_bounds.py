"""Descriptions larger than any model's, and dims and names that cannot be meant."""

from __future__ import annotations

import struct

import pytest

from ascend_infer import om
from ascend_infer.errors import ModelFileError
from ascend_infer.om.reader import LARGEST_DESCRIPTION
from ascend_infer.om.tasks import MAX_TASKS, parse_tasks


@pytest.mark.parametrize(("kind", "name"), [(0, "MODEL_DEF"), (8, "MODEL_INOUT_INFO")])
def test_a_description_of_gigabytes_is_refused_unread(tmp_path, build, kind, name):
    size = LARGEST_DESCRIPTION + 1
    parts = [(0, 0, 0)] if kind == 8 else []
    root = build.modeldef("net", build.graph("g"))
    entries = [(0, len(root))] * bool(parts) + [(kind, size)]
    body = struct.pack("<II", len(entries), 0)
    body += b"".join(struct.pack("<IIQQ", each, 0, 0, length) for each, length in entries)
    content = root if parts else b""
    path = tmp_path / "huge.om"
    with open(path, "wb") as file:
        file.write(build.header(len(body) + len(content) + size, wide=True) + body + content)
        file.truncate(256 + len(body) + len(content) + size)
    with pytest.raises(
        ModelFileError, match=rf"its {name} has 268,435,457 bytes, at most 268,435,456 are read"
    ):
        om.read(path)


def test_tasks_are_counted_up_to_a_limit(build):
    info = parse_tasks(build.b(10, b"") * (MAX_TASKS + 5) + build.i(11, 64))
    assert info.is_cut_short
    assert info.work_size is None
    assert sum(info.counts.values()) == MAX_TASKS
    model = om.read_bytes(
        build.om([(0, build.modeldef("net", build.graph("g"))), (2, build.b(10, b"") * (MAX_TASKS + 1))])
    )
    assert any("more than 262,144 tasks" in note for note in model.notes)


@pytest.mark.parametrize("where", ["operators", "fields of an operator", "attributes"])
def test_operators_and_attributes_are_bounded(build, where, monkeypatch):
    monkeypatch.setattr("ascend_infer.om.modeldef._MAX_ITEMS", 50)
    few = {"operators": 20, "fields of an operator": 20, "attributes": 20}
    for count, fits in ((few[where], True), (51, False)):
        data = build.op("x", "Data", outputs=[build.tensor(1, (1,))] * (count if "fields" in where else 1))
        root = build.graph("g", data, *([build.op("n", "Relu")] * (count if where == "operators" else 1)))
        named = {f"a{k}": build.a_int(k) for k in range(count if where == "attributes" else 1)}
        content = build.om([(0, build.modeldef("net", root, **named))])
        if fits:
            om.read_bytes(content)
            continue
        with pytest.raises(ModelFileError, match="more than 50 "):
            om.read_bytes(content)


def test_dims_and_names_that_cannot_be_meant_are_noted(build):
    info = build.tlv(
        0,
        build.listed(
            build.described("x", 4, 2, 0, (-7,)),
            build.described("x", 4, 2, 0, (2**62, 2**62)),
            build.described("open", 0, 2, 0, (-1, -2)),
        ),
    )
    info += build.tlv(1, build.listed(build.described("y", 4, 2, 0, (1,))))
    notes = om.read_bytes(build.om([(8, info), (0, build.modeldef("net", build.graph("g")))])).notes
    assert [note for note in notes if "input" in note] == [
        "2 inputs are called 'x': ACL finds only the first of them by name",
        "input 'x' has a dimension of -7: the file is damaged or no compiler's",
        f"input 'x' of [{2**62}, {2**62}] has more elements than any memory holds: the file is damaged or "
        "no compiler's",
    ]
