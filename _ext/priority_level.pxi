# PriorityLevel: the requests of one priority that wait.
@cython.final
cdef class _PriorityLevel:
    """The queue of one priority: those in time, in order of arrival, then those whose time has passed (DELAY)."""
    cdef readonly Py_ssize_t number
    cdef readonly Py_ssize_t count
    cdef int64_t timeout
    cdef bint delays
    cdef Py_ssize_t most
    cdef Request head, tail, delayed_head, delayed_tail

    cdef void append(self, Request request) noexcept:
        request.queue_level = self
        request.after = None
        self.count += 1
        if request.delayed:
            request.before = self.delayed_tail
            if self.delayed_tail is None:
                self.delayed_head = request
            else:
                self.delayed_tail.after = request
            self.delayed_tail = request
            return
        request.before = self.tail
        if self.tail is None:
            self.head = request
        else:
            self.tail.after = request
        self.tail = request

    cdef void remove(self, Request request) noexcept:
        cdef Request before = request.before, after = request.after
        self.count -= 1
        request.before = request.after = None
        request.queue_level = None
        if before is not None:
            before.after = after
        elif request.delayed:
            self.delayed_head = after
        else:
            self.head = after
        if after is not None:
            after.before = before
        elif request.delayed:
            self.delayed_tail = before
        else:
            self.tail = before


def _level_number(_PriorityLevel level):
    return level.number
