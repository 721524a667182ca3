"""What models count: Prometheus text under Triton's names, Triton's statistics, numbers for people.

Importing this loads no extension and no prometheus_client. See docs/metrics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_infer.config import ModelConfig
    from ascend_infer.metrics.collector import Collector
    from ascend_infer.metrics.exposition import CONTENT_TYPE
    from ascend_infer.metrics.readings import DeviceReading, InstanceReading
    from ascend_infer.metrics.registration import Registration
    from ascend_infer.metrics.session_stats import SessionStats
    from ascend_infer.metrics.snapshot import CountersSnapshot

__all__ = [
    "CONTENT_TYPE",
    "Collector",
    "CountersSnapshot",
    "DeviceReading",
    "InstanceReading",
    "Registration",
    "SessionStats",
    "configure",
    "register",
    "text",
]

_PLACES = {
    "CONTENT_TYPE": "exposition",
    "Collector": "collector",
    "CountersSnapshot": "snapshot",
    "DeviceReading": "readings",
    "InstanceReading": "readings",
    "Registration": "registration",
    "SessionStats": "session_stats",
}


def text() -> str:
    """Return the metrics of all sessions of this process in Prometheus' text format, for an HTTP endpoint.

    Names, labels, help texts and units are Triton's (``nv_inference_...``, ``nv_gpu_...`` for NPUs); ours begin with
    ``ascend_``. Serve it as ``metrics.CONTENT_TYPE``.

    Notes
    -----
    Thread safety: may be called from any thread. Blocks as long as devices take to tell their memory; nothing that runs
    waits for it.
    """
    from ascend_infer.metrics.page import DEFAULT

    return DEFAULT.text()


def configure(
    *,
    counter_latencies: bool | None = None,
    histogram_latencies: bool | None = None,
    summary_latencies: bool | None = None,
    summary_quantiles: str | Iterable[float] | None = None,
) -> None:
    """Say which latency families are shown; what is left out stays as it is. Triton's ``--metrics-config`` by name.

    Parameters
    ----------
    counter_latencies : bool
        The ``nv_inference_..._duration_us`` counters; True at first.
    histogram_latencies : bool
        ``nv_inference_first_response_histogram_ms``; False at first.
    summary_latencies : bool
        The ``nv_inference_..._summary_us``, over the last 60 s; False at first. About 300 KB a model.
    summary_quantiles : iterable of float, or str
        Theirs; Triton's text, as in ``"0.5:0.05,0.99:0.001"``, is understood. 0.5, 0.9, 0.95, 0.99 and 0.999 at first.

    Raises
    ------
    InvalidOptionError
        A switch that is no bool, a quantile outside 0 to 1.
    """
    from ascend_infer.metrics.page import DEFAULT

    DEFAULT.registry.configure(
        counter_latencies=counter_latencies,
        histogram_latencies=histogram_latencies,
        summary_latencies=summary_latencies,
        summary_quantiles=summary_quantiles,
    )


def register(
    model: str,
    version: int | str | None = None,
    *,
    config: ModelConfig | None = None,
    device: str = "cpu",
    load_seconds: float | None = None,
    instances: Callable[[], InstanceReading] | None = None,
    devices: Mapping[str, Callable[[], DeviceReading]] | None = None,
) -> Registration:
    """Enter a loaded model, for whoever loads one; its counters are ``.counters`` of what this returns.

    Loads of the same model, version, tags and device are shown as one sum, which a reload continues: register the new
    load before the old one's ``close()``. A model on several devices registers once for each.

    Parameters
    ----------
    model : str
    version : int, str or None
        None, for a bare model file, is shown as 1.
    config : ModelConfig, optional
        For its ``metric_tags`` and ``model_metrics``.
    device : str
        ``"cpu"``, or what stands in the label ``gpu_uuid``: ``"npu:0"``.
    load_seconds : float, optional
        How long the load took.
    instances : callable, optional
        Asked at each scrape, on the scraping thread, for an :class:`InstanceReading`. What fails is left out.
    devices : mapping of str to callable, optional
        By device, asked at each scrape for a :class:`DeviceReading`; a device that several models name is asked once.

    Returns
    -------
    Registration
        Needs a ``close()``. The registry itself does not keep it, nor what it asks, alive.
    """
    from ascend_infer.metrics.page import DEFAULT

    return DEFAULT.registry.register(
        model,
        version,
        config=config,
        device=device,
        load_seconds=load_seconds,
        instances=instances,
        devices=devices,
    )


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
