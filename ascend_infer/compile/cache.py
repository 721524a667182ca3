"""The folder of compiled models: what each is keyed by, how it gets there, who may write.

    <cache>/compiled/<name>-<key>/model.om       the model (weight/ beside it, where weights are external)
    <cache>/compiled/<name>-<key>/compiled.json  how it was made
    <cache>/compiled/<name>-<key>.lock           held while it is being made

``<cache>`` is the argument, else ``ASCEND_INFER_CACHE``, else ``$XDG_CACHE_HOME/ascend_infer``, else
``~/.cache/ascend_infer``. Anything in it may be deleted while nothing compiles.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ascend_infer import om
from ascend_infer.compile.command import AtcCommand
from ascend_infer.compile.options import option_files
from ascend_infer.errors import ModelFileError, ModelLoadError

__all__ = ["CacheEntry", "cache_folder", "content_key"]

_CHUNK = 1 << 20
#: Changes when what is kept, or how it is made, changes.
_FORMAT = 1


def cache_folder(variables: Mapping[str, str], given: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of this library's cache; it need not exist."""
    if given is not None:
        return Path(os.path.abspath(os.fsdecode(given)))
    own = variables.get("ASCEND_INFER_CACHE")
    if own:
        return Path(os.path.abspath(os.path.expanduser(own)))
    base = variables.get("XDG_CACHE_HOME", "")
    # The XDG rules: relative paths are to be ignored.
    folder = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~/.cache"))
    return folder / "ascend_infer"


def content_key(command: AtcCommand, cann_version: str, external_data: tuple[str, ...] = ()) -> str:
    """Return a key of all that the compiled model depends on; reads the model and the files beside it whole.

    Raises
    ------
    ModelLoadError
        When one of the files cannot be read.
    """
    files = option_files(command.options)
    told = {
        "format": _FORMAT,
        "soc": command.soc,
        "cann": cann_version,
        # A path says nothing of a file's content, which is hashed below.
        "options": {name: "" if name in files else value for name, value in command.options.items()},
        "files": [*files, *external_data],
    }
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode("utf-8", "surrogateescape"))
    for path in (command.onnx, *files.values(), *(command.onnx.parent / name for name in external_data)):
        inner = hashlib.sha256()
        try:
            with open(path, "rb") as file:
                while chunk := file.read(_CHUNK):
                    inner.update(chunk)
        except OSError as error:
            raise ModelLoadError(
                f"{path} cannot be read: {error.strerror or error}", path=str(path)
            ) from error
        digest.update(inner.digest())
    return digest.hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """The place of one compiled model.

    Attributes
    ----------
    folder : Path
        ``<cache>/compiled``.
    name : str
        Of the entry's own folder in it.
    """

    folder: Path
    name: str

    @classmethod
    def of(cls, cache: Path, onnx: Path, key: str) -> CacheEntry:
        """Return the entry of a model with this key."""
        stem = onnx.parent.parent.name if onnx.stem == "model" and onnx.parent.name.isdigit() else onnx.stem
        readable = re.sub(r"[^A-Za-z0-9_.-]+", "_", stem)[:60].strip(".") or "model"
        return cls(cache / "compiled", f"{readable}-{key}")

    @property
    def model(self) -> Path:
        """The compiled model; it may not be there yet."""
        return self.folder / self.name / "model.om"

    @property
    def lock(self) -> Path:
        """The file that is locked while this is being made."""
        return self.folder / f"{self.name}.lock"

    def is_whole(self) -> bool:
        """Whether a model is there that can be read; what is damaged will be made again."""
        if not self.model.is_file():
            return False
        try:
            om.read(self.model)
        except ModelFileError:
            return False
        return True

    def make_work_folder(self) -> Path:
        """Make the folder to compile in, beside where the result goes, and drop what crashed ones left.

        The caller holds the lock, so that whoever made the others is gone.
        """
        for left in self.folder.glob(f".{self.name}.*"):
            shutil.rmtree(left, ignore_errors=True)
        work = self.folder / f".{self.name}.{os.getpid()}.{os.urandom(4).hex()}"
        work.mkdir()
        return work

    def take(self, built: Path, facts: Mapping[str, object]) -> Path:
        """Move a compiled model into place at once; returns where it is.

        Parameters
        ----------
        built : Path
            In a work folder of its own; a folder ``weight`` beside it comes along.
        facts : mapping
            How it was made, plain JSON values.
        """
        ready = built.parent / "ready"
        ready.mkdir()
        os.rename(built, ready / "model.om")
        weights = built.parent / "weight"
        if weights.is_dir():
            os.rename(weights, ready / "weight")
        with open(ready / "compiled.json", "w", encoding="utf-8") as file:
            json.dump(dict(facts), file, indent=2, sort_keys=True)
            file.write("\n")
        _flush(ready / "model.om")
        target = self.model.parent
        if target.exists():  # a damaged one
            damaged = built.parent / "damaged"
            os.rename(target, damaged)
        os.rename(ready, target)
        return self.model


def _flush(path: Path) -> None:
    """Bring a file to the disk, so that a power cut leaves no model of zeros under a good name."""
    with suppress(OSError), open(path, "rb") as file:
        os.fsync(file.fileno())
