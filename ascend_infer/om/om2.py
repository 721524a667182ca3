"""OM2: a ZIP with the I/O as JSON beside generated host code, which is never touched here."""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from ascend_infer.errors import ModelFileError
from ascend_infer.om.assemble import dynamic_kind, tensors_and_gears
from ascend_infer.om.codes import FORMAT_CODES, dtype_code
from ascend_infer.om.damage import file_error
from ascend_infer.om.inout import MAX_DIMS, InOutInfo, TensorInfo
from ascend_infer.om.model import OmModel
from ascend_infer.om.source import Source

__all__ = ["read_om2"]

_MAX_JSON = 16 << 20
_MAX_DIRECTORY = 16 << 20
_MAX_TENSORS = 4096
_MAX_GEARS = 4096
_END = b"PK\x05\x06"
_OTHERS = (
    (r"(^|/)data\.pkl$", "a PyTorch file (TorchScript or a checkpoint)"),
    (r"(^|/)constants\.pkl$", "a PyTorch file (TorchScript)"),
    (r"\.npy$", "a numpy .npz archive"),
    (r"(^|/)config\.json$", "a Keras archive or another archive"),
    (r"\.om$", "a ZIP archive with an .om file in it"),
    (r"\.onnx$", "a ZIP archive with an ONNX model in it"),
)
_ZIP_ERRORS = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, ValueError, OSError, RuntimeError,
    IndexError, KeyError, OverflowError, MemoryError, struct.error,
)  # fmt: skip


class _Archive:
    """The few entries of the ZIP that are read, each up to a limit."""

    def __init__(self, source: Source, stream: BinaryIO) -> None:
        self._path = source.path
        _check_directory(source)
        try:
            self._zip = zipfile.ZipFile(stream)
            self.names = self._zip.namelist()
        except _ZIP_ERRORS as error:
            raise file_error(source.path, f"is a damaged ZIP: {error}") from error

    def json(self, suffix: str) -> Mapping[str, Any] | None:
        """Return the JSON object of the only entry with this suffix; None when there is none."""
        found = [name for name in self.names if name == suffix or name.endswith("/" + suffix)]
        if not found:
            return None
        name = min(found, key=len)
        if self._zip.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise file_error(
                self._path, f"entry {name!r} of the OM2 is packed by another method than deflate"
            )
        try:
            with self._zip.open(name) as entry:
                data = entry.read(_MAX_JSON + 1)
        except _ZIP_ERRORS as error:
            raise file_error(self._path, f"entry {name!r} of the OM2 cannot be unpacked: {error}") from error
        if len(data) > _MAX_JSON:
            raise file_error(self._path, f"entry {name!r} of the OM2 is larger than {_MAX_JSON:,} bytes")
        try:
            value = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise file_error(self._path, f"entry {name!r} of the OM2 is no JSON: {error}") from error
        if not isinstance(value, dict):
            raise file_error(self._path, f"entry {name!r} of the OM2 is no JSON object")
        return value


def _check_directory(source: Source) -> None:
    """Refuse a directory of entries that is too large before zipfile reads it whole."""
    begin = max(0, source.size - 65557)
    tail = source.read(begin, source.size - begin)
    place = tail.rfind(_END)
    if place < 0 or len(tail) - place < 22:
        raise file_error(source.path, "is a ZIP without its end: truncated", offset=source.size)
    size = int.from_bytes(tail[place + 12 : place + 16], "little")
    if size == 0xFFFFFFFF:  # ZIP64: the true size is in another record, in front of this one
        record = tail.rfind(b"PK\x06\x06", 0, place)
        size = (
            int.from_bytes(tail[record + 40 : record + 48], "little") if record >= 0 else _MAX_DIRECTORY + 1
        )
    if size > _MAX_DIRECTORY:
        raise file_error(source.path, f"is a ZIP whose directory has {size:,} bytes, too many for an OM2")


