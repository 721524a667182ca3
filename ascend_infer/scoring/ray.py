"""Scoring a Ray data set: one session in each actor, an NPU asked for, one version of the model everywhere.

    from ascend_infer.scoring.ray import score_dataset

    photos = ray.data.read_images("s3://photos", include_paths=True)
    score_dataset(photos, "/models/resnet50", preprocess="imagenet", actors=8, npus=1).write_parquet("s3://scores")

``Scorer`` is the class behind it, for ``ray.data.Dataset.map_batches`` with arguments of one's own. Importing this
needs no Ray.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ascend_infer.errors import InvalidInputError, InvalidOptionError, MissingDependencyError, ModelLoadError
from ascend_infer.model_directory import ModelDirectory
from ascend_infer.scoring.arrow import pa
from ascend_infer.scoring.content import content_of, model_content
from ascend_infer.scoring.job import Job
from ascend_infer.scoring.options import ScoreOptions
from ascend_infer.scoring.rows import Row, ScoredRow
from ascend_infer.scoring.sinks.parquet_file import ParquetSink
from ascend_infer.scoring.utf8_text import utf8_text
from ascend_infer.session import Session

__all__ = ["NPU", "Scorer", "pin", "score_dataset"]

#: Ray's name of an Ascend NPU (ray/_private/accelerators/npu.py). An actor that asks for one sees it alone, as device
#: 0: Ray sets ASCEND_RT_VISIBLE_DEVICES for it.
NPU = "NPU"

#: Where Ray's readers put pictures: read_images, read_binary_files.
_PICTURES = ("image", "bytes")
_IDS = ("id", "path")


class Scorer:
    """Scores batches of a Ray data set; the rows are those that ``Session.score`` makes.

    Parameters
    ----------
    model : path-like
        A path that is the same on every node.
    version : int or str, optional
        As of ``Session``; :func:`pin` says which one is meant now.
    content : mapping of str to str, optional
        SHA-256 of the model's files, of :func:`pin`: a node whose files differ refuses to work.
    device : str
        As of ``Session``. ``"auto"`` is the NPU that Ray gave the actor, or the CPU on a node without.
    id_column : str, optional
        Names the rows in the output's ``id``; ``"id"`` or ``"path"`` where there is such a column.
    keep : sequence of str
        Columns that are handed on.
    session : mapping, optional
        More options of ``Session``: ``{"instances": 2, "threads": 1}``.
    **options
        Of ``Session.score``: ``preprocess``, ``column``, ``outputs``, ``top_k``, ``postprocess``, ``batch``, ...

    Raises
    ------
    ModelLoadError
        The files are not those that were pinned.
    InvalidOptionError, MissingDependencyError, AscendInferError
        As of ``Session`` and ``Session.score``.

    Notes
    -----
    A row that cannot be scored has the reason in ``error``, and nulls; the run goes on. One without a name (null, NaN)
    has a null ``id``: a local run names it by its number in the source, which a batch does not know. Thread safety:
    none, as Ray calls an actor from one thread.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        version: int | str | None = None,
        content: Mapping[str, str] | None = None,
        device: str = "auto",
        id_column: str | None = None,
        keep: Sequence[str] = (),
        session: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if isinstance(keep, str):
            raise InvalidOptionError(
                f"keep: got {keep!r}, expected a list of columns", option="keep", got=keep
            )
        checked = ScoreOptions.of({"progress": False, **options})
        self._session = Session(model, version=version, device=device, **(session or {}))
        try:
            if content is not None:
                _check_content(self._session, content)
            # The rows come with each batch.
            self._job = Job([self._session], iter(()), checked)
            self._layout = self._job.arrange()
            self._sink = ParquetSink(self._job.columns.columns, numbered=False)
        except BaseException:
            self._session.close()
            raise
        self._inputs = {tensor.name for tensor in self._session.inputs}
        self._id = id_column
        self._keep = list(keep)
        self._column = checked.column

    def __call__(self, batch: Mapping[str, Any]) -> Any:
        """Score a batch of columns.

        Parameters
        ----------
        batch : mapping of str to ndarray
            What ``batch_format="numpy"`` gives: the first dimension of each column counts rows.

        Returns
        -------
        pyarrow.Table
            ``id`` (where rows have one), the kept columns, the outputs, ``error``.

        Raises
        ------
        InvalidInputError
            A column that was named is not there.
        """
        ids = self._ids(batch)
        items = self._items(batch)
        unnamed = [ids is None or _is_missing(ids[index]) for index in range(len(items))]
        rows = [
            Row(index, str(index if unnamed[index] else ids[index]), item) for index, item in enumerate(items)
        ]
        scored: list[ScoredRow] = []
        fit = self._sink.fitting(())
        self._job.run(iter(rows), 0, self._layout, scored.extend, len(rows), fit)
        with pa().ipc.open_file(pa().py_buffer(self._sink.encode_part(scored))) as part:
            table = part.read_all()
        kept = {name: _column(self._of(batch, name, "keep")) for name in self._keep if name != "id"}
        named = {} if ids is None else {"id": _masked(table.column("id"), unnamed)}
        made = {name: table.column(name) for name in table.column_names if name != "id"}
        return pa().table({**named, **kept, **made})

    def close(self) -> None:
        """Close the session; idempotent. An actor that ends needs no call."""
        self._session.close()

    def __enter__(self) -> Scorer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ids(self, batch: Mapping[str, Any]) -> Any:
        if self._id is not None:
            return self._of(batch, self._id, "id_column")
        return next((batch[name] for name in _IDS if name in batch and name not in self._inputs), None)

    def _items(self, batch: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the record of each row: what the model takes, or all of it for a function of the caller's."""
        count = len(next(iter(batch.values()), ()))
        if callable(self._job.feeder.function):
            wanted = {name: name for name in batch}
        elif self._column is not None:
            self._of(batch, self._column, "column")
            wanted = {self._column: self._column}
        elif own := self._inputs & batch.keys():
            wanted = {name: name for name in own}
        elif self._job.feeder.preset is not None and (pictures := [p for p in _PICTURES if p in batch]):
            wanted = {"image": pictures[0]}
        else:
            wanted = {name: name for name in batch if name != self._id and name not in self._keep}
        return [{name: batch[column][row] for name, column in wanted.items()} for row in range(count)]

    def _of(self, batch: Mapping[str, Any], name: str, option: str) -> Any:
        if name not in batch:
            raise InvalidInputError(
                f"{option}={name!r}: the data set has the columns {', '.join(batch)}",
                input=name,
                expected=name,
                got=", ".join(batch),
            )
        return batch[name]


def pin(model: str | os.PathLike[str], version: int | str | None = None) -> dict[str, Any]:
    """Return the arguments of :class:`Scorer` that mean this model as it is now.

    A version that appears while a run goes on, or a node with other files, does not mix two models in one output.
    Reads and digests the files; needs no device.

    Returns
    -------
    dict
        ``model``, ``version``, ``content``.

    Raises
    ------
    ModelNotFoundError, ConfigError
    """
    path = os.path.abspath(os.fspath(model))
    if Path(path).is_file():
        return {"model": path, "version": version, "content": content_of(path, None, None)}
    directory = ModelDirectory.open(Path(path))
    number = directory.resolve_version(version)
    return {"model": path, "version": number, "content": content_of(path, number, directory.config)}


def score_dataset(
    dataset: Any,
    model: str | os.PathLike[str],
    *,
    version: int | str | None = None,
    actors: int | tuple[int, int] = 1,
    npus: float = 0,
    cpus: float | None = None,
    batch_size: int = 64,
    remote: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Score a Ray data set with the version of the model that serves now.

    Parameters
    ----------
    dataset : ray.data.Dataset
    model : path-like
        Here and, under the same path, on every node.
    version : int or str, optional
    actors : int or (int, int)
        Sessions; or the fewest and the most of them.
    npus : float
        NPUs that an actor asks Ray for; 0 runs on the CPU of nodes without one.
    cpus : float, optional
        CPUs that an actor asks for; on the CPU it has as many ``workers``, unless those are given.
    batch_size : int
        Rows that Ray hands over at a time; the model's own batch is ``batch=``.
    remote : mapping, optional
        More arguments of ``map_batches``: ``{"memory": 2 << 30}``.
    **options
        Of :class:`Scorer`.

    Returns
    -------
    ray.data.Dataset
        Lazy, as all of Ray's.

    Raises
    ------
    ModelNotFoundError, ConfigError
        Now; what is wrong with options shows in the actors.
    MissingDependencyError
        There is no Ray.

    Notes
    -----
    Reading and writing need CPUs too: ask for fewer than the cluster has, or Ray waits for ever.
    """
    try:
        from ray.data import ActorPoolStrategy
    except ImportError as error:
        raise MissingDependencyError(
            f"scoring a Ray data set needs Ray Data ({error}): pip install 'ascend-infer[ray]'", package="ray"
        ) from error
    fewest, most = (actors, actors) if isinstance(actors, int) else actors
    asked: dict[str, Any] = dict(remote or {})
    if npus:
        asked["resources"] = {**asked.get("resources", {}), NPU: npus}
    if cpus is not None:
        asked["num_cpus"] = cpus
        if options.get("device") == "cpu":
            # As many as Ray counts for the actor, not as the node has: the others are other actors'.
            options.setdefault("workers", max(1, int(cpus)))
    return dataset.map_batches(
        Scorer,
        fn_constructor_kwargs={**pin(model, version), **options},
        compute=ActorPoolStrategy(min_size=fewest, max_size=most),
        batch_size=batch_size,
        batch_format="numpy",
        **asked,
    )


def _check_content(session: Session, wanted: Mapping[str, str]) -> None:
    found = model_content(session)
    if found != dict(wanted):
        differing = sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))
        raise ModelLoadError(
            f"{session.path}: got other files than those that were pinned, expected the same on every node; they "
            f"differ in {', '.join(differing)}. Copy the model anew, or pin it again",
            path=session.path,
        )


def _is_missing(name: Any) -> bool:
    # Numbers and times beside nulls come as NaN and NaT, which are not equal to themselves.
    return name is None or (isinstance(name, float | np.floating | np.datetime64) and bool(name != name))


def _masked(column: Any, missing: Sequence[bool]) -> Any:
    """Return an Arrow column with nulls in some places."""
    if not any(missing):
        return column
    kept = [None if gone else value for value, gone in zip(column.to_pylist(), missing, strict=True)]
    return pa().array(kept, column.type)


def _column(values: Any) -> Any:
    """Return an Arrow column; arrays of several dimensions become lists."""
    array = np.asarray(values)
    try:
        return pa().array(array if array.ndim == 1 else array.tolist())
    except UnicodeEncodeError:  # paths, mostly
        return pa().array([utf8_text(item) if isinstance(item, str) else item for item in array.tolist()])
