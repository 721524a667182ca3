"""Reading an .om file: from its first bytes to an :class:`OmModel`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ascend_infer.errors import InvalidOptionError
from ascend_infer.om.assemble import compare, dynamic_kind, model_attributes, tensors_and_gears, with_gears_of
from ascend_infer.om.damage import DamagedError, file_error
from ascend_infer.om.graph_io import GraphIo, derive_io
from ascend_infer.om.header import HEADER_SIZE, SIMULATOR_MARK, VERSION_2, OmHeader, parse_header
from ascend_infer.om.implausible import implausible
from ascend_infer.om.inout import InOutInfo, parse_inout
from ascend_infer.om.kind import file_kind
from ascend_infer.om.members import bundle_members, flow_members
from ascend_infer.om.model import OmModel, OmPart
from ascend_infer.om.modeldef import ModelDef, parse_modeldef
from ascend_infer.om.partitions import OmPartition, read_table
from ascend_infer.om.simulated import Simulated, read_simulated
from ascend_infer.om.source import Source, open_path
from ascend_infer.om.stores import Store, read_host_libraries, read_kernels
from ascend_infer.om.tasks import MAX_TASKS, TaskInfo, parse_tasks
from ascend_infer.wire import WireError

__all__ = ["read", "read_bytes", "simulator_onnx"]

_MODEL_DEF, _WEIGHTS, _TASK_INFO, _KERNELS, _AICPU_KERNELS, _SO_BINS, _INOUT = 0, 1, 2, 3, 4, 5, 8
_FLOW, _LITE, _BUNDLE = 3, 4, 5
_MAX_MODELS = 4096
_MAX_DEPTH = 2
_GE_PARTITIONS = 8
#: Bytes of a MODEL_DEF, MODEL_INOUT_INFO or TASK_INFO, which are read whole; of real models they have a few MiB.
LARGEST_DESCRIPTION = 256 * 1024 * 1024


def read(path: str | os.PathLike[str]) -> OmModel:
    """Read what an .om (or OM2) file says of itself.

    Reads header, tables, descriptions and graph by position; weights and kernels stay on the disk. Needs no
    CANN, no device and no protobuf package. Blocks for the time of these reads. Safe from any thread.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    OmModel
        Holds no file and no reference to its bytes.

    Raises
    ------
    ModelFileError
        When there is no such file, it is damaged, or it is something else; with ``path``, ``offset`` and
        ``reason``, and what to do in its text.
    """
    with open_path(path) as source:
        return _read_source(source, 0)


def read_bytes(data: bytes | bytearray | memoryview, name: str | None = None) -> OmModel:
    """Read a model that is in memory; copies its description, keeps no reference to ``data``.

    Parameters
    ----------
    data : bytes-like, contiguous
    name : str, optional
        What errors call it.

    Raises
    ------
    ModelFileError
        As :func:`read` does.
    InvalidOptionError
        When ``data`` are no bytes.
    """
    try:
        view = memoryview(data).cast("B")
    except TypeError as error:
        raise InvalidOptionError(
            f"data: got {type(data).__name__}, expected contiguous bytes: {error}",
            option="data",
            got=repr(type(data)),
        ) from error
    return _read_source(Source(view, name, 0, view.nbytes), 0)


def simulator_onnx(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return offset and length, in bytes, of the ONNX model inside a simulator model's file.

    Raises
    ------
    ModelFileError
        When the file cannot be read or is no simulator model.
    """
    model = read(path)
    if model.simulator_onnx is None:
        raise file_error(
            model.path, "is no simulator model: it holds no ONNX model",
            "Make one with: ascend-infer simulate compile model.onnx -o model.om",
        )  # fmt: skip
    return model.simulator_onnx


@contextmanager
def _parsing(source: Source, base: int) -> Iterator[None]:
    """Give damage that is found in a part of the file its path and its place in the whole file."""
    try:
        yield
    except (DamagedError, WireError) as error:
        raise file_error(source.path, error.reason, offset=source.begin + base + error.offset) from error


