"""An OmModel as JSON for programs and as a table for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from html import escape
from typing import Any

from ascend_infer.om.aipp import OmAipp
from ascend_infer.om.gears import OmGear
from ascend_infer.om.model import OmModel, OmTensor

__all__ = ["model_html", "model_json"]

_SHOWN_GEARS = 16
_SHOWN_TENSORS = 64
_SHOWN_OPS = 8


def model_json(model: OmModel) -> dict[str, Any]:
    """Return plain JSON types; :meth:`OmModel.to_json` documents it."""
    header = model.header
    return {
        "path": model.path,
        "kind": model.kind,
        "name": model.name,
        "file_size": model.file_size,
        "is_simulator_model": model.is_simulator_model,
        "soc_version": model.soc_version,
        "cann_version": model.cann_version,
        "atc_version": model.atc_version,
        "framework": model.framework,
        "command_line": model.command_line,
        "dynamic": model.dynamic,
        "work_size": model.work_size,
        "weight_size": model.weight_size,
        "stream_count": model.stream_count,
        "event_count": model.event_count,
        "io_source": model.io_source,
        "inputs": [_tensor(tensor) for tensor in model.inputs],
        "outputs": [_tensor(tensor) for tensor in model.outputs],
        "gears": [_gear(gear) for gear in model.gears],
        "differences": list(model.differences),
        "notes": list(model.notes),
        "external_weights": list(model.external_weights),
        "attributes": dict(model.attributes),
        "header": None if header is None else asdict(header),
        "parts": [
            {
                "name": part.name,
                "partitions": [
                    {"type": p.type, "name": p.name, "offset": p.offset, "size": p.size}
                    for p in part.partitions
                ],
                "graph_names": list(part.graph_names),
                "op_counts": dict(part.op_counts),
                "task_counts": dict(part.task_counts),
                "work_size": part.work_size,
                "weight_size": part.weight_size,
                "kernel_names": list(part.kernel_names),
                "kernel_bytes": part.kernel_bytes,
                "host_libraries": list(part.host_libraries),
            }
            for part in model.parts
        ],
        "simulator": None if model.simulator is None else dict(model.simulator),
        "simulator_onnx": None if model.simulator_onnx is None else list(model.simulator_onnx),
        "members": [model_json(member) for member in model.members],
    }


def _tensor(tensor: OmTensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "onnx_name": tensor.onnx_name,
        "dtype": tensor.dtype_name,
        "dtype_code": tensor.dtype_code,
        "format": tensor.format_name,
        "format_code": tensor.format_code,
        "dims": list(tensor.dims),
        "dims_v2": list(tensor.dims_v2),
        "size": tensor.size,
        "shape_range": [list(pair) for pair in tensor.shape_range],
        "is_hidden": tensor.is_hidden,
        "aipp": None if tensor.aipp is None else aipp_json(tensor.aipp, tensor.dims_v2),
    }


def aipp_json(aipp: OmAipp, dims_v2: tuple[int, ...]) -> dict[str, Any]:
    """Return an AIPP as plain JSON types, with its format's name and what to feed."""
    plain = {key: _plain(value) for key, value in asdict(aipp).items()}
    return {**plain, "format_name": aipp.format_name, "feed": aipp.instruction(dims_v2)}


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _gear(gear: OmGear) -> dict[str, Any]:
    return {
        "kind": gear.kind,
        "values": list(gear.values),
        "input_dims": None if gear.input_dims is None else [list(dims) for dims in gear.input_dims],
        "output_dims": None if gear.output_dims is None else [list(dims) for dims in gear.output_dims],
    }


def model_html(model: OmModel) -> str:
    """Return a compact table: what the model is, what goes in, what comes out, its gears, what is odd."""
    facts = [
        ("SoC", (model.simulator or {}).get("soc") if model.is_simulator_model else model.soc_version),
        ("CANN", model.cann_version),
        ("ATC", model.atc_version),
        ("from", model.framework),
        ("weights", _bytes(model.weight_size)),
        ("workspace", _bytes(model.work_size) if model.work_size else ""),
        ("streams", str(model.stream_count) if model.stream_count else ""),
    ]
    kind = (
        "simulator model" if model.is_simulator_model else {"model": ".om model"}.get(model.kind, model.kind)
    )
    line = " · ".join(f"{label} <b>{escape(str(value))}</b>" for label, value in facts if value)
    pieces = [
        "<div>",
        f"<p><b>{escape(model.name or model.path or 'model')}</b> "
        f"({escape(kind)}, {_bytes(model.file_size)})<br>{line}</p>",
    ]
    if model.inputs or model.outputs:
        pieces.append(_tensor_table(model))
    if model.gears:
        pieces.append(_gear_table(model))
    if model.op_counts:
        shown = [f"{escape(op)} {count}" for op, count in list(model.op_counts.items())[:_SHOWN_OPS]]
        more = len(model.op_counts) - _SHOWN_OPS
        pieces.append(f"<p>operators: {', '.join(shown)}{f' and {more} more types' if more > 0 else ''}</p>")
    pieces += [f"<p>note: {escape(note)}</p>" for note in (*model.differences, *model.notes)]
    pieces += [model_html(member) for member in model.members[:_SHOWN_GEARS]]
    return "".join([*pieces, "</div>"])


def _bytes(size: int) -> str:
    if size < 1024:
        return f"{size} B"
    value = float(size)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024 or unit == "GiB":
            return f"{value:.1f} {unit}"
    return ""


def _dims(dims: Iterable[int]) -> str:
    return " × ".join("?" if dim < 0 else str(dim) for dim in dims) or "scalar"


def _row(cells: Iterable[str], tag: str = "td") -> str:
    style = ' style="text-align:left"'
    return "<tr>" + "".join(f"<{tag}{style}>{cell}</{tag}>" for cell in cells) + "</tr>"


def _tensor_table(model: OmModel) -> str:
    rows = []
    for kind, tensors in (("input", model.inputs), ("output", model.outputs)):
        for tensor in tensors[:_SHOWN_TENSORS]:
            name = escape(tensor.onnx_name)
            if tensor.onnx_name != tensor.name:
                name = f'<span title="{escape(tensor.name)}">{name}</span>'
            remark = ""
            if tensor.is_hidden:
                remark = "fed by the runtime"
            elif tensor.aipp is not None:
                remark = "AIPP: feed " + tensor.aipp.instruction(tensor.dims_v2)
            rows.append(
                _row(
                    (
                        kind, name, escape(tensor.dtype_name), _dims(tensor.dims_v2),
                        escape(tensor.format_name),
                        _bytes(tensor.size) if tensor.size else "", escape(remark),
                    )
                )
            )  # fmt: skip
        if len(tensors) > _SHOWN_TENSORS:
            rows.append(_row((kind, f"and {len(tensors) - _SHOWN_TENSORS} more")))
    head = _row(("", "name", "type", "shape", "format", "bytes", ""), "th")
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _gear_table(model: OmModel) -> str:
    rows = []
    for gear in model.gears[:_SHOWN_GEARS]:
        inputs = "; ".join(_dims(dims) for dims in (gear.input_dims or ())[:_SHOWN_OPS])
        outputs = "; ".join(_dims(dims) for dims in (gear.output_dims or ())[:_SHOWN_OPS])
        rows.append(_row((", ".join(map(str, gear.values)), inputs or "?", outputs or "?")))
    if len(model.gears) > _SHOWN_GEARS:
        rows.append(_row((f"and {len(model.gears) - _SHOWN_GEARS} more", "", "")))
    head = _row((f"{model.gears[0].kind} gear", "inputs", "outputs"), "th")
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
