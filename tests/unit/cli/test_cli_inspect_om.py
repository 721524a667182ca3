"""``inspect`` on .om files and directories that hold them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_run import Cli
from onnx_models import identity, model_of, value, write

from ascend_infer.om import OmAipp, write_simulator_model
from ascend_infer.types import DataType, Gear, ModelSpec, TensorSpec

BATCH_GEARS = (1, 4, 8)


def write_om(
    path: Path, shape: tuple[int, ...] = (-1, 4), gears: tuple[int, ...] = (), **options: object
) -> Path:
    spec = ModelSpec(
        "onnx",
        (TensorSpec("x", DataType.FP32, shape),),
        (TensorSpec("y", DataType.FP32, shape),),
        gears=tuple(Gear("batch", (size,)) for size in gears),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx = identity(dims=[dim if dim != -1 else f"d{i}" for i, dim in enumerate(shape)]).SerializeToString()
    write_simulator_model(path, onnx=onnx, spec=spec, **options)  # type: ignore[arg-type]
    return path


def test_gears_are_a_table_with_every_shape(cli: Cli, tmp_path: Path) -> None:
    out = cli("inspect", write_om(tmp_path / "m.om", gears=BATCH_GEARS, soc="Ascend310P3")).out
    table = out.partition("  3 gears:\n")[2].splitlines()[:4]
    assert [line.split() for line in table] == [
        ["batch", "x", "y"], ["1", "1x4", "1x4"], ["4", "4x4", "4x4"], ["8", "8x4", "8x4"],
    ]  # fmt: skip
    assert "an Ascend .om model" in out
    assert "Ascend310P3 (simulated)" in out
    assert "MODEL_INOUT_INFO" in out
    assert "runs on this library's simulated NPU only" in out


def test_memory_shapes_and_the_short_name_of_an_output(cli: Cli, tmp_path: Path) -> None:
    file = write_om(tmp_path / "m.om", shape=(2, 4), work_size=3 << 20, weight_size=5 << 20)
    out = cli("inspect", file).out
    assert "work 3.0 MiB, weights 5.0 MiB" in out
    assert ["shapes", "fixed"] in [line.split() for line in out.splitlines()]
    assert "y  FP32  2x4\n" in out
    report = cli("inspect", file, "--json").json
    assert report["outputs"][0]["name"] == "y"
    assert report["outputs"][0]["model_name"].endswith(":0:y")
    assert report["files"][0]["format"] == "om"
    assert report["files"][0]["work_size"] == 3 << 20


def test_aipp_says_what_to_feed(cli: Cli, tmp_path: Path) -> None:
    shape = (1, 3, 16, 16)
    aipp = {"x": OmAipp(input_format=1, src_image_size=(16, 16), csc_switch=True)}
    out = cli("inspect", write_om(tmp_path / "m.om", shape=shape, aipp=aipp)).out
    assert "x  UINT8  1x24x16x1  AIPP: feed uint8 NV12" in out


def test_true_dynamic_shapes_are_said(cli: Cli, tmp_path: Path) -> None:
    out = cli("inspect", write_om(tmp_path / "m.om", shape=(-1, -1))).out
    assert "any (true dynamic shape)" in out
    assert "CANN allocates" in out


def test_where_it_runs_without_a_twin_and_with_one(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")
    folder = tmp_path / "m"
    write_om(folder / "1" / "model.om", gears=BATCH_GEARS)
    runs = cli("inspect", folder, "--json").json["runs_here"]
    assert runs["device"] is None
    assert "model.onnx" in runs["reason"]
    assert 'device="sim"' in runs["reason"]
    write(identity(), folder / "1" / "model.onnx")
    report = cli("inspect", folder, "--json").json
    assert report["runs_here"]["device"] == "cpu"
    assert report["runs_here"]["file"].endswith("m/1/model.onnx")
    assert [file["format"] for file in report["files"]] == ["om", "onnx"]
    assert report["max_batch_size"] == 8


def test_a_twin_that_contradicts_the_configuration_is_noted(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    write_om(folder / "1" / "model.om", gears=BATCH_GEARS)
    write(identity(dims=("n", 5)), folder / "1" / "model.onnx")
    (folder / "config.pbtxt").write_text(
        'platform: "ge" max_batch_size: 8 input [{ name: "x" data_type: TYPE_FP32 dims: [4] }]'
        ' output [{ name: "y" data_type: TYPE_FP32 dims: [4] }]'
    )
    notes = cli("inspect", folder, "--json").json["notes"]
    assert any("model.onnx contradicts the configuration" in note for note in notes)


@pytest.mark.parametrize(("cut", "reason"), [(0, "empty"), (3, "m.om"), (100, "m.om"), (300, "m.om")])
def test_a_damaged_file_is_refused_by_name(cli: Cli, tmp_path: Path, cut: int, reason: str) -> None:
    file = write_om(tmp_path / "m.om")
    file.write_bytes(file.read_bytes()[:cut])
    message = cli.refused("inspect", file)
    assert reason in message
    assert str(file) in message


def test_an_om_under_another_name_is_known_by_its_content(cli: Cli, tmp_path: Path) -> None:
    file = write_om(tmp_path / "model.bin")
    assert cli("inspect", file, "--json").json["files"][0]["format"] == "om"


def test_names_from_the_file_cannot_steer_the_terminal(cli: Cli, tmp_path: Path) -> None:
    name = "\x1b]0;owned\x07"
    model = model_of([], [value(name, 1, [2])], [value(name, 1, [2])])
    done = cli("inspect", write(model, tmp_path / "m.onnx"))
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\\x1b]0;owned\\x07" in done.out
