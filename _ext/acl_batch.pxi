# What a batch needs of Python's side: outputs that show pinned memory, buffers held, a poll while it waits.
from core_acl cimport PinnedLease
from cpython.buffer cimport PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_DECREF
from libcpp cimport bool as cpp_bool

@cython.final
@cython.no_gc
cdef class LeasedOutput:
    """Pinned memory with one output in it; back in the pool when the last array over it is gone."""

    cdef shared_ptr[PinnedLease] _lease
    cdef Py_ssize_t _length

    def __init__(self):
        raise TypeError("leased outputs come from AclInstance.run")

    def __getbuffer__(self, Py_buffer *view, int flags):
        view.buf = dereference(self._lease).data()
        view.obj = self
        view.len = self._length
        view.readonly = 0
        view.itemsize = 1
        view.ndim = 1
        view.format = <char *>b"B" if flags & PyBUF_FORMAT else NULL
        view.shape = &self._length if flags & PyBUF_ND else NULL
        view.strides = &view.itemsize if (flags & PyBUF_STRIDES) == PyBUF_STRIDES else NULL
        view.suboffsets = NULL
        view.internal = NULL

    def __len__(self):
        return self._length


cdef LeasedOutput leased_output(shared_ptr[PinnedLease] lease, size_t nbytes):
    cdef LeasedOutput output = LeasedOutput.__new__(LeasedOutput)
    output._lease = lease
    output._length = <Py_ssize_t>nbytes
    return output


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class _Poll:
    """What a waiting thread asks every 50 ms: signals on the main thread, and the caller's own question."""

    cdef object question
    cdef bint signals
    cdef object error


cdef cpp_bool ask_poll(void *argument) noexcept with gil:
    cdef _Poll poll = <_Poll>argument
    try:
        if poll.signals:
            PyErr_CheckSignals()
        return poll.question is None or bool(poll.question())
    except BaseException as error:
        poll.error = error
        return False


cdef void let_go_of_object(void *kept) noexcept with gil:
    Py_DECREF(<object>kept)


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class _Views:
    """Buffers of Python objects, held while a batch uses them."""

    cdef vector[Py_buffer] held

    cdef Py_buffer *take(self, object source, int flags) except NULL:
        cdef Py_buffer view
        PyObject_GetBuffer(source, &view, flags)
        self.held.push_back(view)
        return &self.held.back()

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.held.size()):
            PyBuffer_Release(&self.held[i])
