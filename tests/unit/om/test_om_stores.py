"""Kernels and host libraries inside a file: named and counted, never read, damage is a note."""

from __future__ import annotations

import struct

import pytest

from ascend_infer import om

MAGIC = 0x5D776EFD


def kernel(name: str, code: bytes, magic: int = MAGIC) -> bytes:
    return struct.pack("<III", magic, len(name), len(code)) + name.encode() + code


def library(name: str, vendor: str, code: bytes) -> bytes:
    head = struct.pack("<IHHII", MAGIC, len(name), 0, len(vendor), len(code))
    return head + name.encode() + vendor.encode() + code


@pytest.fixture
def model(build):
    def make(*parts):
        root = build.graph("g", build.net_output(build.tensor(1, (1,), "ND")))
        return om.read_bytes(build.om([(0, build.modeldef("n", root)), *parts, (2, build.tasks(0))]))

    return make


def test_kernels_of_both_stores(model):
    long = "k" * 500
    found = model((3, kernel("te_conv", b"code") + kernel(long, b"")), (4, kernel("aicpu", b"12")))
    assert found.parts[0].kernel_names == ("te_conv", long, "aicpu")
    assert found.parts[0].kernel_bytes == 6
    assert found.notes == ()


def test_host_libraries_are_a_warning(model):
    data = struct.pack("<I", 2) + library("liba.so", "vendor", b"\x7fELF") + library("libb.so", "", b"")
    found = model((5, data))
    assert found.parts[0].host_libraries == ("liba.so", "libb.so")
    assert any("host code" in note for note in found.notes)


@pytest.mark.parametrize(
    ("kind", "data", "names"),
    [
        (3, b"123", ()),
        (3, kernel("a", b"xx") + kernel("b", b"yy")[:-1], ("a",)),
        (3, kernel("a", b"xx", magic=1), ()),
        (3, struct.pack("<III", MAGIC, 0xFFFFFFFF, 0), ()),
        (4, kernel("a", b"x") + b"\0" * 30, ("a",)),
        (5, b"\0", ()),
        (5, struct.pack("<I", 1) + library("a", "", b"x")[:-1], ()),
    ],
)
def test_damage_in_a_store_is_a_note(model, kind, data, names):
    found = model((kind, data))
    part = found.parts[0]
    assert (part.host_libraries if kind == 5 else part.kernel_names) == names
    assert any(part.partitions[1].name in note for note in found.notes)
