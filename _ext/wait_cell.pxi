# What one thread waits on and another one opens; kept for the next wait.
#
# CPython's own locks: on Linux semaphores in one futex each, and on the main thread a signal ends the wait.
from libcpp.vector cimport vector

cdef extern from "pythread.h" nogil:
    ctypedef void *PyThread_type_lock
    ctypedef enum PyLockStatus:
        PY_LOCK_FAILURE
        PY_LOCK_ACQUIRED
        PY_LOCK_INTR
    PyThread_type_lock PyThread_allocate_lock() noexcept
    PyLockStatus PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int intr_flag) noexcept
    void PyThread_release_lock(PyThread_type_lock lock) noexcept

# Never freed: as many as ever waited at the same time.
cdef vector[PyThread_type_lock] spare_cells
# A signal that comes just before a wait begins is noticed only after it: the main thread waits in slices.
cdef int64_t SLICE_NS = 50000000
cdef int64_t LONGEST_WAIT_NS = 3600 * 1000000000


cdef PyThread_type_lock take_cell() except NULL:
    # A cell is shut while nobody has opened it.
    cdef PyThread_type_lock cell
    if not spare_cells.empty():
        cell = spare_cells.back()
        spare_cells.pop_back()
        return cell
    cell = PyThread_allocate_lock()
    if cell == NULL:
        raise MemoryError("no memory for a lock")
    PyThread_acquire_lock_timed(cell, -1, 0)
    return cell


cdef inline void give_cell(PyThread_type_lock cell) noexcept:
    # Only a shut cell may be given back.
    spare_cells.push_back(cell)


cdef inline void open_cell(PyThread_type_lock cell) noexcept:
    PyThread_release_lock(cell)


cdef bint wait_cell(PyThread_type_lock cell, int64_t until) except -1:
    # Wait until the cell is opened (true) or the time has come (false); 0 waits as long as it takes. The cell is shut
    # again afterwards. Signals on the main thread raise what their handlers raise.
    cdef PyLockStatus status
    cdef int64_t left
    cdef bint main = PyThread_get_thread_ident() == main_thread
    while True:
        left = LONGEST_WAIT_NS if until == 0 else until - now_ns()
        if left < 0:
            left = 0
        if main and left > SLICE_NS:
            left = SLICE_NS
        with nogil:
            status = PyThread_acquire_lock_timed(cell, (left + 999) // 1000, 1 if main else 0)
        if status == PY_LOCK_ACQUIRED:
            return True
        if main:
            PyErr_CheckSignals()
        if until != 0 and now_ns() >= until:
            # Opened between the wait's end and now?
            return PyThread_acquire_lock_timed(cell, 0, 0) == PY_LOCK_ACQUIRED
