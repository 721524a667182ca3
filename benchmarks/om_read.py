"""How long reading an .om file's description takes, and how much memory and disk it touches.

    python benchmarks/om_read.py [model.om]

Without a path, a file is built that is like a real one of 4 MB: 547 operators with 24 attributes each, coded as CANN 8
does, a ModelDef of 1 MB, weights, kernels and 410 tasks. Budgets: 10 ms and 5 MB for a file of 4 MB.
"""

from __future__ import annotations

import os
import platform
import shlex
import statistics
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from ascend_infer import om
from ascend_infer.om import encode
from ascend_infer.om.header import VERSION_2, OmHeader, pack_header
from ascend_infer.om.inout import InOutInfo, TensorInfo, pack_inout
from ascend_infer.om.partitions import pack_table

RUNS = 200


def build(path: Path) -> None:
    """Write the file to measure when none was given."""
    names = [f"attribute_{i}" for i in range(300)]

    def tensor(shape: tuple[int, ...], size: int) -> bytes:
        attributes = {f"\0{chr(code + 1)}": encode.integer_attr(size) for code in range(12)}
        dims = encode.bytes_field(3, encode.bytes_field(1, b"".join(map(encode.varint, shape))))
        return (
            encode.varint_field(2, 1)
            + dims
            + encode.bytes_field(4, "NCHW")
            + encode.attribute_map(5, attributes)
            + encode.varint_field(10, size)
        )

    def op(name: str, kind: str, shape: tuple[int, ...]) -> bytes:
        attributes = {f"\0{chr(code + 1)}": encode.text_attr("value" * 11) for code in range(24)}
        message = encode.bytes_field(1, name) + encode.bytes_field(2, kind)
        message += encode.attribute_map(10, attributes)
        return message + encode.bytes_field(33, tensor(shape, 64)) + encode.bytes_field(34, tensor(shape, 64))

    shape = (1, 3, 256, 512)
    ops = [op("image", "Data", shape)]
    ops += [op(f"layer/{i}/conv", ("Const", "Const", "Const", "Conv2D")[i % 4], shape) for i in range(545)]
    ops.append(op("Node_Output", "NetOutput", shape))
    graph = encode.bytes_field(1, "net_0") + b"".join(encode.bytes_field(6, one) for one in ops)
    attributes = {
        "attr_name_enum": encode.texts_attr(names),
        "attr_value_enum": encode.texts_attr(names),
        "attrs_use_string_value": encode.bytes_field(1, encode.bytes_field(5, bytes(len(names)))),
        "attr_model_out_nodes_name": encode.texts_attr(["conv:0:y"]),
        "soc_version": encode.text_attr("Ascend310B4"),
    }
    model = encode.bytes_field(1, "net") + encode.bytes_field(7, graph) + encode.attribute_map(11, attributes)
    size = 4 * 3 * 256 * 512
    described = pack_inout(
        InOutInfo(
            (TensorInfo("image", 0, 0, shape, shape, size),),
            (TensorInfo("conv:0:y", 0, 0, shape, shape, size),),
        )
    )
    task = encode.bytes_field(10, encode.varint_field(1, 1) + encode.bytes_field(20, bytes(180)))
    tasks = task * 410 + encode.varint_field(11, 11_275_776)
    parts = [(8, described), (0, model), (1, bytes(2_203_648)), (3, bytes(378_946)), (2, tasks)]
    body = pack_table([(kind, len(data)) for kind, data in parts], wide=True) + b"".join(
        data for _, data in parts
    )
    header = OmHeader(
        VERSION_2, 0, 0, "net", 0, len(body), False, 2, 1, "1.11.z.0", 1, False, False, ""
    )  # fmt: skip
    path.write_bytes(pack_header(header) + body)


def bytes_read() -> int | None:
    """Return what the process has read so far; None where the kernel does not say."""
    try:
        lines = Path("/proc/self/io").read_text()
    except OSError:
        return None
    return int(lines.split("rchar:")[1].split()[0])


def main() -> None:
    print("command:", shlex.join([Path(sys.executable).name, *sys.argv]))
    print(f"machine: {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 1:
            path = Path(sys.argv[1])
        else:
            path = Path(folder) / "model.om"
            build(path)
        report(path)


def report(path: Path) -> None:
    model = om.read(path)
    ops = sum(model.op_counts.values())
    print(f"file: {path.name}, {path.stat().st_size:,} bytes, {ops} operators, I/O from {model.io_source}")
    counting = bytes_read()
    baseline = bytes_read()
    om.read(path)
    after = bytes_read()
    seconds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        om.read(path)
        seconds.append(time.perf_counter() - begin)
    tracemalloc.start()
    om.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    seconds.sort()
    median, p99 = statistics.median(seconds), seconds[int(0.99 * RUNS)]
    print(f"read: median {1e3 * median:.2f} ms, p99 {1e3 * p99:.2f} ms, {RUNS} runs (budget 10 ms for 4 MB)")
    print(f"memory: {peak / 1e6:.2f} MB more at the peak (budget 5 MB for 4 MB)")
    if counting is not None and baseline is not None and after is not None:
        own = baseline - counting  # what asking costs
        print(f"disk: {after - baseline - own:,} bytes read of {path.stat().st_size:,}")


if __name__ == "__main__":
    main()
