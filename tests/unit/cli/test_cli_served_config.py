"""``inspect --config``: the configuration that is printed is read back and loads the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_run import Cli
from onnx import TensorProto
from onnx_models import identity, model_directory, model_of, value, write

from ascend_infer import om
from ascend_infer.config import complete, parse_config
from ascend_infer.model_directory import ModelDirectory
from ascend_infer.om import write_simulator_model
from ascend_infer.types import DataType, Gear, ModelSpec, TensorSpec


def om_file(path: Path, shape: tuple[int, ...], gears: tuple[tuple[str, tuple[int, ...]], ...] = ()) -> Path:
    spec = ModelSpec(
        "onnx",
        (TensorSpec("x", DataType.FP32, shape),),
        (TensorSpec("y", DataType.FP32, shape),),
        gears=tuple(Gear(kind, values) for kind, values in gears),  # type: ignore[arg-type]
    )
    onnx = identity(dims=[dim if dim != -1 else f"d{i}" for i, dim in enumerate(shape)]).SerializeToString()
    path.parent.mkdir(parents=True, exist_ok=True)
    outputs = [[[1, *values]] for kind, values in gears] if gears and gears[0][0] == "dims" else None
    write_simulator_model(path, onnx=onnx, spec=spec, gear_outputs=outputs)
    return path


def served(cli: Cli, path: Path) -> str:
    done = cli("inspect", path, "--config")
    assert (done.code, done.err) == (0, "")
    return done.out


def placed(cli: Cli, file: Path, root: Path) -> ModelDirectory:
    """Put the file and its printed configuration where the comment says."""
    text = served(cli, file)
    name = parse_config(text).config.name
    folder = root / name
    (folder / "1").mkdir(parents=True)
    (folder / "1" / f"model{file.suffix}").write_bytes(file.read_bytes())
    (folder / "config.pbtxt").write_text(text)
    directory = ModelDirectory.open(folder)
    assert directory.model_file(1).exists
    return directory


def test_an_onnx_file_that_batches(cli: Cli, tmp_path: Path) -> None:
    directory = placed(cli, write(identity(), tmp_path / "m.onnx"), tmp_path / "r")
    config = directory.config
    assert config.backend == "onnxruntime"
    assert config.max_batch_size == 4
    assert config.dynamic_batching is not None
    assert config.input[0].dims == (4,)


@pytest.mark.parametrize("dims", [(2, 4), (), ("n", "m", 2)])
def test_an_onnx_file_of_any_shape(cli: Cli, tmp_path: Path, dims: tuple[int | str, ...]) -> None:
    model = model_of([], [value("x", TensorProto.INT64, dims)], [value("x", TensorProto.INT64, dims)])
    config = placed(cli, write(model, tmp_path / "m.onnx"), tmp_path / "r").config
    assert config.input[0].data_type is DataType.INT64
    assert (config.max_batch_size > 0) == (dims[:1] == ("n",))


def test_a_shape_of_unknown_rank_gets_one_open_dimension(cli: Cli, tmp_path: Path) -> None:
    model = model_of([], [value("x", TensorProto.FLOAT, None)], [value("x", TensorProto.FLOAT, None)])
    config = placed(cli, write(model, tmp_path / "m.onnx"), tmp_path / "r").config
    assert (config.max_batch_size, config.input[0].dims) == (0, (-1,))


def test_gears_become_batch_sizes(cli: Cli, tmp_path: Path) -> None:
    file = om_file(tmp_path / "net.om", (-1, 4), (("batch", (1,)), ("batch", (2,)), ("batch", (8,))))
    directory = placed(cli, file, tmp_path / "r")
    config = directory.config
    assert config.platform == "ge"
    assert config.max_batch_size == 8
    assert config.dynamic_batching is not None
    assert config.dynamic_batching.preferred_batch_size == (2, 8)
    completed = complete(config, om.read(directory.model_file(1).path).spec(), parsed=directory.parsed)
    assert completed.diagnostics == ()
    assert completed.config.input[0].dims == (4,)


@pytest.mark.parametrize("batch", [1, 8])
def test_a_fixed_batch_becomes_the_largest(cli: Cli, tmp_path: Path, batch: int) -> None:
    file = om_file(tmp_path / "net.om", (batch, 3, 8, 8))
    config = placed(cli, file, tmp_path / "r").config
    assert config.max_batch_size == batch
    assert config.input[0].dims == (3, 8, 8)
    assert ("smaller batches are padded" in served(cli, file)) == (batch > 1)


def test_what_cannot_be_a_batch_stays_a_dimension(cli: Cli, tmp_path: Path) -> None:
    config = placed(cli, om_file(tmp_path / "net.om", (5,)), tmp_path / "r").config
    assert config.max_batch_size == 0
    assert config.input[0].dims == (5,)


def test_gears_of_dims_keep_open_dims(cli: Cli, tmp_path: Path) -> None:
    file = om_file(tmp_path / "net.om", (1, -1), (("dims", (16,)), ("dims", (32,))))
    assert "dims: [1, -1]" in served(cli, file)


def test_a_directorys_configuration_is_completed_and_keeps_what_it_says(cli: Cli, tmp_path: Path) -> None:
    config = (
        'platform: "onnxruntime_onnx" max_batch_size: 16 parameters { key: "k" value { string_value: "v" } }'
    )
    folder = model_directory(tmp_path, "m", identity(), config)
    printed = parse_config(served(cli, folder)).config
    assert printed.name == "m"
    assert printed.max_batch_size == 16
    assert printed.parameter("k") == "v"
    assert printed.input[0].dims == (4,)
    assert not served(cli, folder).startswith("#")


def test_a_file_in_a_version_folder_is_configured_in_its_place(cli: Cli, tmp_path: Path) -> None:
    file = write(identity(), tmp_path / "net" / "2" / "other.onnx")
    text = served(cli, file)
    assert f"# {tmp_path / 'net' / 'config.pbtxt'}\n" in text
    (tmp_path / "net" / "config.pbtxt").write_text(text)
    directory = ModelDirectory.open(tmp_path / "net")
    assert directory.name == "net"
    assert directory.model_file(2).path == file


def test_json_is_tritons_form(cli: Cli, tmp_path: Path) -> None:
    config = cli("inspect", write(identity(), tmp_path / "m.onnx"), "--config", "--json").json
    assert config["input"][0]["data_type"] == "TYPE_FP32"
    assert config["max_batch_size"] == 4


def test_a_repository_has_no_configuration(cli: Cli, tmp_path: Path) -> None:
    model_directory(tmp_path, "m", identity())
    assert "is a repository of 1 models" in cli.refused("inspect", tmp_path, "--config")
