"""``Session.plot_stats``: the method, apart from the session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PlotMethod"]


class _Accounts(Protocol):
    def plot(self) -> Any: ...


class _Opened(Protocol):
    @property
    def accounts(self) -> _Accounts: ...


class PlotMethod:
    """Gives a session its method ``plot_stats``."""

    def _opened(self) -> _Opened:
        raise NotImplementedError

    def plot_stats(self) -> Figure:
        """Draw rates, where the requests' time went, and the batches, since the load and from call to call.

        The first two of its four axes have an entry for each stretch between two calls of :meth:`stats`: call that
        after each level of load, say. The other two are of everything since the load: which share of the requests
        queued, and ran, for how long, and how many rows the batches had. It reads the numbers as they are and does
        not count as a call of :meth:`stats`.

        Returns
        -------
        matplotlib.figure.Figure
            Not one of pyplot's, so there is nothing to close. The last expression of a notebook's cell shows it;
            ``savefig("load.png")`` writes it.

        Raises
        ------
        MissingDependencyError
            matplotlib is not installed: ``pip install 'ascend-infer[plot]'``.
        ClosedError

        Notes
        -----
        The last 32 stretches at most are told apart; before there are more, neighbours are joined.
        """
        figure: Figure = self._opened().accounts.plot()
        return figure
