"""Classify photos from an asyncio program: one thread, many requests in flight.

    python examples/classify_photo.py                   # builds model_repository
    python examples/async_infer.py model_repository/efficientnet_lite0 photo.jpg ... --preset efficientnet_lite

Photos are decoded on threads; each goes to the model as soon as it is ready, and its answer is printed as it comes.
Ctrl-C, a deadline or an unreadable photo end one request and leave the session usable.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import ascend_infer as ai


class Classifier:
    """Classifies photos for the coroutines of one event loop.

    Parameters
    ----------
    session : Session
    preset : str
        How the model's pictures are prepared.
    in_flight : int
        Photos that are held in memory at a time.
    """

    def __init__(self, session: ai.Session, preset: str, *, in_flight: int = 16) -> None:
        self._session = session
        self._preset = preset
        self._input = session.inputs[0]
        self._room = asyncio.Semaphore(in_flight)

    async def classify(self, photo: Path | bytes, *, timeout: float = 10.0) -> list[ai.image.Label]:
        """Return the best five labels; raises what went wrong with this photo."""
        async with self._room:
            size = self._input.shape[-2:]
            images = await asyncio.to_thread(ai.image.prepare, photo, self._preset, size=size)
            result = await self._session.ainfer({self._input.name: images}, timeout=timeout)
        return result.top_k(k=5)[0]

    async def classify_all(
        self, photos: Sequence[Path]
    ) -> AsyncIterator[tuple[Path, list[ai.image.Label] | ai.AscendInferError]]:
        """Give each photo with its labels, or with its error, as they come."""

        async def one(photo: Path) -> tuple[Path, list[ai.image.Label] | ai.AscendInferError]:
            try:
                return photo, await self.classify(photo)
            except ai.AscendInferError as error:
                return photo, error

        for done in asyncio.as_completed([one(photo) for photo in photos]):
            yield await done


async def main(words: Sequence[str] | None = None) -> int:
    """Print what each photo shows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("photos", nargs="+", type=Path)
    parser.add_argument("--preset", default="imagenet")
    arguments = parser.parse_args(words)
    failed = 0
    with ai.Session(arguments.model) as session:
        async for photo, found in Classifier(session, arguments.preset).classify_all(arguments.photos):
            if isinstance(found, ai.AscendInferError):
                failed += 1
                print(f"{photo.name}: {found}", file=sys.stderr)
            else:
                print(f"{photo.name}: {', '.join(str(label.label or label.index) for label in found[:3])}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
