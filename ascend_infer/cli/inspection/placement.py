"""Where a model would run on this machine, and why there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from ascend_infer.cli.inspection.subject import Subject
from ascend_infer.device import choose_device
from ascend_infer.errors import AscendInferError
from ascend_infer.model_source import find_source
from ascend_infer.options import SessionOptions

__all__ = ["Placement", "find_placement"]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a session would run the model.

    Attributes
    ----------
    device : str or None
        ``"cpu"``, ``"npu:0"``; None when it would not run.
    file : str
        What it would load; ``""`` when it would not run.
    reason : str
    """

    device: str | None
    file: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {"device": self.device, "file": self.file or None, "reason": self.reason}


def find_placement(subject: Subject, version: str | None, allow_paths: Sequence[str]) -> Placement:
    """Ask what a session asks, short of loading the model."""
    try:
        choice = choose_device()
        on_cpu = choice.target.kind == "cpu"
        source = find_source(
            SessionOptions.checked(
                path=subject.path,
                version=version,
                device="cpu",
                instances=None,
                threads=None,
                max_batch_size=None,
                providers=None,
                graph_optimization=None,
                cast="no",
                allow_paths=allow_paths,
            ),
            on_cpu,
        )
    except AscendInferError as error:
        return Placement(None, "", str(error).removeprefix(f"{os.path.abspath(subject.path)}: "))
    if not on_cpu:
        how = "compiled once with atc" if source.to_compile else choice.reason
        return Placement(str(choice.target), str(source.file), how)
    if find_spec("onnxruntime") is None:
        return Placement(
            None,
            "",
            "onnxruntime, which runs models on the CPU, is not installed: pip install 'ascend-infer[cpu]'",
        )
    return Placement("cpu", str(source.file), choice.reason)