def _read_source(source: Source, depth: int) -> OmModel:
    # Attributes are decoded when somebody asks for them, wherever that is: damage that no part of the reader gave
    # a place of its own still comes out as the one exception of a model file.
    with _parsing(source, 0):
        return _read_parts(source, depth)


def _read_parts(source: Source, depth: int) -> OmModel:
    if depth > _MAX_DEPTH:
        raise file_error(source.path, "models are nested in models too deeply", offset=source.begin)
    if file_kind(source) == "zip":
        if depth:
            raise file_error(source.path, "a member of the bundle is a ZIP", offset=source.begin)
        from ascend_infer.om.om2 import read_om2

        return read_om2(source)
    with _parsing(source, 0):
        header = parse_header(source.read(0, min(source.size, HEADER_SIZE)))
    _refuse_foreign(source, header)
    notes = _check_length(source, header)
    with _parsing(source, 0):
        tables, end, table_notes = _tables(source, header)
    notes += table_notes
    simulated = None
    if header.user_info.startswith(SIMULATOR_MARK):
        with _parsing(source, 0):
            simulated = read_simulated(source, end, header)
            end = simulated.end
    if end != source.size:
        notes.append(f"{source.size - end:,} bytes follow the last partition")
    if header.model_type == _BUNDLE:
        return _container(source, header, tables, notes, depth)
    return _describe(source, header, tables, simulated, notes, depth)


def _refuse_foreign(source: Source, header: OmHeader) -> None:
    phone = header.model_type in (_FLOW, _LITE) or header.platform_version.startswith("3.5")
    if header.version < VERSION_2 and phone:
        raise file_error(
            source.path,
            f"is a Kirin (HiAI) phone model, platform {header.platform_version!r}, not one of CANN",
            "Convert the model with CANN's atc.", source.begin + 0x52,
        )  # fmt: skip
    if header.model_type == _LITE:
        raise file_error(
            source.path, "is an exeom (lite) model for Nano devices, which libascendcl does not load",
            "Convert the model with atc for a card: --soc_version=<your SoC>.", source.begin + 0x52,
        )  # fmt: skip
    if header.is_encrypted:
        raise file_error(
            source.path, "is encrypted, which CANN does not support", "Use the file from before that.",
            source.begin + 0x50,
        )  # fmt: skip


def _check_length(source: Source, header: OmHeader) -> list[str]:
    """Apply GE's length rule, the first thing it checks (145006)."""
    body, said = source.size - HEADER_SIZE, header.body_length
    if said == body or header.user_info.startswith(SIMULATOR_MARK):
        return []
    if header.model_type == _BUNDLE and said == source.size:
        return []  # the bundle writer counts the header too
    if body < said:
        raise file_error(
            source.path, f"is truncated: its header says that {said:,} bytes follow, the file has {body:,}",
            "The copy or download stopped early: copy it again.", source.begin + source.size,
        )  # fmt: skip
    if header.model_type in (_FLOW, _BUNDLE):
        return [f"the header says that {said:,} bytes follow, the file has {body:,}"]
    raise file_error(
        source.path,
        f"its header says that {said:,} bytes follow, the file has {body:,}; CANN refuses it (145006)",
        "The file is damaged or something was appended to it: copy or convert it again.", source.begin + 0x4C,
    )  # fmt: skip


def _tables(source: Source, header: OmHeader) -> tuple[list[tuple[OmPartition, ...]], int, list[str]]:
    count = 1 if header.model_type in (_FLOW, _BUNDLE) else header.model_count
    if count > _MAX_MODELS:
        raise DamagedError(f"the header says that the file holds {count} models", 0x9C)
    tables, notes, end = [], [], HEADER_SIZE
    for _ in range(count):
        partitions, end, odd = read_table(source, end, wide=header.is_wide)
        tables.append(partitions)
        notes += odd
    return tables, end, notes[:16]


