"""Making a simulator model of an ONNX model: what ``atc`` does for a card."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ascend_infer import onnx_file
from ascend_infer.errors import InvalidOptionError, ModelFileError
from ascend_infer.om import OmAipp
from ascend_infer.om.computed_types import check_types
from ascend_infer.om.writer import write_simulator_model
from ascend_infer.same_file import is_same_file
from ascend_infer.simulator.gear_shapes import gear_outputs
from ascend_infer.types import Gear, TensorSpec

__all__ = ["compile_model"]


def compile_model(
    onnx: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    gears: Sequence[Gear] = (),
    dynamic: bool = False,
    aipp: Mapping[str, OmAipp] | None = None,
    soc: str = "",
    name: str | None = None,
    fp16: bool = False,
) -> None:
    """Write the .om that the simulator runs in place of the one that ``atc`` would make.

    Output sizes of each gear are found by running the model once in each, with onnxruntime, where its own
    declarations do not say them. Blocks while it does.

    Parameters
    ----------
    onnx, output : path-like
        The model, weights inside; the file to write.
    input_shapes : mapping of input name to dims, optional
        Dimensions in place of the model's own; -1 where a gear decides.
    gears : sequence of Gear
        All of one kind: batch sizes, image sizes, or values of all open dimensions.
    dynamic : bool
        Keep open dimensions open: a model of true dynamic shape.
    aipp : mapping of input name to OmAipp, optional
        Static preprocessing.
    soc : str
        The card that the model pretends to be for.
    name : str, optional
        The model's name; the file's where left out.
    fp16 : bool
        Round inputs and outputs through float16, as a card's models compute.

    Raises
    ------
    ModelFileError
        The ONNX model cannot be used, or has an input or output of a type that the simulator does not compute: text,
        FP8, complex numbers.
    InvalidOptionError
        Shapes are left open that neither gears nor ``dynamic`` fill, or the arguments do not fit the model; the output
        is the ONNX model itself.
    MissingDependencyError
        onnxruntime is needed and not installed.
    """
    shown = os.fspath(onnx)
    if is_same_file(onnx, output):
        raise InvalidOptionError(
            f"output {os.fspath(output)} is the model itself, {shown}, which would be lost; give another name",
            option="output",
            got=os.fspath(output),
        )
    described = onnx_file.read(onnx)
    if described.external_data:
        raise ModelFileError(
            f"{shown}: its weights are in other files ({', '.join(described.external_data)}), and a simulator model "
            "holds one; save the model with its weights inside",
            path=shown,
            reason="external weights",
        )
    if described.other_inputs:
        names = ", ".join(f"{key} ({kind})" for key, kind in described.other_inputs.items())
        raise ModelFileError(
            f"{shown}: inputs that are no tensors cannot be simulated: {names}",
            path=shown,
            reason="inputs that are no tensors",
        )
    check_types(shown, shown, described.spec)
    inputs = _shaped(shown, described.spec.inputs, input_shapes or {})
    outputs = described.spec.outputs
    open_inputs = tuple(tensor for tensor in inputs if -1 in tensor.shape)
    model = Path(onnx).read_bytes()
    if gears and not open_inputs:
        inputs = _open_batch(inputs, gears)
        # onnxruntime refuses other sizes than the declared ones; whether the model itself has them is seen below.
        model = onnx_file.relax_declared_shapes(model, [tensor.name for tensor in inputs])
        outputs = tuple(replace(tensor, shape=(-1,) * len(tensor.shape)) for tensor in outputs)
        open_inputs = inputs
    if open_inputs and not gears and not dynamic:
        raise InvalidOptionError(
            f"{shown}: these inputs have open dimensions: {', '.join(map(str, open_inputs))}. Give gears (--batch, "
            "--hw, --dims), fix them (--input-shape), or keep them open (--dynamic)",
            option="gears",
        )
    results = None
    if gears or any(-1 in tensor.shape for tensor in outputs):
        results = None if dynamic else gear_outputs(model, inputs, outputs, gears)
        if results is not None and not gears:
            outputs = tuple(
                replace(tensor, shape=shape) for tensor, shape in zip(outputs, results[0], strict=True)
            )
            results = None
    write_simulator_model(
        output,
        onnx=model,
        inputs=inputs,
        outputs=_opened(outputs, results) if results else outputs,
        gears=gears,
        gear_outputs=results,
        aipp=aipp,
        name=name or Path(onnx).stem,
        soc=soc,
        options={"fp16": True} if fp16 else None,
    )


def _shaped(
    shown: str, inputs: Sequence[TensorSpec], shapes: Mapping[str, Sequence[int]]
) -> tuple[TensorSpec, ...]:
    unknown = sorted(set(shapes) - {tensor.name for tensor in inputs})
    if unknown:
        raise InvalidOptionError(
            f"{shown} has no input {unknown[0]!r}; its inputs are {', '.join(tensor.name for tensor in inputs)}",
            option="input_shapes",
            got=unknown[0],
        )
    done = []
    for tensor in inputs:
        shape = tuple(shapes.get(tensor.name, tensor.shape))
        fits = len(shape) == len(tensor.shape) and all(
            own in (-1, given) or given == -1 for own, given in zip(tensor.shape, shape, strict=True)
        )
        if not fits:
            raise InvalidOptionError(
                f"{shown}: input {tensor} cannot have the shape {list(shape)}",
                option="input_shapes",
                got=str(list(shape)),
            )
        done.append(replace(tensor, shape=shape))
    return tuple(done)


def _open_batch(inputs: Sequence[TensorSpec], gears: Sequence[Gear]) -> tuple[TensorSpec, ...]:
    """Batch gears of a model whose batch is written as 1, as exporters leave it: open the first dimension."""
    if gears[0].kind != "batch":
        raise InvalidOptionError("the model has no open dimension that gears could fill", option="gears")
    fixed = [tensor for tensor in inputs if not tensor.shape or tensor.shape[0] != 1]
    if fixed:
        raise InvalidOptionError(
            f"batch gears need an open first dimension, or one that is 1: {fixed[0]}", option="gears"
        )
    return tuple(replace(tensor, shape=(-1, *tensor.shape[1:])) for tensor in inputs)


def _opened(
    outputs: Sequence[TensorSpec], results: Sequence[Sequence[Sequence[int]]]
) -> tuple[TensorSpec, ...]:
    """Outputs with -1 wherever the gears differ."""
    opened = []
    for index, tensor in enumerate(outputs):
        shapes = [tuple(gear[index]) for gear in results]
        if len({len(shape) for shape in shapes}) != 1:
            raise InvalidOptionError(
                f"output {tensor.name!r} has another number of dimensions in another gear", option="gears"
            )
        shape = tuple(values[0] if len(set(values)) == 1 else -1 for values in zip(*shapes, strict=True))
        opened.append(replace(tensor, shape=shape))
    return tuple(opened)
