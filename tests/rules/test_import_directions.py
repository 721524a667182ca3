"""Who may import whom, inside the package. A new room gets a line here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ascend_infer"

LEAVES = {"errors", "diagnostic", "types", "wire", "cpu_budget", "_version"}

#: Room (a folder or a file at the top) and the rooms it may import, imports inside functions included.
ALLOWED: dict[str, set[str]] = {
    "_version": set(),
    "errors": {"diagnostic"},  # for its types only
    "diagnostic": set(),
    "wire": set(),
    "acl_codes": {"errors"},
    "cpu_budget": set(),
    "memory": set(),
    "figure": {"errors"},
    "metrics": {"_native", "config", "errors", "figure", "html", "memory"},  # config for its types only
    "memory_pool": {"_native", "backends", "device", "errors", "html", "memory", "refusal"},
    "memory_shortage": {"errors", "memory"},
    "types": {"errors"},
    "regular_file": set(),
    "same_file": set(),
    "file_stamps": set(),
    "content_files": {"errors", "onnx_file"},
    "shortened": set(),
    "timeouts": {"errors", "refusal"},
    "onnx_file": {"errors", "regular_file", "types", "wire"},
    "om": {"errors", "regular_file", "types", "wire"},
    "gears": {"diagnostic", "errors", "om", "types"},
    "config": {"errors", "regular_file", "shortened", "types", "diagnostic"},
    "image": {"errors", "shortened", "types", "cpu_budget"},
    "model_directory": {"config", "errors", "diagnostic", "regular_file"},
    "named_files": {"config", "diagnostic", "errors", "model_directory", "regular_file", "types"},
    "lint": {"named_files", "config", "model_directory", "errors", "types", "diagnostic"},
    "backends": {
        "output_array",
        "_native",
        "acl_codes",
        "device_pointer",
        "errors",
        "gears",
        "types",
        "onnx_file",
        "om",
        "config",
        "cpu_budget",
    },
    "scheduling": {
        *("_native", "output_array", "backends", "config", "device_pointer", "errors", "gears", "result"),
        *("refusal", "timeouts", "types"),
    },
    "device_pointer": {"errors", "input_array", "types"},
    "input_array": {"errors", "shortened", "types"},
    "output_array": {"errors"},
    "refusal": {"errors", "shortened", "types"},
    "signature": {
        "device_pointer",
        "errors",
        "types",
        "input_array",
        "refusal",
        "shortened",
        "signature_rule",
    },
    "signature_rule": {"types"},
    "options": {"errors", "input_array", "memory_pool", "refusal", "scheduling"},
    "request": {
        *("_native", "device_pointer", "errors", "input_array", "options", "result", "signature", "timeouts"),
    },
    "streaming": {"_native", "errors", "input_array", "request", "result", "scheduling", "timeouts"},
    "accounts": {"_native", "backends", "config", "metrics", "model_source", "scheduling"},
    "calls": {
        *("_native", "errors", "input_array", "loading", "options", "output_array", "result"),
        *("scheduling", "streaming", "timeouts"),
    },
    "doctor": LEAVES | {"acl_codes", "om", "onnx_file", "lint", "config", "model_directory", "regular_file"},
    "simulator": LEAVES | {"compile", "config", "doctor", "om", "onnx_file", "same_file"},
    "arrivals": set(),
    "scoring.ray": {"errors", "model_directory", "scoring", "session"},
    "testing": {"errors", "lifetime", "onnx_file", "session", "simulator", "types"},
    "pytest_plugin": {"errors", "simulator", "testing"},
    "compile": {
        *(
            "acl_codes",
            "config",
            "diagnostic",
            "doctor",
            "errors",
            "model_directory",
            "om",
            "onnx_file",
            "types",
        ),
    },
    "compat": {"_native", "doctor", "errors", "simulator"},
    "device": {"_native", "backends", "errors", "doctor", "simulator"},
    "compiled": {"_native", "backends", "compile", "config", "device", "errors", "options", "simulator"},
    "result": {"errors", "image", "html"},
    "notebook": {"errors", "html", "session"},  # session for its types only
    "html": {"memory", "types", "result", "session"},  # result and session for their types only
    "model_source": {"om", "config", "diagnostic", "errors", "model_directory", "onnx_file", "options"},
    "loading": {
        *("backends", "compiled", "config", "device", "errors", "memory_pool", "model_source", "om"),
        *(
            "accounts",
            "content_files",
            "file_stamps",
            "onnx_file",
            "options",
            "request",
            "result",
            "scheduling",
            "signature",
            "types",
            "warmup",
        ),
    },
    "lifetime": {"backends", "errors", "loading"},  # backends and loading for their types only
    "trial_inputs": {"errors", "model_source", "onnx_file", "refusal", "session", "types"},
    "comparison": {"errors", "html", "onnx_file", "session", "trial_inputs", "types"},
    "perf": {"errors", "figure", "refusal", "regular_file", "session", "types"},
    "explain": {"errors", "gears", "loading", "refusal", "shortened"},
    "warmup": {"backends", "config", "errors", "regular_file", "scheduling", "signature", "types"},
    "scoring": {
        *(
            "_version",
            "config",
            "content_files",
            "cpu_budget",
            "errors",
            "file_stamps",
            "gears",
            "image",
            "notebook",
            "refusal",
            "result",
            "same_file",
            "shortened",
            "types",
        ),
    },
    "session": {
        *(
            "_native",
            "arrivals",
            "calls",
            "config",
            "device",
            "errors",
            "explain",
            "gears",
            "html",
            "input_array",
            "lifetime",
            "loading",
            "memory_pool",
            "metrics",
            "notebook",
        ),
        *("options", "result", "scheduling", "scoring", "timeouts", "types"),
    },
    "__init__": {
        *(
            "_version",
            "config",
            "device_pointer",
            "errors",
            "image",
            "memory_pool",
            "metrics",
            "om",
            "result",
            "scheduling",
            "session",
            "types",
        ),
    },
    "__main__": {"cli"},
}

#: Files that are a room of their own, whatever folder they lie in: this one stands above Session, its room below.
APART = {"scoring/ray.py": "scoring.ray"}

#: Packages from outside and the rooms that may import them.
OUTSIDE = {
    "onnxruntime": {"backends", "simulator", "doctor", "cli"},  # backends: in onnx_runtime.py alone
    "onnx": set(),
    "ray": {"scoring.ray"},
    "google": {"config"},
    "matplotlib": {"figure", "metrics"},  # metrics: for its types only
    "PIL": {"image", "scoring"},  # scoring: for its version, which a manifest names
    "pyarrow": {"scoring"},
    "tqdm": {"scoring"},
    "ml_dtypes": {"types"},
    "prometheus_client": {"metrics"},
}


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            found.update(f"{module}.{alias.name}" for alias in node.names)
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_directions(path: Path) -> None:
    place = path.relative_to(PACKAGE)
    room = APART.get(place.as_posix()) or place.parts[0].removesuffix(".py")
    for module in imports(path):
        top = module.split(".")[0]
        if top == "ascend_infer":
            target = room_of(module)
            if room == "cli" or target == room or module == "ascend_infer.__version__":
                continue
            assert target in ALLOWED[room], f"{room} may not import {target}"
        elif top in OUTSIDE:
            assert room in OUTSIDE[top], f"{room} may not import {top}"


def test_the_batching_policy_is_pure() -> None:
    # A function of what is queued, the time it is given and the rules: what it imports could not tell it more.
    allowed = {"__future__", "bisect", "collections", "dataclasses", "typing"}
    found = {module.split(".")[0] for module in imports(PACKAGE / "scheduling" / "policy.py")}
    assert found <= allowed, found - allowed


def test_the_directions_have_no_cycle() -> None:
    # html and notebook show results and sessions, which import them inside a method: types only, the other way.
    edges = {room: targets - {room} for room, targets in ALLOWED.items()}
    edges["html"] = edges["html"] - {"result", "session"}
    edges["notebook"] = edges["notebook"] - {"session"}
    edges["errors"] = set()
    done: set[str] = set()

    def visit(room: str, above: tuple[str, ...]) -> None:
        assert room not in above, " -> ".join([*above, room])
        if room not in done:
            for target in edges.get(room, set()):
                visit(target, (*above, room))
            done.add(room)

    for room in edges:
        visit(room, ())


def test_no_file_is_too_long() -> None:
    long = {str(p.relative_to(PACKAGE)): n for p in FILES if (n := len(p.read_text().splitlines())) > 400}
    assert not long, f"split by noun: {long}"


def test_no_file_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
    assert not [path for path in FILES if path.stem in empty]
