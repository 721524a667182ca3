# Room: whether one more may wait, and the callers that wait until it may. Guarded by the GIL, see request.pxi.
from ascend_infer.errors import ClosedError, QueueFullError


@cython.final
cdef class _Seeker:
    """A caller that waits for room in one priority level."""
    cdef PyThread_type_lock cell
    cdef _PriorityLevel level
    cdef bint called


cdef class _Room(_Lanes):

    @property
    def seeking(self):
        """How many callers wait for room."""
        return len(self.seekers)

    cdef int admit(self, Request request, _PriorityLevel level, bint waits) except -1:
        # No Python runs between the last look and the return: what was found still holds then.
        cdef _Seeker seeker = None
        try:
            while True:
                if self.closed:
                    raise ClosedError(f"model {self.model!r}: the session is closed; open a new one")
                if not self.usable:
                    self.count_failure(request, OTHER)
                    raise self.unavailable()
                if level.most == 0 or level.count < level.most:
                    return 0
                # A lane that waited in a callback would wait for itself.
                if not waits or self.own_lane() is not None:
                    raise self.full(request, level)
                if seeker is None:
                    seeker = _Seeker.__new__(_Seeker)
                    seeker.cell = take_cell()
                    seeker.level = level
                    self.seekers.append(seeker)
                else:
                    self.seekers.appendleft(seeker)  # another caller was quicker; it keeps its turn
                self.wait_for_room(request, seeker)
        finally:
            if seeker is not None:
                give_cell(seeker.cell)
            if self.closed or not self.usable:
                self.let_in(None)  # all of them are to see it, one after another

    cdef int wait_for_room(self, Request request, _Seeker seeker) except -1:
        cdef bint opened
        try:
            opened = wait_cell(seeker.cell, request.final_deadline)
        except BaseException:
            self.stop_seeking(seeker)
            raise
        if opened:
            seeker.called = False
            return 0
        self.stop_seeking(seeker)
        self.count_failure(request, REJECTED)
        raise self.too_late(request, now_ns())

    cdef int stop_seeking(self, _Seeker seeker) except -1:
        if not seeker.called:
            self.seekers.remove(seeker)
            return 0
        # It was called just as it left: the next one takes the room.
        PyThread_acquire_lock_timed(seeker.cell, 0, 0)
        seeker.called = False
        self.let_in(seeker.level)
        return 0

    cdef int let_in(self, _PriorityLevel level) except -1:
        cdef _Seeker seeker
        for seeker in self.seekers:
            if level is None or seeker.level is level:
                self.seekers.remove(seeker)
                seeker.called = True
                open_cell(seeker.cell)
                break
        return 0

    cdef object full(self, Request request, _PriorityLevel level):
        self.count_failure(request, REJECTED)
        waiting = "request waits" if level.count == 1 else "requests wait"
        return QueueFullError(
            f"model {self.model!r}: {level.count} {waiting} already, which is the max_queue_size of priority "
            f"{level.number + 1}; try again later, submit with block=True, or raise max_queue_size",
            depth=level.count,
        )
