"""What an .om file says of itself, in short lines, and its gears as a table."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_infer.cli.inspection.tensor import dims_text
from ascend_infer.cli.printing import columns, shorten, size_text
from ascend_infer.om import OmModel

__all__ = ["gear_lines", "om_lines"]

_SHOWN_OPS, _SHOWN_GEARS, _SHOWN_COLUMNS = 8, 32, 6
_LONG_NAME = 40
_KINDS = {"om2": ".om2 (a ZIP archive)", "bundle": "bundle of models", "flow": "flow model (DFlow)"}
_DYNAMIC = {
    "static": "fixed",
    "batch": "fixed but for the batch, which has gears",
    "hw": "fixed but for the picture's height and width, which have gears",
    "dims": "gears decide the open dimensions",
    "shape": "any (true dynamic shape)",
}


def om_lines(model: OmModel) -> list[tuple[str, str]]:
    """Return label and text of each line, what ``atc --mode=6`` shows among them; what is not known is left out."""
    simulated = (model.simulator or {}).get("soc") if model.is_simulator_model else None
    soc = f"{simulated} (simulated)" if simulated else model.soc_version
    cann = f" (CANN {model.cann_version})" if model.cann_version else ""
    memory = f"work {size_text(model.work_size)}, weights {size_text(model.weight_size)}"
    # On a real card the counts say something of the cost; files of the simulator have none.
    runs = [
        f"{count} {word}" + ("s" if count != 1 else "")
        for count, word in (
            (model.stream_count, "stream"),
            (model.event_count, "event"),
            (sum(model.task_counts.values()), "task"),
        )
        if count
    ]
    rows = [
        ("kind", _KINDS.get(model.kind, "")),
        ("compiled for", soc),
        ("compiled by", f"ATC {model.atc_version}{cann}" if model.atc_version else cann.strip(" ()")),
        ("compiled from", model.framework),
        ("command", model.command_line),
        ("shapes", _DYNAMIC[model.dynamic] if model.inputs else ""),
        ("memory", memory if model.kind in ("model", "om2") else ""),
        ("runs with", ", ".join(runs)),
        ("operators", _counts(model.op_counts)),
    ]
    for part in model.parts:
        label = "partitions" if len(model.parts) == 1 else f"part {part.name}"
        pieces = ", ".join(f"{partition.name} {size_text(partition.size)}" for partition in part.partitions)
        rows.append((label, pieces))
    rows += [("holds", f"{member.name} ({size_text(member.file_size)})") for member in model.members]
    return [(label, text) for label, text in rows if text]


def _counts(counts: Mapping[str, int]) -> str:
    listed = list(counts.items())
    text = ", ".join(f"{name} {count}" for name, count in listed[:_SHOWN_OPS])
    more = len(listed) - _SHOWN_OPS
    return f"{text} and {more} more types" if more > 0 else text


def gear_lines(model: OmModel) -> list[str]:
    """Return the gears, one a line with the shape of every input and output; nothing where there are none."""
    if not model.gears:
        return []
    inputs = [tensor.onnx_name for tensor in model.inputs if not tensor.is_hidden][:_SHOWN_COLUMNS]
    outputs = [tensor.onnx_name for tensor in model.outputs][:_SHOWN_COLUMNS]
    names = [shorten(name, _LONG_NAME) for name in (*inputs, *outputs)]
    rows: list[list[str]] = [
        [{"batch": "batch", "hw": "height x width", "dims": "dims"}[model.gears[0].kind], *names]
    ]
    for gear in model.gears[:_SHOWN_GEARS]:
        row = [" x ".join(map(str, gear.values)) if gear.kind == "hw" else ", ".join(map(str, gear.values))]
        for dims, count in ((gear.input_dims, len(inputs)), (gear.output_dims, len(outputs))):
            row += ["?"] * count if dims is None else [dims_text(shape) for shape in dims[:_SHOWN_COLUMNS]]
        rows.append(row)
    lines = [f"  {len(model.gears)} gears:", *columns(rows, "    ")]
    more = len(model.gears) - _SHOWN_GEARS
    return [*lines, f"    and {more} more"] if more > 0 else lines
