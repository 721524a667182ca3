"""A report as text: what it is, what to feed, what comes out, what the files are, what is odd."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ascend_infer.cli.inspection.config_lines import config_lines
from ascend_infer.cli.inspection.described_file import DescribedFile
from ascend_infer.cli.inspection.om_lines import gear_lines, om_lines
from ascend_infer.cli.inspection.report import Report
from ascend_infer.cli.inspection.subject import Subject
from ascend_infer.cli.inspection.tensor import Tensor
from ascend_infer.cli.printing import columns, printable, shorten, size_text
from ascend_infer.om import OmModel
from ascend_infer.onnx_file import OnnxFile

__all__ = ["report_text"]

_SHOWN_TENSORS = 64
_LONG = 160
#: Metadata that has a place of its own, or is no fact about the file's origin.
_OWN_PLACE = ("producer", "producer_version", "domain", "model_version")


def report_text(report: Report) -> str:
    """Return the lines that ``inspect`` prints."""
    lines = [_headline(report.subject), *columns(_place(report))]
    lines += ["", "feed:", *_tensor_lines(report.inputs, report)]
    lines += ["", "get:", *_tensor_lines(report.outputs, report)]
    for file in report.subject.files:
        lines += ["", *_file_lines(report.subject, file)]
    if report.notes:
        lines += ["", "notes:"]
        for text in report.notes:
            first, *rest = printable(text, lines=True).split("\n")
            lines += [f"  - {first}", *(f"    {line}" for line in rest)]
    return "".join(f"{line}\n" for line in lines)


def _headline(subject: Subject) -> str:
    directory = subject.directory
    if directory is None:
        assert subject.primary is not None
        kind = "an Ascend .om model" if isinstance(subject.primary.facts, OmModel) else "an ONNX model"
        return f"{printable(subject.path)}: {kind}"
    stated = "with" if directory.parsed.positions else "without"
    return f"{printable(subject.name)}: a {subject.kind} {stated} config.pbtxt ({printable(subject.path)})"


def _place(report: Report) -> list[tuple[str, str]]:
    rows = config_lines(report)
    placement = report.placement
    if placement.device is None:
        where = f"no: {placement.reason}"
    else:
        file = printable(_short(placement.file, report.subject))
        where = f"on {placement.device}, from {file}: {placement.reason}"
    first, *rest = where.split("\n")
    return [*rows, ("runs here", first), *(("", line) for line in rest)]


def _short(file: str, subject: Subject) -> str:
    """Return a file as it is called inside the model directory, or as it was given."""
    if subject.directory is not None:
        return file.removeprefix(f"{subject.directory.path}{os.sep}")
    folder = os.path.dirname(os.path.abspath(subject.path))
    return (
        str(subject.path.parent / os.path.relpath(file, folder)) if file.startswith(folder + os.sep) else file
    )


def _tensor_lines(tensors: Sequence[Tensor], report: Report) -> list[str]:
    if not tensors:
        primary = report.subject.primary
        unknown = primary is not None and primary.spec is None
        return ["  not known" if unknown else "  nothing"]
    rows = [
        (
            shorten(tensor.name, _LONG),
            "?" if tensor.dtype is None else tensor.dtype.value,
            tensor.shape_text,
            _remark(tensor),
        )
        for tensor in tensors[:_SHOWN_TENSORS]
    ]
    more = len(tensors) - _SHOWN_TENSORS
    return [*columns(rows), *([f"  and {more} more"] if more > 0 else [])]


def _remark(tensor: Tensor) -> str:
    remarks = ["may be left out"] if tensor.optional else []
    if tensor.labels is not None:
        remarks.append(f"{tensor.labels[1]} labels in {tensor.labels[0]}")
    if tensor.remark:
        remarks.append(tensor.remark)
    return "; ".join(remarks)


def _file_lines(subject: Subject, file: DescribedFile) -> list[str]:
    shown = file.path.name if subject.version is None else f"{subject.version}/{file.path.name}"
    facts = file.facts
    if isinstance(facts, OmModel):
        return [
            f"{printable(shown)}: {size_text(facts.file_size)}, model {printable(facts.name)!r}",
            *columns(om_lines(facts)),
            *gear_lines(facts),
        ]
    return [f"{printable(shown)}: {size_text(facts.size)}", *columns(_onnx_rows(facts))]


def _onnx_rows(facts: OnnxFile) -> list[tuple[str, str]]:
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in facts.opsets.items())
    metadata = facts.spec.metadata
    rows = [
        ("format", f"ONNX, IR version {facts.ir_version}, opset {opsets or 'not stated'}"),
        ("holds", f"{facts.nodes} operators, {facts.initializers} weights"),
    ]
    if "producer" in metadata:
        rows.append(("made by", f"{metadata['producer']} {metadata.get('producer_version', '')}".strip()))
    rows += [(key, shorten(value, _LONG)) for key, value in metadata.items() if key not in _OWN_PLACE]
    return rows
