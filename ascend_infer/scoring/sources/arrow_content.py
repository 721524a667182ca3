"""What tells a pyarrow data set from another: the files of it, and the content of what lies in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from ascend_infer.scoring.arrow import arrow_dataset, pa

__all__ = ["ArrowContent"]

_ROWS = 1 << 16


class ArrowContent:
    """The parts of a data set, each as far as a change in it can be told.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        Of files, in memory, or put together of such.

    Attributes
    ----------
    known : bool
        A change of any part shows in ``files`` or ``digest``. Not so for files of a system that keeps no times of
        change, and for kinds of data sets that are neither in files nor in memory.
    """

    def __init__(self, dataset: Any) -> None:
        module = arrow_dataset()
        parts = list(_parts(dataset))
        self._files = [part for part in parts if isinstance(part, module.FileSystemDataset)]
        self._in_memory = [part for part in parts if isinstance(part, module.InMemoryDataset)]
        # What it leaves out of its parts' rows; pyarrow has no other place for it.
        self._filter = str((getattr(dataset, "_scan_options", None) or {}).get("filter", ""))
        self.known = len(self._files) + len(self._in_memory) == len(parts) and all(
            _is_local(part) or all(info.mtime_ns for info in _infos(part)) for part in self._files
        )

    def files(self) -> Iterator[str]:
        """Return each file's name, size and time of change."""
        for part in self._files:
            if not _is_local(part):
                yield from (f"{info.path}\t{info.size}\t{info.mtime_ns}" for info in _infos(part))
                continue
            for path in part.files:
                try:
                    found = os.stat(path)
                    yield f"{path}\t{found.st_size}\t{found.st_mtime_ns}"
                except OSError:
                    yield f"{path}\t-\t-"

    def places(self) -> Iterator[str]:
        """Return the paths of the files on this machine."""
        for part in self._files:
            if _is_local(part):
                yield from part.files

    def identity(self, columns: Sequence[str]) -> dict[str, str]:
        """Return the filter, and a SHA-256 over the columns of what lies in memory; reads all of it."""
        found = {"filter": self._filter} if self._filter else {}
        if self._in_memory:
            found["content"] = "\n".join(_digest(part, columns) for part in self._in_memory)
        return found


def _parts(dataset: Any) -> Iterator[Any]:
    if isinstance(dataset, arrow_dataset().UnionDataset):
        for child in dataset.children:
            yield from _parts(child)
    else:
        yield dataset


def _is_local(part: Any) -> bool:
    return bool(part.filesystem.type_name == "local")


def _infos(part: Any) -> list[Any]:
    return list(part.filesystem.get_file_info(part.files))


def _digest(part: Any, columns: Sequence[str]) -> str:
    names = [name for name in part.schema.names if name in columns]
    digest = _Digest()
    with pa().PythonFile(digest, mode="w") as file:
        writer = None
        # As a stream of Arrow's, which holds of a slice what is in it and nothing else.
        for batch in part.to_batches(columns=names, batch_size=_ROWS, use_threads=False):
            writer = writer or pa().ipc.new_stream(file, batch.schema.remove_metadata())
            writer.write_batch(batch.replace_schema_metadata(None))
        if writer is not None:
            writer.close()
    return digest.hexdigest()


class _Digest:
    """A file that keeps nothing but the SHA-256 of what is written to it."""

    closed = False

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._written = 0

    def write(self, data: Any) -> int:
        self._digest.update(data)
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def hexdigest(self) -> str:
        return self._digest.hexdigest()
