"""``ascend-infer perf``: small real runs, and what is refused."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from cli_run import Cli
from onnx import TensorProto, helper
from scale_model import scale_directory

from ascend_infer.cli.measuring.refused_options import REFUSED

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)
#: Windows of a shared machine seldom agree within 10 %: these runs are about what is printed.
CPU = ("--device", "cpu")
QUICK = (*CPU, "-p", "20", "-s", "10000")


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    return scale_directory(tmp_path)


def test_a_sweep_prints_blocks_and_writes_the_csv_file(cli: Cli, scale: Path, tmp_path: Path) -> None:
    done = cli("perf", scale, *QUICK, "--concurrency-range", "1:2", "-b", "4", "-f", tmp_path / "p.csv")
    assert done.code == 0, done
    assert "Batch size: 4" in done.out
    assert re.findall(r"^Request concurrency: (\d)$", done.out, re.MULTILINE) == ["1", "2"]
    counts = re.findall(r"Request count: (\d+)", done.out)
    infer_counts = re.findall(r"Inference count: (\d+)", done.out)
    assert len(counts) == 2
    for requests, inferences in zip(counts, infer_counts, strict=True):
        # A request that ends at a window's edge may be counted by one side and not yet by the other.
        assert abs(int(inferences) - 4 * int(requests)) <= 4 * 2
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert sorted(row["Concurrency"] for row in rows) == ["1", "2"]
    assert all(float(row["Inferences/Second"]) > 0 and int(row["p99 latency"]) > 0 for row in rows)


def test_a_fixed_number_of_requests_as_json(cli: Cli, scale: Path) -> None:
    done = cli("perf", "-m", scale, "-x", "2", "--device", "cpu", "--request-count", "25", "--json")
    assert done.code == 0, done
    [found] = done.json["measurements"]
    assert (done.json["version"], found["requests"], found["server"]["request_count"]) == (2, 25, 25)
    assert found["latency_us"]["p50"] <= found["latency_us"]["p99"]
    # One caller sends one request after the other.
    assert found["throughput"] * found["latency_us"]["mean"] <= 1e6


def test_a_rate_is_kept(cli: Cli, scale: Path) -> None:
    done = cli(
        "perf", scale, "--device", "cpu", "--request-rate-range", "200", "--request-count", "20", "--json"
    )
    assert done.code == 0, done
    [found] = done.json["measurements"]
    assert found["request_rate"] == 200
    # Twenty requests, 5 ms apart: the last is due at 95 ms, and none is sent before its time.
    assert found["requests"] == 20
    assert found["duration_s"] >= 0.095


def test_ctrl_c_keeps_the_levels_that_were_finished(
    cli: Cli, scale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ascend_infer.perf

    whole = ascend_infer.perf.sweep

    def interrupted(*args: Any, **options: Any) -> Iterator[Any]:
        yield next(iter(whole(*args, **options)))
        raise KeyboardInterrupt

    monkeypatch.setattr(ascend_infer.perf, "sweep", interrupted)
    words = ("--request-count", "5", "--concurrency-range", "1:9", "-f", tmp_path / "p.csv")
    done = cli("perf", scale, *CPU, *words)
    assert done.code == 130
    assert "the levels that were finished" in done.err
    assert "Concurrency: 1, throughput" in done.out
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 2


def test_data_of_a_file_is_sent(cli: Cli, scale: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text(json.dumps({"data": [{"x": [1, 2, 3, 4]}, {"x": [5, 6, 7, 8]}]}))
    done = cli("perf", scale, *CPU, "--input-data", data, "-b", "2", "--request-count", "5")
    assert done.code == 0, done
    assert "Request count: 5" in done.out


def test_a_latency_limit_ends_the_sweep_with_1(cli: Cli, tmp_path: Path) -> None:
    model = made.write(made.looping(32), tmp_path / "loop.onnx")
    done = cli(
        "perf",
        model,
        *QUICK,
        "--range",
        "times:2000,2000",
        "--concurrency-range",
        "1:0",
        "-l",
        "1",
        "-r",
        "3",
    )
    assert done.code == 1, done
    assert "Request concurrency: 1" in done.out
    assert "Request concurrency: 2" not in done.out


def test_token_ids_come_from_the_models_table(cli: Cli, tmp_path: Path) -> None:
    model = made.model_of(
        [helper.make_node("Gather", ["table", "ids"], ["y"])],
        [made.value("ids", TensorProto.INT64, ["n", "t"])],
        [made.value("y", TensorProto.FLOAT, ["n", "t", 2])],
        {"table": np.zeros((3, 2), np.float32)},
    )
    path = made.write(model, tmp_path / "m.onnx")
    done = cli("perf", path, *CPU, "--shape", "ids:100", "--request-count", "3")
    assert done.code == 0, done
    assert "--shape ids:d" in cli.refused("perf", path, *QUICK)
    # Beyond the table the model itself fails, and that ends the measurement.
    beyond = ("--shape", "ids:100", "--range", "ids:3,9")
    assert "ids" not in cli("perf", path, *QUICK, *beyond).out


def normal(text: str) -> str:
    """Leave out the figures, and how many windows it took."""
    kept = [line for line in text.splitlines() if "Pass [" not in line]
    return re.sub(r"\d+(\.\d+)?(e\+\d+)?", "N", "\n".join(line.rstrip() for line in kept)).strip()


def test_the_page_shows_what_is_printed(
    cli: Cli, scale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "perf.md").read_text()
    [(line, shown)] = re.findall(r"^\$ ascend-infer (perf .*)\n((?:(?!```).*\n)*)", page, re.MULTILINE)
    (tmp_path / "model_repository").mkdir()
    scale.rename(tmp_path / "model_repository" / "scale")
    monkeypatch.chdir(tmp_path)
    done = cli(*shlex.split(line), *QUICK)
    assert done.code == 0, done
    assert normal(done.out) == normal(shown)
    assert (tmp_path / "scale.csv").read_text().splitlines()[0] in page


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-u", "localhost:8001"], "-u of perf_analyzer is not taken: there is no server"),
        (["--service-kind=triton"], "there is no server"),
        (["--async"], "use --request-rate-range"),
        (["-t", "4"], "use --concurrency-range N"),
        (["--model-repository=x"], "ascend-infer perf REPOSITORY/NAME"),
        (["--shared-memory", "system"], "passed by reference"),
        (["--binary-search"], "smaller STEP"),
    ],
)
def test_options_about_a_server_say_what_to_use(cli: Cli, scale: Path, words: list[str], text: str) -> None:
    assert text in cli.refused("perf", scale, *words)


def test_every_refused_option_is_refused_with_and_without_a_value(cli: Cli, scale: Path) -> None:
    for options, sentence in REFUSED:
        for option in options:
            assert f"{option} of perf_analyzer is not taken: {sentence}" in cli.refused("perf", scale, option)
            assert sentence in cli.refused("perf", scale, option, "1")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--concurrency-range", "1:0"], "-l MILLISECONDS"),
        (["--concurrency-range", "x"], "got 'x'"),
        (["--percentile", "100"], "expected 1 to 99"),
        (["--max-threads", "2"], "--max-threads is for --request-rate-range"),
        (["--measurement-request-count", "9"], "--measurement-mode count_windows"),
        (["--verbose-csv"], "-f FILE"),
        (
            ["--request-count", "5", "-r", "3"],
            "--max-trials is for windows until three agree (no --request-count)",
        ),
        (["--input-data", "x.json", "--string-data", "a"], "--string-data is for made-up inputs"),
        (["--input-data", "zero", "--range", "x:0,1"], "--range is for --input-data random"),
        (["--shape", "z:1"], "has no input 'z'"),
        (["--shape", "4"], "expected NAME:3,224,224"),
        (["--shape", "x:5"], "got shape [5], expected [4]"),
        (["-b", "9"], "max_batch_size 8"),
        (["-f", "nowhere/p.csv"], "whose folder is not there"),
        (["-m", "other"], "got 2 models, expected one"),
    ],
)
def test_what_cannot_be_measured_is_said_before(cli: Cli, scale: Path, words: list[str], text: str) -> None:
    assert text in cli.refused("perf", scale, "--device", "cpu", *words)
