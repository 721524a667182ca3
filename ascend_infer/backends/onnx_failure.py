"""What a run that onnxruntime ended with an error failed of: the model, or want of memory."""

from __future__ import annotations

from ascend_infer.backends.onnx_message import plain_text
from ascend_infer.errors import HostOutOfMemoryError, ModelExecutionError

__all__ = ["run_failure"]

#: onnxruntime has no code for want of memory; it is told by the text alone. The first two are of its arena
#: (core/framework/bfc_arena.cc), the next two what its plain allocator throws (core/framework/allocator.cc), as gcc and
#: MSVC word it, the last the CUDA runtime's.
_NO_MEMORY = (
    "Failed to allocate memory for requested buffer",
    "is smaller than requested bytes of",
    "std::bad_alloc",
    "bad allocation",
    "out of memory",
)


def run_failure(model: str, error: Exception) -> HostOutOfMemoryError | ModelExecutionError:
    """Return what a run's error is told as, with the error as its cause.

    Parameters
    ----------
    model : str
    error : Exception
        onnxruntime's, or one of the way there and back.
    """
    text = plain_text(error)
    failed: HostOutOfMemoryError | ModelExecutionError
    if isinstance(error, MemoryError) or any(words in text for words in _NO_MEMORY):
        failed = HostOutOfMemoryError(
            f"model {model!r}: the memory does not suffice for this run: {text}. Send fewer rows at a time, lower "
            "max_batch_size or the number of instances, or give the process more memory"
        )
    else:
        failed = ModelExecutionError(f"model {model!r} failed: {text}", model=model)
    failed.__cause__ = error
    return failed
