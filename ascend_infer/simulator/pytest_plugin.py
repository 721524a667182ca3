"""A fixture for tests of programs that use ACL; in conftest.py:

    pytest_plugins = ["ascend_infer.simulator.pytest_plugin"]

``simulator`` is a running Simulator. Mark a test with other options::

    @pytest.mark.simulator(SimulatorOptions(devices=2, virtual_time=True))
    def test_two_cards(simulator): ...

A test that passes but leaves something behind, or does what a card would punish, fails at its end.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ascend_infer.simulator.control import Simulator
from ascend_infer.simulator.options import SimulatorOptions

__all__ = ["pytest_configure", "simulator"]


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", "simulator(options): the SimulatorOptions of this test's simulator")


@pytest.fixture
def simulator(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    """Give a simulated machine; nothing of it may be left in use at the end."""
    mark = request.node.get_closest_marker("simulator")
    options = mark.args[0] if mark is not None and mark.args else SimulatorOptions()
    with Simulator(options) as running:
        yield running
        stats = running.stats()
    left = {
        "models": stats.models,
        "pinned blocks": stats.pinned_blocks,
        "device allocations": sum(device.allocations for device in stats.devices),
        "events": sum(device.events for device in stats.devices),
        "streams": stats.handles.get("stream", 0),
    }
    problems = [f"{count} {what} left" for what, count in left.items() if count]
    problems += [f"{what} ({count} times)" for what, count in stats.violations.items()]
    if problems:
        pytest.fail("the simulated NPU: " + "; ".join(problems))
