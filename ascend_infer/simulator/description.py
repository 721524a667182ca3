"""What the simulator does not read from a real .om itself: parameters of static AIPP, and all of files before 2023."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ascend_infer import om
from ascend_infer.errors import ModelFileError
from ascend_infer.om.inout import pack_inout
from ascend_infer.om.parameters import aipp_entry

__all__ = ["describe_model"]


def describe_model(path: str | os.PathLike[str]) -> Path | None:
    """Write ``MODEL.om.sim.json`` beside a real .om that needs it: with static AIPP, or older than mid-2023.

    Older files have no description of their inputs and outputs that is apart from the graph; here it is derived from
    the graph, as ACL does when it loads them.

    The simulator reads it when it loads the model together with its ONNX twin.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Path or None
        The file written; None when the model needs none.

    Raises
    ------
    ModelFileError
        The model cannot be read, the file cannot be written, or its AIPP is one that cannot be simulated.
    """
    model = om.read(path)
    entries = [_entry(model, index) for index, tensor in enumerate(model.inputs) if tensor.aipp is not None]
    entries = [entry for entry in entries if entry is not None]
    described = model.graph_info if model.io_source == "graph" else None
    if not entries and described is None:
        return None
    target = Path(f"{os.fspath(path)}.sim.json")
    try:
        facts: dict[str, Any] = {"aipp": entries}
        if described is not None:
            facts["inout"] = pack_inout(described).hex()
        target.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise ModelFileError(
            f"{target} cannot be written: {error.strerror}", path=os.fspath(target), reason=str(error)
        ) from error
    return target


def _entry(model: om.OmModel, index: int) -> dict[str, Any] | None:
    tensor = model.inputs[index]
    aipp = tensor.aipp
    if aipp is None or aipp.mode != "static":
        return None
    if aipp.resize is not None:
        raise ModelFileError(
            f"input {tensor.name!r} has AIPP with a resize, which the simulator does not compute",
            path=None,
            reason="AIPP with resize",
        )
    _, height, width, _ = tensor.dims if len(tensor.dims) == 4 else (0, 0, 0, 0)
    # ONNX models take their pictures channels first; ATC records no layout of the original.
    return aipp_entry(index, aipp, "NCHW", (height, width), (height, width))
