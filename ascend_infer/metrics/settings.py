"""Which of Triton's latency families are shown: its ``--metrics-config`` options by their names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ascend_infer.errors import InvalidOptionError

__all__ = ["MetricsSettings", "checked_settings"]


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """See :func:`ascend_infer.metrics.configure`."""

    counter_latencies: bool = True
    histogram_latencies: bool = False
    summary_latencies: bool = False
    summary_quantiles: tuple[float, ...] = (0.5, 0.9, 0.95, 0.99, 0.999)


def checked_settings(
    before: MetricsSettings,
    counter_latencies: bool | None,
    histogram_latencies: bool | None,
    summary_latencies: bool | None,
    summary_quantiles: str | Iterable[float] | None,
) -> MetricsSettings:
    """Return the settings with what is given in place of what was; InvalidOptionError for what does not do."""
    quantiles = before.summary_quantiles
    if summary_quantiles is not None:
        quantiles = _quantiles(summary_quantiles)
    return MetricsSettings(
        _switch("counter_latencies", counter_latencies, before.counter_latencies),
        _switch("histogram_latencies", histogram_latencies, before.histogram_latencies),
        _switch("summary_latencies", summary_latencies, before.summary_latencies),
        quantiles,
    )


def _switch(name: str, given: bool | None, before: bool) -> bool:
    if given is None:
        return before
    if not isinstance(given, bool):
        raise InvalidOptionError(f"{name}: got {given!r}, expected True or False", option=name, got=given)
    return given


def _quantiles(given: str | Iterable[float]) -> tuple[float, ...]:
    refused = InvalidOptionError(
        f"summary_quantiles: got {given!r}, expected numbers between 0 and 1, or Triton's text as in "
        "'0.5:0.05,0.99:0.001'",
        option="summary_quantiles",
        got=given,
    )
    items: list[object] = list(given.split(",")) if isinstance(given, str) else list(given)
    found = []
    for item in items:
        # Triton's allowed error, behind the colon, is not needed: ours is 1.6 % of the value.
        text = item.partition(":")[0] if isinstance(item, str) else item
        try:
            quantile = float(text)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise refused from None
        if not 0 <= quantile <= 1:
            raise refused
        found.append(quantile)
    if not found or len(set(found)) != len(found):
        raise refused
    return tuple(sorted(found))
