"""Shapes, gears and options of atc's command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_infer.compile.command import AtcCommand
from ascend_infer.compile.input_shapes import CompiledShapes, compiled_shapes
from ascend_infer.compile.options import atc_options
from ascend_infer.config import ModelConfig, parse_config
from ascend_infer.errors import ConfigError, InvalidOptionError
from ascend_infer.types import DataType, TensorSpec


def tensor(name: str, *shape: int) -> TensorSpec:
    return TensorSpec(name, DataType.FP32, shape)


def config_of(text: str) -> ModelConfig:
    return parse_config(f'name: "net" backend: "acl" {text}').config


def shapes(inputs: list[TensorSpec], config: ModelConfig | None = None, **options: str) -> CompiledShapes:
    return compiled_shapes(inputs, config, options)


PICTURE = tensor("x", -1, 3, 224, 224)
INPUT = "input [ { name: 'x' data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]"


@pytest.mark.parametrize(
    ("config", "gears"),
    [
        ("max_batch_size: 8", "1,2,4,8"),
        ("max_batch_size: 6", "1,2,4,6"),
        ("max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4 ] }", "1,4,8"),
        ("max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 8 ] }", "1,2,4,8"),
        ("max_batch_size: 8 dynamic_batching { }", "1,2,4,8"),
        ("max_batch_size: 2", "1,2"),
    ],
)
def test_batch_gears_come_from_the_configuration(config: str, gears: str) -> None:
    found = shapes([PICTURE], config_of(f"{config} {INPUT}"))
    assert found.options == {"input_shape": "x:-1,3,224,224", "dynamic_batch_size": gears}
    assert found.notes == ()


def test_a_batch_of_one_is_no_gear() -> None:
    assert shapes([PICTURE], config_of(f"max_batch_size: 1 {INPUT}")).options == {
        "input_shape": "x:1,3,224,224"
    }


def test_requests_laid_end_to_end_have_no_gears() -> None:
    stated = 'max_batch_size: 8 input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] %s }'
    made = 'batch_input { kind: %s target_name: "m" data_type: TYPE_INT32 source_input: "x" }'
    flat = [tensor("x", -1), tensor("m", -1)]
    found = shapes(flat, config_of(stated % "allow_ragged_batch: true" + made % "BATCH_ELEMENT_COUNT"))
    assert found.options == {"input_shape": "x:-1;m:-1"}
    assert "laid end to end" in found.notes[0]
    rows = [tensor("x", -1, 4), tensor("m", -1, 1)]
    config = config_of((stated % "").replace("[ -1 ]", "[ 4 ]") + made % "BATCH_ITEM_SHAPE")
    assert shapes(rows, config).options == {
        "input_shape": "x:-1,4;m:-1,1",
        "dynamic_batch_size": "1,2,4,8",
    }


def test_too_many_gears() -> None:
    sizes = ", ".join(map(str, range(1, 120)))
    config = config_of(
        f"max_batch_size: 200 dynamic_batching {{ preferred_batch_size: [ {sizes} ] }} {INPUT}"
    )
    with pytest.raises(InvalidOptionError, match="at most 100"):
        shapes([PICTURE], config)


def test_fixed_shapes_stay() -> None:
    assert shapes([tensor("a", 1, 3), tensor("b")]).options == {"input_shape": "a:1,3;b:"}


def test_dims_of_the_configuration_fill_open_ones() -> None:
    config = config_of("max_batch_size: 2 input [ { name: 'x' data_type: TYPE_FP32 dims: [ 3, 32, 64 ] } ]")
    assert shapes([tensor("x", -1, 3, -1, -1)], config).options["input_shape"] == "x:-1,3,32,64"


def test_dimensions_that_stay_open_make_a_model_of_dynamic_shape() -> None:
    config = config_of("max_batch_size: 8 input [ { name: 'x' data_type: TYPE_FP32 dims: [ 3, -1 ] } ]")
    found = shapes([tensor("x", -1, 3, -1)], config)
    assert found.options == {"input_shape": "x:1~8,3,-1"}
    assert "dynamic shape" in found.notes[0]
    assert "atc.dynamic_dims" in found.notes[0]


def test_an_open_batch_without_max_batch_size_is_told_of() -> None:
    found = shapes([PICTURE])
    assert found.options == {"input_shape": "x:-1,3,224,224"}
    assert "max_batch_size" in found.notes[0]
    assert shapes([PICTURE], None, dynamic_batch_size="1,2").notes == ()


def test_gears_of_other_dimensions() -> None:
    x = tensor("x", -1, 3, 32, -1)
    found = shapes([x], None, dynamic_dims="1,160;1,320")
    assert found.options == {"input_shape": "x:-1,3,32,-1", "input_format": "ND"}
    with pytest.raises(InvalidOptionError, match="open dimensions, 2"):
        shapes([x], None, dynamic_dims="1,160;320")
    picture = shapes(
        [tensor("x", -1, 3, -1, -1)], ModelConfig(max_batch_size=4), dynamic_image_size="8,8;9,9"
    )
    assert picture.options == {"input_shape": "x:4,3,-1,-1"}


def test_gears_of_the_first_dimension_leave_no_other_open() -> None:
    with pytest.raises(InvalidOptionError, match="'x' is open in other dimensions"):
        shapes([tensor("x", -1, 3, -1)], None, dynamic_batch_size="1,2")
    with pytest.raises(InvalidOptionError, match="no input is open there"):
        shapes([tensor("x", 1, 3)], None, dynamic_batch_size="1,2")


def test_the_callers_shape_is_taken_as_it_is() -> None:
    assert (
        shapes([PICTURE], config_of(f"max_batch_size: 8 {INPUT}"), input_shape="x:2,3,224,224").options == {}
    )


def test_an_unknown_rank_has_to_be_stated() -> None:
    with pytest.raises(InvalidOptionError, match="how many dimensions"):
        shapes([tensor("x", -2)])
    config = config_of("input [ { name: 'x' data_type: TYPE_FP32 dims: [ 3, 4 ] } ]")
    assert shapes([tensor("x", -2)], config).options == {"input_shape": "x:3,4"}


def test_names_that_atc_cannot_take() -> None:
    assert shapes([tensor("a:0", 1)]).options == {"input_shape": "a:0:1"}  # the last colon counts
    with pytest.raises(InvalidOptionError, match="rename the input"):
        shapes([tensor("a;b", 1)])


def test_options_come_from_parameters_and_the_caller(tmp_path: Path) -> None:
    config = config_of(
        'parameters { key: "atc.precision_mode_v2" value { string_value: "origin" } } '
        'parameters { key: "atc.log" value { string_value: "error" } } '
        'parameters { key: "other" value { string_value: "x" } }'
    )
    assert atc_options(config, tmp_path) == {"precision_mode_v2": "origin", "log": "error"}
    assert atc_options(config, tmp_path, {"--log": "", "precision_mode_v2": "fp16"}) == {
        "precision_mode_v2": "fp16"
    }


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("atc.output", "/tmp/x", "set here already"),
        ("atc.soc_version", "Ascend310", r"--soc"),
        ("atc.build_config", "make", "may not give this option"),
        ("atc.debug_dir", "/tmp", "may not give this option"),
        ("atc.insert_op_conf", "/etc/passwd", "leads out of the model directory"),
        ("atc.insert_op_conf", "../x", "leads out of the model directory"),
        ("atc.insert_op_conf", "gone.cfg", "is no file"),
        ("atc.a b", "x", "no name of an option"),
        ("atc.", "x", "no name of an option"),
    ],
)
def test_what_a_configuration_may_not_say(tmp_path: Path, key: str, value: str, words: str) -> None:
    config = config_of(f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}')
    with pytest.raises(ConfigError, match=words) as caught:
        atc_options(config, tmp_path)
    assert caught.value.field == f'parameters["{key}"]'


def test_files_outside_that_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "shared.cfg").write_text("x")
    folder = tmp_path / "model"
    folder.mkdir()
    config = config_of('parameters { key: "atc.insert_op_conf" value { string_value: "../shared.cfg" } }')
    with pytest.raises(ConfigError):
        atc_options(config, folder)
    assert Path(atc_options(config, folder, None, [tmp_path])["insert_op_conf"]).samefile(
        tmp_path / "shared.cfg"
    )


@pytest.mark.parametrize(
    "options",
    [
        {"model": "x"}, {"-": "x"}, {"a": "\0"}, {"dynamic_batch_size": "1,2", "dynamic_dims": "1;2"},
        {"precision_mode": "a", "precision_mode_v2": "b"},
    ],
)  # fmt: skip
def test_what_a_caller_may_not_say(tmp_path: Path, options: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError):
        atc_options(None, tmp_path, options)


def test_commands_can_be_typed() -> None:
    command = AtcCommand(Path("/m/a b.onnx"), "Ascend310P3", {"input_shape": "x:1;y:2"})
    assert command.text() == (
        "atc '--model=/m/a b.onnx' --framework=5 --output=model --soc_version=Ascend310P3 '--input_shape=x:1;y:2'"
    )
