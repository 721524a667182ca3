"""Whether a source is still what it was when the run began."""

from __future__ import annotations

from ascend_infer.file_stamps import FileStamps
from ascend_infer.scoring.sources.pictures import Pictures
from ascend_infer.scoring.sources.source import Source, source_error

__all__ = ["SteadySource"]


class SteadySource:
    """A source's files as they are before it is read.

    Those of :class:`Pictures` are not looked at: there may be millions, and each is read at once, by itself.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._files = FileStamps(() if isinstance(source, Pictures) else source.places())

    def check(self, row: int) -> None:
        """Raise where a file was changed since.

        Parameters
        ----------
        row : int
            How far the source is read.

        Raises
        ------
        ScoringSourceError
        """
        for path, how in self._files.changes():
            where = "" if path == self._source.name else f"{path}: "
            raise source_error(
                self._source.name,
                row,
                f"{where}it was changed while it was read: {how}. Rows that came since are not kept; put it back as it "
                "was, or score it anew",
            )
