"""kill -9 at chosen moments of a scoring run; the next run ends with the bytes of one that was never killed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from photos import colours_directory, photo_folder

import ascend_infer as ai

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

#: Kills itself when a function of the system has been called with a path that ends so, that many times.
CHILD = """
import os, shutil, signal, sys
from ascend_infer.cli import main

module, name, ending, count, when = sys.argv[1:6]
real = getattr({"os": os, "shutil": shutil}[module], name)
left = int(count)

def path_of(given):
    return os.readlink(f"/proc/self/fd/{given}") if isinstance(given, int) else os.fspath(given)

def call(*given, **options):
    global left
    if left and path_of(given[-1] if name == "replace" else given[0]).endswith(ending):
        left -= 1
        if left == 0:
            if when == "after":
                real(*given, **options)
            os.kill(os.getpid(), signal.SIGKILL)
    return real(*given, **options)

setattr({"os": os, "shutil": shutil}[module], name, call)
sys.exit(main(sys.argv[6:]))
"""

MOMENTS = {
    "before the first part": ("os", "replace", ".manifest.json", 1, "after"),
    "in the middle of a part": ("os", "fsync", "part-00000002{suffix}.tmp", 1, "before"),
    "between a part and its record": ("os", "replace", "part-00000002{suffix}", 1, "after"),
    "while the output is put together": ("os", "fsync", ".parts/whole", 1, "before"),
    "between the output and its manifest": ("os", "replace", "{out}", 1, "after"),
    "while the parts are taken away": ("shutil", "rmtree", ".parts", 1, "before"),
}
SUFFIXES = {"y.csv": ".csv", "y.parquet": ".arrow", "y": ".npz"}


def files_of(path: Path) -> dict[str, bytes]:
    return {item.name: item.read_bytes() for item in (sorted(path.iterdir()) if path.is_dir() else [path])}


def child(code: str, *words: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ASCEND_INFER_DEVICE": "cpu"}
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True, text=True, timeout=120, env=environment, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("moment", "out"),
    [
        ("before the first part", "y.csv"),
        ("in the middle of a part", "y.parquet"),
        ("between a part and its record", "y.csv"),
        ("while the output is put together", "y.parquet"),
        ("between the output and its manifest", "y"),
        ("while the parts are taken away", "y"),
    ],
)
def test_a_killed_run_ends_as_if_it_had_not_been(tmp_path: Path, moment: str, out: str) -> None:
    if out == "y.parquet":
        pytest.importorskip("pyarrow")
    model, photos = colours_directory(tmp_path), photo_folder(tmp_path, 50)
    (photos / "0033.jpg").write_bytes(b"no picture")
    (tmp_path / "whole").mkdir()
    with ai.Session(model, device="cpu", instances=2, threads=1) as session:
        session.score(photos, out=tmp_path / "whole" / out, batch=2, part_rows=8)
    module, function, ending, count, when = MOMENTS[moment]
    ending = ending.format(suffix=SUFFIXES[out], out=f"{tmp_path.name}/{out}")
    words = ["score", model, photos, "--out", tmp_path / out, "--batch", 2, "--part-rows", 8]
    killed = child(CHILD, module, function, ending, count, when, *words)
    assert killed.returncode == -9, killed.stderr
    # And once more at the same moment, for a run that goes on may be killed too.
    child(CHILD, module, function, ending, count, when, *words)
    ended = child("import sys; from ascend_infer.cli import main; sys.exit(main(sys.argv[1:]))", *words)
    assert ended.returncode == 1, ended.stderr  # one picture is none
    assert files_of(tmp_path / out) == files_of(tmp_path / "whole" / out)
    assert {path.name for path in tmp_path.iterdir()} == {
        "colours",
        "photos",
        "whole",
        out,
        f"{out}.manifest.json",
    }
    again = child("import sys; from ascend_infer.cli import main; sys.exit(main(sys.argv[1:]))", *words)
    assert "50 of them from an earlier run" in again.stdout
