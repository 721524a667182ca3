"""The console block, the CSV file and the plot, of measurements made up here."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from ascend_infer.errors import InvalidOptionError
from ascend_infer.perf import Latencies, Levels, Measurement, ServerTimes, Settings
from ascend_infer.perf.console import (
    level_head,
    measurement_lines,
    settings_lines,
    summary_lines,
    warnings_of,
)
from ascend_infer.perf.csv_report import write_csv
from ascend_infer.perf.plot import plot
from ascend_infer.perf.target import SessionTarget

HEADER = (
    "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,"
    "Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency"
)


def measured(level: float = 2, throughput: float = 400.5, **other: Any) -> Measurement:
    fields = {
        "kind": "concurrency",
        "level": level,
        "stable": True,
        "windows": 3,
        "over_limit": False,
        "requests": 1000,
        "duration_s": 5.0,
        "throughput": throughput,
        "request_rate": 200.25,
        "latencies": Latencies(
            1000, 5_000_900.0, 250_000.0, {50: 4_900_000, 90: 6_000_000, 95: 7_000_000, 99: 8_000_999}
        ),
        "delayed": 0,
        "overhead": 0.0,
        "server": ServerTimes(
            2000, 500, 1000, 4_800_000_000, 100_000_000, 200_000_000, 4_000_000_000, 300_000_000
        ),
    }
    return Measurement(**{**fields, **other})


def test_the_block_is_perf_analyzers() -> None:
    assert [level_head("concurrency", 2), *measurement_lines(measured(), Settings())] == [
        "Request concurrency: 2",
        "  Client: ",
        "    Request count: 1000",
        "    Throughput: 400.5 infer/sec",
        "    Avg latency: 5000 usec (standard deviation 250 usec)",
        "    p50 latency: 4900 usec",
        "    p90 latency: 6000 usec",
        "    p95 latency: 7000 usec",
        "    p99 latency: 8000 usec",
        "    ",
        "  Server: ",
        "    Inference count: 2000",
        "    Execution count: 500",
        "    Successful request count: 1000",
        "    Avg request latency: 4800 usec (overhead 200 usec + queue 100 usec + compute input 200 usec + "
        "compute infer 4000 usec + compute output 300 usec)",
        "",
    ]
    assert level_head("rate", 12.5) == "Request Rate: 12.5 inference requests per seconds"
    assert summary_lines([measured()], Settings()) == [
        "Inferences/Second vs. Client Average Batch Latency",
        "Concurrency: 2, throughput: 400.5 infer/sec, latency 5000 usec",
    ]


def test_the_head_says_what_was_asked_for() -> None:
    lines = settings_lines(
        Levels("rate", 10, 30, 10),
        Settings(mode="count_windows", percentile=95, latency_limit_ms=7, distribution="poisson", batch=4),
        "m on cpu",
    )
    assert lines == [
        "*** Measurement Settings ***",
        "  Batch size: 4",
        "  Service Kind: in-process (m on cpu)",
        '  Using "count_windows" mode for stabilization',
        "  Stabilizing using p95 latency and throughput",
        "  Minimum number of samples in each window: 50",
        "  Latency limit: 7 msec",
        "  Request Rate limit: 30 requests per second",
        "  Using poisson distribution on request generation",
        "  Using synchronous calls for inference",
        "",
    ]


def test_doubtful_figures_are_said_to_be_so() -> None:
    assert warnings_of(measured(), Settings()) == []
    [unstable] = warnings_of(measured(stable=False, windows=10), Settings())
    assert "not stable within 10 measurement windows" in unstable
    [late] = warnings_of(measured(kind="rate", delayed=500), Settings(callers=3))
    assert "50 % of the requests were sent after they were due, because all 3 callers" in late
    [busy] = warnings_of(measured(overhead=0.25), Settings())
    assert "25 % of their time outside of requests" in busy


def test_the_csv_file_has_perf_analyzers_columns_by_ascending_throughput(tmp_path: Path) -> None:
    path = tmp_path / "perf.csv"
    write_csv(path, [measured(2, 400.5), measured(1, 300), measured(4, 350)], "concurrency")
    lines = path.read_text().splitlines()
    assert lines[0] == HEADER
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "4", "2"]
    row = next(csv.DictReader(lines[:1] + lines[3:]))
    assert row == {
        "Concurrency": "2",
        "Inferences/Second": "400.5",
        "Client Send": "0",
        "Network+Server Send/Recv": "400",
        "Server Queue": "100",
        "Server Compute Input": "200",
        "Server Compute Infer": "4000",
        "Server Compute Output": "300",
        "Client Recv": "0",
        "p50 latency": "4900",
        "p90 latency": "6000",
        "p95 latency": "7000",
        "p99 latency": "8000",
    }


def test_the_csv_files_further_columns(tmp_path: Path) -> None:
    path = tmp_path / "perf.csv"
    write_csv(path, [measured()], "rate", verbose=True)
    header, row = path.read_text().splitlines()
    assert (
        header
        == HEADER.replace("Concurrency", "Request Rate") + ",Avg latency,request/response,response wait"
    )
    assert row.split(",")[-3:] == ["5000", "0", "5000"]
    with pytest.raises(InvalidOptionError, match="cannot be written"):
        write_csv(tmp_path, [measured()], "rate")


def statistics_of(rows: int, executions: int, requests: int, *ns: int) -> dict[str, Any]:
    """Triton's statistics of one model."""
    parts = ("success", "queue", "compute_input", "compute_infer", "compute_output")
    inference_stats = {
        name: {"count": requests, "ns": sum_ns} for name, sum_ns in zip(parts, ns, strict=True)
    }
    model = {"name": "m", "inference_count": rows, "execution_count": executions}
    return {"model_stats": [{**model, "inference_stats": inference_stats}]}


def test_the_servers_times_come_from_tritons_statistics() -> None:
    found = ServerTimes.of_statistics(statistics_of(8, 2, 4, 100, 10, 20, 40, 20))
    assert found == ServerTimes(8, 2, 4, 100, 10, 20, 40, 20)
    assert found.overhead_ns == 2.5
    assert (found - found).mean("queue") == 0
    assert found + found - found == found


def test_a_session_that_keeps_statistics_is_asked_for_them() -> None:
    class Keeping:
        def infer(self, inputs: object) -> object:
            return object()  # without times of its own

        def statistics(self) -> dict[str, Any]:
            return statistics_of(8, 2, 4, 100, 10, 20, 40, 20)

    target = SessionTarget(Keeping())
    target.infer({})
    assert target.times() == ServerTimes(8, 2, 4, 100, 10, 20, 40, 20)


def test_the_plot_is_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path = tmp_path / "load.png"
    plot(path, [measured(1, 300), measured(2, 400)], "m on cpu")
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidOptionError, match="cannot be written"):
        plot(tmp_path / "load.nonsense", [measured()], "m")
