"""What an application's own tests use: a simulated card, sessions of small models, a check that nothing is left.

The pytest fixtures of :mod:`ascend_infer.pytest_plugin` are made of these; they work in any test framework. pytest is
not needed for them. docs/testing.md shows both.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ascend_infer.testing.leaks import LeakCheck, live_threads
    from ascend_infer.testing.machine import SimulatedNpu, simulator_options
    from ascend_infer.testing.sessions import SessionFactory

__all__ = ["LeakCheck", "SessionFactory", "SimulatedNpu", "live_threads", "simulator_options"]

_LATER = {
    "LeakCheck": "leaks",
    "SessionFactory": "sessions",
    "SimulatedNpu": "machine",
    "live_threads": "leaks",
    "simulator_options": "machine",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(f"ascend_infer.testing.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
