"""Batches of the acl backend that meet an instance at its end, and what it says of files that are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import acl_models as acl
import numpy as np
import onnx_models as made
import pytest

from ascend_infer.acl_codes import exception_for
from ascend_infer.backends.acl import _load_error
from ascend_infer.backends.base import DeviceTarget, LoadRequest
from ascend_infer.errors import AclInternalError, ClosedError, DeviceLostError, ModelLoadError
from ascend_infer.simulator import Simulator

FEED = {"x": np.ones((1, 4), np.float32)}


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator() as running:
        yield running
        acl.nothing_left(running)


@pytest.fixture
def model(simulator: Simulator, tmp_path: Path) -> Iterator[Any]:
    loaded = acl.load(acl.compiled(tmp_path, made.scale(2.0, (1, 4))), simulator)
    yield loaded
    loaded.close()


class EndingInstance:
    """An instance that another thread's fault ends, and that is closed to be loaded anew, while a batch comes."""

    def __init__(self, real: Any, error: Exception) -> None:
        self._real = real
        self._error = error
        self.retired = False
        self.left = False
        self.name = real.name

    def run_known(self, *_: object) -> None:
        self.retired = True
        raise self._error

    def close(self, timeout_ms: int = -1) -> None:
        self._real.close(timeout_ms)


@pytest.mark.parametrize("error", [ClosedError("closed"), AclInternalError("does not run again")])
def test_a_batch_that_came_too_late_for_an_instance_runs_on_the_next(
    model: Any, simulator: Simulator, error: Exception
) -> None:
    [run] = model.executables()
    run._instance = EndingInstance(run._instance, error)
    [got] = run.execute(FEED, ["y"])
    assert np.array_equal(got, FEED["x"] * 2)
    assert simulator.stats().calls["aclmdlLoadFromFileWithMem"] == 2


def test_it_hears_of_the_lost_device_that_ended_the_instance(model: Any) -> None:
    [run] = model.executables()
    run._instance = EndingInstance(run._instance, AclInternalError("does not run again"))
    run._lost = "aclrtMemcpyAsync answers 507010"
    with pytest.raises(DeviceLostError, match="answers 507010"):
        run.execute(FEED, ["y"])


def test_a_closed_device_stays_closed(model: Any) -> None:
    [run] = model.executables()
    run._instance = EndingInstance(run._instance, ClosedError("closed"))

    def reopen(name: str) -> Any:
        raise ClosedError("the device was closed")

    run._reopen = reopen
    with pytest.raises(ClosedError, match="the device was closed"):
        run.execute(FEED, ["y"])


@pytest.mark.parametrize(
    ("kind", "ours", "code", "has"),
    [
        ("sim", True, 145006, ("copied whole", "ascend-infer simulate compile")),
        ("sim", True, 545002, ("copied whole", "ascend-infer simulate compile")),
        ("sim", False, 545002, ("copied whole", "atc --soc_version=Ascend310P3")),
        ("npu", False, 145006, ("copied whole", "atc --soc_version=Ascend310P3")),
        ("npu", False, 100012, ("compiled for Ascend910B4, the device is Ascend310P3", "atc --soc_version")),
    ],
)
def test_a_wrong_chip_is_suspected_where_the_code_may_mean_it(
    kind: Any, ours: bool, code: int, has: tuple[str, ...]
) -> None:
    request = LoadRequest("net", Path("model.om"), device=DeviceTarget(kind))
    shared: Any = SimpleNamespace(device=SimpleNamespace(soc_name="Ascend310P3"))
    file: Any = SimpleNamespace(soc_version="Ascend910B4", is_simulator_model=ours)
    error = _load_error(request, shared, file, exception_for(code, "aclmdlQuerySize"))
    assert isinstance(error, ModelLoadError)
    first = str(error).splitlines()[0]
    assert all(text in first for text in has)
    assert ("compiled for" in first) == ("compiled for" in has[0])
    assert str(code) in str(error)
