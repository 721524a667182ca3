"""The host's numbers, out of a /proc that the test writes."""

from __future__ import annotations

from pathlib import Path

from metric_pages import proc

from ascend_infer.metrics.host import HostReader, HostReading


def test_utilisation_is_that_between_two_readings(tmp_path: Path) -> None:
    folder = proc(tmp_path / "proc", busy=10, idle=90)
    reader = HostReader(folder)
    assert reader.read() == HostReading(0.1, 1_024_000, 614_400)
    proc(folder, busy=40, idle=100)
    assert reader.read().cpu_utilization == 0.75
    assert reader.read().cpu_utilization == 0.75  # within one tick


def test_where_there_is_no_proc_there_are_no_numbers(tmp_path: Path) -> None:
    assert HostReader(tmp_path / "none").read() == HostReading()


def test_files_of_another_form_are_no_numbers(tmp_path: Path) -> None:
    folder = proc(tmp_path / "proc")
    (folder / "stat").write_text("intr 1 2 3 4 5 6 7 8 9\n")
    (folder / "meminfo").write_text("MemTotal:\nMemAvailable: x\n")
    assert HostReader(folder).read() == HostReading()


def test_counters_that_fall_are_no_use(tmp_path: Path) -> None:
    folder = proc(tmp_path / "proc", busy=50, idle=50)
    reader = HostReader(folder)
    proc(folder, busy=10, idle=60)
    assert reader.read().cpu_utilization == 0.0
