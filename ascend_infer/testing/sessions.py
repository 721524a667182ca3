"""Sessions of ONNX models for tests: from a file or from memory, with gears or a configuration, closed at the end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from ascend_infer import onnx_file
from ascend_infer.errors import InvalidOptionError
from ascend_infer.session import Session
from ascend_infer.simulator import compile_model
from ascend_infer.types import Gear

__all__ = ["SessionFactory"]


class SessionFactory:
    """Opens sessions, and closes all of them at its own end.

    Parameters
    ----------
    folder : path-like
        Where model directories are made; a temporary one.

    Notes
    -----
    Thread safety: none; a test has its own.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._sessions: list[Session] = []

    def __call__(
        self,
        onnx: Any,
        *,
        name: str | None = None,
        config: str | None = None,
        gears: Sequence[int | Gear] = (),
        **options: Any,
    ) -> Session:
        """Open a session; blocks while the model is compiled and loaded.

        Parameters
        ----------
        onnx : path-like, bytes, or onnx.ModelProto
            The model. A file is used where it lies unless ``config`` or ``gears`` are given.
        name : str, optional
            The model's name; the file's, or ``"model"``, where left out.
        config : str, optional
            Text of a config.pbtxt: the model becomes a model directory with it.
        gears : sequence of int or Gear, optional
            Sizes that the model is compiled for, on the simulated card; whole numbers are batch sizes. On the CPU
            they mean nothing.
        **options
            Of :class:`~ascend_infer.Session`.

        Returns
        -------
        Session
            Closed with this factory; may be closed earlier.

        Raises
        ------
        InvalidOptionError
            ``onnx`` is none of these, or the gears do not fit the model.
        ModelFileError
            The model cannot be read.
        AscendInferError
            What ``Session`` raises.
        """
        if isinstance(onnx, str | os.PathLike) and config is None and not gears and name is None:
            path = Path(onnx)
        else:
            path = self._directory(onnx, name, config, gears)
        session = Session(path, **options)
        self._sessions.append(session)
        return session

    def close(self) -> None:
        """Close every session, the last one first; idempotent."""
        while self._sessions:
            self._sessions.pop().close()

    def __enter__(self) -> SessionFactory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _directory(
        self, onnx: Any, name: str | None, config: str | None, gears: Sequence[int | Gear]
    ) -> Path:
        source = Path(onnx) if isinstance(onnx, str | os.PathLike) else None
        name = name or (source.stem if source else "model")
        place = self._folder / str(len(list(self._folder.iterdir()))) / name
        version = place / "1"
        version.mkdir(parents=True)
        model = version / "model.onnx"
        if source is not None:
            shutil.copyfile(source, model)
            for weights in onnx_file.read(source).external_data:
                (version / weights).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source.parent / weights, version / weights)
        else:
            model.write_bytes(_content(onnx))
        if config is not None:
            (place / "config.pbtxt").write_text(config, encoding="utf-8")
        if gears:
            sizes = [gear if isinstance(gear, Gear) else Gear("batch", (gear,)) for gear in gears]
            compile_model(model, version / "model.om", gears=sizes, name=name)
        return place


def _content(onnx: Any) -> bytes:
    if isinstance(onnx, bytes):
        return onnx
    if hasattr(onnx, "SerializeToString"):
        return bytes(onnx.SerializeToString())
    raise InvalidOptionError(
        f"onnx: got {type(onnx).__name__}, expected the path of a model file, its bytes, or an onnx.ModelProto",
        option="onnx",
        got=onnx,
    )
