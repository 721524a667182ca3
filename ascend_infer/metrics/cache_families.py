"""Triton's families of its response cache, which there is none of here: their names and help, without samples."""

from __future__ import annotations

from ascend_infer.metrics.family import Family

__all__ = ["cache_families", "model_cache_families"]

_OF_A_MODEL = (
    ("nv_cache_num_hits_per_model", "Number of cache hits per model"),
    ("nv_cache_hit_duration_per_model", "Total cache hit duration per model, in microseconds"),
    ("nv_cache_num_misses_per_model", "Number of cache misses per model"),
    (
        "nv_cache_miss_duration_per_model",
        "Total cache miss (insert+lookup) duration per model, in microseconds",
    ),
)

_OF_ALL = (
    ("nv_cache_util", "Cache utilization [0.0 - 1.0]"),
    ("nv_cache_num_entries", "Number of responses stored in response cache"),
    ("nv_cache_num_hits", "Number of cache hits in response cache"),
    ("nv_cache_num_misses", "Number of cache misses in response cache"),
    ("nv_cache_num_lookups", "Number of cache lookups in response cache"),
    ("nv_cache_num_evictions", "Number of cache evictions in response cache"),
    ("nv_cache_lookup_duration", "Total cache lookup duration (hit and miss), in microseconds"),
    ("nv_cache_insertion_duration", "Total cache insertion duration, in microseconds"),
)


def model_cache_families() -> list[Family]:
    """Return those that Triton has for each model with a cache."""
    return [Family(name, "counter", text) for name, text in _OF_A_MODEL]


def cache_families() -> list[Family]:
    """Return those of the cache as a whole."""
    return [Family(name, "gauge", text) for name, text in _OF_ALL]
