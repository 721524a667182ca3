"""Writes the seeds of the corpus: small files of each kind, whole and cut.

    PYTHONPATH=.:tests/helpers:tests/unit/om python tests/fuzz/seeds.py

Inputs that a campaign found are added by hand, under a name that says what they are.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import om_bytes
import onnx_models as models
import twin_models

from ascend_infer import om
from ascend_infer.types import DataType, Gear, TensorSpec

CORPUS = Path(__file__).parent / "corpus"

CONFIG = """
name: "net"  # a comment
platform: "ge"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, -1 ] reshape { shape: [ -1 ] } } ]
output [ { name: "y" data_type: TYPE_STRING dims: 1 label_filename: "labels.txt" } ]
instance_group [ { count: 2 kind: KIND_CPU } ]
dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 priority_levels: 2
  priority_queue_policy { key: 1 value { timeout_action: DELAY max_queue_size: 3 } } }
parameters { key: "p" value { string_value: "\\"quoted\\" \\n" } }
version_policy { specific { versions: 1 versions: 3 } }
model_warmup { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 3 zero_data: true } } }
"""


def om_files() -> dict[str, bytes]:
    stream = io.BytesIO()
    om.write_simulator_model(
        stream,
        onnx=b"\x08\x08",
        inputs=[TensorSpec("x", DataType.FP32, (-1, 3, 8, 8))],
        outputs=[TensorSpec("y", DataType.FP32, (-1, 5))],
        gears=[Gear("batch", (1,)), Gear("batch", (4,))],
        aipp={"x": om.OmAipp(input_format=1)},
    )
    return {**{name: make() for name, make in om_bytes.ALL.items()}, "simulator": stream.getvalue()}


def numpy_files() -> tuple[dict[str, bytes], dict[str, bytes]]:
    numbers = np.arange(12, dtype=np.float32).reshape(4, 3)
    plain: dict[str, bytes] = {}
    for name, array in (
        ("floats", numbers),
        ("fortran", np.asfortranarray(numbers)),
        ("texts", np.array(["a", "bc"])),
        ("none", np.zeros((0, 3), np.int8)),
    ):
        stream = io.BytesIO()
        np.save(stream, array)
        plain[name] = stream.getvalue()
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 3), }\n"
    plain["claims_too_much"] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(24)
    packed: dict[str, bytes] = {}
    for name, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
        stream = io.BytesIO()
        save(stream, x=numbers, id=np.array(["a", "b", "c", "d"]))
        packed[name] = stream.getvalue()
    return plain, packed


def texts() -> dict[str, dict[str, bytes]]:
    broken = b'{"x": [1, 2\n\xff\xfe\n{"id": null}\n[[[]]]\n12345678901234567890\n'
    deep = json.dumps({"x": 1}).encode() + b"\n" + b"[" * 3000
    return {
        "config": {
            "full": CONFIG.encode(),
            "empty": b"",
            "unknown": b'name: "a" nmae: 3 input { dims: [ 1.5, 99999999999999999999 ] }',
            "unclosed": b'input [ { name: "x\n',
            "nested": b"input {" * 200,
        },
        "csv": {
            "plain": b"id,x,y\na,1,2\nb,\"3,\n4\",5\n",
            "short": b"x,y\n1\n\n1,2,3\n",
            "twice": b"x,x\n1,2\n",
            "not_text": b"x,y\n\xff,\0\n\xef\xbb\xbf,2\n",
            "empty": b"",
        },
        "jsonl": {
            "plain": b'{"id": "a", "x": [1, 2]}\n\n{"id": 7, "x": 1e400}\n"text"\nnull\n',
            "broken": broken,
            "deep": deep,
        },
    }  # fmt: skip


def write(target: str, files: Mapping[str, bytes], *, cut: bool = True) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
        if cut and len(data) > 8:
            (folder / f"{name}_cut").write_bytes(data[: len(data) * 2 // 3])


def main() -> None:
    write("om", om_files(), cut=False)
    plain, packed = numpy_files()
    write("npy", plain)
    write("npz", packed)
    write("onnx", {
        "identity": models.identity().SerializeToString(),
        "add_sub": models.add_sub().SerializeToString(),
        "halves": twin_models.half_weights().SerializeToString(),
    })  # fmt: skip
    for target, files in texts().items():
        write(target, files, cut=target == "config")


if __name__ == "__main__":
    main()
