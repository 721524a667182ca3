"""The C++ test programs, under the sanitizers. What was compiled before is kept in build/simulator-tests."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SANITIZERS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "thread": ["-fsanitize=thread"],
}
FLAGS = [
    *("-std=c++17", "-O0", "-g1", "-fno-omit-frame-pointer", "-pthread"),
    *("-Wall", "-Wextra", "-Wconversion", "-Werror"),
]
GROUPS = sorted(p.stem.removeprefix("test_") for p in (ROOT / "tests/cpp/sim").glob("test_*.cpp"))


def compiler() -> str:
    found = shutil.which("g++") or shutil.which("c++")
    if found is None:
        pytest.skip("needs a C++ compiler (g++)")
    return found


def headers_digest() -> str:
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for pattern in ("_ext/*.h", "_ext/sim/*.hpp", "tests/cpp/sim/*.hpp"):
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def build(kind: str) -> Path:
    """Compile what changed and link; returns the program. One process at a time: the folder is everybody's."""
    folder = ROOT / "build" / "simulator-tests" / kind
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return build_in(folder, kind)


def build_in(folder: Path, kind: str) -> Path:
    headers = headers_digest()
    sources = [*sorted(ROOT.glob("_ext/sim/*.cpp")), *sorted(ROOT.glob("tests/cpp/sim/*.cpp"))]

    def compile_one(source: Path) -> Path:
        key = hashlib.sha256(headers.encode() + source.read_bytes()).hexdigest()[:20]
        target = folder / f"{source.stem}-{key}.o"
        if not target.exists():
            fresh = target.with_suffix(f".{os.getpid()}.tmp")
            command = [compiler(), *FLAGS, *SANITIZERS[kind], "-c", source, "-o", fresh]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
            assert done.returncode == 0, done.stderr
            for old in folder.glob(f"{source.stem}-*.o"):
                old.unlink(missing_ok=True)
            fresh.rename(target)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, sources))
    key = hashlib.sha256("".join(o.name for o in objects).encode()).hexdigest()[:20]
    program = folder / f"tests-{key}"
    if not program.exists():
        fresh = program.with_suffix(f".{os.getpid()}")
        command = [compiler(), *SANITIZERS[kind], "-o", fresh, *objects, "-pthread", "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for old in folder.glob("tests-*"):
            if old != fresh:
                old.unlink(missing_ok=True)
        fresh.rename(program)
    return program


@pytest.fixture(scope="module", params=sorted(SANITIZERS))
def program(request: pytest.FixtureRequest) -> Path:
    try:
        probe = subprocess.run(
            [compiler(), *SANITIZERS[request.param], "-x", "c++", "-", "-o", os.devnull],
            input="int main() {}", capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError as error:
        pytest.skip(f"needs a C++ compiler: {error}")
    if probe.returncode != 0:
        pytest.skip(f"needs the compiler's {request.param} sanitizer")
    return build(request.param)


def run(program: Path, *words: str) -> str:
    # Address randomisation of new kernels leaves the thread sanitizer no room: without it both run everywhere.
    command = ["setarch", "-R"] if shutil.which("setarch") else []
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("ACLSIM_", "ASCEND_"))}
    done = subprocess.run(
        [*command, program, *words], capture_output=True, text=True, check=False, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    assert "WARNING: ThreadSanitizer" not in done.stderr
    return done.stdout


@pytest.mark.parametrize("group", GROUPS)
def test_group(program: Path, group: str) -> None:
    assert re.search(r"[1-9]\d* tests, 0 failures", run(program, group))


def test_every_function_was_called_with_success_and_without(program: Path) -> None:
    called = {
        name: (int(calls), int(failures))
        for name, calls, failures in re.findall(r"^called (\w+) (\d+) (\d+)$", run(program), re.M)
    }
    text = (ROOT / "_ext/acl_api.txt").read_text(encoding="utf-8")
    listed = re.findall(r"^(?:required|optional) \S+ (sim|refused) (.+?)\b(acl\w+)\((.*)\)$", text, re.M)
    never = [name for _, _, name, _ in listed if name not in called]
    assert not never, f"no test calls {never}"
    coded = [(kind, name) for kind, returns, name, _ in listed if returns.strip() == "aclError"]
    unfailed = [name for kind, name in coded if called[name][1] == 0]
    # These cannot fail: they take no argument that could be wrong, or their result is the error itself.
    harmless = {
        *("aclrtDeviceGetStreamPriorityRange", "aclrtPeekAtLastError", "aclrtGetLastError"),
        "aclrtSetExceptionInfoCallback",
    }
    assert set(unfailed) <= harmless, unfailed
    unused = [name for kind, name in coded if kind == "sim" and called[name][0] == called[name][1]]
    assert set(unused) <= NEVER_SUCCEEDS, unused


#: Functions of the list whose success needs what the simulator does not have: operators, dynamic AIPP.
NEVER_SUCCEEDS = {
    "aclmdlCreateAndGetOpDesc",
    "aclmdlSetInputAIPP",
    "aclmdlSetAIPPByInputIndex",
}
