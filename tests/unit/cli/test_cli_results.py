"""What a result looks like as text, as JSON and in files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_infer.cli.results.ranking import rank_outputs, read_labels
from ascend_infer.cli.results.saving import check_target, save_outputs
from ascend_infer.cli.results.shown import result_json, result_lines, times_json, times_line
from ascend_infer.config import ModelConfig
from ascend_infer.config.tensor_config import ModelOutput
from ascend_infer.errors import InvalidOptionError
from ascend_infer.result import InferResult, KeptRequest, ResultOrigin

SCORES = np.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], np.float32)


def result(labels: list[str] | None = None, **arrays: np.ndarray[Any, Any]) -> InferResult:
    origin = ResultOrigin("m", 3, "cpu", lambda name: labels, 8)
    return InferResult(arrays, origin, KeptRequest("", False, (0, 0, 2_500_000, 0)))


def config(*names: str) -> ModelConfig:
    return ModelConfig(output=tuple(ModelOutput(name=name, label_filename="labels.txt") for name in names))


class TestText:
    def test_each_output_in_a_line(self) -> None:
        lines = result_lines(result(a=SCORES, b=np.array(["x" * 99], object), c=np.arange(99)), {})
        assert lines[0] == "m version 3 on cpu: 2.5 ms in the model"
        assert lines[1].split(maxsplit=3) == ["a", "FP32", "2x3", "0.1, 0.7, 0.2, 0.5, 0.3, 0.2"]
        assert lines[2].endswith("x…")
        assert lines[3].endswith("0, 1, 2, 3, 4, 5, 6, 7, ...")

    def test_ranked_rows_with_labels(self) -> None:
        found = result(["cat", "dog", "cow"], scores=SCORES)
        lines = result_lines(found, rank_outputs(found, config("scores"), 2, False, None))
        assert lines[2:] == [
            "top 2 of scores, row 0:", "  0.7  1  dog", "  0.2  2  cow",
            "top 2 of scores, row 1:", "  0.5  0  cat", "  0.3  1  dog",
        ]  # fmt: skip

    @pytest.mark.parametrize("array", [np.float32(1.5).reshape(()), np.empty((0, 3), np.float32)])
    def test_odd_shapes(self, array: np.ndarray[Any, Any]) -> None:
        assert len(result_lines(result(a=array), {})) == 2


class TestRanking:
    def test_outputs_with_labels_are_ranked_unasked(self) -> None:
        found = result(["a", "b", "c"], scores=SCORES, other=SCORES)
        assert list(rank_outputs(found, config("scores"), None, False, None)) == ["scores"]
        assert list(rank_outputs(found, config(), None, False, None)) == []
        assert list(rank_outputs(found, config(), 1, False, None)) == ["scores", "other"]

    def test_labels_of_the_users_own(self) -> None:
        found = result(scores=SCORES)
        ranked = rank_outputs(found, config(), None, True, ["a", "b", "c"])
        assert [label.label for label in ranked["scores"][0]] == ["b", "c", "a"]
        assert sum(label.score for label in ranked["scores"][0]) == pytest.approx(1)
        with pytest.raises(InvalidOptionError, match="got 2 labels, expected 3"):
            rank_outputs(found, config(), None, False, ["a", "b"])

    @pytest.mark.parametrize(
        ("text", "labels"),
        [
            ("cat\ndog\n", ["cat", "dog"]),
            ("\ufeffcat\r\n\r\ndog", ["cat", "", "dog"]),
            ('["cat", "dog"]', ["cat", "dog"]),
            ('{"1": "dog", "0": "cat"}', ["cat", "dog"]),
        ],
    )
    def test_label_files(self, tmp_path: Path, text: str, labels: list[str]) -> None:
        file = tmp_path / "labels"
        file.write_text(text, encoding="utf-8", newline="")
        assert read_labels(str(file)) == labels

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "cannot be read"),
            (b"\xff\xfe", "neither UTF-8"),
            (b"[1", "nor JSON"),
            (b'{"5": "x"}', "without key '0'"),
        ],
    )
    def test_label_files_that_are_none(self, tmp_path: Path, content: bytes | None, message: str) -> None:
        file = tmp_path / "labels"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(InvalidOptionError, match=message):
            read_labels(str(file))


class TestJson:
    def test_every_value_under_stable_keys(self) -> None:
        found = result(["a", "b", "c"], scores=SCORES, text=np.array([["ä", "ö".encode(), b"\xff"]], object))
        value = json.loads(
            json.dumps(result_json(found, rank_outputs(found, config("scores"), 1, False, None)))
        )
        assert list(value) == ["model", "version", "device", "outputs", "top_k", "timing_ms"]
        assert value["outputs"]["text"] == {"dtype": "BYTES", "shape": [1, 3], "data": [["ä", "ö", "\\xff"]]}
        assert np.array_equal(np.array(value["outputs"]["scores"]["data"], np.float32), SCORES)
        assert value["top_k"]["scores"][1][0] == {"index": 0, "score": 0.5, "label": "a"}
        assert value["timing_ms"]["model"] == 2.5

    def test_types_that_json_does_not_have(self) -> None:
        ml_dtypes = pytest.importorskip("ml_dtypes")
        outputs = result_json(
            result(c=np.array([1 + 2j], np.complex64), b=np.array([1.5], ml_dtypes.bfloat16)), {}
        )["outputs"]
        assert outputs["c"]["data"] == [[1.0, 2.0]]
        assert outputs["b"] == {"dtype": "BF16", "shape": [1], "data": [1.5]}


class TestTimes:
    def test_the_percentile_is_a_run_that_happened(self) -> None:
        runs = [float(n) for n in range(200, 0, -1)]
        assert times_json(runs) == {"runs": 200, "min_ms": 1.0, "median_ms": 100.5, "p99_ms": 198.0}
        assert times_json([3.0]) == {"runs": 1, "min_ms": 3.0, "median_ms": 3.0, "p99_ms": 3.0}
        assert times_line([3.0]).endswith("min 3 ms, median 3 ms, p99 3 ms")


class TestSaving:
    def test_an_archive_takes_any_name(self, tmp_path: Path) -> None:
        outputs = {
            "file": SCORES,
            "gpu_0/data:0": np.arange(3),
            "text": np.array(["a", "bä".encode()], object),
        }
        save_outputs(str(tmp_path / "o.npz"), outputs)
        with np.load(tmp_path / "o.npz", allow_pickle=False) as saved:
            assert np.array_equal(saved["file"], SCORES)
            assert saved["gpu_0/data:0"].tolist() == [0, 1, 2]
            assert saved["text"].tolist() == ["a", "bä"]

    def test_one_output_alone(self, tmp_path: Path) -> None:
        save_outputs(str(tmp_path / "o.npy"), {"a": SCORES})
        assert np.array_equal(np.load(tmp_path / "o.npy"), SCORES)
        with pytest.raises(InvalidOptionError, match=r"a \.npz file for 2 outputs"):
            save_outputs(str(tmp_path / "two.npy"), {"a": SCORES, "b": SCORES})
        assert [file.name for file in tmp_path.iterdir()] == ["o.npy"]

    def test_a_failure_leaves_the_old_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = tmp_path / "o.npz"
        file.write_bytes(b"old")

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(np.lib.format, "write_array", full)
        with pytest.raises(InvalidOptionError, match="No space left on device"):
            save_outputs(str(file), {"a": SCORES})
        assert file.read_bytes() == b"old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["o.npz"]

    @pytest.mark.parametrize(
        ("name", "message"),
        [("o.txt", "ends in .npz"), ("missing/o.npz", "missing is not"), ("folder.npz", "it is a directory")],
    )
    def test_targets_are_checked_before_the_model_runs(self, tmp_path: Path, name: str, message: str) -> None:
        (tmp_path / "folder.npz").mkdir()
        with pytest.raises(InvalidOptionError, match=message):
            check_target(str(tmp_path / name))


class TestLabelsOfAnotherLength:
    @pytest.mark.parametrize(("labels", "last"), [(["a"], None), (["a", "b", "c", "d"], "c")])
    def test_outputs_are_ranked_and_it_is_said(
        self, labels: list[str], last: str | None, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found = result(labels, scores=SCORES)
        ranked = rank_outputs(found, config("scores"), None, False, None)["scores"][0]
        assert {label.index: label.label for label in ranked} == {
            0: "a",
            1: "b" if len(labels) > 1 else None,
            2: last,
        }
        assert f"labels.txt has {len(labels)} labels, output 'scores' 3 classes" in capsys.readouterr().err

    def test_empty_lines_at_the_end_are_no_labels(self, capsys: pytest.CaptureFixture[str]) -> None:
        found = result(["a", "b", "c", "", " "], scores=SCORES)
        assert list(rank_outputs(found, config("scores"), None, False, None)) == ["scores"]
        rank_outputs(result(scores=SCORES), config(), None, False, ["a", "b", "c", ""])
        assert capsys.readouterr().err == ""

    def test_what_cannot_be_ranked_is_shown_all_the_same(self, capsys: pytest.CaptureFixture[str]) -> None:
        found = result(["a"], text=np.array([["x"]], object))
        assert rank_outputs(found, config("text"), None, False, None) == {}
        assert "no scores to rank" in capsys.readouterr().err

    def test_no_rows_have_no_ranking(self) -> None:
        found = result(scores=np.empty((0, 3), np.float32))
        assert rank_outputs(found, config(), 1, True, None) == {"scores": []}


class TestUnboundedLabelFiles:
    def test_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "labels")
        with pytest.raises(InvalidOptionError, match="it is a pipe"):
            read_labels(str(tmp_path / "labels"))

    def test_a_device(self) -> None:
        with pytest.raises(InvalidOptionError, match="it is a device"):
            read_labels("/dev/zero")

    def test_a_file_of_gigabytes(self, tmp_path: Path) -> None:
        with open(tmp_path / "labels", "wb") as file:
            file.truncate(40 << 30)
        with pytest.raises(InvalidOptionError, match="at most 16,777,216 bytes"):
            read_labels(str(tmp_path / "labels"))
