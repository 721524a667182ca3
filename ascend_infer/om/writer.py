"""Writing models for the simulator: a real .om container around an ONNX model. docs/om.md has the layout."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from ascend_infer.errors import InvalidOptionError
from ascend_infer.om.aipp import OmAipp
from ascend_infer.om.damage import file_error
from ascend_infer.om.header import SIMULATOR_MARK, VERSION_2, OmHeader, pack_header
from ascend_infer.om.inout import pack_inout
from ascend_infer.om.output_names import full_names
from ascend_infer.om.parameters import pack_parameters
from ascend_infer.om.partitions import pack_table
from ascend_infer.om.plan import Plan, make_plan
from ascend_infer.om.simulated import CONTAINER_VERSION, ONNX_PARTITION, PARAMETERS_PARTITION
from ascend_infer.om.simulator_graph import pack_modeldef
from ascend_infer.types import Gear, ModelSpec, TensorSpec

__all__ = ["write_simulator_model"]

_MODEL_DEF, _INOUT = 0, 8
_ALIGNMENT = 512


def write_simulator_model(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    onnx: bytes,
    spec: ModelSpec | None = None,
    inputs: Sequence[TensorSpec] | None = None,
    outputs: Sequence[TensorSpec] | None = None,
    gears: Sequence[Gear] | None = None,
    gear_outputs: Sequence[Sequence[Sequence[int]]] | None = None,
    shape_order: Sequence[str] = (),
    shape_ranges: Mapping[str, Sequence[tuple[int, int]]] | None = None,
    aipp: Mapping[str, OmAipp] | None = None,
    name: str = "model",
    soc: str = "",
    work_size: int | None = None,
    weight_size: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Write an .om file that the simulator runs, and that real CANN refuses.

    The file replaces another one at once (by rename); on any error the old one stays. Blocks while it writes.

    Parameters
    ----------
    path : path-like or binary file
        A file object is written to from where it stands and stays open.
    onnx : bytes
        The ONNX model, weights included. Not checked here: the simulator's onnxruntime does that.
    spec : ModelSpec
        The ONNX model's signature; or give ``inputs`` and ``outputs``, sequences of TensorSpec with the ONNX
        names, element types and shapes. -1 stands for open dimensions: with ``gears`` the gear fills them,
        without it the model is one of true dynamic shape.
    gears : sequence of Gear, optional
        All of one kind, 1 to 100; by default those of ``spec``. Kind "batch" fills the first dimension, "hw"
        two dimensions of each image input, "dims" every -1 in the order of ``shape_order``.
    gear_outputs : sequence over gears, of sequences over outputs, of dims, optional
        What comes out in each gear. Not needed for batch gears whose outputs are open in the batch only.
    shape_order : sequence of str
        Dims gears: names of inputs in the order in which the values fill them; by default index order.
    shape_ranges : mapping of tensor name to (low, high) per dimension, optional
        Limits for true dynamic shape; high -1 for none. By default 1 and none.
    aipp : mapping of input name to OmAipp, optional
        Static preprocessing: the caller then feeds uint8 pictures in place of the ONNX input.
    name, soc : str
        The model's name; the SoC to simulate.
    work_size, weight_size : int, optional
        Bytes that ``aclmdlQuerySize`` is to answer; by default what inputs and outputs take, and ONNX's size.
    options : mapping, optional
        Simulator options that travel with the model; plain JSON values.

    Raises
    ------
    InvalidOptionError
        When the arguments do not fit together; nothing is written.
    ModelFileError
        When the file cannot be written.
    """
    if not onnx:
        raise InvalidOptionError("onnx: got no bytes, expected an ONNX model", option="onnx", got=0)
    if spec is not None:
        if inputs is not None or outputs is not None:
            raise InvalidOptionError("spec: give it or inputs and outputs, not both", option="spec")
        inputs, outputs = spec.inputs, spec.outputs
        gears = spec.gears if gears is None else gears
    if inputs is None or outputs is None:
        raise InvalidOptionError("spec: missing; give it, or inputs and outputs", option="spec")
    for option, text in (("name", name), ("soc", soc)):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidOptionError(f"{option}: {error}", option=option, got=repr(text)) from error
    names = full_names(onnx, [tensor.name for tensor in outputs])
    plan = make_plan(
        inputs, outputs, names, gears or (), gear_outputs, shape_order, shape_ranges or {}, aipp or {}
    )
    work = _bytes_option("work_size", work_size, _work_size(plan))
    weights = _bytes_option("weight_size", weight_size, len(onnx))
    if plan.dynamic == "shape":
        work = 0
    described = pack_inout(plan.info)
    graph = pack_modeldef(plan, name, soc, work, weights)
    parameters = pack_parameters(plan, name, soc, work, weights, options or {})
    header = OmHeader(
        version=VERSION_2, model_type=0, generation_mode=0, name=name, length=0, model_length=0,
        is_encrypted=False, ir_version=2, model_count=1, platform_version="ascend_infer", platform_type=0,
        needs_host_check=False, is_unknown_shape=plan.dynamic == "shape",
        user_info=f"{SIMULATOR_MARK}{CONTAINER_VERSION}",
    )  # fmt: skip
    pieces = [
        pack_header(header),
        pack_table([(_INOUT, len(described)), (_MODEL_DEF, len(graph))]),
        described,
        graph,
        b"",
        parameters,
        onnx,
    ]
    if sum(map(len, pieces)) + 28 >= 1 << 32:
        raise InvalidOptionError(
            f"onnx: got {len(onnx):,} bytes, a simulator model takes less than 4 GiB",
            option="onnx",
            got=len(onnx),
        )
    pieces[4] = pack_table([(PARAMETERS_PARTITION, len(parameters)), (ONNX_PARTITION, len(onnx))])
    if isinstance(path, str | os.PathLike):
        _replace(path, pieces)
    else:
        path.writelines(pieces)


def _replace(path: str | os.PathLike[str], pieces: list[bytes]) -> None:
    """Write a file under another name and move it into place."""
    target = os.fsdecode(path)
    temporary = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.urandom(6).hex()}")
    try:
        try:
            with open(temporary, "xb") as file:
                file.writelines(pieces)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise file_error(target, f"cannot be written: {reason}", "Check the directory.") from error


def _bytes_option(option: str, given: int | None, default: int) -> int:
    if given is None:
        return default
    if type(given) is not int or not 0 <= given < 1 << 63:
        raise InvalidOptionError(f"{option}: got {given!r}, expected bytes", option=option, got=given)
    return given


def _work_size(plan: Plan) -> int:
    sizes = (tensor.size for tensor in (*plan.info.inputs, *plan.info.outputs))
    return min(sum(-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes), (1 << 63) - 1)