def _container(
    source: Source, header: OmHeader, tables: list[tuple[OmPartition, ...]], notes: list[str], depth: int
) -> OmModel:
    members = tuple(_read_source(part, depth + 1) for part in bundle_members(source, tables[0]))
    return OmModel(
        path=source.path,
        kind="bundle",
        file_size=source.size,
        name=header.name,
        header=header,
        parts=(OmPart(header.name, tables[0]),),
        work_size=max((member.work_size for member in members), default=0),
        weight_size=sum(member.weight_size for member in members),
        members=members,
        notes=tuple(notes),
    )


def _first(source: Source, partitions: tuple[OmPartition, ...], kind: int) -> tuple[bytes, int] | None:
    for partition in partitions:
        if partition.type == kind:
            if partition.size > LARGEST_DESCRIPTION:
                raise file_error(
                    source.path,
                    f"its {partition.name} has {partition.size:,} bytes, at most {LARGEST_DESCRIPTION:,} are read",
                    "No model's description is that large: copy or convert the file again.",
                    source.begin + partition.offset,
                )
            return source.read(partition.offset, partition.size), partition.offset
    return None


def _modeldefs(source: Source, tables: list[tuple[OmPartition, ...]]) -> Iterator[ModelDef | None]:
    root = None
    for partitions in tables:
        found = _first(source, partitions, _MODEL_DEF)
        if found is None:
            yield None
            continue
        with _parsing(source, found[1]):
            model = parse_modeldef(found[0], root.tables if root is not None else None)
        root = root or model
        yield model


def _stores(
    source: Source, partitions: tuple[OmPartition, ...], notes: list[str]
) -> tuple[list[Store], list[Store]]:
    """Return the kernel stores and the host libraries; what is wrong with them is a note."""
    kernels, libraries = [], []
    for partition in partitions:
        if partition.type in (_KERNELS, _AICPU_KERNELS):
            kernels.append(read_kernels(source, partition.offset, partition.size))
        elif partition.type == _SO_BINS:
            libraries.append(read_host_libraries(source, partition.offset, partition.size))
            notes.append(
                "the file holds host code, which runs in the process that loads it: load only files you trust"
            )
        else:
            continue
        problem = (kernels if partition.type != _SO_BINS else libraries)[-1].problem
        if problem:
            notes.append(f"{partition.name} {problem}")
    return kernels, libraries


def _part(
    source: Source, partitions: tuple[OmPartition, ...], model: ModelDef | None, notes: list[str]
) -> OmPart:
    tasks = TaskInfo()
    try:
        found = _first(source, partitions, _TASK_INFO)
        if found is not None:
            tasks = parse_tasks(found[0])
    except WireError as error:
        notes.append(f"TASK_INFO is damaged, CANN will refuse it (545004): {error.reason}")
    if tasks.is_cut_short:
        notes.append(f"TASK_INFO holds more than {MAX_TASKS:,} tasks; the others are not counted")
    sizes: dict[int, int] = {}
    for partition in partitions:
        sizes[partition.type] = sizes.get(partition.type, 0) + partition.size
    kernels, libraries = _stores(source, partitions, notes)
    work = tasks.work_size
    if work is None and model is not None:
        place = next((p.offset for p in partitions if p.type == _MODEL_DEF), 0)
        with _parsing(source, place):
            work = max(model.attributes.integer("memory_size") or 0, 0)
    return OmPart(
        name=model.name if model is not None else "",
        partitions=partitions,
        op_counts=model.op_counts if model is not None else {},
        task_counts=tasks.counts,
        kernel_names=tuple(name for store in kernels for name in store.names),
        kernel_bytes=sum(store.code_bytes for store in kernels),
        host_libraries=tuple(name for store in libraries for name in store.names),
        work_size=work or 0,
        weight_size=sizes.get(_WEIGHTS, 0),
        graph_names=tuple(graph.name for graph in model.graphs) if model is not None else (),
    )


