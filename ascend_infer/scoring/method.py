"""``Session.score``: the method, apart from the session."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ascend_infer.scoring.feeding import Preprocess
    from ascend_infer.scoring.model import ScoredSession
    from ascend_infer.scoring.ranking import Postprocess
    from ascend_infer.scoring.rows import ScoredRow
    from ascend_infer.scoring.summary import Summary

__all__ = ["ScoringMethod"]


class ScoringMethod:
    """Gives a session its method ``score``."""

    def score(
        self,
        source: Any,
        *,
        out: str | os.PathLike[str] | Callable[[ScoredRow], object],
        preprocess: Preprocess | None = None,
        postprocess: Postprocess | None = None,
        outputs: Sequence[str] | None = None,
        top_k: int | None = None,
        softmax: bool = False,
        labels: Sequence[str] | None = None,
        batch: int | str = "auto",
        workers: int | str = "auto",
        resume: bool = True,
        overwrite: bool = False,
        form: str | None = None,
        id_column: str | None = None,
        column: str | None = None,
        part_rows: int | None = None,
        max_errors: int | None = None,
        cast: Any = None,
        progress: bool | str = "auto",
        **pictures: Any,
    ) -> Summary:
        """Run the model over every row of a data set and write what comes out; blocks until that is done.

        Parameters
        ----------
        source : path-like, pyarrow table or data set, data frame, iterable
            A folder of pictures or of tables (``.parquet``, ``.arrow``, ``.feather``) or a pattern
            (``"photos/**/*.jpg"``), in the order of the paths; one such file, an ``.npy``, ``.npz``, ``.csv`` or
            ``.jsonl`` file; any iterable of arrays, of mappings of input to array, of pictures or their paths, or of
            ``(id, item)``.
        out : path-like or callable
            ``.parquet``, ``.csv``, ``.jsonl``, or a folder for ``.npz`` files. A function gets each row as a
            ``ScoredRow``, in order, on the calling thread; such a run cannot be gone on with.
        preprocess : str, Preset, mapping or callable, optional
            How pictures are prepared, a preset of :mod:`ascend_infer.image`; otherwise the configuration's parameter
            ``preprocess``. A function takes a row's item (a path, an array, a record as a dict) and returns one sample:
            an array without the batch dimension, or arrays by input. It is called from several threads at once.
        postprocess : callable, optional
            Takes one row's arrays by output and returns values by column, or one value.
        outputs : sequence of str, optional
        top_k : int, optional
            Write the labels and scores of the k best in place of the values; outputs with labels get 5 where it is left
            out, 0 writes the values.
        softmax : bool
            The scores are logits: make them probabilities.
        labels : sequence of str, optional
            In place of the configuration's.
        batch : int or "auto"
            Rows of a run. ``"auto"`` takes the compiled size, or the size on the CPU, that a measurement finds fastest.
        workers : int or "auto"
            Threads that prepare, run and rank.
        resume : bool
            Go on with what an earlier call began, or return when it was finished. False throws away what was begun.
        overwrite : bool
            Replace an output that is there. Interrupted, the same call goes on; of an iterable, the one without this.
        form : {"parquet", "csv", "jsonl", "npz"}, optional
            Otherwise the output's name says.
        id_column, column : str, optional
            Of a table: what names rows, ``id`` where there is one; what holds the picture or its path.
        part_rows : int, optional
            Rows that are written at a time.
        max_errors : int, optional
            End the run when more rows than that failed.
        cast : {"no", "safe", "same_kind", "unsafe"}, optional
            In place of the session's.
        progress : bool or "auto"
            A bar or a line on standard error; ``"auto"`` on a terminal and in a notebook.
        **pictures
            ``size`` of prepared pictures, ``max_pixels`` of the largest that is decoded.

        Returns
        -------
        Summary
            Counts, rates, time by stage, and what kept it from being faster.

        Raises
        ------
        InvalidOptionError
            An option does not fit; pictures without a preset get the list of presets.
        ResumeError
            Model, configuration, options or source are not those of the run that was begun; says which.
        ScoringSourceError, ScoringOutputError
            The source ended or the output cannot be written; what was written is kept.
        MissingDependencyError
            Parquet and Arrow need pyarrow.

        Notes
        -----
        A row that cannot be read or that the model fails on does not end the run: its reason is in the column
        ``error``. A run that ended in any way, a killed process too, is gone on with by the same call, and the output
        is the same to the byte. Ctrl-C ends the threads first. The session may be used by others meanwhile.
        """
        from ascend_infer.scoring.entrance import score

        return score(
            cast_session(self),
            source,
            out=out,
            preprocess=preprocess,
            postprocess=postprocess,
            outputs=outputs,
            top_k=top_k,
            softmax=softmax,
            labels=labels,
            batch=batch,
            workers=workers,
            resume=resume,
            overwrite=overwrite,
            form=form,
            id_column=id_column,
            column=column,
            part_rows=part_rows,
            max_errors=max_errors,
            cast=cast,
            progress=progress,
            **pictures,
        )


def cast_session(session: object) -> ScoredSession:
    """Tell the type checker that what has the method is a session."""
    return cast("ScoredSession", session)
