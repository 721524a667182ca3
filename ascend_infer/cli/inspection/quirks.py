"""What is odd about a model and would surprise whoever runs it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ascend_infer.cli.inspection.described_file import DescribedFile
from ascend_infer.om import OmModel
from ascend_infer.onnx_file import OnnxFile
from ascend_infer.types import TensorSpec

__all__ = ["file_quirks"]

_CHANNELS = (1, 3, 4)
#: Pictures of this side or smaller are an exporter's example more often than a model's size.
_SMALL = 64


def file_quirks(file: DescribedFile) -> list[str]:
    """Return a sentence for each quirk of a model file."""
    if isinstance(file.facts, OmModel):
        return list(_om_quirks(file, file.facts))
    return list(_onnx_quirks(file.path, file.facts))


def _onnx_quirks(path: Path, facts: OnnxFile) -> Iterable[str]:
    if facts.weights_as_inputs:
        yield (
            f"{facts.weights_as_inputs} of its weights are listed as inputs too (IR version {facts.ir_version}); "
            "they are not to be fed and not shown"
        )
    for tensor in facts.spec.inputs:
        wanted = _dummy(tensor)
        if wanted:
            yield (
                f"input {tensor.name!r} declares the fixed shape {list(tensor.shape)}, which looks like the "
                f"exporter's example. If the model takes other sizes, state dims: {wanted} for it in config.pbtxt "
                "(and -1 in the outputs): the declared shapes are then ignored"
            )
    for name, kind in facts.other_inputs.items():
        yield f"input {name!r} is a {kind} and cannot be fed: only tensors can"
    for name, kind in facts.spec.not_tensors.items():
        yield f"output {name!r} is a {kind} and cannot be had: only tensors can"
    missing = [name for name in facts.external_data if not (path.parent / name).is_file()]
    if missing:
        listed = ", ".join(missing[:4])
        yield f"weights are missing: {listed} should be beside {path.name}; it does not load without"
    elif facts.external_data:
        shown = ", ".join(facts.external_data[:4])
        yield f"its weights are in {shown}, which must stay beside {path.name}"


def _dummy(tensor: TensorSpec) -> list[int] | None:
    """Return dims to state for a picture input whose declared shape cannot be meant."""
    shape = tensor.shape
    if len(shape) != 4 or min(shape) < 1 or shape[0] == 1:
        return None
    if shape[1] in _CHANNELS and max(shape[2:]) <= _SMALL:
        return [-1, shape[1], -1, -1]
    if shape[3] in _CHANNELS and max(shape[1:3]) <= _SMALL:
        return [-1, -1, -1, shape[3]]
    return None


def _om_quirks(file: DescribedFile, model: OmModel) -> Iterable[str]:
    if model.is_simulator_model:
        yield "it is a simulator model: it runs on this library's simulated NPU only, and a real one refuses it"
    if file.no_spec:
        yield file.no_spec
    missing = [
        name
        for name in model.external_weights
        if not (file.path.parent / "weight" / Path(name).name).is_file()
    ]
    if missing:
        yield f"weights are missing: {', '.join(missing[:4])} should be in {file.path.parent / 'weight'}"
    elif model.external_weights:
        yield f"its weights are in {len(model.external_weights)} files in {file.path.parent / 'weight'}"
    if model.dynamic == "shape":
        yield "its shapes are decided while it runs: CANN allocates work memory and outputs at each run"
    for difference in model.differences:
        yield f"the file contradicts itself: {difference}"
    yield from model.notes