def _describe(
    source: Source,
    header: OmHeader,
    tables: list[tuple[OmPartition, ...]],
    simulated: Simulated | None,
    notes: list[str],
    depth: int,
) -> OmModel:
    # Each model's bytes are let go before the next one's are read.
    parts, root = [], None
    for partitions, model in zip(tables, _modeldefs(source, tables), strict=True):
        parts.append(_part(source, partitions, model, notes))
        root = root or model
    found = _first(source, tables[0], _INOUT)
    described = None
    if found is not None:
        with _parsing(source, found[1]):
            described = parse_inout(found[0])
    graph = None
    if root is not None:
        place = next((p.offset for table in tables for p in table if p.type == _MODEL_DEF), 0)
        with _parsing(source, place):
            graph = derive_io(root)
            attributes = model_attributes(root.attributes)
    else:
        names = ", ".join(p.name for p in tables[0])
        raise file_error(
            source.path, f"holds no MODEL_DEF, only {names}; CANN refuses it (545002)",
            "Convert the model again.", source.begin + HEADER_SIZE,
        )  # fmt: skip
    if attributes.get("target_type") == "LITE":
        raise file_error(
            source.path, "is a Kirin (HiAI) phone model (target_type LITE), not one of CANN",
            "Convert the model with CANN's atc.", source.begin + place,
        )  # fmt: skip
    return _model(source, header, parts, described, graph, attributes, simulated, notes, depth)


def _oddities(parts: list[OmPart]) -> list[str]:
    """Say what CANN is going to object to although the file can be read."""
    found = []
    most = max(len(part.partitions) for part in parts)
    if most > _GE_PARTITIONS:
        found.append(f"there are {most} partitions, CANN takes up to {_GE_PARTITIONS}")
    if not any(part.task_counts for part in parts):
        found.append("there are no device tasks: the model cannot compute anything")
    return found


def _model(
    source: Source,
    header: OmHeader,
    parts: list[OmPart],
    described: InOutInfo | None,
    graph: GraphIo,
    attributes: dict[str, str],
    simulated: Simulated | None,
    notes: list[str],
    depth: int,
) -> OmModel:
    shown = graph.info if described is None else with_gears_of(described, graph.info)
    inputs, outputs, gears, odd = tensors_and_gears(shown, graph)
    work = 0 if header.is_dynamic else parts[0].work_size
    weights = sum(part.weight_size for part in parts)
    if simulated is not None:
        work, weights = simulated.work_size, simulated.weight_size
    flow = header.model_type == _FLOW
    if simulated is None and not flow:
        notes += _oddities(parts)
    members: tuple[OmModel, ...] = ()
    if flow:
        members = tuple(_read_source(p, depth + 1) for p in flow_members(source, parts[0].partitions))
    return OmModel(
        path=source.path,
        kind="flow" if flow else "model",
        file_size=source.size,
        name=simulated.name if simulated is not None else parts[0].name or header.name,
        header=header,
        parts=tuple(parts),
        inputs=inputs,
        outputs=outputs,
        dynamic=dynamic_kind(gears, inputs, is_dynamic=header.is_dynamic),
        gears=gears,
        io_source="inout_info" if described is not None else "graph",
        inout_info=described,
        graph_info=graph.info,
        differences=() if described is None else compare(described, graph.info, is_dynamic=header.is_dynamic),
        work_size=work,
        weight_size=weights,
        attributes=attributes,
        external_weights=graph.external_weights,
        simulator=simulated.parameters if simulated is not None else None,
        simulator_onnx=simulated.onnx if simulated is not None else None,
        members=members,
        notes=(*notes, *graph.notes, *odd, *implausible(inputs, outputs)),
    )
