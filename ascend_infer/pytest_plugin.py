"""The pytest plugin: fixtures for tests of applications that infer, with no NPU needed.

``simulated_npu``
    A simulated card; sessions with ``device="auto"`` run on it. Options by mark::

        @pytest.mark.simulated_npu(hbm_bytes=64 << 20, faults="aclrtMalloc@3=207001", time={"compute_item_us": 500})

``simulated_npu_factory``
    Makes one with options that the test computes.
``session_from_onnx``
    Opens sessions of ONNX models and closes them at the end.
``assert_no_leaks``
    Fails the test that leaves a session open, threads, or device memory in use.

pytest loads it by itself (``-p no:ascend_infer.pytest_plugin`` keeps it out). Loading it imports nothing but this file;
tests that use no fixture of it are not touched. PYTEST_DONT_REWRITE: there are no asserts to explain here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ascend_infer.simulator import Simulator, SimulatorOptions
    from ascend_infer.testing import LeakCheck, SessionFactory

__all__ = [
    "assert_no_leaks",
    "pytest_configure",
    "pytest_itemcollected",
    "session_from_onnx",
    "simulated_npu",
    "simulated_npu_factory",
]

_MARK = "simulated_npu"

#: Set up before all other fixtures of a test itself, in this order, so that they end after whatever uses them. Fixtures
#: of a wider scope come before: they are not the test's.
_FIRST = ("assert_no_leaks", "simulated_npu_factory", _MARK)


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers",
        f"{_MARK}(**options): run the test on a simulated NPU with these SimulatorOptions "
        "(hbm_bytes, faults, time, devices, virtual_time ...)",
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a marked test the fixture, and end the fixtures that check after those that are checked."""
    names: list[str] | None = getattr(item, "fixturenames", None)
    if names is None:
        return
    if item.get_closest_marker(_MARK) is not None and _MARK not in names:
        names.append(_MARK)
    first = [name for name in _FIRST if name in names]
    if first:
        others = [name for name in names if name not in first]
        definitions = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009 - not in pytest's types
        own = [
            name for name in others if name not in definitions or definitions[name][-1].scope == "function"
        ]
        names[:] = [name for name in others if name not in own] + first + own


@pytest.fixture
def simulated_npu(
    request: pytest.FixtureRequest, simulated_npu_factory: Callable[..., Simulator]
) -> Simulator:
    """Run the test on a simulated card; options come from its marks.

    It is the :class:`~ascend_infer.simulator.Simulator`: ``stats()``, ``set_faults()``, ``advance()``. A test that
    passes but leaves something on the card, or does what a card would punish, fails at its end.
    """
    options: dict[str, Any] = {}
    # A test's own mark comes over its class's and its module's.
    for mark in reversed(list(request.node.iter_markers(_MARK))):
        if mark.args:
            pytest.fail(f"@pytest.mark.{_MARK} takes options by name, got {mark.args[0]!r}", pytrace=False)
        options |= mark.kwargs
    return simulated_npu_factory(**options)


@pytest.fixture
def simulated_npu_factory(
    request: pytest.FixtureRequest, _compiled_models: Path
) -> Iterator[Callable[..., Simulator]]:
    """Make a simulated card with options by name; a second call ends the first one's card, checked."""
    from ascend_infer.errors import InvalidOptionError
    from ascend_infer.testing import SimulatedNpu, simulator_options

    failed = request.session.testsfailed
    stack = ExitStack()

    def finish() -> None:
        found = ""
        try:
            stack.close()
        except AssertionError as error:
            found = str(error)
        # What a failed test leaves is its traceback's.
        if found and request.session.testsfailed == failed:
            pytest.fail(found, pytrace=False)

    def make(**options: Any) -> Simulator:
        finish()
        try:
            chosen: SimulatorOptions = simulator_options(**options)
            return stack.enter_context(SimulatedNpu(chosen, cache=_compiled_models))
        except InvalidOptionError as error:
            wrong = str(error)
        pytest.fail(wrong, pytrace=False)

    yield make
    finish()


@pytest.fixture
def session_from_onnx(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionFactory]:
    """Open sessions of ONNX models: ``session_from_onnx(model, gears=(1, 4), config=..., **options)``.

    They are closed at the end. See :class:`~ascend_infer.testing.SessionFactory`.
    """
    from ascend_infer.testing import SessionFactory

    folder = tmp_path / "session_from_onnx"
    folder.mkdir()
    with SessionFactory(folder) as factory:
        yield factory


@pytest.fixture
def assert_no_leaks(request: pytest.FixtureRequest) -> Iterator[type[LeakCheck]]:
    """Fail the test that leaves a session open, threads, or device memory in use.

    Called in the test, ``with assert_no_leaks(): ...`` checks a block of it.
    """
    from ascend_infer.testing import LeakCheck

    failed = request.session.testsfailed
    check = LeakCheck()
    yield LeakCheck
    # What a failed test leaves is its traceback's.
    if request.session.testsfailed == failed and (left := check.found()):
        pytest.fail("left behind:" + "".join(f"\n  {line}" for line in left), pytrace=False)


@pytest.fixture(scope="session")
def _compiled_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where models are compiled for the simulated card, once in a run."""
    return tmp_path_factory.mktemp("ascend_infer_compiled")
