"""Scoring from end to end on the CPU: what comes out, what is refused, what a bad row does."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from photos import CONFIG, colours_directory, photo_folder

import ascend_infer as ai
from ascend_infer.errors import (
    ClosedError,
    ImageError,
    InvalidOptionError,
    MissingDependencyError,
    ScoringError,
    ScoringSourceError,
)
from ascend_infer.scoring import ScoredRow, feeding, score

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)


def lines_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", np.random.default_rng(1).standard_normal((100, 4)).astype(np.float32))
    return tmp_path / "x.npy"


@pytest.mark.parametrize("batch", [1, 3, 8, "auto"])
def test_rows_are_what_infer_gives_in_the_sources_order(
    session: ai.Session, numbers: Path, tmp_path: Path, batch: int | str
) -> None:
    done = session.score(numbers, out=tmp_path / "y.csv", top_k=0, batch=batch)
    lines = lines_of(tmp_path / "y.csv")
    assert [line["id"] for line in lines] == [str(n) for n in range(100)]
    got = np.array([[line[f"y_{n}"] for n in range(4)] for line in lines], np.float32)
    assert np.array_equal(got, np.load(numbers) * 2)
    assert (done.rows, done.failed, done.resumed_rows) == (100, 0, 0)
    assert batch == "auto" or done.batch == batch
    assert done.padding_waste == 0
    assert done.stage_seconds["infer"] > 0
    assert json.loads(json.dumps(done.to_dict()))["devices"][0]["device"] == "cpu"


def test_a_whole_number_that_the_input_lacks_is_rounded_where_it_is_written_with_a_point(
    session: ai.Session, tmp_path: Path
) -> None:
    def array(record: dict[str, Any]) -> np.ndarray:
        return np.array(record["x"], np.float32)

    source = tmp_path / "x.jsonl"
    source.write_text('{"x": [16777217, 0, 0, 0]}\n{"x": [16777217.0, 0, 0, 0]}\n')
    for preprocess, failed in ((None, 1), (array, 0)):
        done = session.score(
            source, out=tmp_path / "y.csv", top_k=0, preprocess=preprocess, cast="same_kind", overwrite=True
        )
        assert done.failed == failed
        assert float(lines_of(tmp_path / "y.csv")[1]["y_0"]) == 2 * 16777216
        assert all("(16777217.0)" in reason for _, reason in done.first_errors)


def test_labels_and_scores_of_the_best(session: ai.Session, tmp_path: Path) -> None:
    rows = [[1, 2, 3, 4], [4, 3, 2, 1]]
    session.score(rows, out=tmp_path / "y.csv", top_k=2, softmax=True)
    [first, second] = lines_of(tmp_path / "y.csv")
    assert list(first) == ["id", "label_1", "score_1", "label_2", "score_2", "error"]
    assert (first["label_1"], second["label_1"]) == ("dog", "ant")
    assert float(first["score_1"]) == pytest.approx(0.8650, abs=1e-3)
    session.score(rows, out=tmp_path / "own.csv", top_k=1, labels=["a", "b", "c", "d"])
    assert lines_of(tmp_path / "own.csv")[0]["label_1"] == "d"


def test_pictures_by_the_configurations_preset_and_a_bad_one_among_them(tmp_path: Path) -> None:
    folder = photo_folder(tmp_path, 20)
    (folder / "0007.jpg").write_bytes(b"\xff\xd8 no picture")
    with ai.Session(colours_directory(tmp_path), device="cpu") as session:
        done = session.score(folder, out=tmp_path / "y.csv", batch=4)
        want = ai.image.prepare(folder / "0003.jpg", "unit", size=16)
        best = session.infer({"images": want}).top_k(k=1)[0][0]
    lines = lines_of(tmp_path / "y.csv")
    assert [line["id"] for line in lines] == [f"{n:04d}.jpg" for n in range(20)]
    assert lines[3]["label_1"] == best.label
    assert float(lines[3]["score_1"]) == pytest.approx(best.score)
    assert [line["id"] for line in lines if line["error"]] == ["0007.jpg"]
    assert lines[7]["label_1"] == ""
    assert done.failed == 1
    assert done.first_errors[0][0] == "0007.jpg"


def test_pictures_without_a_preset_are_told_how_to_state_one(tmp_path: Path) -> None:
    folder = photo_folder(tmp_path, 1)
    model = colours_directory(tmp_path, CONFIG.replace("parameters", "# parameters"))
    with ai.Session(model, device="cpu") as session:
        with pytest.raises(
            InvalidOptionError, match=r"one of imagenet, .*config\.pbtxt.*preprocess=\{"
        ) as caught:
            session.score(folder, out=tmp_path / "y.csv")
        assert caught.value.option == "preprocess"
        with pytest.raises(InvalidOptionError, match="preset raw makes uint8, expected FP32"):
            session.score(folder, out=tmp_path / "y.csv", preprocess="raw")
        session.score(folder, out=tmp_path / "y.csv", preprocess={"preset": "unit", "size": 16})
    assert not (tmp_path / "y.csv.parts").exists()


def test_a_function_prepares_and_another_makes_the_columns(session: ai.Session, tmp_path: Path) -> None:
    def prepare(item: str) -> list[float]:
        if item == "bad":
            raise KeyError("no such thing")
        return [float(item)] * 4

    def columns(arrays: dict[str, Any]) -> dict[str, Any]:
        return {"sum": arrays["y"].sum(), "error": "mine", "y": arrays["y"]}

    session.score(["1", "bad", "3"], out=tmp_path / "y.jsonl", preprocess=prepare, postprocess=columns)
    lines = [json.loads(line) for line in (tmp_path / "y.jsonl").read_text().splitlines()]
    assert lines[0] == {"id": "1", "sum": 8.0, "output_error": "mine", "y": [2.0] * 4}
    assert lines[1] == {"id": "bad", "error": "preprocess: KeyError: 'no such thing'"}
    done = session.score(["1"], out=tmp_path / "z.csv", preprocess=prepare, postprocess=lambda arrays: 1 / 0)
    assert lines_of(tmp_path / "z.csv")[0]["error"] == "postprocess: ZeroDivisionError: division by zero"
    assert done.failed == 1


def test_a_row_that_the_model_fails_on_costs_no_other(tmp_path: Path) -> None:
    config = """
        max_batch_size: 0
        input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
        output [ { name: "y" data_type: TYPE_FP32 dims: [ -1, 2 ] } ]
    """
    model = made.model_directory(tmp_path, "odd", made.failing_reshape(), config)
    rows: list[ScoredRow] = []
    with ai.Session(model, device="cpu") as session:
        session.score([np.ones(n, np.float32) for n in (2, 3, 4)], out=rows.append)
    assert [row.values["y"].shape if row.values else None for row in rows] == [(1, 2), None, (2, 2)]
    assert "failed" in rows[1].error


def test_one_bad_row_of_a_batch_fails_alone(session: ai.Session) -> None:
    rows: list[ScoredRow] = []
    items: list[Any] = [np.ones(4, np.float32)] * 8
    items[2], items[5] = np.ones(3, np.float32), [1, 2, 3, "four"]
    done = session.score(items, out=rows.append, batch=8)
    assert [bool(row.error) for row in rows] == [n in (2, 5) for n in range(8)]
    assert "'x': got [1, 2, 3, 'four']" in rows[5].error
    assert done.runs == 1  # the six good ones together


def test_a_function_gets_rows_in_order_and_its_errors_come_through(session: ai.Session) -> None:
    seen: list[int] = []

    def take(row: ScoredRow) -> None:
        seen.append(row.index)
        if row.index == 5:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        session.score([[1, 2, 3, 4]] * 50, out=take, workers=4, batch=1)
    assert seen == [0, 1, 2, 3, 4, 5]


def test_memory_is_bounded_by_what_is_under_way(session: ai.Session) -> None:
    made_items = 0

    def items() -> Iterator[list[int]]:
        nonlocal made_items
        for _ in range(20_000):
            made_items += 1
            yield [1, 2, 3, 4]

    most = 0

    def take(row: ScoredRow) -> None:
        nonlocal most
        most = max(most, made_items - row.index)

    session.score(items(), out=take, batch=8)
    assert made_items == 20_000
    assert most < 1200


def test_too_many_errors_end_the_run(session: ai.Session, tmp_path: Path) -> None:
    with pytest.raises(ScoringError, match="3 rows failed, more than max_errors=2; the first of them, 0: "):
        session.score([[1]] * 10, out=tmp_path / "y.csv", max_errors=2, batch=1)


def test_a_picture_that_vanished_ends_the_run_and_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = photo_folder(tmp_path, 6)
    (folder / "link.jpg").symlink_to(folder / "nothing.jpg")

    def vanish(*given: Any, **options: Any) -> Any:
        (folder / "0004.jpg").unlink(missing_ok=True)
        return ai.image.prepare(*given, **options)

    with ai.Session(colours_directory(tmp_path), device="cpu") as session:
        rows: list[ScoredRow] = []
        session.score(folder, out=rows.append, batch=1)
        assert "no such file" in rows[-1].error  # a link that led nowhere from the start is a bad row
        monkeypatch.setattr(feeding, "prepare", vanish)
        with pytest.raises(ScoringSourceError, match=r"at row 4: .*0004\.jpg.*no such file") as caught:
            session.score(folder, out=rows.append, workers=1, batch=1)
    assert caught.value.row == 4
    assert isinstance(caught.value.__cause__, ImageError)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"batch": 9}, "batch=9: the model takes at most 8 rows"),
        ({"batch": 0}, "batch: got 0"),
        ({"workers": "many"}, "workers: got 'many'"),
        ({"outputs": ["z"]}, "outputs: got 'z', expected some of y"),
        ({"preprocess": "unit"}, "preprocess='unit'.*nothing to do with|makes float32"),
        ({"id_column": "key"}, "id_column='key' has nothing to do with"),
        ({"size": 3}, "size=3 has nothing to do with"),
        ({"top_k": -1}, "top_k: got -1"),
        ({"softmax": True, "top_k": 0}, "softmax: no output is ranked"),
        ({"postprocess": len, "top_k": 3}, "have nothing to do"),
        ({"progress": "often"}, "progress: got 'often'"),
        ({"form": "xml"}, "form: got 'xml'"),
        ({"lables": ["a"]}, r"lables=\['a'\]: score has no option 'lables'; did you mean 'labels'\?"),
        ({"foo": 1}, "foo=1: score has no option 'foo'; its options are preprocess, "),
        ({"labels": ["a"], "top_k": 0}, "labels: no output is ranked"),
        ({"labels": "ab"}, "labels: got 'ab', expected a list"),
        ({"labels": []}, r"labels: got \[\], expected a list"),
    ],
)
def test_options_that_do_not_fit(
    session: ai.Session, numbers: Path, tmp_path: Path, options: Any, problem: str
) -> None:
    with pytest.raises(InvalidOptionError, match=problem):
        session.score(numbers, out=tmp_path / "y.csv", **options)
    assert not (tmp_path / "y.csv").exists()


def test_an_empty_cell_is_no_picture(tmp_path: Path) -> None:
    folder = photo_folder(tmp_path, 1)
    (tmp_path / "x.csv").write_text(f"id,path,more\n1,{folder.name}/0000.jpg,x\n2,,y\n")
    with ai.Session(colours_directory(tmp_path), device="cpu") as session:
        for options in ({}, {"column": "path"}):
            done = session.score(tmp_path / "x.csv", out=tmp_path / "y.csv", overwrite=True, **options)
            assert (done.rows, done.failed) == (2, 1)
            assert "column 'path' holds no picture" in done.first_errors[0][1]


def test_a_file_whose_arrays_do_not_fit_is_refused_at_once(session: ai.Session, tmp_path: Path) -> None:
    np.save(tmp_path / "wide.npy", np.ones((3, 4)))
    with pytest.raises(InvalidOptionError, match=r"wide\.npy: .*float64, expected float32.*--cast"):
        session.score(tmp_path / "wide.npy", out=tmp_path / "y.csv")
    assert session.score(tmp_path / "wide.npy", out=tmp_path / "y.csv", cast="same_kind").failed == 0
    np.save(tmp_path / "long.npy", np.ones((3, 5), np.float32))
    with pytest.raises(InvalidOptionError, match=r"got shape \[1, 5\]"):
        session.score(tmp_path / "long.npy", out=tmp_path / "z.csv")


@pytest.mark.parametrize("options", [{"preprocess": "imagenet"}, {"size": 8}])
def test_a_preset_for_numbers_is_refused(tmp_path: Path, options: Any) -> None:
    array = np.zeros((3, 16, 16), np.float32)
    found: list[Any] = []
    with ai.Session(colours_directory(tmp_path / "models"), device="cpu") as colours:
        name = colours.inputs[0].name
        for source in ([array] * 2, [{name: array}]):
            with pytest.raises(
                InvalidOptionError, match="a preset prepares pictures, and <list> holds numbers"
            ):
                colours.score(source, out=found.append, **options)
        (tmp_path / "x.csv").write_text("a,b\n1,2\n")
        with pytest.raises(InvalidOptionError, match=r"x\.csv holds numbers"):
            colours.score(tmp_path / "x.csv", out=found.append, **options)
        assert not found
        assert colours.score((item for item in [array]), out=found.append, **options).failed == 1
        assert "got ndarray, which is no picture, expected one for the preset" in found[0].error
        assert colours.score([array], out=found.append).failed == 0


def test_tables_feed_inputs_by_column(session: ai.Session, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("key,a,b,c,d\nk1,1,2,3,4\nk2,1,2,x,4\n")
    session.score(tmp_path / "t.csv", out=tmp_path / "y.csv", id_column="key", top_k=1)
    lines = lines_of(tmp_path / "y.csv")
    assert [(line["id"], line["label_1"]) for line in lines] == [("k1", "dog"), ("k2", "")]
    assert "expected float32" in lines[1]["error"]


def test_a_table_may_hold_paths_of_pictures(tmp_path: Path) -> None:
    photo_folder(tmp_path, 2)
    (tmp_path / "t.csv").write_text("id,path\nb,photos/0001.jpg\na,photos/0000.jpg\nc,photos/none.jpg\n")
    with ai.Session(colours_directory(tmp_path), device="cpu") as session:
        session.score(tmp_path / "t.csv", out=tmp_path / "y.csv")
    lines = lines_of(tmp_path / "y.csv")
    assert [line["id"] for line in lines] == ["b", "a", "c"]
    assert lines[0]["label_1"]
    assert "no such file" in lines[2]["error"]


def test_parquet_in_and_out(session: ai.Session, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    values = np.arange(400, dtype=np.float32).reshape(100, 4)
    pq.write_table(pa.table({"id": [f"r{n}" for n in range(100)], "x": list(values)}), tmp_path / "x.parquet")
    session.score(tmp_path / "x.parquet", out=tmp_path / "y.parquet", top_k=0)
    table = pq.read_table(tmp_path / "y.parquet")
    assert table.column("id").to_pylist() == [f"r{n}" for n in range(100)]
    assert np.array_equal(np.stack(table.column("y").to_numpy()), values * 2)


def test_columns_of_another_type_are_refused_at_once_unless_cast(session: ai.Session) -> None:
    pa = pytest.importorskip("pyarrow")
    found: list[Any] = []
    for values in (pa.array([0.5], pa.float64()), pa.array([16777217], pa.int64()), pa.array([True])):
        table = pa.table(dict.fromkeys("abcd", values))
        with pytest.raises(InvalidOptionError, match="expected float32.*cast="):
            session.score(table, out=found.append)
    assert not found
    session.score(
        pa.table(dict.fromkeys("abcd", pa.array([0.5]))), out=found.append, top_k=0, cast="same_kind"
    )
    assert found[0].values["y"].tolist() == [1, 1, 1, 1]


def test_a_missing_id_is_the_rows_number(session: ai.Session, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": "a", "x": [1, 2, 3, 4]}\n{"id": null, "x": [1, 2, 3, 4]}\n')
    found: list[Any] = []
    session.score(tmp_path / "x.jsonl", out=found.append)
    assert [row.id for row in found] == ["a", "1"]
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"id": pa.array([7, None]), "x": list(np.ones((2, 4), np.float32))})
    del found[:]
    session.score(table, out=found.append)
    assert [row.id for row in found] == ["7", "1"]


def test_without_pyarrow_the_extra_is_named(
    session: ai.Session, numbers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"ascend-infer\[parquet\]"):
        session.score(numbers, out=tmp_path / "y.parquet")


def test_several_sessions_share_the_rows_and_have_to_be_alike(
    session: ai.Session, numbers: Path, tmp_path: Path
) -> None:
    with (
        ai.Session(session.path, device="cpu") as other,
        ai.Session(session.path, version=1, device="cpu") as old,
    ):
        done = score([session, other], numbers, out=tmp_path / "y.csv", batch=1)
        assert len(done.devices) == 2
        with pytest.raises(InvalidOptionError, match="version is 2 in one and 1 in another"):
            score([session, old], numbers, out=tmp_path / "z.csv")
    with pytest.raises(ClosedError):
        score([session, other], numbers, out=tmp_path / "z.csv")


def test_the_summary_says_what_would_be_faster(session: ai.Session, numbers: Path, tmp_path: Path) -> None:
    with ai.Session(session.path, device="cpu", instances=1, threads=2) as other:
        done = other.score(numbers, out=tmp_path / "y.csv", batch=1)
    if len(__import__("os").sched_getaffinity(0)) > 1:
        assert "this session has 1 instances of 2 threads" in str(done)
    assert "100 rows in" in str(done)
    assert "<table>" in done._repr_html_()


def test_a_session_scores_while_others_use_it(session: ai.Session, numbers: Path) -> None:
    def take(row: ScoredRow) -> None:
        assert session.infer({"x": np.ones((1, 4), np.float32)})["y"].tolist() == [[2] * 4]

    assert session.score(numbers, out=take).rows == 100


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"outputs": []}, r"outputs: got \[\], expected a list of output names, or None for all outputs"),
        ({"part_rows": 2**31}, "part_rows: got 2147483648, expected a whole number from 1 to 2147483647"),
    ],
)
def test_options_have_bounds(session: ai.Session, tmp_path: Path, options: Any, text: str) -> None:
    with pytest.raises(InvalidOptionError, match=text):
        session.score([[1, 2, 3, 4]], out=tmp_path / "out.csv", **options)
