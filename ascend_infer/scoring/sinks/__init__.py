"""Where rows go: one module a form, and :func:`open_sink`, which tells them apart by the output's name."""

from ascend_infer.scoring.sinks.choice import open_sink
from ascend_infer.scoring.sinks.sink import Sink

__all__ = ["Sink", "open_sink"]
