"""A machine in a temporary folder: device nodes, driver, CANN, libraries, variables."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ascend_infer.doctor.bounded_process import Deadline
from ascend_infer.doctor.environment import Environment
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.prober import ProbeLimits, Prober
from ascend_infer.doctor.symbols import OPTIONAL, REQUIRED

ARCH = {"arm64": "aarch64"}.get(os.uname().machine, os.uname().machine)
CANN = "/usr/local/Ascend/cann"
DRIVER = "/usr/local/Ascend/driver"
HAL = f"{DRIVER}/lib64/driver/libascend_hal.so"
# Time for a step is short where a test waits for it to run out, the interpreter's start has plenty.
LIMITS = ProbeLimits(start=60, step=30)


def elf(
    needed: Iterable[str] = (), *, machine: int | None = None, rpath: str = "", soname: str = ""
) -> bytes:
    """Return a shared library that holds nothing but a dynamic section; to be read, not loaded."""
    strings = b"\0"
    entries: list[tuple[int, int]] = []
    for tag, text in (*((1, name) for name in needed), (14, soname), (29, rpath)):
        if text:
            entries.append((tag, len(strings)))
            strings += text.encode() + b"\0"
    header_size, table_size = 64, 2 * 56
    strings_offset = header_size + table_size
    dynamic_offset = strings_offset + len(strings)
    entries += [(5, strings_offset), (10, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack("<qQ", *entry) for entry in entries)
    size = dynamic_offset + len(dynamic)
    number = machine if machine is not None else {"x86_64": 62, "aarch64": 183}.get(ARCH, 0)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, number, 1, 0, header_size, 0, 0, 64, 56, 2, 64, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, size, size, 4096)
    dyn = struct.pack("<IIQQQQQQ", 2, 4, dynamic_offset, dynamic_offset, 0, len(dynamic), len(dynamic), 8)
    return header + load + dyn + strings + dynamic


class Machine:
    """Builds the folder; every path it takes is as programs on that machine would write it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.variables: dict[str, str] = {"HOME": "/root"}
        self.package = root / "package" / "ascend_infer"
        self.package.mkdir(parents=True)
        self.modules = root / "site-packages"
        self.modules.mkdir()

    def write(self, path: str, content: str | bytes = b"", mode: int = 0o644) -> Path:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)
        return target

    def nodes(self, count: int = 1, mode: int = 0o666) -> None:
        for name in (*(f"davinci{i}" for i in range(count)), "davinci_manager", "devmm_svm", "hisi_hdc"):
            self.write(f"/dev/{name}", mode=mode)

    def driver(self, version: str = "24.1.rc3") -> None:
        self.write(HAL, elf())
        self.write(f"{DRIVER}/version.info", f"Version={version}\npackage_version={version}\n")
        self.write(
            "/etc/ascend_install.info", "UserName=HwHiAiUser\nDriver_Install_Path_Param=/usr/local/Ascend\n"
        )
        self.add_to_path(f"{DRIVER}/lib64/driver")

    def cann(
        self, root: str = CANN, version: str = "8.0.0", files: Mapping[str, bytes | Path] | None = None
    ) -> None:
        """Install a CANN, in use once `use_cann` says so."""
        self.write(
            f"{root}/version.cfg", f"# version: 1.0\nruntime_running_version=[7.6.0.1.220:{version}]\n"
        )
        self.write(f"{root}/set_env.sh")
        self.write(f"{root}/opp/version.info", "Version=1\n")
        for name, content in (files if files is not None else {"libascendcl.so": elf()}).items():
            data = content.read_bytes() if isinstance(content, Path) else content
            self.write(f"{root}/lib64/{name}", data)

    def use_cann(self, root: str = CANN) -> None:
        """Do what its set_env.sh does."""
        self.variables |= {"ASCEND_HOME_PATH": root, "ASCEND_OPP_PATH": f"{root}/opp"}
        self.add_to_path(f"{root}/lib64")

    def add_to_path(self, folder: str) -> None:
        before = self.variables.get("LD_LIBRARY_PATH")
        self.variables["LD_LIBRARY_PATH"] = f"{folder}:{before}" if before else folder

    def working(self, library: Path, count: int = 1) -> None:
        """Lay out a whole machine with a card that works."""
        self.nodes(count)
        self.driver()
        self.cann(files={"libascendcl.so": library})
        self.use_cann()

    def distribution(self, name: str, version: str = "1.0") -> None:
        folder = self.modules / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")

    def environment(self, **changes: Any) -> Environment:
        values: dict[str, Any] = {
            "root": self.root,
            "variables": self.variables,
            "uid": 0,
            "gids": frozenset({0}),
            "arch": ARCH,
            "system": "Linux",
            "executable": sys.executable,
            "module_path": (self.modules,),
            "package_path": self.package,
        }
        return Environment(**(values | changes))

    def examination(
        self,
        *,
        device: str = "auto",
        limits: ProbeLimits = LIMITS,
        command: tuple[str, ...] | None = None,
        model_soc: str | None = None,
        **changes: Any,
    ) -> Examination:
        environment = self.environment(**changes)
        prober = Prober(environment, Deadline(120), limits, command)
        return Examination(environment, prober, device, model_soc=model_soc)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


