"""Files that hold models in other ways: bundles, flow models, OM2."""

from __future__ import annotations

import json
import zipfile

import pytest

from ascend_infer import om
from ascend_infer.errors import ModelFileError
from ascend_infer.types import DataType, Gear


def test_bundle_is_described_with_its_members(build, tmp_path):
    path = tmp_path / "bundle.om"
    path.write_bytes(build.bundle())
    model = om.read(path)
    assert model.kind == "bundle"
    assert [member.dynamic for member in model.members] == ["static", "batch"]
    assert model.members[0].soc_version == "Ascend310P3"
    assert (model.work_size, model.weight_size) == (4096, 64 + 16)
    with pytest.raises(ModelFileError, match="bundle of 2 models"):
        model.spec()


def test_damage_inside_a_member_is_placed_in_the_bundle(build):
    data = bytearray(build.bundle())
    place = data.rindex(b"IMOD")
    data[place + 8 : place + 12] = b"\0\0\0\0"
    with pytest.raises(ModelFileError) as caught:
        om.read_bytes(data)
    assert caught.value.offset == place + 8


def test_bundles_in_bundles_end(build):
    data = build.static_v2()
    for _ in range(4):
        body = build.table([(24, data)], wide=True)
        data = build.header(len(body), kind=5, wide=True) + body
    with pytest.raises(ModelFileError, match="nested"):
        om.read_bytes(data)


def test_flow_model_is_described(build, tmp_path):
    path = tmp_path / "flow.om"
    path.write_bytes(build.flow())
    model = om.read(path)
    assert model.kind == "flow"
    assert [tensor.name for tensor in model.inputs] == ["x"]
    assert [member.name for member in model.members] == ["net"]
    with pytest.raises(ModelFileError, match="flow model"):
        model.spec()


def test_om2(build, tmp_path):
    path = tmp_path / "net.om2"
    path.write_bytes(build.om2())
    model = om.read(path)
    assert (model.kind, model.name, model.dynamic, model.soc_version) == (
        "om2",
        "net",
        "batch",
        "Ascend310P3",
    )
    assert (model.work_size, model.weight_size) == (2048, 77)
    x, hidden = model.inputs
    assert (x.dtype, x.dims, hidden.is_hidden) == (DataType.BF16, (-1, 3), True)
    assert [gear.input_dims for gear in model.gears] == [((1, 3),), ((4, 3),)]
    spec = model.spec()
    assert spec.outputs[0].shape == (-1, 5)
    assert spec.gears == (Gear("batch", (1,)), Gear("batch", (4,)))
    assert any("trust" in note for note in model.notes)


@pytest.mark.parametrize(
    ("meta", "reason"),
    [
        ({"inputs": [{"name": 3}]}, r"inputs\[0\] of the OM2 has no name"),
        ({"inputs": [{"name": "x", "shape": [1.5]}]}, "has no shape"),
        ({"inputs": [{"name": "x", "shape": [1]}] * 5000}, "5000 inputs"),
        ([1], "no JSON object"),
    ],
)
def test_om2_with_wrong_json(build, meta, reason):
    with pytest.raises(ModelFileError, match=reason):
        om.read_bytes(build.om2(meta))


def test_om2_json_of_any_depth_or_size_is_refused(build):
    deep = "[" * 100_000
    with pytest.raises(ModelFileError, match="no JSON"):
        om.read_bytes(build.om2(extra={"manifest.json": deep}, root="other"))
    large = json.dumps({"x": "y" * (17 << 20)})
    with pytest.raises(ModelFileError, match="larger than"):
        om.read_bytes(build.om2(extra={"manifest.json": large}))


def test_om2_packed_otherwise_is_refused(build):
    with pytest.raises(ModelFileError, match="another method"):
        om.read_bytes(build.om2(method=zipfile.ZIP_BZIP2))


def test_zips_of_other_kinds(build, tmp_path):
    path = tmp_path / "model.om"
    for name, what in (
        ("archive/data.pkl", "PyTorch"),
        ("weights.npy", "npz"),
        ("model.om", "ZIP"),
        ("x", "no OM2"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, "?")
        with pytest.raises(ModelFileError, match=what):
            om.read(path)
    path.write_bytes(build.om2()[:-30])
    with pytest.raises(ModelFileError, match="truncated"):
        om.read(path)


def test_zip_with_an_endless_directory_is_refused(build):
    data = bytearray(build.om2())
    place = data.rindex(b"PK\x05\x06")
    data[place + 12 : place + 16] = (1 << 30).to_bytes(4, "little")
    with pytest.raises(ModelFileError, match="directory"):
        om.read_bytes(data)
