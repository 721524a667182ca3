"""The compiled core and what is said of it: its stub, and the rules of its C++."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = sorted((ROOT / "_ext" / "core").iterdir())
PARTS = sorted((ROOT / "_ext").glob("*.pxi"))
GENERATED = {"acl_api.h", "acl_api.pxd"}
SOURCES = [p for p in [*CORE, *sorted((ROOT / "_ext").iterdir())] if p.is_file() and p.name not in GENERATED]

#: Types of Python objects, for which NULL says that there was an exception.
OBJECTS = {"object", "str", "bytes", "dict", "tuple", "list"}
OBJECTS.update(
    name for part in PARTS for name in re.findall(r"^cdef class (\w+)", part.read_text(), re.MULTILINE)
)

#: What a stub and a module of Cython cannot agree on.
ALLOWED = r"""
ascend_infer\._native\..*__init__       # raises: objects come from functions
ascend_infer\._native\..*__buffer__     # a slot in C, a method from Python 3.12 on
ascend_infer\._native\.__test__
ascend_infer\._native\..*__(reduce|setstate)_cython__
ascend_infer\._native\..*__pyx_.*
"""


def test_the_stub_says_what_the_module_has(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.write_text(ALLOWED)
    command = [sys.executable, "-m", "mypy.stubtest", "ascend_infer._native", "--concise"]
    command += ["--mypy-config-file", "pyproject.toml"]
    command += ["--allowlist", str(allowed), "--ignore-unused-allowlist"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.name)
def test_the_core_knows_no_python_and_nothing_of_the_simulator(path: Path) -> None:
    included = re.findall(r'^#include ["<](.*)[">]', path.read_text(), re.MULTILINE)
    assert not [name for name in included if name == "Python.h" or "sim" in name]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_source_is_too_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def test_every_cdef_says_what_becomes_of_exceptions() -> None:
    text = "\n".join(part.read_text() for part in PARTS)
    heads = re.findall(r"^ *cdef ((?!class)[^=\n(]*)\([^)]*\)([^:\n]*):$", text, re.MULTILINE)
    assert len(heads) > 10
    assert not [h for h, tail in heads if not OBJECTS & set(h.split()[:-1]) and "except" not in tail]
