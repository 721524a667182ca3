"""The scorer that Ray's actors run, without Ray: its rows are those of a local run."""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from PIL import Image

import ascend_infer as ai
from ascend_infer.errors import (
    InvalidInputError,
    InvalidOptionError,
    MissingDependencyError,
    ModelLoadError,
    ModelNotFoundError,
)
from ascend_infer.scoring.ray import NPU, Scorer, pin, score_dataset
from ascend_infer.simulator import Simulator

for needed in ("onnxruntime", "pyarrow"):
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed", allow_module_level=True)

CONFIG = """
max_batch_size: 4
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, 2, 2 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 3 ] label_filename: "labels.txt" } ]
"""


@pytest.fixture(autouse=True)
def clean(assert_no_leaks: object) -> None:
    """No scorer may leave its session open."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Scores of red, green and blue."""
    import onnx

    mean = made.model_of(
        [onnx.helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3], keepdims=0)],
        [made.value("x", onnx.TensorProto.FLOAT, ["n", 3, 2, 2])],
        [made.value("y", onnx.TensorProto.FLOAT, ["n", 3])],
    )
    folder = made.model_directory(tmp_path, "mean", mean, CONFIG, versions=(1, 2))
    (folder / "labels.txt").write_text("red\ngreen\nblue\n")
    return folder


def pictures() -> list[np.ndarray]:
    return [np.full((5, 7, 3), colour, np.uint8) for colour in ((200, 1, 2), (3, 150, 4), (5, 6, 100))]


def encoded(picture: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()


def objects(values: list[Any]) -> np.ndarray:
    column = np.empty(len(values), object)
    column[:] = values
    return column


def test_rows_are_those_of_a_local_run(model: Path, tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    broken = b"no picture"
    files = [*map(encoded, pictures()), broken]
    names = [f"{number}.png" for number in range(4)]
    pyarrow.parquet.write_table(pyarrow.table({"id": names, "image": files}), tmp_path / "in.parquet")
    with ai.Session(model, device="cpu") as session:
        session.score(tmp_path / "in.parquet", out=tmp_path / "out.parquet", preprocess="unit", top_k=2)
    local = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    with Scorer(model, device="cpu", preprocess="unit", top_k=2) as scorer:
        whole = scorer({"id": objects(names), "image": objects(files)})
        halves = [
            scorer({"id": objects(names[a:b]), "image": objects(files[a:b])}) for a, b in ((0, 1), (1, 4))
        ]
    assert whole.column("label_1").to_pylist() == ["red", "green", "blue", None]
    assert whole.schema.remove_metadata() == local.schema.remove_metadata()
    assert whole.to_pylist() == local.to_pylist() == pyarrow.concat_tables(halves).to_pylist()
    assert "not an image file" in whole.column("error").to_pylist()[3]


def test_what_ray_s_readers_give(model: Path) -> None:
    with Scorer(model, device="cpu", preprocess="unit", top_k=1, keep=["path"]) as scorer:
        tensors = scorer({"image": np.stack(pictures()), "path": objects(["a", "b", "c"])})
        ragged = scorer({"image": objects(pictures()), "path": objects(["a", "b", "c"])})
        binary = scorer({"bytes": objects(list(map(encoded, pictures()))), "path": objects(["a", "b", "c"])})
        empty = scorer({"image": objects([]), "path": objects([])})
    assert tensors.column_names == ["id", "path", "label_1", "score_1", "error"]
    assert tensors.to_pylist() == ragged.to_pylist() == binary.to_pylist()
    assert tensors.column("label_1").to_pylist() == ["red", "green", "blue"]
    assert empty.num_rows == 0


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (objects(["a", None, "None"]), ["a", None, "None"]),
        (objects([None, None, None]), [None, None, None]),
        (np.array([0.5, np.nan, 2]), ["0.5", None, "2.0"]),
        (
            np.array(["2020-01-01", "NaT", "2020-01-03"], "datetime64[D]"),
            ["2020-01-01", None, "2020-01-03"],
        ),
    ],
)
def test_rows_without_a_name_have_none(model: Path, ids: np.ndarray, expected: list[str | None]) -> None:
    x = np.zeros((3, 3, 2, 2), np.float32)
    with Scorer(model, device="cpu", top_k=0) as scorer:
        named = scorer({"id": ids, "x": x})
        bad = scorer({"id": ids, "x": objects([*x[:1], "none", *x[2:]])})
    assert named.column("id").to_pylist() == bad.column("id").to_pylist() == expected
    assert named.schema.field("id").type == "string"
    assert [bool(error) for error in bad.column("error").to_pylist()] == [False, True, False]


def test_paths_that_are_not_utf_8(model: Path) -> None:
    paths = objects(["a", os.fsdecode(b"caf\xe9"), r"caf\xe9"])
    with Scorer(model, device="cpu", preprocess="unit", top_k=1, keep=["path"]) as scorer:
        table = scorer({"image": np.stack(pictures()), "path": paths})
    assert table.column("id").to_pylist() == ["a", r"caf\xe9", r"caf\x5cxe9"]
    assert table.column("path").to_pylist() == ["a", r"caf\xe9", r"caf\xe9"]


