"""Models on the simulator give what onnxruntime gives."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ascend_infer.errors import InvalidOptionError, ModelFileError
from ascend_infer.om import OmAipp
from ascend_infer.simulator import Simulator, SimulatorOptions, compile_model, describe_model
from ascend_infer.types import Gear
from tests.helpers.acl_client import Acl, AclFailure, LoadedModel
from tests.helpers.onnx_models import add_sub, identity, model_of, value, write

ort = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


@pytest.fixture(scope="module", autouse=True)
def runtime_loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Onnxruntime keeps files of its own open from its first model on: that one is not a test's."""
    folder = tmp_path_factory.mktemp("first")
    compile_model(write(identity(dims=(1, 4)), folder / "m.onnx"), folder / "m.om")
    with Simulator() as running:
        library = Acl(running.library)
        library("aclInit", None)
        library("aclrtSetDevice", 0)
        LoadedModel(library, folder / "m.om")


@pytest.fixture
def acl() -> Iterator[Acl]:
    with Simulator(SimulatorOptions(threads=1)) as running:
        library = Acl(running.library)
        library("aclInit", None)
        library("aclrtSetDevice", 0)
        yield library
        assert running.stats().violations == {}


def convolution(height: Any = "h", width: Any = "w", batch: Any = "n", channels: int = 3) -> onnx.ModelProto:
    """A convolution that halves the picture, and its mean: two outputs whose shapes follow the input's."""
    rng = np.random.default_rng(0)
    weights = {"k": rng.standard_normal((4, channels, 3, 3), dtype=np.float32)}
    return model_of(
        [
            helper.make_node("Conv", ["x", "k"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1]),
            helper.make_node("GlobalAveragePool", ["y"], ["m"]),
        ],
        [value("x", TensorProto.FLOAT, (batch, channels, height, width))],
        [value("y", TensorProto.FLOAT, ("a", 4, "b", "c")), value("m", TensorProto.FLOAT, ("a", 4, 1, 1))],
        weights,
    )


