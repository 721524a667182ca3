# Deadlines: requests whose time is over, and those that nobody wants any more.
from ascend_infer.errors import RequestCancelledError


cdef class _Deadlines(_Answers):
    cdef object abandoned         # told of a batch that runs and that nobody wants any more
    cdef object watch             # told when something has to be looked at while no thread of a caller waits for it
    cdef int64_t watched          # when that will be

    cdef void nudge(self) noexcept:
        # Something left the queue without having been sent: what the leader waits for has changed.
        pass

    def expire(self, now=None):
        """End or put back what has waited too long; returns when to look again, 0 for never."""
        self.watched = 0
        self.expire_until(now_ns() if now is None else now)
        if self.heap:
            self.watched = (<Request>self.heap[0]).deadline
        return self.watched

    cdef int expire_until(self, int64_t now) except -1:
        cdef Request request
        cdef _PriorityLevel level
        while self.heap:
            request = self.heap[0]
            if request.deadline > now:
                break
            if request.state == RUNNING:
                self.heap_remove(request)
                self.leave(request, True)
                continue
            level = request.queue_level
            if (request.final_deadline == 0 or request.final_deadline > now) and level.delays:
                # DELAY: it is served after all that are in time.
                self.heap_remove(request)
                level.remove(request)
                request.delayed = True
                level.append(request)
                self.changes += 1
                self.nudge()
                request.deadline = request.final_deadline
                if request.deadline:
                    self.heap_push(request)
                continue
            error = self.too_late(request, now)
            if request.state == QUEUED:
                self.unlink(request)
                self.nudge()
                self.end_failed(request, error, REJECTED, True)
        return 0

    def cancel(self, Request request not None):
        """Take a request back; returns whether it will not run. What runs already is let finish, its result dropped."""
        if request.state == QUEUED:
            error = RequestCancelledError(f"model {self.model!r}: the request was cancelled")
            if request.state == QUEUED:
                self.unlink(request)
                self.nudge()
                self.end_failed(request, error, CANCELED, False)
                return True
        if request.state == RUNNING:
            self.leave(request, False)
        return request.state == LEFT

    cdef int leave(self, Request request, bint apart) except -1:
        # Nobody wants it any more: its batch goes on for the others, and is told to stop when there are none.
        cdef RequestBatch batch
        cdef int64_t now = now_ns()
        cdef bint late = request.final_deadline != 0 and request.final_deadline <= now
        # Making an error is plain Python: what it is for may be over afterwards.
        error = self.too_late(request, now) if late else RequestCancelledError(
            f"model {self.model!r}: the request was cancelled while it ran"
        )
        if request.state != RUNNING:
            return 0
        request.error = error
        batch = self.part(request, OTHER if late else CANCELED)
        self.settle(request, LEFT, apart)
        if self.ordered:
            self.deliver_in_order(True)
        if batch is not None:
            self.stop(batch)
        return 0

    cdef RequestBatch part(self, Request request, int reason):
        # A request leaves its run; returns the batch if nobody is left in it. No Python in here.
        cdef RequestBatch batch = request.batch
        request.state = LEFT
        request.ended = now_ns()
        request.outputs = None
        if request.heap_index >= 0:
            self.heap_remove(request)
        self.count_failure(request, reason)
        request.finished = True
        if batch is not None:  # else it is being made, and counts those who left
            batch.left += 1
            if batch.requests is not None and batch.left == len(batch.requests):
                return batch
        return None

    cdef int stop(self, RequestBatch batch) except -1:
        if batch.cancellation is not None:
            batch.cancellation.request()
        if self.abandoned is not None:
            self.abandoned(batch)
        return 0

    cdef RequestBatch withdraw(self, Request request):
        # As `cancel`, for a caller who has gone, and as one step: no signal comes in between. Returns a batch to stop.
        if request.state == QUEUED:
            self.unlink(request)
            self.nudge()
            request.state = DONE
            request.ended = now_ns()
            request.finished = True
            self.count_failure(request, CANCELED)
        elif request.state == RUNNING:
            return self.part(request, CANCELED)
        return None

    def desert(self, RequestBatch batch not None, error not None):
        """End the requests of a run that nobody waits for any longer; what comes of it is dropped."""
        cdef Request request
        for request in batch.requests or ():
            if request.cell != NULL or request.on_done is not None:  # else it runs on its caller's own thread
                own = own_copy(error)
                if request.state == RUNNING:
                    request.error = own
                    self.part(request, OTHER)
                    self.settle(request, LEFT, True)
        if self.ordered:
            self.deliver_in_order(True)
