# Arrays over memory of ours and of onnxruntime.
cimport numpy
from core_ort cimport OrtTensor
from cpython.object cimport PyObject, PyTypeObject
from libcpp.utility cimport move

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyArray_Type
    object PyArray_NewFromDescr(
        PyTypeObject *subtype, numpy.dtype descr, int nd, numpy.npy_intp *dims, numpy.npy_intp *strides, void *data,
        int flags, PyObject *obj)

numpy.import_array()

# Results up to this size are copied: a view would hold onnxruntime's own block for so little.
cdef size_t SMALL_RESULT = 4096


@cython.final
@cython.no_gc
cdef class _OrtMemory:
    """A result that onnxruntime allocated; it goes when the last array over it is gone."""

    cdef OrtTensor _tensor


cdef object fresh_array(object dtype, int rank, const int64_t *dims, void *data):
    """A new array; over `data` where that is not null."""
    Py_INCREF(dtype)  # the call takes it over
    return PyArray_NewFromDescr(
        &PyArray_Type, <numpy.dtype>dtype, rank, <numpy.npy_intp *>dims, NULL, data,
        0 if data == NULL else numpy.NPY_ARRAY_CARRAY, NULL,
    )


cdef object array_of(OrtTensor &tensor, object dtype, void *data, const vector[int64_t] &dims):
    """What onnxruntime allocated, as an array that owns it; small ones are copied. Takes the tensor then."""
    cdef size_t itemsize = <size_t>(<numpy.dtype>dtype).itemsize
    cdef size_t nbytes = itemsize
    cdef size_t i
    cdef _OrtMemory owner
    for i in range(dims.size()):
        nbytes *= <size_t>dims[i]
    if nbytes <= SMALL_RESULT or <uintptr_t>data % itemsize != 0:
        array = fresh_array(dtype, <int>dims.size(), dims.data(), NULL)
        if nbytes:
            memcpy(numpy.PyArray_DATA(<numpy.ndarray>array), data, nbytes)
        return array
    owner = _OrtMemory.__new__(_OrtMemory)
    owner._tensor = move(tensor)
    array = fresh_array(dtype, <int>dims.size(), dims.data(), data)
    numpy.set_array_base(array, owner)
    return array
