"""A photo tagger: an application that infers inside, and says in its own words what goes wrong.

python colour_model.py
python photo_tagger.py model_repository/colours photo.jpg ...
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ascend_infer as ai
from ascend_infer.errors import AclError, DeadlineExceededError, DeviceLostError, DeviceOutOfMemoryError


class TaggerError(Exception):
    """The tagger cannot work; the text is for its user."""


class BusyError(TaggerError):
    """It took too long; trying again later may help."""


@dataclass(frozen=True)
class Tags:
    """What is seen in a photo, best first; or why it could not be read."""

    photo: Path
    names: tuple[str, ...] = ()
    problem: str = ""


class PhotoTagger:
    """Tags photos; used with ``with``, from any number of threads.

    Parameters
    ----------
    model : path-like
    least_score : float
        From which on a tag counts.
    patience : float
        Seconds for a batch.
    """

    def __init__(self, model: str | Path, *, least_score: float = 0.5, patience: float = 5.0) -> None:
        try:
            self._session = ai.Session(model)
        except DeviceOutOfMemoryError as error:
            raise TaggerError(f"the card has no room for the tagger: {error}") from error
        self._least = least_score
        self._patience = patience
        self._size = self._session.inputs[0].shape[-1]
        self._rows = self._session.config.max_batch_size

    def __enter__(self) -> PhotoTagger:
        return self

    def __exit__(self, *exception: object) -> None:
        self._session.close()

    def tag(self, photos: Sequence[Path]) -> list[Tags]:
        """Tag photos, in order; an unreadable one does not stop the others."""
        found: list[Tags] = []
        for begin in range(0, len(photos), self._rows):
            part = photos[begin : begin + self._rows]
            batch, errors = ai.image.prepare_many(part, "unit", size=self._size)
            ranked = self._rank(batch)
            for row, photo in enumerate(part):
                if row in errors:
                    found.append(Tags(photo, problem=str(errors[row])))
                else:
                    names = tuple(label.label for label in ranked[row] if label.score >= self._least)
                    found.append(Tags(photo, names))
        return found

    def _rank(self, batch: np.ndarray) -> list[list[ai.image.Label]]:
        try:
            return self._infer(batch).top_k(k=4)
        except DeviceLostError as error:
            raise TaggerError(f"the card is gone: {error}") from error
        except DeadlineExceededError as error:
            raise BusyError("too much to do at the moment") from error

    def _infer(self, batch: np.ndarray) -> ai.InferResult:
        try:
            return self._session.infer({"photo": batch}, timeout=self._patience)
        except DeviceLostError:
            raise
        except AclError:
            # A fault ends the model's instance, and the next request loads it anew: once is worth it.
            return self._session.infer({"photo": batch}, timeout=self._patience)


def main(words: Sequence[str]) -> int:
    """Print each photo's tags."""
    try:
        with PhotoTagger(words[0]) as tagger:
            for tags in tagger.tag([Path(word) for word in words[1:]]):
                print(f"{tags.photo.name}: {tags.problem or ', '.join(tags.names) or 'nothing seen'}")
    except (TaggerError, ai.AscendInferError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
