from __future__ import annotations

import os
from pathlib import Path

import pytest

from ascend_infer.cpu_budget import cpu_budget

ALL = len(os.sched_getaffinity(0))


def machine(root: Path, group: str, files: dict[str, str]) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(group)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_without_groups_the_affinity_counts(tmp_path: Path) -> None:
    assert cpu_budget(tmp_path) == ALL


@pytest.mark.parametrize(
    ("group", "files"),
    [
        ("0::/\n", {"cpu.max": "100000 100000\n"}),
        ("0::/a/b\n", {"a/cpu.max": "50000 100000", "a/b/cpu.max": "max 100000"}),
        ("0::/host/path/of/the/container\n", {"cpu.max": "20000 100000"}),
        ("3:cpu,cpuacct:/x\n", {"cpu/x/cpu.cfs_quota_us": "100000", "cpu/x/cpu.cfs_period_us": "100000"}),
    ],
)
def test_the_smallest_quota_on_the_way_up_bounds_it(
    tmp_path: Path, group: str, files: dict[str, str]
) -> None:
    assert cpu_budget(machine(tmp_path, group, files)) == 1


@pytest.mark.parametrize(
    ("group", "files"),
    [
        ("0::/\n", {"cpu.max": "max 100000\n"}),
        ("0::/\n", {"cpu.max": "rubbish"}),
        ("0::/\n", {"cpu.max": "1 0"}),
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}),
        ("rubbish\n4:memory:/\n", {}),
    ],
)
def test_no_quota_is_no_bound(tmp_path: Path, group: str, files: dict[str, str]) -> None:
    assert cpu_budget(machine(tmp_path, group, files)) == ALL


def test_a_quota_above_the_affinity_gives_no_more(tmp_path: Path) -> None:
    assert cpu_budget(machine(tmp_path, "0::/\n", {"cpu.max": "99900000 100000"})) == ALL


def test_part_of_a_cpu_is_one(tmp_path: Path) -> None:
    assert cpu_budget(machine(tmp_path, "0::/\n", {"cpu.max": "1000 100000"})) == 1
