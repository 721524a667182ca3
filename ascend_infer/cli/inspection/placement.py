"""Where a model would run on this machine, and why there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ascend_infer import onnx_file
from ascend_infer.cli.inspection.subject import Subject
from ascend_infer.device import choose_device
from ascend_infer.errors import AscendInferError
from ascend_infer.loading import settle
from ascend_infer.om import OmModel
from ascend_infer.onnx_file import OnnxFile
from ascend_infer.onnx_file.runnable import why_not_runnable
from ascend_infer.options import SessionOptions

__all__ = ["Placement", "find_placement"]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a session would run the model.

    Attributes
    ----------
    device : str or None
        ``"cpu"``, ``"npu:0"``, ``"npu:0,npu:1"``; None when it would not run.
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
        source, choice, placed = settle(
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
            choose_device(),
        )
    except AscendInferError as error:
        return Placement(None, "", _why_not_found(subject, error))
    if choice.target.kind != "cpu":
        how = "compiled once with atc" if source.to_compile else choice.reason
        return Placement(",".join(str(share.device) for share in placed.shares), str(source.file), how)
    if find_spec("onnxruntime") is None:
        return Placement(
            None,
            "",
            "onnxruntime, which runs models on the CPU, is not installed: pip install 'ascend-infer[cpu]'",
        )
    refusal = _refusal(source.file, subject)
    if refusal:
        return Placement(None, "", refusal)
    return Placement("cpu", str(source.file), choice.reason)


def _why_not_found(subject: Subject, error: AscendInferError) -> str:
    reason = str(error).removeprefix(f"{os.path.abspath(subject.path)}: ").removeprefix(f"{subject.path}: ")
    facts = subject.primary.facts if subject.primary is not None else None
    if "does not run on the CPU" in reason and isinstance(facts, OmModel) and facts.is_simulator_model:
        reason += '. The simulated NPU runs it: device="sim"'
    return reason


def _refusal(file: Path, subject: Subject) -> str:
    """Return why a session would refuse the file on the CPU, empty when its description does not say so."""
    described = next((item for item in subject.files if item.path == file), None)
    try:
        facts = described.facts if described is not None else onnx_file.read(file)
        if not isinstance(facts, OnnxFile):
            return ""
        for tensor in (*facts.spec.inputs, *facts.spec.outputs):
            _ = tensor.dtype.numpy  # names a package that is missing
        return why_not_runnable(facts, file.parent) or ""
    except AscendInferError as error:
        return str(error)