def reference(path: Path, feed: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    return list(session.run(None, feed))


def test_static(acl: Acl, tmp_path: Path) -> None:
    source = write(convolution(12, 10, 2), tmp_path / "m.onnx")
    compile_model(source, tmp_path / "m.om")
    model = LoadedModel(acl, tmp_path / "m.om")
    assert model.inputs == ["x"]
    assert [name.rpartition(":")[2] for name in model.outputs] == ["y", "m"]
    feed = {"x": np.random.default_rng(1).standard_normal((2, 3, 12, 10), dtype=np.float32)}
    for got, expected in zip(model.run(feed), reference(source, feed), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_batch_gears(acl: Acl, tmp_path: Path, batch: int) -> None:
    source = write(convolution(8, 8), tmp_path / "m.onnx")
    compile_model(source, tmp_path / "m.om", gears=[Gear("batch", (n,)) for n in (1, 2, 4)])
    model = LoadedModel(acl, tmp_path / "m.om")
    feed = {"x": np.random.default_rng(1).standard_normal((batch, 3, 8, 8), dtype=np.float32)}
    got = model.run(feed, gear=(batch,))
    assert got[0].shape == (batch, 4, 4, 4)
    for result, expected in zip(got, reference(source, feed), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_batch_gears_of_a_model_whose_batch_is_one(acl: Acl, tmp_path: Path) -> None:
    source = write(convolution(8, 8, batch=1), tmp_path / "m.onnx")
    compile_model(source, tmp_path / "m.om", gears=[Gear("batch", (1,)), Gear("batch", (3,))])
    feed = {"x": np.random.default_rng(1).standard_normal((3, 3, 8, 8), dtype=np.float32)}
    got = LoadedModel(acl, tmp_path / "m.om").run(feed, gear=(3,))
    free = write(convolution(8, 8), tmp_path / "free.onnx")
    np.testing.assert_array_equal(got[0], reference(free, feed)[0])


def test_image_gears(acl: Acl, tmp_path: Path) -> None:
    source = write(convolution(batch=1), tmp_path / "m.onnx")
    compile_model(source, tmp_path / "m.om", gears=[Gear("hw", (8, 12)), Gear("hw", (16, 16))])
    model = LoadedModel(acl, tmp_path / "m.om")
    feed = {"x": np.random.default_rng(1).standard_normal((1, 3, 8, 12), dtype=np.float32)}
    got = model.run(feed, gear=(8, 12))
    assert got[0].shape == (1, 4, 4, 6)
    np.testing.assert_array_equal(got[0], reference(source, feed)[0])
    with pytest.raises(AclFailure, match="145013"):
        model.run(feed, gear=(9, 9))


def test_dims_gears(acl: Acl, tmp_path: Path) -> None:
    source = write(add_sub(("n", "k")), tmp_path / "m.onnx")
    gears = [Gear("dims", (1, 4, 1, 4)), Gear("dims", (2, 3, 2, 3))]
    compile_model(source, tmp_path / "m.om", gears=gears)
    model = LoadedModel(acl, tmp_path / "m.om")
    feed = {"A": np.arange(6, dtype=np.float32).reshape(2, 3), "B": np.ones((2, 3), np.float32)}
    for got, expected in zip(model.run(feed, gear=(2, 3, 2, 3)), reference(source, feed), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", [(1, 3, 8, 8), (2, 3, 6, 10)])
def test_true_dynamic_shapes(acl: Acl, tmp_path: Path, shape: tuple[int, ...]) -> None:
    source = write(convolution(), tmp_path / "m.onnx")
    compile_model(source, tmp_path / "m.om", dynamic=True)
    model = LoadedModel(acl, tmp_path / "m.om")
    feed = {"x": np.random.default_rng(1).standard_normal(shape, dtype=np.float32)}
    for got, expected in zip(model.run(feed), reference(source, feed), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_shapes_that_only_running_tells(acl: Acl, tmp_path: Path) -> None:
    source = write(convolution(), tmp_path / "m.onnx")
    compile_model(source, tmp_path / "m.om", input_shapes={"x": (1, 3, 6, 6)})
    model = LoadedModel(acl, tmp_path / "m.om")
    assert model.dims("aclmdlGetOutputDims", 0) == (1, 4, 3, 3)


def test_half_precision(acl: Acl, tmp_path: Path) -> None:
    source = write(identity(dims=(1, 4)), tmp_path / "m.onnx")
    compile_model(source, tmp_path / "m.om", fp16=True)
    x = np.array([[1 + 2**-12, 65504, 70000, 1e-9]], np.float32)
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(LoadedModel(acl, tmp_path / "m.om").run({"x": x})[0], expected)


@pytest.mark.parametrize(
    "code", [TensorProto.FLOAT16, TensorProto.INT64, TensorProto.UINT8, TensorProto.BOOL]
)
def test_element_types(acl: Acl, tmp_path: Path, code: int) -> None:
    source = write(identity(code, (2, 3)), tmp_path / "m.onnx")
    compile_model(source, tmp_path / "m.om")
    x = np.arange(6).reshape(2, 3).astype(helper.tensor_dtype_to_np_dtype(code))
    np.testing.assert_array_equal(LoadedModel(acl, tmp_path / "m.om").run({"x": x})[0], x)


YUV = OmAipp(
    input_format=1,
    csc_switch=True,
    matrix=((298, 0, 409), (298, -100, -208), (298, 516, 0)),
    input_bias=(16, 128, 128),
    mean=(104.0, 117.0, 123.0, 0.0),
    var_reci=(0.017, 0.018, 0.019, 1.0),
)


def yuv_to_network(picture: np.ndarray[Any, Any], height: int, width: int) -> np.ndarray[Any, Any]:
    """AIPP's arithmetic in numpy: integers, shifted by 8, clipped."""
    y = picture[:height].astype(np.int64)
    uv = picture[height:].reshape(height // 2, width // 2, 2).astype(np.int64).repeat(2, 0).repeat(2, 1)
    yuv = np.stack([y - 16, uv[..., 0] - 128, uv[..., 1] - 128])
    rgb = np.clip(np.tensordot(np.array(YUV.matrix), yuv, 1) >> 8, 0, 255).astype(np.float32)
    mean = np.array(YUV.mean[:3], np.float32)[:, None, None]
    return (rgb - mean) * np.array(YUV.var_reci[:3], np.float32)[:, None, None]


def test_static_aipp(acl: Acl, tmp_path: Path) -> None:
    source = write(identity(dims=(1, 3, 8, 6)), tmp_path / "m.onnx")
    compile_model(source, tmp_path / "m.om", aipp={"x": YUV})
    model = LoadedModel(acl, tmp_path / "m.om")
    assert model.dims("aclmdlGetInputDimsV2", 0) == (1, 12, 6, 1)
    picture = np.random.default_rng(2).integers(0, 256, (12, 6), np.uint8)
    got = model.run({"x": picture})[0]
    np.testing.assert_allclose(got[0], yuv_to_network(picture, 8, 6), rtol=1e-6)


def test_aipp_with_gears(acl: Acl, tmp_path: Path) -> None:
    source = write(identity(dims=("n", 3, 8, 6)), tmp_path / "m.onnx")
    compile_model(
        source, tmp_path / "m.om", aipp={"x": YUV}, gears=[Gear("batch", (1,)), Gear("batch", (2,))]
    )
    pictures = np.random.default_rng(2).integers(0, 256, (2, 12, 6), np.uint8)
    got = LoadedModel(acl, tmp_path / "m.om").run({"x": pictures}, gear=(2,))[0]
    for result, picture in zip(got, pictures, strict=True):
        np.testing.assert_allclose(result, yuv_to_network(picture, 8, 6), rtol=1e-6)


def as_real(simulated: bytes) -> bytes:
    """The public half of a simulator model, with true lengths: what a file of ATC's looks like to a reader."""
    count = struct.unpack_from("<I", simulated, 256)[0]
    sizes = [struct.unpack_from("<I", simulated, 260 + 12 * i + 8)[0] for i in range(count)]
    body = simulated[256 : 260 + 12 * count + sum(sizes)]
    header = bytearray(simulated[:256])
    struct.pack_into("<I", header, 0x4C, len(body))
    header[0x78:0x98] = bytes(32)
    return bytes(header) + body


def test_a_real_model_beside_its_onnx(acl: Acl, tmp_path: Path) -> None:
    source = write(convolution(8, 8), tmp_path / "model.onnx")
    compile_model(source, tmp_path / "sim.om", gears=[Gear("batch", (1,)), Gear("batch", (2,))])
    folder = tmp_path / "1"
    folder.mkdir()
    (folder / "any.om").write_bytes(as_real((tmp_path / "sim.om").read_bytes()))
    with pytest.raises(AclFailure, match="no CPU runs"):
        LoadedModel(acl, folder / "any.om")
    (folder / "model.onnx").write_bytes(source.read_bytes())
    feed = {"x": np.random.default_rng(1).standard_normal((2, 3, 8, 8), dtype=np.float32)}
    got = LoadedModel(acl, folder / "any.om").run(feed, gear=(2,))
    np.testing.assert_array_equal(got[0], reference(source, feed)[0])


def test_a_real_model_in_half_precision(acl: Acl, tmp_path: Path) -> None:
    half = write(identity(TensorProto.FLOAT16, (2, 3)), tmp_path / "half.onnx")
    compile_model(half, tmp_path / "sim.om")
    real = tmp_path / "real.om"
    real.write_bytes(as_real((tmp_path / "sim.om").read_bytes()))
    write(identity(TensorProto.FLOAT, (2, 3)), tmp_path / "real.onnx")
    x = np.arange(6).reshape(2, 3).astype(np.float16)
    got = LoadedModel(acl, real).run({"x": x})[0]
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, x)
    write(identity(TensorProto.INT64, (2, 3)), tmp_path / "real.onnx")
    with pytest.raises(AclFailure, match="element type 1 in the .om and 9"):
        LoadedModel(acl, real).run({"x": x})


def test_a_real_model_with_aipp_is_described_first(acl: Acl, tmp_path: Path) -> None:
    source = write(identity(dims=(1, 3, 8, 6)), tmp_path / "real.onnx")
    compile_model(source, tmp_path / "sim.om", aipp={"x": YUV})
    real = tmp_path / "real.om"
    real.write_bytes(as_real((tmp_path / "sim.om").read_bytes()))
    with pytest.raises(AclFailure, match="simulate describe"):
        LoadedModel(acl, real)
    assert describe_model(real) == tmp_path / "real.om.sim.json"
    picture = np.random.default_rng(2).integers(0, 256, (12, 6), np.uint8)
    got = LoadedModel(acl, real).run({"x": picture})[0]
    np.testing.assert_allclose(got[0], yuv_to_network(picture, 8, 6), rtol=1e-6)


def test_a_real_model_from_before_mid_2023_is_described_first(acl: Acl, tmp_path: Path) -> None:
    source = write(convolution(8, 8), tmp_path / "model.onnx")
    compile_model(source, tmp_path / "sim.om", gears=[Gear("batch", (1,)), Gear("batch", (2,))])
    old = bytearray(as_real((tmp_path / "sim.om").read_bytes()))
    assert struct.unpack_from("<I", old, 260) == (8,)
    struct.pack_into("<I", old, 260, 99)  # no description of inputs and outputs apart from the graph's
    (tmp_path / "old.om").write_bytes(old)
    with pytest.raises(AclFailure, match=r"older than mid-2023.*simulate describe"):
        LoadedModel(acl, tmp_path / "old.om")
    assert describe_model(tmp_path / "old.om") == tmp_path / "old.om.sim.json"
    feed = {"x": np.random.default_rng(1).standard_normal((2, 3, 8, 8), dtype=np.float32)}
    got = LoadedModel(acl, tmp_path / "old.om").run(feed, gear=(2,))
    np.testing.assert_array_equal(got[0], reference(source, feed)[0])
    for damaged in ('{"inout": "0g"}', '{"inout": "000"}', '{"inout": "00000000ff"}', '{"inout": 3}', "{"):
        (tmp_path / "old.om.sim.json").write_text(damaged)
        with pytest.raises(AclFailure):
            LoadedModel(acl, tmp_path / "old.om")


def test_nothing_to_describe(tmp_path: Path) -> None:
    source = write(identity(dims=(1, 4)), tmp_path / "m.onnx")
    compile_model(source, tmp_path / "m.om")
    assert describe_model(tmp_path / "m.om") is None


def test_equal_models_share_one_session(acl: Acl, tmp_path: Path) -> None:
    weights = {"factor": np.full((1, 1 << 20), 3, np.float32)}  # 4 MiB
    source = write(
        model_of(
            [helper.make_node("Mul", ["x", "factor"], ["y"])],
            [value("x", TensorProto.FLOAT, (1, 1 << 20))],
            [value("y", TensorProto.FLOAT, (1, 1 << 20))],
            weights,
        ),
        tmp_path / "m.onnx",
    )
    compile_model(source, tmp_path / "m.om")
    LoadedModel(acl, tmp_path / "m.om")
    before = resident()
    for _ in range(8):
        LoadedModel(acl, tmp_path / "m.om")
    assert resident() - before < 16 << 20


def resident() -> int:
    text = Path("/proc/self/statm").read_text(encoding="ascii")
    return int(text.split()[1]) * 4096


def test_what_cannot_be_compiled(tmp_path: Path) -> None:
    source = write(convolution(), tmp_path / "m.onnx")
    target = tmp_path / "m.om"
    with pytest.raises(InvalidOptionError, match="open dimensions"):
        compile_model(source, target)
    with pytest.raises(InvalidOptionError, match="has no input 'z'"):
        compile_model(source, target, input_shapes={"z": (1,)})
    with pytest.raises(InvalidOptionError, match="cannot have the shape"):
        compile_model(source, target, input_shapes={"x": (1, 4, 8, 8)})
    with pytest.raises(InvalidOptionError, match="does not fill|values for"):
        compile_model(source, target, gears=[Gear("dims", (1, 2))])
    fixed = write(identity(dims=(2, 4)), tmp_path / "fixed.onnx")
    with pytest.raises(InvalidOptionError, match="first dimension"):
        compile_model(fixed, target, gears=[Gear("batch", (1,))])
    with pytest.raises(InvalidOptionError, match="no open dimension"):
        compile_model(fixed, target, gears=[Gear("hw", (1, 2))])
    with pytest.raises(ModelFileError):
        compile_model(tmp_path / "none.onnx", target)
    broken = model_of(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        [value("x", TensorProto.FLOAT, ("n", 4))],
        [value("y", TensorProto.FLOAT, ("a", "b"))],
        {"shape": np.array([7, 7], np.int64)},
    )
    with pytest.raises(ModelFileError, match="does not run in onnxruntime"):
        compile_model(write(broken, tmp_path / "broken.onnx"), target, gears=[Gear("batch", (1,))])
    assert not target.exists()
