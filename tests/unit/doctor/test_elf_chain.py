from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_infer.doctor.elf import ElfError, read_shared_object
from ascend_infer.doctor.library_chain import follow_chain

MakeElf = Callable[..., bytes]


def test_the_dynamic_section_is_read(tmp_path: Path, make_elf: MakeElf) -> None:
    path = tmp_path / "liba.so"
    path.write_bytes(
        make_elf(["libb.so", "libc.so.6"], rpath="$ORIGIN:/opt/x", soname="liba.so.1", machine=183)
    )
    read = read_shared_object(path)
    assert (read.soname, read.needed) == ("liba.so.1", ("libb.so", "libc.so.6"))
    assert (read.search, read.machine) == (("$ORIGIN", "/opt/x"), "aarch64")


def test_a_compiled_library_is_read(compile_library: Callable[..., Path]) -> None:
    path = compile_library("int f(void) { return 1; }", "-Wl,-soname,libf.so.3", "-Wl,-rpath,/opt/y")
    read = read_shared_object(path)
    assert read.soname == "libf.so.3"
    assert "/opt/y" in read.search


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\n" * 3, "not an ELF"),
        (b"\x7fELF\x01\x01" + bytes(80), "64-bit"),
        (b"\x7fELF\x02\x01\x01", "short"),
    ],
)
def test_other_files_are_refused_with_a_reason(tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    with pytest.raises(ElfError, match=word):
        read_shared_object(path)


def test_damage_never_raises_anything_else(tmp_path: Path, make_elf: MakeElf) -> None:
    whole = make_elf(["libb.so", "libascend_hal.so"], rpath="$ORIGIN", soname="liba.so")
    path = tmp_path / "lib.so"
    generator = random.Random(7)
    refused = 0
    for _ in range(500):
        data = bytearray(whole)
        for _ in range(generator.randint(1, 4)):
            data[generator.randrange(len(data))] = generator.randrange(256)
        path.write_bytes(data[: generator.randint(0, len(data))] if generator.random() < 0.3 else data)
        try:
            read_shared_object(path)
        except ElfError:
            refused += 1
    assert refused > 100


def test_the_chain_names_every_missing_library(machine: Any, make_elf: MakeElf) -> None:
    machine.cann(
        files={
            "libascendcl.so": make_elf(["libruntime.so", "libgone.so", "libc.so.6"]),
            "libruntime.so": make_elf(["libascend_hal.so", "libgone.so", "libascendcl.so"]),
        }
    )
    machine.use_cann()
    chain = follow_chain(machine.environment(), "/usr/local/Ascend/cann/lib64/libascendcl.so")
    assert [path.rsplit("/", 1)[-1] for path in chain.found] == ["libascendcl.so", "libruntime.so"]
    assert [item.name for item in chain.missing] == ["libgone.so", "libascend_hal.so"]
    assert chain.missing[1].needed_by.endswith("libruntime.so")


def test_a_librarys_own_rpath_is_searched(machine: Any, make_elf: MakeElf) -> None:
    machine.write("/opt/a/liba.so", make_elf(["libb.so"], rpath="$ORIGIN/deep"))
    machine.write("/opt/a/deep/libb.so", make_elf(machine=3))
    chain = follow_chain(machine.environment(), "/opt/a/liba.so")
    assert chain.found == ("/opt/a/liba.so", "/opt/a/deep/libb.so")
    assert not chain.missing
    assert [item.path for item in chain.unreadable] == ["/opt/a/deep/libb.so"]
    assert "i686" in chain.unreadable[0].reason
