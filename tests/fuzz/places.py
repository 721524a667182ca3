"""Files for readers that take a path."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

from ascend_infer.errors import InvalidOptionError, ScoringSourceError
from ascend_infer.scoring.sources.choice import open_source
from ascend_infer.scoring.sources.source import Source, SourceOptions

__all__ = ["read_rows", "written"]

_ROWS = 1000


@contextmanager
def written(data: bytes, suffix: str) -> Iterator[str]:
    """Give the path of a file with these bytes, in memory where there is a folder for that."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        path = Path(folder) / f"input{suffix}"
        path.write_bytes(data)
        yield str(path)


def read_rows(data: bytes, suffix: str) -> None:
    """Read a source from its first row, and from its third as a run does that goes on."""
    with written(data, suffix) as path:
        try:
            source = open_source(path, SourceOptions(inputs=("x",)))
            source.identity()
            names = _names(source, 0)
            assert names[2:] == _names(source, 2)
        except (InvalidOptionError, ScoringSourceError) as error:
            str(error)


def _names(source: Source, start: int) -> list[str]:
    """Name the rows up to a number, for a header may claim any count of them."""
    with closing(source.rows(start)) as rows:
        return [row.id for row in islice(rows, _ROWS - start)]
