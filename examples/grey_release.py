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
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import ascend_infer as ai


@dataclass
class VersionNumbers:
    """What one version did."""

    requests: int = 0
    failures: int = 0
    infer_ns: list[int] = field(default_factory=list)

    @property
    def mean_ms(self) -> float:
        """Mean time in the model, in milliseconds."""
        return sum(self.infer_ns) / max(1, len(self.infer_ns)) / 1e6


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
        self.numbers = {old: VersionNumbers(), new: VersionNumbers()}
        self._lock = threading.Lock()

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
        numbers = self.numbers[version]
        try:
            result = self.sessions[version].infer(own)
        except ai.AscendInferError:
            with self._lock:
                numbers.requests += 1
                numbers.failures += 1
            raise
        with self._lock:
            numbers.requests += 1
            numbers.infer_ns.append(result.timing.compute_infer_ns)
        return result

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
