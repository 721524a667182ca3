"""From a few rows to what the model is fed, and to the reasons where a row cannot be."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ascend_infer.errors import AscendInferError, ImageError, InvalidInputError, InvalidOptionError
from ascend_infer.image import MAX_PIXELS, PRESETS, Preset, prepare
from ascend_infer.image.fitting import PARAMETER, fit_preset, no_preset, stated_preset
from ascend_infer.scoring.model import RowShape, ScoredSession
from ascend_infer.scoring.rows import BadItem, Row
from ascend_infer.scoring.samples import Array, Sample, sample_of
from ascend_infer.scoring.sources.source import Source, source_error
from ascend_infer.types import DataType, TensorSpec

__all__ = ["Fed", "Feeder", "Preprocess"]

Preprocess = str | Preset | Mapping[str, Any] | Callable[[Any], Any]

#: What says that a file is gone, or that its disk is: the run stops, since the next ones would be too.
_GONE = {
    getattr(errno, name)
    for name in (
        "ENOENT",
        "ENOTDIR",
        "EIO",
        "ESTALE",
        "ENOTCONN",
        "ENODEV",
        "ENXIO",
        "ETIMEDOUT",
        "EHOSTDOWN",
    )
    if hasattr(errno, name)
}
_PICTURE_COLUMNS = ("path", "file", "filename", "image", "picture")


@dataclass(slots=True)
class Fed:
    """Rows that the model can run on, put together by shape.

    Attributes
    ----------
    groups : list of (list of int, dict of str to ndarray)
        Places in the chunk, and the batch of them.
    errors : dict of int to str
        Place in the chunk to what is wrong with the row.
    """

    groups: list[tuple[list[int], dict[str, Array]]] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)


class Feeder:
    """Turns items into batches.

    Parameters
    ----------
    session : Session
        For its inputs and its configuration's parameter ``preprocess``.
    shape : RowShape
    preprocess : str, Preset, mapping, callable or None
        A picture's preset, or a function from an item to its array, or to arrays by input.
    column : str or None
        The column that holds the picture, or its path.
    size : int or (int, int), optional
        Of prepared pictures.
    max_pixels : int or None

    Raises
    ------
    InvalidOptionError
        There is no such preset, or it makes another data type than the input's.

    Notes
    -----
    Thread safety: may be called from any number of threads at once; so may ``preprocess``, and must be able to.
    """

    def __init__(
        self,
        session: ScoredSession,
        source: Source,
        shape: RowShape,
        preprocess: Preprocess | None,
        *,
        column: str | None = None,
        size: int | tuple[int, int] | None = None,
        max_pixels: int | None = MAX_PIXELS,
    ) -> None:
        self._shape = shape
        self._source = source
        self._column = column
        self._max_pixels = max_pixels
        cut = 1 if shape.leading else 0
        self._inputs = {item.name: replace(item, shape=item.shape[cut:]) for item in session.inputs}
        self.function = preprocess if callable(preprocess) else None
        self.preset: Preset | None = None
        #: Pictures were spoken of in the call itself: numbers would leave that without effect.
        self.only_pictures = self.function is None and (preprocess is not None or size is not None)
        text = session.config.parameter(PARAMETER).strip()
        if self.function is None and (preprocess is not None or text) and len(self._inputs) == 1:
            given = preprocess
            if given is None:
                given = stated_preset(text, f"parameter {PARAMETER!r} of the configuration")
            self.preset = self._fitted(given, size)  # type: ignore[arg-type]  # no callable here
        elif preprocess is not None and self.function is None:
            raise InvalidOptionError(
                f"preprocess={preprocess!r}: a preset makes one input's pictures, and the model has "
                f"{', '.join(self._inputs)}: give a function that returns arrays by input",
                option="preprocess",
                got=repr(preprocess),
            )
        self._texts = any(tensor.dtype is DataType.BYTES for tensor in self._inputs.values())

    def need_preset(self, picture: str) -> None:
        """Check that pictures can be prepared.

        Raises
        ------
        InvalidOptionError
            Lists the presets and shows how to state one's own.
        """
        if self.function is None and self.preset is None:
            error = no_preset(next(iter(self._inputs)), picture, "--preset NAME (preprocess= in Python)")
            raise InvalidOptionError(
                f'{error}; your own as fields: --preset \'{{"preset": "imagenet", "size": 240}}\', or in Python '
                'preprocess={"preset": "imagenet", "size": 240}, a Preset, or a function from the path to the array',
                option="preprocess",
            )

    def feed(self, rows: Sequence[Row]) -> Fed:
        """Prepare some rows.

        Raises
        ------
        ScoringSourceError
            A file that was listed is not there any more, or its disk is gone.
        """
        fed = Fed()
        samples: dict[int, Sample] = {}
        for place, row in enumerate(rows):
            if isinstance(row.item, BadItem):
                fed.errors[place] = row.item.reason
                continue
            try:
                samples[place] = self._sample(row)
            except ImageError as error:
                self._stop_if_gone(row, error)
                fed.errors[place] = str(error)
            except InvalidOptionError:
                raise  # about the run, not the row
            except AscendInferError as error:
                fed.errors[place] = str(error)
            except Exception as error:
                if self.function is None:
                    raise
                fed.errors[place] = f"preprocess: {type(error).__name__}: {error}"
        self._put_together(samples, fed)
        return fed

    def _sample(self, row: Row) -> Sample:
        if self.function is not None:
            return sample_of(self.function(row.item), self._inputs)
        picture = self._picture(row.item)
        if picture is None and self.only_pictures:
            got = f"{type(row.item).__name__}, which is no picture"
            raise InvalidInputError(
                f"row {row.index}: got {got}, expected one for the preset: a path, bytes, a PIL image, or a record "
                "whose column= holds one; leave preprocess= and size= out to feed numbers",
                input=next(iter(self._inputs)),
                expected="a picture",
                got=got,
            )
        if picture is None:
            return sample_of(row.item, self._inputs)
        if self.preset is None:
            self.need_preset(f"row {row.index}")
            raise AssertionError
        name = next(iter(self._inputs))
        return {name: prepare(picture, self.preset, threads=1, max_pixels=self._max_pixels)[0]}

    def holds_picture(self, item: Any) -> bool:
        """Tell whether an item is a picture or has a place for one."""
        try:
            return self._picture(item) is not None
        except ImageError:
            return True  # the place is there, and empty in this row

    def files_of(self, item: Any) -> list[str]:
        """Return the paths of the files that an item may have read: its picture; what a function might take for one."""
        if self.function is None:
            try:
                named = [self._picture(item)]
            except ImageError:
                return []
        else:
            named = [*item.values()] if isinstance(item, dict) else [item]
        paths = [os.fsdecode(path) for path in named if isinstance(path, str | os.PathLike)]
        if self.function is None or not self._source.base:
            return paths
        # A function may open it from where the table lies, or from where the process is.
        return [*paths, *(os.path.join(self._source.base, path) for path in paths)]

    def _picture(self, item: Any) -> Any:
        """Return the picture that an item is or holds; None where it is none."""
        if isinstance(item, dict):
            column = self._column
            if column is None and self.preset is not None and not item.keys() & self._inputs.keys():
                column = next((name for name in _PICTURE_COLUMNS if name in item), None)
            if column is None:
                return None
            held = item.get(column)
            if isinstance(held, dict):  # Hugging Face's pictures in Parquet: {"bytes": ..., "path": ...}
                held = held.get("bytes") or held.get("path")
            if held is None or (isinstance(held, str) and not held):  # an empty cell of a CSV
                raise ImageError(f"column {column!r} holds no picture", source=column)
            return os.path.join(self._source.base, held) if isinstance(held, str) else held
        if self._texts or isinstance(item, np.ndarray | list | tuple | int | float):
            return None
        pictured = isinstance(item, str | bytes | os.PathLike) or type(item).__module__.startswith("PIL.")
        return item if pictured else None

    def _stop_if_gone(self, row: Row, error: ImageError) -> None:
        cause = error.__cause__
        if not isinstance(cause, OSError) or cause.errno not in _GONE or not self._source.checked:
            return
        if isinstance(row.item, str) and not os.path.islink(row.item):
            raise source_error(self._source.name, row.index, str(error)) from error

    def _put_together(self, samples: dict[int, Sample], fed: Fed) -> None:
        if not self._shape.leading:
            for place, sample in samples.items():
                fed.groups.append(([place], {name: self._whole(name, item) for name, item in sample.items()}))
            return
        alike: dict[object, list[int]] = {}
        for place, sample in samples.items():
            key = tuple((name, item.shape, item.dtype.str) for name, item in sample.items())
            alike.setdefault(key, []).append(place)
        for places in alike.values():
            names = samples[places[0]]
            if len(places) == 1:
                batch = {name: item[None] for name, item in names.items()}
            else:
                batch = {name: np.stack([samples[place][name] for place in places]) for name in names}
            fed.groups.append((places, batch))

    def _whole(self, name: str, item: Array) -> Array:
        """Give one sample the batch dimension that it lacks, where the model declares one."""
        dims = self._inputs[name].shape
        return item[None] if item.ndim == len(dims) - 1 and dims[0] in (1, -1) else item

    def _fitted(self, given: str | Preset | Mapping[str, Any], size: int | tuple[int, int] | None) -> Preset:
        tensor: TensorSpec = next(iter(self._inputs.values()))
        preset = fit_preset(given, tensor, size)
        if DataType.from_numpy(np.dtype(preset.dtype)) is not tensor.dtype:
            raise InvalidOptionError(
                f"input {tensor.name!r}: preset {preset.name} makes {preset.dtype}, expected {tensor.dtype}; one of "
                f"{', '.join(PRESETS)}, with dtype= changed, or a function",
                option="preprocess",
                got=preset.name,
            )
        return preset
