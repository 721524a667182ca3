# Lanes: which of them are free, which leads, which are in service. Guarded by the GIL, see request.pxi.
from ascend_infer.errors import InstanceUnavailableError


cdef class _Lanes(_Deadlines):
    cdef list lanes
    cdef list free                # lanes that run nothing, the one that became free last at the end
    cdef Lane leader              # the free lane that waits for the next batch
    cdef readonly int64_t leader_until   # when it looks again if nothing wakes it; 0 for never
    cdef object recover           # loads the instance of a lane anew, on the lane's own thread
    cdef readonly bint closed
    cdef readonly Py_ssize_t running
    cdef bint in_grace                # the leader lets them run before it takes what is queued
    cdef readonly Py_ssize_t usable   # lanes in service

    def unavailable(self):
        """The error of a model whose instances are all out of service."""
        reasons = {lane.instance.reason: None for lane in self.lanes if getattr(lane.instance, "reason", "")}
        told = "; ".join(reasons) if reasons else "each hangs in a run that does not end"
        return InstanceUnavailableError(
            f"model {self.model!r}: no instance is in service: {told}. Close the session and open it again",
            model=self.model,
        )

    cdef void nudge(self) noexcept:
        if self.leader is not None:
            self.leader.wake()

    cdef int appoint(self) except -1:
        # The free lane of the least busy instance waits for the next batch; it is the one to wake from now on.
        cdef Lane lane, best = None
        cdef Py_ssize_t i
        if len(self.free) == 1:
            best = self.free[0]
        else:
            for i in range(len(self.free) - 1, -1, -1):
                lane = self.free[i]
                if best is None or (lane.instance is not None and lane.instance.busy < best.instance.busy):
                    best = lane
        self.rouse(best)
        self.leader = best
        self.leader_until = 0
        return 0

    cdef Lane own_lane(self):
        # The lane whose thread this is: a callback would wait for itself, so that its request runs before all others.
        cdef unsigned long thread = PyThread_get_thread_ident()
        cdef Lane lane
        for lane in self.lanes:
            if lane.thread == thread:
                return lane if lane.usable and not self.closed and not lane.borrowed else None
        return None

    def serves_here(self):
        """Whether this is a lane's own thread, which must not wait for an answer."""
        return self.own_lane() is not None

    cdef int rouse(self, Lane lane) except -1:
        if lane.started:
            lane.wake()
        else:
            # One step: no Python runs before the thread does, and so no signal comes in between.
            start_new_thread(lane.serve, ())
            lane.started = True
        return 0

    cdef void occupy(self, Lane lane) noexcept:
        self.free.remove(lane)
        lane.free = False
        if self.leader is lane:
            self.leader = None
            self.in_grace = False
        self.running += 1
        if lane.instance is not None:
            lane.instance.busy += 1

    cdef int vacate(self, Lane lane) except -1:
        self.running -= 1
        lane.batch = None
        if lane.instance is not None:
            lane.instance.busy -= 1
        if lane.usable and not lane.suspended:
            lane.free = True
            self.free.append(lane)
        return 0

    cdef int let_go(self, Lane lane) except -1:
        lane.started = False
        lane.thread = 0
        if self.leader is lane:
            self.leader = None
        if lane.free:
            lane.free = False
            self.free.remove(lane)
        return 0

    def retire(self, Lane lane not None):
        """Take a lane out of service; its thread ends when it comes back. Without another one nothing is served any more."""
        if not lane.usable:
            return
        lane.usable = False
        self.usable -= 1
        if lane.free:
            self.free.remove(lane)
            lane.free = False
        if self.leader is lane:
            self.leader = None
            if self.count and self.free:
                self.appoint()
        lane.wake()
        if self.count and not self.usable:
            self.end_all(self.unavailable(), OTHER)

    cdef int end_all(self, object error, int reason) except -1:
        # Each gets its own error, made before it leaves the queue: that is plain Python.
        cdef Request request
        while self.count:
            own = own_copy(error)
            if self.count and (self.closed or not self.usable):
                [request] = self.pop(1)
                self.end_failed(request, own, reason, True)
        return 0

    def after_failure(self, Lane lane not None):
        """Look at the instance on which a run has failed.

        One that a fault has ended takes no more work, and the lane's own thread loads it anew; what is queued waits.
        """
        if not lane.recovers or self.recover is None or not lane.executable.faulted:
            return
        if lane.suspended or not lane.usable:
            return
        self.suspend(lane.instance)
        lane.faulty = True
        self.rouse(lane)

    cdef int suspend(self, object instance) except -1:
        cdef Lane lane
        for lane in self.lanes:
            if lane.instance is instance:
                lane.suspended = True
                if lane.free:
                    self.free.remove(lane)
                    lane.free = False
                if self.leader is lane:
                    self.leader = None
                    self.in_grace = False
        if self.count and self.leader is None and self.free:
            self.appoint()
        return 0

    def resume(self, instance):
        """Give an instance work again that was loaded anew."""
        cdef Lane lane
        for lane in self.lanes:
            if lane.instance is instance and lane.suspended:
                lane.suspended = False
                if lane.usable and lane.batch is None and not lane.free:
                    lane.free = True
                    self.free.append(lane)
        if self.count and self.leader is None and self.free:
            self.appoint()

    def restore(self, Lane lane not None):
        """Take a lane back into service; one that still runs a batch is free when that is over."""
        if lane.usable or self.closed:
            return
        lane.usable = True
        lane.suspended = False
        self.usable += 1
        if lane.batch is None:
            lane.free = True
            self.free.append(lane)
        if self.count and self.leader is None and self.free:
            self.appoint()
