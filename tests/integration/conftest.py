"""What several of these tests run on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_infer.simulator import Simulator


@pytest.fixture(params=["cpu", "sim"])
def device(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    if request.param == "cpu":
        yield "cpu"
        return
    with Simulator() as simulator:
        yield "sim"
        gc.collect()
        assert simulator.stats().violations == {}
        assert simulator.live_handles() == []
