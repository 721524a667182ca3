"""A simulated machine, and pyACL's names over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ascend_infer.compat.acl import open_face
from ascend_infer.simulator import Simulator, SimulatorOptions


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(call_log=True)) as running:
        yield running
        assert running.live_handles() == []
        assert running.stats().violations == {}


@pytest.fixture
def acl(simulator: Simulator) -> Iterator[Any]:
    face: Any = open_face("sim")
    assert face.init() == 0
    assert face.rt.set_device(0) == 0
    yield face
    assert face.rt.reset_device(0) == 0
    assert face.finalize() == 0
