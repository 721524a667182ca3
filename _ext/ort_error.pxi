# From the core's OrtFailure to an exception.
from core_ort cimport OrtFailure, forked_failure, no_host_memory, no_library


class OrtError(Exception):
    """onnxruntime refused something or failed; whoever called says of which model."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
        self.text = text


cdef object ort_exception(const OrtFailure &failure, str where):
    cdef int code = failure.code()
    cdef str text = failure.text().decode("utf-8", "replace")
    if code == no_host_memory:
        return HostOutOfMemoryError("the host has no memory left for a run's own bookkeeping")
    if code == forked_failure:
        return ForkError(
            "this model was loaded before this process was forked, and its threads do not survive that: load it in "
            "the child, or start children with the method 'spawn'"
        )
    if code == no_library:
        return LibraryError(f"{where}: {text}", library=where)
    return OrtError(code, text)
