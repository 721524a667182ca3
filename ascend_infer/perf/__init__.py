"""How fast a model answers under load: perf_analyzer's measurement, inside one process.

What is measured, when a measurement is stable and what is printed are perf_analyzer's
(github.com/triton-inference-server/perf_analyzer, docs/ and inference_profiler.cc, 2025-12).
"""

from ascend_infer.perf.latencies import Latencies
from ascend_infer.perf.levels import Levels
from ascend_infer.perf.measurement import Measurement
from ascend_infer.perf.server_times import ServerTimes
from ascend_infer.perf.settings import Settings
from ascend_infer.perf.sweep import sweep

__all__ = ["Latencies", "Levels", "Measurement", "ServerTimes", "Settings", "sweep"]
