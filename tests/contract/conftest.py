"""The backends that the contract is held to; a new one gets an entry in BACKENDS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnx
import onnx_models as made
import pytest

from ascend_infer import backends
from ascend_infer.backends.base import BackendOptions, LoadedModel, LoadRequest

#: Name of each backend and the package without which it cannot be tested here.
BACKENDS = {"onnx": "onnxruntime"}

Load = Callable[..., LoadedModel]


@pytest.fixture(params=BACKENDS)
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Load]:
    """Load an ONNX model on one backend; closed after the test."""
    pytest.importorskip(BACKENDS[request.param])
    loaded: list[LoadedModel] = []

    def load_model(model: onnx.ModelProto, **options: Any) -> LoadedModel:
        path = made.write(model, tmp_path / f"{len(loaded)}.onnx")
        loaded.append(
            backends.create(request.param).load(LoadRequest("net", path, BackendOptions(**options)))
        )
        return loaded[-1]

    yield load_model
    for model in loaded:
        model.close()
