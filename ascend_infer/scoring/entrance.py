"""The function that scores a data set."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.job import Job
from ascend_infer.scoring.model import ScoredSession
from ascend_infer.scoring.options import ScoreOptions
from ascend_infer.scoring.rows import ScoredRow
from ascend_infer.scoring.saved_output import SavedOutput
from ascend_infer.scoring.sinks.choice import form_of, open_sink
from ascend_infer.scoring.summary import Summary

__all__ = ["score"]


def score(
    sessions: ScoredSession | Sequence[ScoredSession],
    source: Any,
    *,
    out: str | os.PathLike[str] | Callable[[ScoredRow], object],
    **options: Any,
) -> Summary:
    """Run a model over every row of a source; see :meth:`ascend_infer.Session.score` for the options.

    Parameters
    ----------
    sessions : Session or sequence of Session
        One model, opened once or on several devices, which then share the rows.
    source : path-like, pyarrow table or data set, data frame, iterable
    out : path-like or callable
    **options
        As of ``Session.score``.

    Returns
    -------
    Summary
    """
    listed = list(sessions) if isinstance(sessions, Sequence) else [sessions]
    if not listed:
        raise InvalidOptionError("sessions: got none, expected at least one", option="sessions")
    checked = ScoreOptions.of(options)
    if callable(out):
        return _to_callback(Job(listed, source, checked), out)
    try:
        path = os.fsdecode(out)
    except TypeError:
        raise InvalidOptionError(
            f"out: got {out!r}, expected a path or a function", option="out", got=repr(out)
        ) from None
    form = form_of(path, checked.form)
    path = path.rstrip("/") if form == "npz" else path
    job = Job(listed, source, checked, path)
    sink = open_sink(form, job.columns.columns, job.source.numbered)
    return SavedOutput(path, job, sink).make()


def _to_callback(job: Job, out: Callable[[ScoredRow], object]) -> Summary:
    layout = job.arrange()

    def take(rows: list[ScoredRow]) -> None:
        for row in rows:
            out(row)

    with closing(job.source.rows(0)) as rows:
        job.run(rows, 0, layout, take)
    summary = job.summary("", layout)
    job.steady.check(summary.rows)
    return summary
