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

cdef extern from "sched.h" nogil:
    int sched_yield() noexcept

cdef extern from *:
    """
    #if defined(__x86_64__)
    #define ai_pause() __builtin_ia32_pause()
    #elif defined(__aarch64__)
    #define ai_pause() __asm__ __volatile__("yield")
    #else
    #define ai_pause() ((void)0)
    #endif
    """
    void ai_pause() noexcept nogil

# Never freed: as many as ever waited at the same time.
cdef vector[PyThread_type_lock] spare_cells
# A signal that comes just before a wait begins is noticed only after it: the main thread waits in slices.
cdef int64_t SLICE_NS = 50000000
# Between two yields: each enters the system, about 1 us apart is often enough.
cdef int PAUSES = 40
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


cdef inline void open_cell(PyThread_type_lock cell) noexcept nogil:
    PyThread_release_lock(cell)


cdef bint spin_on(PyThread_type_lock cell, int64_t spin, int64_t *longest) noexcept:
    # Wait for so many ns with the core kept from falling idle, but for others that want it; returns whether the cell was
    # opened (it is shut again). `longest`: for how long others had the core at a stretch.
    cdef PyLockStatus status = PY_LOCK_FAILURE
    cdef int64_t now, before, until
    cdef int pause
    with nogil:
        before = now_ns()
        until = before + spin
        longest[0] = 0
        while status != PY_LOCK_ACQUIRED and before < until:
            for pause in range(PAUSES):
                ai_pause()
            sched_yield()
            status = PyThread_acquire_lock_timed(cell, 0, 0)
            now = now_ns()
            if now - before > longest[0]:
                longest[0] = now - before
            before = now
    return status == PY_LOCK_ACQUIRED


cdef bint wait_cell(PyThread_type_lock cell, int64_t until, PyThread_type_lock other=NULL) except -1:
    # Wait until the cell is opened (true) or the time has come (false); 0 waits as long as it takes. The cell is shut
    # again afterwards. Signals on the main thread raise what their handlers raise.
    # `other` is opened once the GIL is free, so that who waits on it does not wait for that next.
    cdef PyLockStatus status
    cdef int64_t left
    cdef bint main = PyThread_get_thread_ident() == main_thread
    if other != NULL:
        with nogil:
            open_cell(other)
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
