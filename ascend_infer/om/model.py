"""What reading an .om file yields: :class:`OmModel` and its parts, frozen, none of them holding the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from ascend_infer.om.aipp import OmAipp
from ascend_infer.om.codes import data_type, dtype_name, format_name
from ascend_infer.om.damage import file_error
from ascend_infer.om.gears import OmGear
from ascend_infer.om.header import SIMULATOR_MARK, OmHeader
from ascend_infer.om.inout import InOutInfo
from ascend_infer.om.partitions import OmPartition
from ascend_infer.types import DataType, ModelSpec

__all__ = ["OmModel", "OmPart", "OmTensor", "trailing_name"]

_CANN_PATH = re.compile(r"/(?:ascend-toolkit|nnae|nnrt|cann)[-/](\d+\.\d[\w.]*)")
# An ONNX output in ACL's words: node:index:tensor, where node and tensor may hold colons too.
_FULL_NAME = re.compile(r"(.+?):(\d+):(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OmTensor:
    """One input or output.

    Attributes
    ----------
    name : str
        ACL's full name; an output's is ``"node:index:tensor"`` for models from ONNX.
    onnx_name : str
        The name in the model the file was converted from, as far as the file tells; else ``name``.
    dtype : DataType or None
        None where numpy has no such type; ``dtype_name`` always says what it is.
    dtype_code, format_code : int
        ``aclDataType`` and ``aclFormat``.
    dims : tuple of int
        ``aclmdlGetInputDims`` / ``aclmdlGetOutputDims``: -1 where a gear or the caller decides, outputs of a
        model with gears those of the largest one; (-2,) when not even the rank is known.
    dims_v2 : tuple of int
        ``aclmdlGetInputDimsV2``: what the caller feeds. Differs from ``dims`` under static AIPP.
    size : int
        Bytes (of the largest gear); 0 where open.
    shape_range : tuple of (int, int)
        Limits of each dimension of a dynamic-shape model, -1 for none; else empty.
    is_hidden : bool
        An input that the runtime feeds (``ascend_mbatch_shape_data``, ``ascend_dynamic_aipp_data``).
    aipp : OmAipp or None
        Preprocessing compiled into the model.
    """

    name: str
    onnx_name: str
    dtype_code: int
    format_code: int
    dims: tuple[int, ...]
    dims_v2: tuple[int, ...]
    size: int
    shape_range: tuple[tuple[int, int], ...] = ()
    is_hidden: bool = False
    aipp: OmAipp | None = None

    @property
    def dtype(self) -> DataType | None:
        """The element type; None where numpy has none such."""
        return data_type(self.dtype_code)

    @property
    def dtype_name(self) -> str:
        """``"FP32"``, ``"34 (HIFLOAT8)"``."""
        return dtype_name(self.dtype_code)

    @property
    def format_name(self) -> str:
        """``"NCHW"``, ``"format 29 (FRACTAL_NZ)"``."""
        return format_name(self.format_code)


def _whole(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 20 else 0


def trailing_name(name: str) -> str:
    """Return the ONNX tensor's name at the end of an output's full ACL name; the whole when it has none."""
    found = _FULL_NAME.fullmatch(name)
    return found[3] if found else name


@dataclass(frozen=True, slots=True)
class OmPart:
    """One compiled model in the file; files of unknown shape have several, the first is the root.

    Attributes
    ----------
    name : str
    partitions : tuple of OmPartition
    op_counts, task_counts : mapping of str to int
        Operators and tasks by type.
    kernel_names : tuple of str
    kernel_bytes : int
        Bytes of the kernels' code.
    host_libraries : tuple of str
        Shared objects inside the file, which run on the host.
    work_size, weight_size : int
        Bytes; 0 where the part says nothing.
    graph_names : tuple of str
    """

    name: str
    partitions: tuple[OmPartition, ...]
    op_counts: Mapping[str, int] = field(default_factory=dict)
    task_counts: Mapping[str, int] = field(default_factory=dict)
    kernel_names: tuple[str, ...] = ()
    kernel_bytes: int = 0
    host_libraries: tuple[str, ...] = ()
    work_size: int = 0
    weight_size: int = 0
    graph_names: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class OmModel:
    """Everything an .om file says of itself, without its weights.

    Attributes
    ----------
    path : str or None
        None for a model read from memory.
    kind : {"model", "om2", "bundle", "flow"}
        ``aclmdlLoadFromFile`` takes the first two.
    file_size : int
        Bytes.
    name : str
    header : OmHeader or None
        None for OM2, which is a ZIP.
    parts : tuple of OmPart
    inputs, outputs : tuple of OmTensor
        In ACL's index order, hidden inputs included.
    dynamic : {"static", "batch", "hw", "dims", "shape"}
        Fixed shapes, one of the three kinds of gears, or true dynamic shape.
    gears : tuple of OmGear
    io_source : {"inout_info", "graph", "om2", "none"}
        Where the tensors come from: MODEL_INOUT_INFO, or derived from the graph when the file has none.
    inout_info, graph_info : InOutInfo or None
        Both descriptions as far as the file has them; ``differences`` compares them.
    differences : tuple of str
        Where the two disagree: ``aclmdlGetDescFromFile`` says the first, ``aclmdlGetDesc`` the second.
    work_size, weight_size : int
        Bytes, as ``aclmdlQuerySize`` answers (0 work for dynamic shapes).
    attributes : mapping of str to str
        The model's own attributes that are single values: ``soc_version``, ``atc_cmdline`` ...
    external_weights : tuple of str
        Weight files that have to be in ``weight/`` beside the model.
    simulator : mapping or None
        A simulator model's parameters; docs/om.md lists them.
    simulator_onnx : (int, int) or None
        Offset and length of a simulator model's ONNX bytes in the file.
    members : tuple of OmModel
        Models inside a bundle or flow model.
    notes : tuple of str
        What is odd, each in a sentence.
    """

    path: str | None
    kind: Literal["model", "om2", "bundle", "flow"]
    file_size: int
    name: str
    header: OmHeader | None = None
    parts: tuple[OmPart, ...] = ()
    inputs: tuple[OmTensor, ...] = ()
    outputs: tuple[OmTensor, ...] = ()
    dynamic: Literal["static", "batch", "hw", "dims", "shape"] = "static"
    gears: tuple[OmGear, ...] = ()
    io_source: Literal["inout_info", "graph", "om2", "none"] = "none"
    inout_info: InOutInfo | None = None
    graph_info: InOutInfo | None = None
    differences: tuple[str, ...] = ()
    work_size: int = 0
    weight_size: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)
    external_weights: tuple[str, ...] = ()
    simulator: Mapping[str, Any] | None = None
    simulator_onnx: tuple[int, int] | None = None
    members: tuple[OmModel, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_simulator_model(self) -> bool:
        """Whether the file runs on this library's simulator only and holds no NPU code."""
        return self.header is not None and self.header.user_info.startswith(SIMULATOR_MARK)

    @property
    def soc_version(self) -> str:
        """The chip it was compiled for, ``"Ascend310P3"``; ``""`` in files of 2020, which do not say."""
        return self.attributes.get("soc_version", "")

    @property
    def atc_version(self) -> str:
        """The compiler's build, ``"7.6.0.1.220"``; ``""`` when unknown."""
        return self.attributes.get("atc_version", "")

    @cached_property
    def cann_version(self) -> str:
        """CANN's version, ``"8.0.0"``, from the path in ATC's command line; ``""`` when unknown."""
        found = _CANN_PATH.search(self.command_line.split(" --", 1)[0])
        return found[1] if found else ""

    @property
    def framework(self) -> str:
        """What it was converted from, ``"Onnx"``; ``""`` when unknown."""
        return self.attributes.get("framework_type", "")

    @property
    def command_line(self) -> str:
        """ATC's command line; ``""`` when unknown."""
        return self.attributes.get("atc_cmdline", "")

    @property
    def stream_count(self) -> int:
        """Streams that a run uses."""
        return _whole(self.attributes.get("stream_num"))

    @property
    def event_count(self) -> int:
        """Events that a run uses."""
        return _whole(self.attributes.get("event_num"))

    @property
    def op_counts(self) -> Mapping[str, int]:
        """Operators of the root part by type, the most frequent first."""
        return self.parts[0].op_counts if self.parts else {}

    @property
    def task_counts(self) -> Mapping[str, int]:
        """Device tasks of all parts by type."""
        counts: dict[str, int] = {}
        for part in self.parts:
            for kind, count in part.task_counts.items():
                counts[kind] = counts.get(kind, 0) + count
        return counts

    def spec(self) -> ModelSpec:
        """Return the model's signature as a caller sees it.

        Inputs are as they are fed (dims v2) without the runtime's own ones. Outputs keep their full ACL
        names; a dimension that differs between gears is -1, and so is the batch of an old file that does
        not list its gears' outputs. A tensor of unknown rank has the shape ``(-2,)``.

        Raises
        ------
        ModelFileError
            For bundles, flow models and element types that numpy does not have.
        """
        from ascend_infer.om.signature import model_spec

        return model_spec(self)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types; keys keep their names and meaning between releases."""
        from ascend_infer.om.show import model_json

        return model_json(self)

    def __repr__(self) -> str:
        def some(tensors: tuple[OmTensor, ...]) -> str:
            shown = [f"{t.name}: {t.dtype_name}{list(t.dims_v2)}" for t in tensors[:4] if not t.is_hidden]
            return "[" + ", ".join([*shown, "..."][: None if len(tensors) > 4 else -1]) + "]"

        gears = f", gears={[list(gear.values) for gear in self.gears[:8]]}" if self.gears else ""
        return (
            f"<OmModel {self.name!r}: {self.kind}, {self.dynamic}, inputs={some(self.inputs)}, "
            f"outputs={some(self.outputs)}{gears}>"
        )

    def _repr_html_(self) -> str:
        from ascend_infer.om.show import model_html

        return model_html(self)

    def output_index(self, name: str) -> int:
        """Return the position of an output by its full ACL name or its ONNX name.

        Raises
        ------
        ModelFileError
            When no output or more than one has the name.
        """
        exact = [i for i, tensor in enumerate(self.outputs) if tensor.name == name]
        found = exact or [i for i, tensor in enumerate(self.outputs) if tensor.onnx_name == name]
        if len(found) == 1:
            return found[0]
        names = ", ".join(repr(tensor.name) for tensor in self.outputs)
        how = "no output" if not found else f"{len(found)} outputs"
        raise file_error(
            self.path, f"{how} named {name!r}", f"Its outputs are: {names}. Use a full name or a position."
        )