@pytest.fixture(scope="session")
def make_elf() -> Callable[..., bytes]:
    return elf


Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def compile_library(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compile C into a shared library; equal sources are compiled once."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C compiler (cc) for a Linux shared library")
    folder = tmp_path_factory.mktemp("libraries")

    def build(source: str, *flags: str) -> Path:
        key = hashlib.sha256(repr((source, flags)).encode()).hexdigest()[:16]
        path = folder / f"{key}.so"
        if not path.exists():
            code = folder / f"{key}.c"
            code.write_text(source)
            subprocess.run(
                [str(compiler), "-shared", "-fPIC", "-w", "-o", str(path), str(code), *flags],
                check=True,
                capture_output=True,
            )
        return path

    return build


_PRELUDE = """
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <signal.h>
"""

#: A card that works, function by function.
_WORKING = {
    "aclrtGetDeviceCount": "int aclrtGetDeviceCount(uint32_t *n) { *n = 2; return 0; }",
    "aclrtGetVersion": "int aclrtGetVersion(int *a, int *b, int *c) { *a = 1; *b = 16; *c = 0; return 0; }",
    "aclrtGetSocName": 'const char *aclrtGetSocName(void) { return "Ascend310P3"; }',
    "aclrtGetMemInfo": "int aclrtGetMemInfo(int kind, size_t *f, size_t *t)"
    " { *f = (size_t)3 << 30; *t = kind == 1 ? (size_t)4 << 30 : 0; return 0; }",
    "aclrtMalloc": "int aclrtMalloc(void **p, size_t n, int policy) { *p = malloc(n); return 0; }",
    "aclrtFree": "int aclrtFree(void *p) { free(p); return 0; }",
    "aclrtMemcpy": "int aclrtMemcpy(void *d, size_t m, const void *s, size_t n, int kind)"
    " { memcpy(d, s, n); return 0; }",
    "aclsysGetVersionStr": 'int aclsysGetVersionStr(char *p, char *v) { strcpy(v, "8.5.0"); return 0; }',
    "aclGetRecentErrMsg": 'const char *aclGetRecentErrMsg(void) { return "E39999: said by the runtime"; }',
}


def acl_source(
    changes: Mapping[str, str] | None = None,
    *,
    names: Iterable[str] = (*REQUIRED, *(name for names in OPTIONAL.values() for name in names)),
    extra: str = "",
) -> str:
    """Return C for a library with these functions: a working card, but for the changes."""
    bodies = _WORKING | dict(changes or {})
    functions = [bodies.get(name, f"int {name}(void) {{ return 0; }}") for name in names]
    return "\n".join([_PRELUDE, extra, *functions])


@pytest.fixture
def acl_library(compile_library: Compile) -> Callable[..., Path]:
    """Build a fake libascendcl: a card that works, but for the functions that are given."""

    def build(changes: Mapping[str, str] | None = None, **options: Any) -> Path:
        return compile_library(acl_source(changes, **options))

    return build
