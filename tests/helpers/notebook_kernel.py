"""A real Jupyter kernel, as the page of a notebook talks to it."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

__all__ = ["Kernel", "needs_jupyter"]

#: Seconds for any one answer; the machine may be busy.
_PATIENCE = 120.0


def needs_jupyter() -> None:
    """Skip where one of the packages is missing, by its name."""
    for package in ("nbclient", "ipykernel", "ipywidgets", "matplotlib"):
        pytest.importorskip(package, reason=f"{package} is not installed")


class Kernel:
    """One kernel in a folder; ``with`` ends it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        from jupyter_client.manager import KernelManager

        self._manager = KernelManager(kernel_name="python3")
        self._folder = folder
        self._environment = environment
        self._client: Any = None

    def __enter__(self) -> Kernel:
        path = os.pathsep.join(p for p in (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")) if p)
        environment = {
            **os.environ,
            "PYTHONPATH": path,
            "JPY_PARENT_PID": str(os.getpid()),
            **self._environment,
        }
        self._manager.start_kernel(cwd=str(self._folder), env=environment)
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=_PATIENCE)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()
        self._manager.context.term()

    def run(
        self, code: str, interrupt_at: str | None = None, fails: str | None = None
    ) -> list[dict[str, Any]]:
        """Run a cell and return what the page got; asserts that it succeeded, or failed with one kind of error.

        Parameters
        ----------
        code : str
        interrupt_at : str, optional
            The kernel is interrupted once the cell has printed this.
        fails : str, optional
            The error's name.
        """
        request = self._client.execute(code)
        outputs: list[dict[str, Any]] = []
        failed = None
        while True:
            message = self._client.get_iopub_msg(timeout=_PATIENCE)
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind in ("stream", "display_data", "execute_result"):
                outputs.append({"kind": kind, **content})
            if kind == "error":
                failed = content["ename"]
                assert failed == fails, "\n".join(content["traceback"])
            if interrupt_at and kind == "stream" and interrupt_at in content["text"]:
                interrupt_at = None
                self._manager.interrupt_kernel()
        assert failed == fails, f"the cell ended with {failed}"
        return outputs

    def text(self, code: str) -> str:
        """Run a cell and return what it printed, or its last expression's text."""
        return "".join(
            out["text"] if out["kind"] == "stream" else out["data"]["text/plain"] for out in self.run(code)
        ).strip()
