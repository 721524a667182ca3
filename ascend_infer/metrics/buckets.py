"""Upper bounds of histograms: Triton's, which a configuration may change, and our own."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_infer.config import ModelConfig

__all__ = ["DURATION_POWERS", "RESPONSE_FAMILY", "response_bounds"]

logger = logging.getLogger("ascend_infer")

#: The one family whose buckets ``model_metrics`` can state.
RESPONSE_FAMILY = "nv_inference_first_response_histogram_ms"

_TRITONS_MS: tuple[float, ...] = (100.0, 500.0, 2000.0, 5000.0)

#: Bounds of ``ascend_request_duration_seconds`` are 2**power nanoseconds: 16 us to 69 s. At powers of two our counts
#: are exact.
DURATION_POWERS = tuple(range(14, 37))


def response_bounds(config: ModelConfig | None) -> tuple[float, ...]:
    """Return the bounds in milliseconds that a configuration states, or Triton's own."""
    controls = config.model_metrics.metric_control if config is not None and config.model_metrics else ()
    found = _TRITONS_MS
    for control in controls:
        family = control.metric_identifier.family if control.metric_identifier is not None else ""
        if family != RESPONSE_FAMILY:
            logger.warning(
                "model_metrics: family %r has no buckets that can be stated; %s has", family, RESPONSE_FAMILY
            )
        elif control.histogram_options is not None and control.histogram_options.buckets:
            # Whole nanoseconds are what is counted by.
            bounds = {round(ms * 1e6) for ms in control.histogram_options.buckets if 0 < ms < 1e12}
            found = tuple(bound / 1e6 for bound in sorted(bounds - {0}))
    return found or _TRITONS_MS
