"""The package's front: what it names is there, and importing it brings in nothing heavy."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import ascend_infer


def test_every_public_name_resolves() -> None:
    for name in ascend_infer.__all__:
        assert getattr(ascend_infer, name) is not None
    assert set(ascend_infer.__all__) <= set(dir(ascend_infer))
    with pytest.raises(AttributeError, match="no attribute 'Sesion'"):
        _ = ascend_infer.Sesion


def modules() -> list[str]:
    return [
        module.name
        for module in pkgutil.walk_packages(ascend_infer.__path__, "ascend_infer.")
        if not module.name.startswith("ascend_infer.backends.onnx")
        and module.name != "ascend_infer.__main__"
        and not module.name.rpartition(".")[2].startswith("lib")  # a plain shared library, no module
    ]


@pytest.mark.parametrize("name", modules())
def test_every_module_imports_and_names_what_it_has(name: str) -> None:
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        assert hasattr(module, public), f"{name} names {public} and has none"


def test_errors_are_one_tree_and_keep_their_data_when_pickled() -> None:
    import pickle

    from ascend_infer import errors

    samples = {
        "ConfigError": errors.ConfigError("m"),
        "MissingDependencyError": errors.MissingDependencyError("m", package="p"),
        "DeviceNotFoundError": errors.DeviceNotFoundError("m", device="npu", tried=[("a", "b")]),
        "InvalidOptionError": errors.InvalidOptionError("m", option="o", got=object()),
        "ModelNotFoundError": errors.ModelNotFoundError("m", path="p"),
        "ModelLoadError": errors.ModelLoadError("m", path="p"),
        "ModelFileError": errors.ModelFileError("m", path="p", reason="r", offset=3),
        "ModelExecutionError": errors.ModelExecutionError("m", model="n"),
        "InvalidInputError": errors.InvalidInputError("m", input="x", expected="e", got="g"),
        "DeadlineExceededError": errors.DeadlineExceededError("m", timeout=1.5),
        "ImageError": errors.ImageError("m", source="s"),
        "NoGearError": errors.NoGearError("m", size=[3], gears=[[2], [4]], input="x"),
        "LibraryNotFoundError": errors.LibraryNotFoundError("m", library="l", tried=[("a", "b", "c")]),
        "LibraryVersionError": errors.LibraryVersionError("m", found="1", wanted="2"),
        "SymbolNotFoundError": errors.SymbolNotFoundError("m", symbol="aclInit", since="8.0"),
        "AclTimeoutError": errors.AclTimeoutError("m", code=507046, function="f", device_id=1),
        "DeviceOutOfMemoryError": errors.DeviceOutOfMemoryError(
            "m", needed=3, holders=[("a", 1)], code=207001
        ),
        "PoolLimitError": errors.PoolLimitError("m", requested=1, active=2, held=3, limit=4),
        "MemoryBlockError": errors.MemoryBlockError("m", reason="overrun"),
    }
    for name in errors.__all__:
        cls = getattr(errors, name)
        if issubclass(cls, Warning):
            continue
        assert issubclass(cls, errors.AscendInferError)
        error = samples.get(name) or cls("m")
        error.add_note("seen")
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is cls
        assert str(again) == "m"
        assert again.__dict__ == error.__dict__


def test_errors_are_pythons_own_kinds_too() -> None:
    from ascend_infer import errors

    for cls, kind in (
        (errors.ConfigError, ValueError),
        (errors.InvalidInputError, ValueError),
        (errors.ModelNotFoundError, LookupError),
        (errors.DeadlineExceededError, TimeoutError),
        (errors.MissingDependencyError, ImportError),
        (errors.DeviceNotFoundError, OSError),
        (errors.ClosedError, RuntimeError),
        (errors.NoGearError, ValueError),
        (errors.LibraryNotFoundError, OSError),
        (errors.AclError, RuntimeError),
        (errors.DeviceOutOfMemoryError, MemoryError),
        (errors.HostOutOfMemoryError, MemoryError),
        (errors.AclTimeoutError, TimeoutError),
        (errors.PoolLimitError, MemoryError),
    ):
        assert issubclass(cls, kind)
