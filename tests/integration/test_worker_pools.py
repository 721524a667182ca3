"""Pickled sessions in the pools that people score with: joblib's loky, multiprocessing's spawn."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import onnx_models as made
import pytest

import ascend_infer

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

# A file of its own: workers import the functions from it.
HEAD = """
import json, os, sys, warnings
import numpy as np
import ascend_infer as ai
from ascend_infer.lifetime import open_sessions

warnings.simplefilter("error", ai.errors.UnclosedResourceWarning)

def work(session, number):
    row = np.full((1, 4), number, np.float32)
    value = float(session.infer({"x": row})["y"][0, 0])
    return value, os.getpid(), len(open_sessions()), session.device

def tell(found, session):
    values, workers, loaded, devices = zip(*found)
    print(json.dumps({
        "right": list(values) == [2.0 * number for number in range(len(values))],
        "workers": len(set(workers)), "here": os.getpid() in workers,
        "loaded": max(loaded), "devices": sorted(set(devices)),
    }))
"""

JOBLIB = """
from joblib import Parallel, delayed

if __name__ == "__main__":
    with ai.Session(sys.argv[1], device=sys.argv[2]) as session:
        with Parallel(n_jobs=2, batch_size=3) as pool:
            found = pool(delayed(work)(session, number) for number in range(48))
        tell(found, session)
"""

SPAWN = """
import multiprocessing
from functools import partial

if __name__ == "__main__":
    with ai.Session(sys.argv[1], device=sys.argv[2]) as session:
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            found = pool.map(partial(work, session), range(48), chunksize=3)
            pool.close()
            pool.join()
        tell(found, session)
"""

EXECUTOR = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

if __name__ == "__main__":
    with ai.Session(sys.argv[1], device=sys.argv[2]) as session:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, mp_context=spawn) as pool:
            found = list(pool.map(work, [session] * 24, range(24)))
        tell(found, session)
"""

POOLS = {"joblib": JOBLIB, "spawn": SPAWN, "ProcessPoolExecutor": EXECUTOR}


@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("pool", POOLS)
def test_a_worker_loads_the_model_once(tmp_path: Path, pool: str, device: str) -> None:
    """Every task brings a pickled session; a worker opens the first and works on with it."""
    if pool == "joblib":
        pytest.importorskip("joblib")
    script = tmp_path / "script.py"
    script.write_text(HEAD + POOLS[pool])
    model = made.model_directory(tmp_path, "scale", made.scale(2.0), "max_batch_size: 4")
    done = subprocess.run(
        [sys.executable, str(script), str(model), device],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(ascend_infer.__file__).parents[1]),
            "ASCEND_INFER_CACHE": str(tmp_path / "cache"),
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Error" not in done.stderr, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    told = json.loads(done.stdout)
    assert told.pop("workers") in (1, 2)
    named = "sim:0" if device == "sim" else device
    assert told == {"right": True, "here": False, "loaded": 1, "devices": [named]}
