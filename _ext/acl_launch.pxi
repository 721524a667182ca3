# AclLaunch: what batches of the same shapes come to, worked out once: the gear, the outputs, how large they are.
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        PyTypeObject *subtype, cnp.PyArray_Descr *descr, int ndim, cnp.npy_intp *dims, cnp.npy_intp *strides, void *data,
        int flags, PyObject *obj)

cnp.import_array()


@cython.final
@cython.no_gc
cdef class _LaunchOutput:
    cdef size_t index
    cdef size_t nbytes
    cdef bint leased
    cdef object dtype
    cdef int ndim
    cdef cnp.npy_intp dims[64]

    cdef object array(self, void *data):
        # Over `data`, or with memory of its own.
        # The new array takes over a reference to its data type.
        Py_INCREF(self.dtype)
        return PyArray_NewFromDescr(
            <PyTypeObject *>cnp.ndarray, <cnp.PyArray_Descr *><PyObject *>self.dtype, self.ndim, self.dims, NULL, data,
            cnp.NPY_ARRAY_CARRAY if data != NULL else 0, NULL)


@cython.final
cdef class AclLaunch:
    cdef size_t gear
    cdef list outputs
    cdef readonly Py_ssize_t padded_rows
    cdef readonly object label
    cdef object observe

    def __init__(self, Py_ssize_t gear, wanted, Py_ssize_t padded_rows=0, label=None, observe=None):
        cdef _LaunchOutput output
        self.gear = no_gear if gear < 0 else <size_t>gear
        self.padded_rows = padded_rows
        self.label = label
        self.observe = observe
        self.outputs = []
        for index, shape, dtype, nbytes, leased, _ in wanted:
            output = _LaunchOutput.__new__(_LaunchOutput)
            output.index = index
            output.nbytes = nbytes
            output.leased = leased
            output.dtype = numpy.dtype(dtype)
            if len(shape) > 64:
                raise InvalidInputError(f"an output of {len(shape)} dimensions, which no array has")
            output.ndim = len(shape)
            for i, dim in enumerate(shape):
                output.dims[i] = dim
            self.outputs.append(output)


cdef inline bint is_contiguous_array(object value) noexcept:
    return cnp.PyArray_CheckExact(value) and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>value)


cdef object joined_shape(object given):
    # The shape of an array, or of a list's arrays one behind the other; None where they are no plain arrays of one row.
    cdef cnp.ndarray first, part
    cdef cnp.npy_intp rows
    cdef Py_ssize_t i
    if type(given) is not list:
        return given.shape if is_contiguous_array(given) else None
    column = <list>given
    if not len(column) or not is_contiguous_array(column[0]):
        return None
    first = column[0]
    if cnp.PyArray_NDIM(first) == 0:
        return None
    rows = cnp.PyArray_DIM(first, 0)
    for i in range(1, len(column)):
        if not is_contiguous_array(column[i]):
            return None
        part = column[i]
        if not same_row(first, part):
            return None
        rows += cnp.PyArray_DIM(part, 0)
    return (rows, *row_shape(first))
