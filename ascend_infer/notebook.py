"""The notebook that this process may be the kernel of."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

from ascend_infer.errors import ClosedError

if TYPE_CHECKING:
    from ascend_infer.session import Session

__all__ = ["ShownSession", "in_notebook", "keep_weakly"]


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook: Jupyter's, or one made from it."""
    return any(kind.__name__ == "ZMQInteractiveShell" for kind in type(_shell()).__mro__)


def keep_weakly(session: Session) -> None:
    """Have the notebook's history of outputs not keep a session that it shows.

    ``Out`` keeps what a cell's last expression gave until the kernel ends. With a session, each run of the cell would
    leave a loaded model behind. Once the cell has ended, a :class:`ShownSession` stands in its place, if a variable
    holds the session. One that nothing else holds stays in ``Out``.
    """
    shell = _shell()
    if shell is None:
        return
    reference = weakref.ref(session)

    def cell_ended(_: object) -> None:
        shell.events.unregister("post_run_cell", cell_ended)
        if (found := reference()) is not None:
            _replace(shell, found)

    shell.events.register("post_run_cell", cell_ended)


class ShownSession:
    """A session that a notebook showed: the same methods while it lives, and what was shown afterwards.

    Parameters
    ----------
    session : Session
        Not kept alive.
    """

    __slots__ = ("_html", "_session", "_text")

    def __init__(self, session: Session) -> None:
        from ascend_infer.html import session_html

        self._session = weakref.ref(session)
        self._text, self._html = repr(session), session_html(session)

    def __getattr__(self, name: str) -> Any:
        session = self._session()
        if session is None:
            raise ClosedError(f"{self._text} is gone: its variable has another value since; open a new one")
        return getattr(session, name)

    def __call__(self, /, *args: Any, **inputs: Any) -> Any:
        """Run the session that was shown."""
        return self.__getattr__("__call__")(*args, **inputs)

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


def _shell() -> Any:
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None else None


def _replace(shell: Any, session: Session) -> None:
    variables = shell.user_ns
    if not any(value is session for name, value in variables.items() if not name.startswith("_")):
        return
    shown = ShownSession(session)
    # The hook compares its own "_" with the user's, and stops keeping "_" when they differ: both change.
    for held in (variables, variables.get("_oh", {}), shell.user_ns_hidden, vars(shell.displayhook)):
        for name in [name for name, value in held.items() if value is session]:
            if isinstance(name, int) or name.startswith("_"):
                held[name] = shown