def read_om2(source: Source) -> OmModel:
    """Describe an OM2 model from its JSON entries.

    Raises
    ------
    ModelFileError
        When the ZIP is damaged, is something else, or its JSON does not describe a model.
    """
    with source.stream() as stream:
        archive = _Archive(source, stream)
        meta = archive.json("data/model_0/model_meta.json")
        if meta is None:
            raise _not_om2(source, archive.names)
        manifest = archive.json("manifest.json") or {}
        constants = archive.json("data/constants/model_0_constants_config.json") or {}
    info = InOutInfo(
        inputs=_tensors(source, meta, "inputs"),
        outputs=_tensors(source, meta, "outputs"),
        output_shapes=tuple(text for text in _list(meta, "dynamic_output_shape") if isinstance(text, str)),
        shape_order=tuple(
            text for text in _list(meta, "user_designate_shape_order") if isinstance(text, str)
        ),
        **_gears(meta),
    )
    inputs, outputs, gears, notes = tensors_and_gears(info, None)
    if _list(_object(meta, "aipp"), "aipp_infos"):
        notes.append("the model has AIPP; its parameters are not decoded for OM2")
    notes.append("an OM2 holds host code that runs in the process that loads it: load only files you trust")
    command = str(manifest.get("atc_command", ""))[:65536]
    name = meta.get("name")
    return OmModel(
        path=source.path,
        kind="om2",
        file_size=source.size,
        name=name if isinstance(name, str) else "",
        inputs=inputs,
        outputs=outputs,
        dynamic=dynamic_kind(gears, inputs, is_dynamic=False),
        gears=gears,
        io_source="om2",
        inout_info=info,
        work_size=_whole(meta.get("work_size")),
        weight_size=_whole(constants.get("internal_weight_size")),
        attributes={"atc_cmdline": command, **_option(command)} if command else {},
        notes=tuple(notes),
    )


def _option(command: str) -> dict[str, str]:
    found = re.search(r"--soc_version[= ]([\w.-]{1,64})", command)
    return {"soc_version": found[1]} if found else {}


def _not_om2(source: Source, names: list[str]) -> ModelFileError:
    for pattern, what in _OTHERS:
        if any(re.search(pattern, name) for name in names[:10000]):
            return file_error(
                source.path, f"is {what}, not an .om model",
                "Unpack it, or export the model to ONNX and convert that with atc.", 0,
            )  # fmt: skip
    return file_error(
        source.path, "is a ZIP without data/model_0/model_meta.json, so no OM2 model",
        "Check the path; an OM2 is made with atc --mode=7.", 0,
    )  # fmt: skip


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63 else 0


def _list(meta: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = meta.get(key)
    return value if isinstance(value, list) else ()


def _object(meta: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = meta.get(key)
    return value if isinstance(value, dict) else {}


def _dims(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or len(value) > MAX_DIMS:
        return None
    return tuple(value) if all(type(d) is int and abs(d) < 1 << 63 for d in value) else None


def _gears(meta: Mapping[str, Any]) -> dict[str, Any]:
    gears = [dims for item in _list(meta, "dynamic_batch_info")[:_MAX_GEARS] if (dims := _dims(item))]
    kind = meta.get("dynamic_type")
    if not gears or kind not in (1, 2, 3):
        return {}
    if kind == 1 and all(len(gear) == 1 for gear in gears):
        return {"batch_gears": tuple(gear[0] for gear in gears)}
    if kind == 2 and all(len(gear) == 2 for gear in gears):
        return {"hw_gears": tuple(gears)}
    return {"dims_gears": tuple(gears)}


def _tensors(source: Source, meta: Mapping[str, Any], key: str) -> tuple[TensorInfo, ...]:
    items = _list(meta, key)
    if len(items) > _MAX_TENSORS:
        raise file_error(source.path, f"the OM2 says it has {len(items)} {key}")
    numbered = []
    for number, item in enumerate(items):
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise file_error(source.path, f"{key}[{number}] of the OM2 has no name")
        shape = _dims(item.get("origin_input_dims")) or _dims(item.get("shape"))
        if shape is None:
            raise file_error(source.path, f"{key}[{number}] ({item['name']!r}) of the OM2 has no shape")
        ranges = [_dims(pair) for pair in _list(item, "shape_range")[:MAX_DIMS]]
        pairs = tuple((pair[0], pair[1]) for pair in ranges if pair is not None and len(pair) == 2)
        layout = FORMAT_CODES.get(str(item.get("format")), -1)
        info = TensorInfo(
            item["name"], dtype_code(str(item.get("data_type"))), layout, shape,
            _dims(item.get("shape_v2")) or shape, _whole(item.get("size")), pairs,
        )  # fmt: skip
        index = item.get("index")
        numbered.append((index if type(index) is int else number, number, info))
    return tuple(info for _, _, info in sorted(numbered, key=lambda entry: entry[:2]))
