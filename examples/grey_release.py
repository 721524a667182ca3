"""A grey release: a new version of a model gets a share of the requests, and its numbers beside the old one's.

    python examples/classify_photo.py                    # builds model_repository
    python examples/grey_release.py model_repository/efficientnet_lite photo.jpg --share 0.1 --requests 200

Which version answers is decided by the request's key (a user, a picture), so that a key is always answered by the same
version. A larger share takes keys from the old version and gives none back.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import ascend_infer as ai


@dataclass(frozen=True)
class VersionNumbers:
    """What one version did; mean_ms is the mean time in the model, in milliseconds."""

    requests: int
    failures: int
    mean_ms: float

    @classmethod
    def of(cls, session: ai.Session) -> VersionNumbers:
        """Read what the session counts anyway."""
        counted = session.statistics()["model_stats"][0]["inference_stats"]
        answered, failed, inside = (counted[name] for name in ("success", "fail", "compute_infer"))
        mean_ms = inside["ns"] / max(1, inside["count"]) / 1e6
        return cls(answered["count"] + failed["count"], failed["count"], mean_ms)


class GreyRelease:
    """Two versions of one model; used with ``with``, from any number of threads.

    Parameters
    ----------
    model : path-like
        A model directory.
    old, new : int
        Versions.
    share : float
        Of the requests that go to the new one, 0 to 1; may be set while it runs.
    """

    def __init__(self, model: str | Path, *, old: int, new: int, share: float, **options: Any) -> None:
        self.share = share
        self.old, self.new = old, new
        self.sessions = {old: ai.Session(model, version=old, **options)}
        try:
            self.sessions[new] = ai.Session(model, version=new, **options)
        except BaseException:
            self.sessions[old].close()
            raise

    @property
    def numbers(self) -> dict[int, VersionNumbers]:
        """What each version did so far."""
        return {version: VersionNumbers.of(session) for version, session in self.sessions.items()}

    def version_of(self, key: str) -> int:
        """Return the version that answers a key."""
        digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
        return self.new if int.from_bytes(digest, "big") < self.share * 2**64 else self.old

    def infer(self, key: str, inputs: Mapping[int, Any] | Any) -> ai.InferResult:
        """Answer a request; ``inputs`` may differ by version: ``{1: {...}, 2: {...}}``.

        A request that fails in the new version is answered by the old one, and counted.
        """
        version = self.version_of(key)
        try:
            return self._run(version, inputs)
        except ai.errors.ModelExecutionError:
            if version == self.old:
                raise
            return self._run(self.old, inputs)

    def _run(self, version: int, inputs: Any) -> ai.InferResult:
        own = inputs[version] if isinstance(inputs, Mapping) and version in inputs else inputs
        return self.sessions[version].infer(own)

    def close(self) -> None:
        """Close both versions."""
        for session in self.sessions.values():
            session.close()

    def __enter__(self) -> GreyRelease:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def main(words: Sequence[str] | None = None) -> int:
    """Send requests of made-up users and print both versions' numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("photo", type=Path)
    parser.add_argument("--preset", default="efficientnet_lite")
    parser.add_argument("--old", type=int, default=1)
    parser.add_argument("--new", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--requests", type=int, default=200)
    arguments = parser.parse_args(words)

    with GreyRelease(arguments.model, old=arguments.old, new=arguments.new, share=arguments.share) as release:
        # Versions may take pictures of different sizes.
        prepared = {}
        for version, session in release.sessions.items():
            taken = session.inputs[0]
            images = ai.image.prepare(arguments.photo, arguments.preset, size=taken.shape[-2:])
            prepared[version] = {taken.name: images}
        for number in range(arguments.requests):
            release.infer(f"user {number}", prepared)
        for version, numbers in release.numbers.items():
            print(
                f"version {version}: {numbers.requests} requests, {numbers.failures} failed, "
                f"{numbers.mean_ms:.2f} ms in the model"
            )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ai.AscendInferError as error:
        sys.exit(f"error: {error}")
