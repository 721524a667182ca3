"""Memory over 500 cycles of opening a session, one request, closing it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from measure import machine, row

import ascend_infer as ai

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

CYCLES = 500
#: Cycles until allocators have reached their size.
WARM = 400


def resident() -> int:
    """Return resident memory in KiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("no VmRSS in /proc/self/status")


def main() -> None:
    import onnx_models

    print(machine())
    with tempfile.TemporaryDirectory() as root:
        config = 'platform: "onnxruntime_onnx" max_batch_size: 8'
        folder = onnx_models.model_directory(Path(root), "scale", onnx_models.scale(2.0), config)
        x = {"x": np.ones((1, 4), np.float32)}
        marks = []
        for cycle in range(CYCLES + WARM):
            with ai.Session(folder) as session:
                session.infer(x)
            if cycle >= WARM and (cycle - WARM) % 50 == 0:
                marks.append(resident())
    print("KiB every 50 cycles:", marks)
    grown = marks[-1] - marks[0]
    row(
        f"{CYCLES} open/close cycles",
        f"{grown:+d} KiB of {marks[0]}, {grown / CYCLES:+.2f} KiB a cycle",
        "flat",
    )


if __name__ == "__main__":
    main()
