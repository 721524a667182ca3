"""perf_analyzer's JSON and folders of input data."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_infer.errors import InvalidInputError
from ascend_infer.perf.input_data import read_input_data
from ascend_infer.types import DataType, TensorSpec

X = TensorSpec("x", DataType.FP32, (-1, 2, 2))
IDS = TensorSpec("ids", DataType.INT32, (-1, -1))
TEXT = TensorSpec("t", DataType.BYTES, (-1, 2))


def read(path: Path, data: Any, *inputs: TensorSpec, **options: Any) -> list[dict[str, np.ndarray[Any, Any]]]:
    file = path / "data.json"
    file.write_text(json.dumps(data))
    return read_input_data(str(file), inputs or (X,), "m", options.pop("batched", True), **options)


def test_flat_and_nested_values_and_bytes_are_the_same(tmp_path: Path) -> None:
    numbers = np.arange(4, dtype="<f4")
    entries = [
        {"x": [0, 1, 2, 3]},
        {"x": [[0, 1], [2, 3]]},
        {"x": {"content": [0, 1, 2, 3], "shape": [2, 2]}},
        {"x": {"b64": base64.b64encode(numbers.tobytes()).decode()}},
    ]
    found = read(tmp_path, {"data": entries})
    assert len(found) == 4
    for feed in found:
        assert feed["x"].dtype == np.float32
        assert np.array_equal(feed["x"], numbers.reshape(1, 2, 2))


def test_rows_of_a_batch_are_entries_one_after_the_other_round_and_round(tmp_path: Path) -> None:
    found = read(tmp_path, {"data": [{"x": [n] * 4} for n in range(3)]}, batch=2)
    assert [feed["x"][:, 0, 0].tolist() for feed in found] == [[0, 1], [1, 2], [2, 0]]


def test_streams_of_sequences_and_text_and_shapes_of_the_command_line(tmp_path: Path) -> None:
    data = {"data": [[{"ids": [1, 2], "t": ["a", "b"]}], [{"ids": [3, 4], "t": ["c", "d"]}]]}
    found = read(tmp_path, data, IDS, TEXT, shapes={"ids": (2,)})
    assert [feed["ids"].tolist() for feed in found] == [[[1, 2]], [[3, 4]]]
    assert found[1]["t"].tolist() == [["c", "d"]]


def test_a_folder_has_a_file_an_input(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(np.arange(4, dtype="<f4").tobytes())
    (tmp_path / "t").write_text("one\ntwo\n")
    [found] = read_input_data(str(tmp_path), (X, TEXT), "m", True, 2)
    assert found["x"].tolist() == [[[0, 1], [2, 3]]] * 2
    assert found["t"].tolist() == [["one", "two"]] * 2


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([], "no list of data"),
        ({"data": []}, "no list of data"),
        ({"data": [3]}, "an entry of data is no object"),
        ({"data": [{"y": [1]}]}, "has no input 'y'"),
        ({"data": [{}]}, "entry 0: input 'x': got nothing"),
        ({"data": [{"x": [1] * 4}, {"x": [1, 2]}]}, "entry 1: input 'x': got 2 values, expected 4"),
        ({"data": [{"x": ["a"] * 4}]}, "got values of <U1, expected FP32"),
        ({"data": [{"x": [[1], [2, 3]]}]}, "values that are no array"),
        ({"data": [{"x": {"b64": "***"}}]}, "b64 that cannot be read"),
        ({"data": [{"x": {"b64": "AAA="}}]}, "b64 that cannot be read"),
        ({"data": [{"x": {"content": [1], "shape": [1]}}]}, r"got shape \[1\], expected \[2, 2\]"),
        ({"data": [{"x": 3}]}, "got int, expected a list"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, data: Any, text: str) -> None:
    with pytest.raises(InvalidInputError, match=text):
        read(tmp_path, data)


def test_numbers_that_do_not_fit_their_type(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="got 4294967296 to 4294967296, expected INT32"):
        read(tmp_path, {"data": [{"ids": [2**32]}]}, IDS, shapes={"ids": (1,)})
    with pytest.raises(InvalidInputError, match=r"got no shape, expected a shape of \[any\]"):
        read(tmp_path, {"data": [{"ids": [1]}]}, IDS)


def test_entries_of_several_shapes_make_no_batch(tmp_path: Path) -> None:
    data = {"data": [{"ids": {"content": [1], "shape": [1]}}, {"ids": {"content": [1, 2], "shape": [2]}}]}
    assert len(read(tmp_path, data, IDS)) == 2
    with pytest.raises(InvalidInputError, match="use -b 1"):
        read(tmp_path, data, IDS, batch=2)


def test_a_file_that_is_not_there_or_no_json(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_input_data(str(tmp_path / "none.json"), (X,), "m", True)
    (tmp_path / "data.json").write_text("{")
    with pytest.raises(InvalidInputError, match="is no JSON"):
        read_input_data(str(tmp_path / "data.json"), (X,), "m", True)