def test_tensors_by_input_and_functions(model: Path) -> None:
    x = np.random.default_rng(0).random((6, 3, 2, 2), np.float32)
    with Scorer(model, device="cpu", top_k=0, keep=("tag", "box")) as scorer:
        table = scorer({"x": x, "tag": np.arange(6), "box": np.zeros((6, 2, 2))})
    assert table.column_names == ["tag", "box", "y", "error"]
    assert np.allclose(table.column("y").to_pylist(), x.mean((2, 3)))
    assert table.column("box").to_pylist()[0] == [[0, 0], [0, 0]]

    def brighter(record: dict[str, Any]) -> np.ndarray:
        value: np.ndarray = record["x"] + np.float32(record["by"])
        return value

    with Scorer(model, device="cpu", top_k=0, preprocess=brighter, id_column="by") as scorer:
        table = scorer({"x": x, "by": np.arange(6)})
    assert np.allclose(table.column("y").to_pylist(), x.mean((2, 3)) + np.arange(6)[:, None], atol=1e-5)
    assert table.column("id").to_pylist() == list("012345")


def test_columns_that_are_not_there(model: Path) -> None:
    x = np.zeros((1, 3, 2, 2), np.float32)
    for options, said in (
        ({"keep": ["tag"]}, "keep='tag': the data set has the columns x"),
        ({"id_column": "name"}, "id_column='name'"),
        ({"column": "photo", "preprocess": "unit"}, "column='photo'"),
    ):
        with (
            Scorer(model, device="cpu", **options) as scorer,  # type: ignore[arg-type]
            pytest.raises(InvalidInputError, match=said),
        ):
            scorer({"x": x})
    with pytest.raises(InvalidOptionError, match="expected a list of columns"):
        Scorer(model, device="cpu", keep="tag")
    with pytest.raises(InvalidOptionError, match="top_k"):
        Scorer(model, device="cpu", top_k=-1)


def test_the_version_is_pinned(model: Path, tmp_path: Path) -> None:
    pinned = pin(model)
    assert pinned["version"] == 2
    assert set(pinned["content"]) == {"2/model.onnx", "config.pbtxt", "labels.txt"}
    assert pin(model, 1)["version"] == 1
    shutil.copytree(model / "2", model / "3")
    x = np.zeros((1, 3, 2, 2), np.float32)
    with Scorer(**pinned, device="cpu", top_k=0) as scorer:
        assert scorer({"x": x}).num_rows == 1
    (model / "labels.txt").write_text("rot\n")
    with pytest.raises(ModelLoadError, match=r"differ in labels\.txt"):
        Scorer(**pinned, device="cpu")
    bare = pin(model / "1" / "model.onnx")
    assert (bare["version"], list(bare["content"])) == (None, ["model.onnx"])
    with Scorer(**bare, device="cpu", batch=1) as scorer:
        assert np.asarray(scorer({"x": x}).column("y").to_pylist()).shape == (1, 3)
    with pytest.raises(ModelNotFoundError):
        pin(tmp_path / "none")


class Recorded:
    """Ray's data set, as far as it is called."""

    def map_batches(self, function: Any, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        return function, arguments


@dataclass(frozen=True)
class ActorPoolStrategy:
    """Ray's."""

    min_size: int
    max_size: int


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    ray, data = types.ModuleType("ray"), types.ModuleType("ray.data")
    data.ActorPoolStrategy = ActorPoolStrategy  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.data", data)


def test_without_ray_the_error_says_how_to_get_it(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ascend-infer\[ray\]'"):
        score_dataset(Recorded(), model)


def test_an_npu_is_asked_for(model: Path, stand_in: None) -> None:
    function, asked = score_dataset(
        Recorded(), model, actors=(1, 8), npus=1, batch_size=32, remote={"resources": {"disk": 1}}, top_k=3
    )
    assert function is Scorer
    assert asked["resources"] == {NPU: 1, "disk": 1}
    assert asked["compute"] == ActorPoolStrategy(1, 8)
    assert (asked["batch_size"], asked["batch_format"]) == (32, "numpy")
    assert asked["fn_constructor_kwargs"] == {**pin(model), "top_k": 3}
    _, asked = score_dataset(Recorded(), model, cpus=2)
    assert "resources" not in asked
    assert asked["num_cpus"] == 2
    assert asked["compute"] == ActorPoolStrategy(1, 1)


def test_on_the_card_that_an_actor_has(simulated_npu: Simulator, model: Path) -> None:
    x = np.random.default_rng(1).random((7, 3, 2, 2), np.float32)
    with Scorer(model, top_k=0) as card, Scorer(model, device="cpu", top_k=0) as host:
        assert card({"x": x}).to_pylist() == host({"x": x}).to_pylist()
    assert simulated_npu.stats().devices[0].executions > 0
