"""Makes the byte builder beside this file available to the tests as the fixture ``build``."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def build() -> ModuleType:
    path = Path(__file__).with_name("om_bytes.py")
    spec = importlib.util.spec_from_file_location("om_bytes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
