"""Every exception and warning this library raises on purpose.

Errors carry data besides the text: the fields named in each class are attributes, and pickling keeps them.
Where Python has a kind of its own (``ValueError``, ``LookupError``, ``TimeoutError``), the class is that too.
"""

from __future__ import annotations

from ascend_infer.errors.acl import (
    AclError,
    AclInternalError,
    AclResourceError,
    AclTimeoutError,
    AclUsageError,
    DeviceLostError,
    DeviceOutOfMemoryError,
    HostOutOfMemoryError,
)
from ascend_infer.errors.configuration import ConfigError, ImageError, InvalidOptionError
from ascend_infer.errors.lifetime import ClosedError, CopyError, ForkError, UnclosedResourceWarning
from ascend_infer.errors.machine import (
    DeviceNotFoundError,
    LibraryError,
    LibraryNotFoundError,
    LibraryVersionError,
    MissingDependencyError,
    SymbolNotFoundError,
)
from ascend_infer.errors.model import (
    ModelError,
    ModelExecutionError,
    ModelFileError,
    ModelLoadError,
    ModelNotFoundError,
)
from ascend_infer.errors.pool import MemoryBlockError, PoolLimitError
from ascend_infer.errors.request import (
    DeadlineExceededError,
    InstanceUnavailableError,
    InvalidInputError,
    NoGearError,
    QueueFullError,
    RequestCancelledError,
    RequestError,
)
from ascend_infer.errors.root import AscendInferError
from ascend_infer.errors.scoring import ResumeError, ScoringError, ScoringOutputError, ScoringSourceError

__all__ = [
    "AclError",
    "AclInternalError",
    "AclResourceError",
    "AclTimeoutError",
    "AclUsageError",
    "AscendInferError",
    "ClosedError",
    "ConfigError",
    "CopyError",
    "DeadlineExceededError",
    "DeviceLostError",
    "DeviceNotFoundError",
    "DeviceOutOfMemoryError",
    "ForkError",
    "HostOutOfMemoryError",
    "ImageError",
    "InstanceUnavailableError",
    "InvalidInputError",
    "InvalidOptionError",
    "LibraryError",
    "LibraryNotFoundError",
    "LibraryVersionError",
    "MemoryBlockError",
    "MissingDependencyError",
    "ModelError",
    "ModelExecutionError",
    "ModelFileError",
    "ModelLoadError",
    "ModelNotFoundError",
    "NoGearError",
    "PoolLimitError",
    "QueueFullError",
    "RequestCancelledError",
    "RequestError",
    "ResumeError",
    "ScoringError",
    "ScoringOutputError",
    "ScoringSourceError",
    "SymbolNotFoundError",
    "UnclosedResourceWarning",
]

# Tracebacks and pickles name the place to import from, not the file it happens to stand in.
for _name in __all__:
    globals()[_name].__module__ = __name__
