"""The list of the C API, what is generated from it, and, where CANN is installed, CANN's own headers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXT = ROOT / "_ext"
FUNCTION = re.compile(r"(required|optional) (\d+\.\d+) (sim|refused) (.+?)\b(acl\w+)\((.*)\)")


def functions() -> dict[str, re.Match[str]]:
    lines = (EXT / "acl_api.txt").read_text(encoding="utf-8").splitlines()
    matches = [FUNCTION.fullmatch(line) for line in lines if line and not line.startswith("#")]
    return {match[5]: match for match in matches if match}


def test_generated_files_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, EXT / "gen_acl_api.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_stale_file_is_told(tmp_path: Path) -> None:
    place = tmp_path / "_ext"
    for folder in (place / "sim", tmp_path / "ascend_infer" / "compat" / "acl"):
        folder.mkdir(parents=True)
    for name in ("gen_acl_api.py", "acl_api.txt", "acl_types.h"):
        (place / name).write_text((EXT / name).read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, place / "gen_acl_api.py"]
    assert subprocess.run([*command, "--check"], capture_output=True, check=False).returncode == 1
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert subprocess.run([*command, "--check"], capture_output=True, check=False).returncode == 0
    assert (place / "acl_api.h").read_text() == (EXT / "acl_api.h").read_text()
    (place / "acl_api.txt").write_text("nonsense\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "acl_api.txt:1" in done.stderr


def test_what_every_program_needs_is_required() -> None:
    listed = functions()
    for name in (
        "aclInit",
        "aclrtSetDevice",
        "aclrtMalloc",
        "aclrtMemcpyAsync",
        "aclmdlLoadFromFile",
        "aclmdlExecute",
    ):
        assert listed[name][1] == "required"
    for name in ("aclFinalizeReference", "aclrtLaunchHostFunc", "aclmdlSetAttribute", "aclGetRecentErrMsg"):
        assert listed[name][1] == "optional"
    assert len(listed) >= 240


def cann_headers() -> Path:
    home = os.environ.get("ASCEND_HOME_PATH") or os.environ.get("ASCEND_TOOLKIT_HOME")
    folder = Path(home, "include") if home else None
    if folder is None or not (folder / "acl" / "acl.h").is_file():
        pytest.skip("needs CANN's headers (ASCEND_HOME_PATH)")
    return folder


def test_signatures_are_canns(tmp_path: Path) -> None:
    folder = cann_headers()
    texts = {p.name: p.read_text(errors="replace") for p in sorted((folder / "acl").glob("*.h"))}
    known = [
        m for name, m in functions().items() if any(re.search(rf"\b{name}\s*\(", t) for t in texts.values())
    ]
    assert len(known) > 150
    used = [n for n, text in texts.items() if any(re.search(rf"\b{m[5]}\s*\(", text) for m in known)]
    lines = [f'#include "acl/{name}"' for name in ("acl.h", *used)]
    # Our names of types are CANN's, so its compiler compares everything; newer headers add overloads for C++.
    lines += [f"{m[4].strip()} (*our_{m[5]})({m[6]}) = &{m[5]};" for m in known]
    source = tmp_path / "signatures.cpp"
    source.write_text("\n".join(lines) + "\n")
    command = ["g++", "-std=c++17", "-fsyntax-only", f"-I{folder}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_layouts_are_canns(tmp_path: Path) -> None:
    folder = cann_headers()
    structs = (
        "aclmdlIODims", "aclmdlIODimsRange", "aclmdlBatch", "aclmdlHW", "aclAippInfo", "aclrtPtrAttributes",
        "aclrtMallocConfig", "aclCANNPackageVersion", "aclmdlExeOMDesc", "aclrtMemUsageInfo", "aclrtUtilizationInfo",
    )  # fmt: skip
    sizes = []
    for header in (f"{EXT / 'acl_types.h'}", "acl/acl.h"):
        source = tmp_path / "sizes.cpp"
        prints = "".join(f'std::printf("{s} %zu\\n", sizeof({s}));' for s in structs)
        more = "" if header.endswith("acl_types.h") else '#include "acl/acl_mdl.h"\n'
        source.write_text(f'#include "{header}"\n{more}#include <cstdio>\nint main() {{ {prints} }}\n')
        program = tmp_path / "sizes"
        subprocess.run(["g++", "-std=c++17", f"-I{folder}", source, "-o", program], check=True)
        sizes.append(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
    assert sizes[0] == sizes[1]
