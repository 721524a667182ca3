"""The loader: one error for all that is missing, optional functions that may be missing, split libraries."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import acl_models as acl
import numpy as np
import onnx_models as made
import pytest

from ascend_infer import _native
from ascend_infer.errors import CopyError, LibraryError, SymbolNotFoundError
from ascend_infer.simulator import Simulator, library_path

EXT = Path(__file__).parents[2] / "_ext"


def build(target: Path, source: str) -> Path:
    """Compile a library. Not under CANN's own names: it stays in the process, where the search would find it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) on the PATH")
    file = target.with_suffix(".c")
    file.write_text(source)
    command = [compiler, "-shared", "-fPIC", "-w", f"-I{EXT}", str(file), "-o", str(target), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def forwarding(functions: list[tuple[str, str, str, str]]) -> str:
    """C source of a library whose functions call the simulator's of the same names."""
    lines = [
        "#include <dlfcn.h>",
        '#include "acl_types.h"',
        f'static void *sim(const char *n) {{ return dlsym(dlopen("{library_path()}", RTLD_NOW | RTLD_LOCAL), n); }}',
    ]
    for _, result, name, arguments in functions:
        passed = ", ".join(acl.argument_names(arguments))
        lines.append(
            f"{result} {name}({arguments}) {{ static {result} (*f)({arguments}); "
            f'if (!f) f = ({result} (*)({arguments}))sim("{name}"); '
            f"{'return ' if result != 'void' else ''}f({passed}); }}"
        )
    return "\n".join(lines)


def test_a_library_is_opened_once_per_path() -> None:
    path = library_path()
    first = _native.open_acl_library(path, global_symbols=False)
    assert first == _native.open_acl_library(str(path), global_symbols=False)
    assert hash(first) == hash(_native.open_acl_library(path, global_symbols=False))
    assert (first.path, first.is_simulator) == (str(path), True)
    assert str(path) in repr(first)
    with pytest.raises(CopyError):
        first.__reduce__()
    with pytest.raises(TypeError):
        _native.AclLibrary()


def test_all_known_functions_are_listed() -> None:
    symbols = _native.open_acl_library(library_path(), global_symbols=False).symbols
    listed = {name: (required, since) for name, required, since, _ in symbols}
    assert listed["aclInit"] == (True, "20.0")
    assert listed["aclFinalizeReference"] == (False, "8.5")
    assert all(found for _, _, _, found in symbols)


def test_the_linkers_own_reason_is_told(tmp_path: Path) -> None:
    nothing = tmp_path / "libascendcl.so"
    with pytest.raises(LibraryError, match="No such file") as missing:
        _native.open_acl_library(nothing, global_symbols=False)
    assert missing.value.library == str(nothing)
    nothing.write_bytes(b"\x7fELF nothing else")
    with pytest.raises(LibraryError, match="cannot be loaded"):
        _native.open_acl_library(nothing, global_symbols=False)


def test_all_missing_functions_are_in_one_error(tmp_path: Path) -> None:
    library = build(tmp_path / "libhalf.so", "int aclInit(const char *p) { return 100039; }")
    with pytest.raises(LibraryError) as caught:
        _native.open_acl_library(library, global_symbols=False)
    required = [name for _, _, name, _ in acl.c_functions(["required"])]
    assert all((name in str(caught.value)) == (name != "aclInit") for name in required)
    assert "aclFinalizeReference" not in str(caught.value)


def test_a_runtime_without_model_functions_names_the_package(tmp_path: Path) -> None:
    runtime = [f for f in acl.c_functions(["required"]) if not f[2].startswith("aclmdl")]
    library = build(tmp_path / "librt_half.so", forwarding(runtime))
    with pytest.raises(LibraryError, match="ge-executor"):
        _native.open_acl_library(library, global_symbols=False)


def test_a_split_library_is_one(tmp_path: Path) -> None:
    functions = acl.c_functions(["required", "optional"])
    runtime = build(
        tmp_path / "librt_half.so", forwarding([f for f in functions if not f[2].startswith("aclmdl")])
    )
    models = build(
        tmp_path / "libmdl_half.so", forwarding([f for f in functions if f[2].startswith("aclmdl")])
    )
    path = acl.compiled(tmp_path, made.scale(2.0, (2, 4)))
    with Simulator() as simulator:
        with acl.open_device(str(runtime), companions=[str(models)]) as device:
            assert not device.library.is_simulator
            with device.instance(path) as instance:
                [got] = instance.run([np.ones((2, 4), np.float32)], -1, acl.wanted((0, (2, 4))))
                assert got.tolist() == [[2.0] * 4] * 2
        acl.nothing_left(simulator)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("oldest") / "libbuilt.so", forwarding(acl.c_functions(["required"])))


@pytest.fixture
def oldest(built: Path, tmp_path: Path) -> Path:
    """A library with the functions that every CANN has, and no other; initialised for good, so a file a test."""
    return Path(shutil.copy(built, tmp_path / "liboldest.so"))


def test_the_oldest_library_runs_models(tmp_path: Path, oldest: Path) -> None:
    path = acl.compiled(tmp_path, made.add_sub(), gears=acl.batch_gears(1, 4))
    with Simulator() as simulator:
        with acl.open_device(str(oldest)) as device:
            assert device.device.soc_name == ""
            with device.instance(path) as instance:
                ones = np.ones((4, 4), np.float32)
                total, difference = instance.run(
                    [ones * 3, ones], 1, acl.wanted((0, (4, 4)), (1, (4, 4))), lambda: True
                )
                assert (total[0, 0], difference[3, 3]) == (4, 2)
        # Nothing counts references there: ACL is left to those who came later.
        assert simulator.stats().initialized == 1
        assert simulator.live_handles() == []


def test_an_optional_function_is_named_where_it_is_needed(tmp_path: Path, oldest: Path) -> None:
    path = acl.compiled(tmp_path, made.add_sub(), dynamic=True)
    with Simulator(), acl.open_device(str(oldest)) as device, device.instance(path) as instance:
        ones = np.ones((4, 4), np.float32)
        with pytest.raises(SymbolNotFoundError) as caught:
            instance.run_dynamic([ones, ones], [(4, 4), (4, 4)], [0], [acl.F32])
        assert (caught.value.symbol, caught.value.since) == ("aclUpdateDataBuffer", "5.0")
        assert caught.value.library == str(oldest)
