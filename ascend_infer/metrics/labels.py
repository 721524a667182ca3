"""The labels that a model's samples carry, by Triton's rules."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ascend_infer.metrics.family import Labels

__all__ = ["model_labels", "without_device"]


def model_labels(model: str, version: int | str | None, tags: Mapping[str, str], device: str) -> Labels:
    """Return a model's labels, sorted by name.

    Parameters
    ----------
    version : int, str or None
        None, a bare model file, counts as 1: the folder that Triton would want it in.
    tags : mapping of str to str
        The configuration's ``metric_tags``: each becomes a label with ``_`` before it. What a label's name cannot
        have is replaced by ``_``.
    device : str
        Anything but ``"cpu"`` becomes the label ``gpu_uuid``.
    """
    labels = {"model": model, "version": "1" if version is None else str(version)}
    for tag, value in tags.items():
        # Two underscores in front are Prometheus' own, and its servers drop such labels.
        name = "_" + (re.sub(r"[^a-zA-Z0-9_]", "_", tag).lstrip("_") or "tag")
        while name in labels:
            name += "_"
        labels[name] = value
    if device != "cpu":
        labels["gpu_uuid"] = device
    # A folder's name need not be text; a page must be.
    return tuple(sorted((name, _text(value)) for name, value in labels.items()))


def without_device(labels: Labels) -> Labels:
    """Leave the device out, for what is the model's as a whole."""
    return tuple(pair for pair in labels if pair[0] != "gpu_uuid")


def _text(value: str) -> str:
    return value.encode("utf-8", "replace").decode("utf-8")
