"""Building .om files byte by byte, with nothing of the library's own writer.

A second reading of the format: what this writes and the reader reads back was not made by one piece of code.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile

MODEL_DEF, WEIGHTS, TASKS, KERNELS, SUBMODEL, INOUT = 0, 1, 2, 3, 7, 8
BUNDLE_MODEL, BUNDLE_VARS = 24, 25
KERNEL = struct.pack("<III", 0x5D776EFD, 1, 2) + b"k" + b"KK"
V1, V2 = 0x10000000, 0x20000000


# -- protobuf ---------------------------------------------------------------------------------------------


def number(value):
    value %= 1 << 64
    out = b""
    while value >= 128:
        out += bytes([value % 128 + 128])
        value //= 128
    return out + bytes([value])


def i(field, value):
    return number(field * 8) + number(value)


def b(field, value):
    value = value.encode() if isinstance(value, str) else value
    return number(field * 8 + 2) + number(len(value)) + value


def f32(field, value):
    return number(field * 8 + 5) + struct.pack("<f", value)


def attrs(field, values):
    return b"".join(b(field, b(1, key) + b(2, value)) for key, value in values.items())


def a_int(value):
    return i(3, value)


def a_str(value):
    return b(2, value)


def a_float(value):
    return f32(4, value)


def a_bool(value):
    return i(5, int(value))


def a_ints(*values, packed=True):
    inner = b(3, b"".join(map(number, values))) if packed else b"".join(i(3, v) for v in values)
    return b(1, inner)


def a_strs(*values):
    return b(1, b"".join(b(2, v) for v in values))


def a_bools(*values):
    return b(1, b(5, bytes(map(int, values))))


def a_floats(*values):
    return b(1, b(4, struct.pack(f"<{len(values)}f", *values)))


def a_lists(*lists):
    return b(14, b"".join(b(1, b"".join(i(1, v) for v in one)) for one in lists))


def a_named(**values):
    return b(10, b(1, "aipp") + attrs(2, values))


def tensor(dtype, shape, layout="NCHW", size=0, packed=True, **attributes):
    dims = b(1, b"".join(map(number, shape))) if packed else b"".join(i(1, d) for d in shape)
    return i(2, dtype) + b(3, dims) + b(4, layout) + attrs(5, attributes) + i(10, size)


def op(name, kind, *, attributes=None, inputs=(), outputs=(), sources=()):
    message = b(1, name) + b(2, kind) + attrs(10, attributes or {})
    for source, index in sources:
        message += b(24, source) + i(25, index)
    message += b"".join(b(33, t) for t in inputs)
    return message + b"".join(b(34, t) for t in outputs)


def graph(name, *ops):
    return b(1, name) + b"".join(b(6, one) for one in ops)


def modeldef(name, *graphs, **attributes):
    return b(1, name) + i(2, 2) + b(3, "1.11.z.0") + b"".join(b(7, g) for g in graphs) + attrs(11, attributes)


def tasks(*kinds, memory=None):
    message = b"".join(b(10, i(1, n) + (i(2, kind) if kind else b"")) for n, kind in enumerate(kinds))
    return message + (i(11, memory) if memory is not None else b"")


# -- the container ----------------------------------------------------------------------------------------


def header(
    body, version=V2, kind=0, name="net", models=1, wide=False, encrypted=0, user="", platform="1.11.z.0",
    unknown=0, said=None,
):  # fmt: skip
    said = body if said is None else said
    out = bytearray(256)
    out[0:4] = b"IMOD"
    struct.pack_into("<II", out, 4, 256, version)
    out[0x50], out[0x52] = encrypted, kind
    out[0x54 : 0x54 + len(name)] = name.encode()
    out[0x78 : 0x78 + len(user)] = user.encode()
    struct.pack_into("<I", out, 0x98, 2)
    if not wide:
        struct.pack_into("<I", out, 0x4C, said)
    if version >= V2:
        struct.pack_into("<I", out, 0x9C, models)
        out[0xA0 : 0xA0 + len(platform)] = platform.encode()
        out[0xB4] = 1
        if wide:
            struct.pack_into("<Q", out, 0xB8, said)
        out[0xC1] = unknown
    else:
        out[0x9C : 0x9C + len(platform)] = platform.encode()
        out[0xB0] = 1
    return bytes(out)


def table(parts, wide=False, shift=0):
    out = struct.pack("<II", len(parts), 0xDEADBEEF) if wide else struct.pack("<I", len(parts))
    place = shift
    for kind, data in parts:
        out += (
            struct.pack("<IIQQ", kind, 0xABABABAB, place, len(data))
            if wide
            else struct.pack("<III", kind, place, len(data))
        )
        place += len(data)
    return out + b"".join(data for _, data in parts)


def om(*models, wide=False, **fields):
    """Make a file of one or more models, each a list of (type, bytes)."""
    body = b"".join(table(parts, wide or fields.get("kind") in (3, 5)) for parts in models)
    return header(len(body), models=len(models), wide=wide, **fields) + body


def tlv(kind, body):
    return struct.pack("<II", kind, len(body)) + body


def described(name, size, layout, dtype, dims, dims_v2=None, limits=()):
    v2 = dims if dims_v2 is None else dims_v2
    raw, flat = name.encode(), [v for pair in limits for v in pair]
    return (
        struct.pack("<QiiIIII", size, layout, dtype, len(raw), 8 * len(dims), 8 * len(v2), 8 * len(flat))
        + raw
        + struct.pack(f"<{len(dims)}q", *dims)
        + struct.pack(f"<{len(v2)}q", *v2)
        + struct.pack(f"<{len(flat)}q", *flat)
    )


def listed(*tensors):
    return struct.pack("<I", len(tensors)) + b"".join(tensors)


# -- whole models -----------------------------------------------------------------------------------------


def data(name, dtype, shape, index=None, size=0, layout="NCHW", special=None, **attributes):
    if index is not None:
        attributes["index"] = a_int(index)
    described_by = tensor(dtype, shape, layout, size)
    special_size = {} if special is None else {"_special_input_size": a_int(special)}
    return op(
        name, "Data", attributes=attributes, inputs=[described_by],
        outputs=[tensor(dtype, shape, layout, size, **special_size)],
    )  # fmt: skip


def net_output(*tensors, sources=(), **attributes):
    return op("Node_Output", "NetOutput", attributes=attributes, inputs=tensors, sources=sources)


def static_v2(weights=b"W" * 64):
    """CANN 8: wide table, MODEL_INOUT_INFO, compressed attributes, one input, one output."""
    names = a_strs("index", "_special_output_size", "_origin_output_tensor_name", "format_for_int")
    values, flags = a_strs("zero", "prob"), a_bools(False, False, True, False)
    out = tensor(
        1, (1, 10), "ND", 96, **{"\0\x02": a_int(40), "\0\x03": a_int(1), "\0\x04": a_int(2)}
    )  # fmt: skip
    root = graph(
        "net_0",
        data("x", 1, (1, 3, 4, 4), size=192, **{"\0\x01": a_int(0)}),
        op("c", "Conv2D"),
        op("c2", "Conv2D"),
        net_output(out, sources=[("c2", 0)]),
    )
    command = (
        "/usr/local/Ascend/ascend-toolkit/8.0.RC2/x86_64-linux/bin/atc.bin --model=/home/cann-9.9/net.onnx"
    )
    model = modeldef(
        "net", root, soc_version=a_str("Ascend310P3"), atc_version=a_str("7.6.0.1.220"),
        framework_type=a_str("Onnx"), atc_cmdline=a_str(command), memory_size=a_int(4096), stream_num=a_int(2),
        event_num=a_int(1), om_compress_version=a_int(1), attr_name_enum=names, attr_value_enum=values,
        attrs_use_string_value=flags, attr_model_out_nodes_name=a_strs("c2:0:prob"),
        om_info_list=a_ints(64, 0, 0, 9),
    )  # fmt: skip
    info = tlv(0, listed(described("x", 192, 0, 0, (1, 3, 4, 4))))
    info += tlv(1, listed(described("c2:0:prob", 40, 2, 0, (1, 10))))
    parts = [
        (INOUT, info), (MODEL_DEF, model), (WEIGHTS, weights), (KERNELS, KERNEL),
        (TASKS, tasks(0, 0, 31, 19, memory=4096)),
    ]  # fmt: skip
    return om(parts, wide=True)


def gears_v1():
    """2020: header version 1, gears on StreamSwitchN, static AIPP without a mode, no MODEL_INOUT_INFO."""
    aipp = a_named(
        aipp_mode=a_int(1), input_format=a_int(1), src_image_size_w=a_int(16), src_image_size_h=a_int(16),
        csc_switch=a_bool(True), mean_chn_0=a_int(104), mean_chn_1=a_int(117), mean_chn_2=a_int(123),
        var_reci_chn_0=a_floats(0.5), var_reci_chn_1=a_float(0.25), crop=a_bool(False),
        matrix_r0c0=a_ints(298), matrix_r0c1=a_int(-100), input_bias_0=a_int(16),
    )  # fmt: skip
    root = graph(
        "net_0",
        data("d", 4, (8, 16, 16, 3), size=3072, layout="NHWC", aipp=aipp,
             _mbatch_origin_input_dims=a_ints(-1, 16, 16, 3), input_dims=a_ints(-1, 24, 16, 1)),
        data("ascend_mbatch_shape_data", 8, (1,), size=8, layout="ND"),
        op("s", "StreamSwitchN", attributes={
            "_batch_num": a_int(3), "_pred_value_0": a_ints(1), "_pred_value_1": a_ints(4, packed=False),
            "_pred_value_2": a_ints(8)}),
        net_output(tensor(1, (8, 5), "ND", 192), sources=[("c", 0)],
                   _dynamic_output_dims=a_strs("0,0,1,5", "1,0,4,5", "2,0,8,5")),
    )  # fmt: skip
    model = modeldef(
        "net",
        root,
        attr_model_out_nodes_name=a_strs("conv1:0:conv1"),
        memory_size=a_int(1024),
        stream_num=a_int(7),
    )
    return om([(MODEL_DEF, model), (WEIGHTS, b"W" * 16), (TASKS, tasks(20, 0, 19, memory=1024))], version=V1)


def gears_case(kind=3):
    """Dims gears on a Case operator, given order, unlisted output shapes of one gear."""
    root = graph(
        "net_0",
        data("a", 1, (2, 8), 0, 64, "ND", _mbatch_origin_input_dims=a_ints(-1, -1)),
        data("b", 1, (8, 3), 1, 96, "ND", _mbatch_origin_input_dims=a_ints(-1, 3)),
        data("ascend_mbatch_shape_data", 7, (3,), 2, 12, "ND"),
        op("case", "Case", attributes={
            "_batch_num": a_int(2), "_pred_value_0": a_ints(4, 1, 4), "_pred_value_1": a_ints(8, 2, 8),
            "mbatch_dynamic_type": a_int(kind), "user_designate_shape_order": a_strs("b", "a")}),
        net_output(tensor(1, (2, 3), "ND"), tensor(7, (7,), "ND"), sources=[("case", 0), ("case", 1)],
                   _dynamic_output_dims=a_strs("0,0,1,3", "1,0,2,3", "-1,1,7")),
    )  # fmt: skip
    return om([(MODEL_DEF, modeldef("net", root)), (TASKS, tasks(0))])


def unknown_shape():
    """Three models in one file; the second's tables are codes of the first's, the third has none."""
    root_tables = {
        "om_compress_version": a_int(1),
        "attr_name_enum": a_strs("zero", "index", "_special_output_size"),
        "attr_value_enum": a_strs(),
        "attrs_use_string_value": a_bools(False, False, False),
    }
    sub_tables = {
        "om_compress_version": a_int(1),
        "attr_name_enum": a_strs("\0\x02"),
        "attr_value_enum": a_strs(),
    }
    ranged = tensor(1, (-1, 2), "ND", shape_range=a_lists((1, 16), (2, 2)))

    def one(name, key, **tables):
        ops = (
            op("p", "Data", attributes={key: a_int(1)}, inputs=[ranged]),
            op("q", "Data", attributes={key: a_int(0)}, inputs=[ranged]),
            net_output(tensor(1, (-1, 2), "ND"), sources=[("w", 0)]),
        )
        return [(MODEL_DEF, modeldef(name, graph(name, *ops), **tables)), (WEIGHTS, b"WW"), (TASKS, tasks(0))]

    return om(
        one("root", "\0\x02", **root_tables), one("sub_1", "\0\x01", **sub_tables), one("sub_2", "\0\x02"),
        wide=True, unknown=1,
    )  # fmt: skip


def bundle():
    members = [static_v2(), gears_v1()]
    parts = [(BUNDLE_VARS, struct.pack("<q", 512))] + [(BUNDLE_MODEL, member) for member in members]
    body = table(parts, wide=True, shift=8 + 24 * len(parts))
    return header(len(body), kind=5, wide=True, said=len(body) + 256) + body


def flow():
    root = graph("flow", data("x", 1, (1, 2), 0), net_output(tensor(1, (1, 2), "ND"), sources=[("p", 0)]))
    submodel = b(1, "sub") + i(2, 7) + f32(9, 1.0) + b(3, static_v2()) + b(4, "rest")
    body = table([(MODEL_DEF, modeldef("flow", root)), (6, b"\x0a\x01x"), (SUBMODEL, submodel)], wide=True)
    return header(len(body), kind=3, wide=True) + body


OM2_META = {
    "name": "net", "work_size": 2048, "dynamic_type": 1, "dynamic_batch_info": [[1], [4]],
    "dynamic_output_shape": ["0,0,1,5", "1,0,4,5"],
    "inputs": [
        {"name": "ascend_mbatch_shape_data", "index": 1, "shape": [1], "data_type": "DT_INT32",
         "format": "ND", "size": 4},
        {"name": "x", "index": 0, "shape": [4, 3], "origin_input_dims": [-1, 3], "shape_v2": [-1, 3],
         "data_type": "DT_BFLOAT16", "format": "NCHW", "size": 24, "shape_range": []},
    ],
    "outputs": [{"name": "c:0:y", "index": 0, "shape": [4, 5], "data_type": "DT_FLOAT", "format": "ND", "size": 80}],
    "aipp": {"aipp_infos": []},
}  # fmt: skip


def om2(meta=None, root="net", extra=None, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    entries = {
        "manifest.json": json.dumps(
            {"om2_version": "0", "atc_command": "atc --soc_version=Ascend310P3 --mode=7"}
        ),
        "data/model_0/model_meta.json": json.dumps(OM2_META if meta is None else meta),
        "data/model_0/runtime/libnet_om2.so": "\x7fELF",
        "data/constants/model_0_constants_config.json": json.dumps({"internal_weight_size": 77}),
        **(extra or {}),
    }
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, text in entries.items():
            archive.writestr(f"{root}/{name}", text)
    return stream.getvalue()


ALL = {
    "static_v2": static_v2, "gears_v1": gears_v1, "gears_case": gears_case, "unknown_shape": unknown_shape,
    "bundle": bundle, "flow": flow, "om2": om2,
}  # fmt: skip
