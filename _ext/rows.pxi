# Rows of many requests into one array, and rows of one array to many requests.
from libc.string cimport memcpy

cdef object concatenate = numpy.concatenate


cdef inline bint is_plain(cnp.ndarray array) noexcept:
    # memcpy will do: no references in it, C-contiguous.
    return cnp.PyArray_IS_C_CONTIGUOUS(array) and cnp.PyArray_TYPE(array) != cnp.NPY_OBJECT


cdef object new_like(cnp.ndarray model, cnp.npy_intp rows):
    # An array of the same data type and row, with so many rows; its contents are undefined.
    cdef cnp.npy_intp shape[64]
    cdef int i, ndim = cnp.PyArray_NDIM(model)
    cdef cnp.PyArray_Descr *descr = cnp.PyArray_DESCR(model)
    shape[0] = rows
    for i in range(1, ndim):
        shape[i] = cnp.PyArray_DIM(model, i)
    Py_INCREF(<object><PyObject *>descr)
    # The new array takes over a reference to its data type.
    return PyArray_NewFromDescr(
        <PyTypeObject *>cnp.ndarray, descr, ndim, shape, NULL, NULL, 0, NULL)


cdef bint same_row(cnp.ndarray one, cnp.ndarray other) noexcept:
    cdef int axis
    if cnp.PyArray_NDIM(one) != cnp.PyArray_NDIM(other) or cnp.PyArray_ITEMSIZE(one) != cnp.PyArray_ITEMSIZE(other):
        return False
    for axis in range(1, cnp.PyArray_NDIM(one)):
        if cnp.PyArray_DIM(one, axis) != cnp.PyArray_DIM(other, axis):
            return False
    return True


cdef list row_shape(cnp.ndarray array):
    cdef int axis
    return [array.shape[axis] for axis in range(1, array.ndim)]


cdef object gather_rows(list parts):
    # One array of all parts' rows, copied once; a single part is taken as it is.
    cdef cnp.ndarray first, part, result
    cdef cnp.npy_intp rows = 0
    cdef char *target
    cdef size_t nbytes
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    for part in parts:
        if not same_row(first, part):
            # Each by itself they may do.
            raise ModelExecutionError(
                f"requests with rows of shapes {row_shape(first)} and {row_shape(part)} do not run as one batch",
                model="",
            )
        if not is_plain(part):
            return concatenate(parts)
        rows += cnp.PyArray_DIM(part, 0)
    result = new_like(first, rows)
    target = cnp.PyArray_BYTES(result)
    for part in parts:
        nbytes = cnp.PyArray_NBYTES(part)
        memcpy(target, cnp.PyArray_DATA(part), nbytes)
        target += nbytes
    return result


cdef object take_rows(cnp.ndarray array, cnp.npy_intp start, cnp.npy_intp rows):
    # The request's own rows: a view above SMALL_ROW bytes a row, else a copy, which keeps nothing else alive.
    cdef cnp.ndarray result
    cdef size_t row
    if cnp.PyArray_DIM(array, 0) == rows:
        return array
    if not is_plain(array):
        return array[start : start + rows].copy()
    row = cnp.PyArray_NBYTES(array) // <size_t>cnp.PyArray_DIM(array, 0)
    if row <= SMALL_ROW:
        result = new_like(array, rows)
        memcpy(cnp.PyArray_DATA(result), cnp.PyArray_BYTES(array) + <size_t>start * row, row * <size_t>rows)
        return result
    return array[start : start + rows]
