"""A model on several devices at once: loaded to each, and one model to whoever uses it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from ascend_infer.backends.base import Backend, Executable, LoadedModel, LoadRequest
from ascend_infer.errors import AscendInferError
from ascend_infer.types import ModelSpec

__all__ = ["PlacedModel", "load_placed"]


def load_placed(backend: Backend, requests: Sequence[LoadRequest]) -> LoadedModel:
    """Load a model to each device of the requests, one after the other; blocks.

    Parameters
    ----------
    backend : Backend
    requests : sequence of LoadRequest
        For the same file, each with a device of its own.

    Returns
    -------
    LoadedModel
        The backend's own where there is one request.

    Raises
    ------
    ModelLoadError, AclError, DeviceOutOfMemoryError
        A device does not take it; what was loaded to the others is given back.
    """
    with ExitStack() as undo:
        models: list[LoadedModel] = []
        before = 0
        for request in requests:
            models.append(backend.load(replace(request, first_instance=before)))
            before += request.options.instances
            undo.callback(models[-1].close)
        undo.pop_all()
    return models[0] if len(models) == 1 else PlacedModel(models)


class PlacedModel(LoadedModel):
    """The same model on each of several devices; see ``backends.base.LoadedModel``.

    Attributes
    ----------
    chooser : GearChooser
        Of the first device: the compiled sizes are the file's, and so are those of all.
    """

    def __init__(self, models: Sequence[LoadedModel]) -> None:
        self._models = tuple(models)
        self._executables = tuple(item for model in models for item in model.executables())
        self.chooser: Any = getattr(models[0], "chooser", None)

    @property
    def spec(self) -> ModelSpec:
        """The signature, the same on all devices."""
        return self._models[0].spec

    @property
    def device(self) -> str:
        """All of them: ``"npu:0,npu:1"``."""
        return ",".join(model.device for model in self._models)

    @property
    def details(self) -> Mapping[str, str]:
        """Facts that hold for all devices, and those of each where they differ."""
        told: dict[str, str] = {}
        for key in dict.fromkeys(key for model in self._models for key in model.details):
            values = {model.device: model.details[key] for model in self._models if key in model.details}
            same = len(set(values.values())) == 1 and len(values) == len(self._models)
            told[key] = (
                next(iter(values.values()))
                if same
                else "; ".join(f"{device} {value}" for device, value in values.items())
            )
        return told

    @property
    def shared_devices(self) -> Mapping[str, Any]:
        """The open devices by name, each with its pools."""
        return {
            device: shared
            for model in self._models
            for device, shared in getattr(model, "shared_devices", {}).items()
        }

    def executables(self) -> Sequence[Executable]:
        """Return those of all devices, the first device's first."""
        return self._executables

    def close(self) -> None:
        """Close it on every device. Idempotent; blocks.

        Raises
        ------
        AclError
            The first call that failed; every device was closed all the same.
        """
        _close_each(model.close for model in self._models)

    def close_within(self, seconds: float) -> bool:
        """Close on every device where what runs ends within some seconds; returns whether that was all of them.

        Raises
        ------
        AclError
            As ``close``.
        """
        until = time.monotonic() + seconds
        closed: list[bool] = []
        _close_each(partial(_close_until, model, until, closed) for model in self._models)
        return all(closed)


def _close_until(model: LoadedModel, until: float, closed: list[bool]) -> None:
    closed.append(model.close_within(max(0.0, until - time.monotonic())))


def _close_each(ways: Iterable[Callable[[], None]]) -> None:
    first: AscendInferError | None = None
    for close in ways:
        try:
            close()
        except AscendInferError as error:
            first = first or error
    if first is not None:
        raise first
