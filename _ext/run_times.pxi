# RunTimes: how long runs of the same shapes took, so that one that may be long goes where it can be left.

# Nanoseconds from which on a run counts as long: Ctrl-C has to work within 0.3 s.
cdef int64_t LONG_NS = 50000000
cdef Py_ssize_t MOST_SHAPES = 4096


@cython.final
cdef class RunTimes:
    cdef dict known    # shapes -> ns; guarded by the GIL

    def __init__(self, dict known not None):
        self.known = known

    cdef bint is_long(self, list arrays) except -1:
        # Shapes that did not run yet may be.
        expected = self.known.get(shapes_of(arrays))
        return expected is None or <int64_t>expected > LONG_NS

    cdef int note(self, list arrays, int64_t took) except -1:
        key = shapes_of(arrays)
        before = self.known.get(key)
        if before is not None:
            took = (3 * <int64_t>before + took) // 4
        elif len(self.known) >= MOST_SHAPES:
            self.known.clear()
        self.known[key] = took
        return 0

    def takes_long(self, list arrays not None):
        return self.is_long(arrays)

    def remember(self, list arrays not None, int64_t took):
        self.note(arrays, took)


cdef tuple shapes_of(list arrays):
    cdef Py_ssize_t i
    if len(arrays) == 1 and arrays[0] is not None:
        return arrays[0].shape
    shapes = []
    for i in range(len(arrays)):
        shapes.append(None if arrays[i] is None else arrays[i].shape)
    return tuple(shapes)
