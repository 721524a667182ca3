# OrtStop: what ends a run.
from core_ort cimport OrtRunOptions


@cython.final
@cython.no_gc
cdef class OrtStop:
    """Ends the run that it is given to, from any thread."""

    cdef shared_ptr[OrtRunOptions] _options

    def __init__(self):
        raise TypeError("stops come from OrtSession.new_stop")

    def terminate(self):
        cdef OrtFailure failure = dereference(self._options).terminate()
        if not failure.ok():
            raise ort_exception(failure, "onnxruntime")
