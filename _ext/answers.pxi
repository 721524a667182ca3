# Answers: how requests end. Their rows, their errors, who is told and in which order, what is counted.
import copy

from ascend_infer.errors import DeadlineExceededError, ModelExecutionError, RequestCancelledError

# What ended a request that failed; the order of ModelCounters.
cdef enum FailureReason:
    REJECTED = 0
    CANCELED = 1
    BACKEND = 2
    OTHER = 3

# Callers woken all at once would only wait again, for the interpreter; each wakes the next as it begins to run.
# One that does not get to run for so long holds up nobody.
cdef int64_t WAKE_PATIENCE_NS = 1000000


cdef object own_copy(object error):
    # An exception raised in several threads at once would collect all their tracebacks.
    try:
        copied = copy.copy(error)
        copied.__cause__ = error.__cause__
        return copied
    except Exception:
        return error


cdef int reason_of(object error) except -1:
    if isinstance(error, DeadlineExceededError | MemoryError):
        return OTHER
    if isinstance(error, RequestCancelledError) or not isinstance(error, Exception):
        return CANCELED
    return BACKEND


cdef object call_safely(object function, Request request):
    # Call what is to be called of a request that is done; None: a user's own functions.
    try:
        return function() if request is None else function(request)
    except BaseException:
        log_exception("a callback of a request failed")
        return None


cdef inline bint by_itself(Request request) noexcept:
    # Whether no others travel in it.
    return request.parts is None or len(request.parts) < 2


cdef class _Answers(_Callbacks):
    cdef OutputShapes shapes
    cdef bint ordered
    cdef readonly int64_t longest   # of the runs that ended and that somebody waited for, in ns
    cdef bint telling
    cdef bint delivering
    # Deques, with preserve_ordering: requests in order of arrival; what is done and its callback; users' own functions.
    cdef object order
    cdef object to_tell
    cdef object in_turn
    cdef Py_ssize_t in_transit        # callers whose results are there and who have not run since
    cdef object to_wake               # callers that are answered and still asleep
    cdef Py_ssize_t waking            # callers that were woken and have not run since
    cdef int64_t woken_at

    def __cinit__(self):
        self.shapes = OutputShapes()
        self.order = collections.deque()
        self.to_tell = collections.deque()
        self.in_turn = collections.deque()

    def expect(self, OutputShapes shapes not None):
        """Hold what runs give against these shapes from now on."""
        self.shapes = shapes

    cpdef int check(self, Request request, list arrays) except -1:
        """Raise the error of a request by itself that got wrong shapes."""
        wrong = self.shapes.wrong(self.model, request.names, arrays, request.rows, by_itself(request))
        if wrong is not None:
            raise wrong
        return 0

    def complete(self, RequestBatch batch not None, list arrays not None, list answers=None):
        """Give each request of a batch its rows; `arrays` in the order of the batch's names. Nothing is raised for a
        model that gave wrong shapes: its requests fail with the cause. `answers`, where given, has each request's own
        outputs, in the order of its names."""
        cdef list requests = batch.requests
        cdef Request request
        cdef Py_ssize_t start = 0, place = 0, i
        cdef bint alone = len(requests) == 1
        cdef bint picked
        cdef object late
        if answers is not None and len(answers) != len(requests):
            raise ValueError(f"got {len(answers)} answers for {len(requests)} requests")
        wrong = self.shapes.wrong(self.model, batch.names, arrays, batch.rows, alone and by_itself(requests[0]))
        if wrong is not None:
            self.fail(batch, wrong, BACKEND)
            return
        batch.ended = now_ns()
        batch.reason = OTHER  # of those that are late
        self.count_batch(batch)
        for request in requests:
            late = None
            if request.final_deadline != 0 and request.final_deadline <= batch.ended and request.state != LEFT:
                late = self.too_late(request, batch.ended)  # no clock has come to it; while this is made, one may
            if request.state == LEFT:
                request.arrays = None
            elif late is not None:
                request.error = late
                request.ended = batch.ended
                request.finished = True
            else:
                picked = request.names is not batch.names
                if answers is not None:
                    request.outputs = answers[place]
                elif alone:
                    request.outputs = arrays
                else:
                    outputs = []
                    for i in range(len(arrays)):
                        if picked and batch.names[i] not in request.names:
                            continue
                        outputs.append(take_rows(arrays[i], start, request.rows))
                    if picked:
                        outputs = self.pick(batch, request, outputs)
                    request.outputs = outputs
                request.ended = batch.ended
                request.finished = True
            start += request.rows
            place += 1
        batch.requests = None
        self.deliver(requests)

    cdef object too_late(self, Request request, int64_t now):
        # The error of one whose time is over.
        cdef double seconds
        if request.final_deadline and request.final_deadline <= now:
            seconds = 0.0 if request.timeout == 1 else request.timeout / 1e9
            return DeadlineExceededError(
                f"model {self.model!r}: no result within the timeout of {seconds:g} s", timeout=seconds
            )
        seconds = request.queue_level.timeout / 1e9
        return DeadlineExceededError(
            f"model {self.model!r}: the request waited longer than its queue policy's "
            f"default_timeout_microseconds allows ({seconds:g} s)",
            timeout=seconds,
        )

    cdef list pick(self, RequestBatch batch, Request request, list outputs):
        present = [name for name in batch.names if name in request.names]
        by_name = dict(zip(present, outputs))
        return [by_name[name] for name in request.names]

    def fail(self, RequestBatch batch not None, error not None, int reason=BACKEND):
        """End all requests of a batch with one error."""
        cdef list requests = batch.requests
        cdef Request request
        batch.ended = now_ns()
        batch.reason = reason
        self.count_batch(batch)
        for request in requests:
            own = error if len(requests) == 1 else own_copy(error)
            if request.state == LEFT:
                request.arrays = None
            else:
                request.error = own
                request.ended = batch.ended
                request.finished = True
        batch.requests = None
        self.deliver(requests)

    def drop(self, RequestBatch batch not None):
        """End a batch that nobody wants any more before it ran; it counts as no execution."""
        cdef Request request
        for request in batch.requests:
            request.arrays = None
        batch.requests = None

    def split(self, RequestBatch batch not None):
        """Return two batches in place of one on which the model failed; counts that execution."""
        batch.ended = now_ns()
        self.count_batch(batch)
        return batch.halves()

    cdef int end_failed(self, Request request, object error, int reason, bint apart) except -1:
        # One that never ran, or that nobody waits for any more; it does not wait for earlier ones either.
        # `apart`: its callbacks are called on a thread of theirs.
        request.error = error
        request.ended = now_ns()
        self.count_failure(request, reason)
        request.finished = True
        self.settle(request, DONE, apart)
        if self.ordered:
            self.deliver_in_order(True)
        return 0

    cdef int deliver(self, list requests) except -1:
        cdef Request request
        cdef list later = []
        if self.ordered:
            return self.deliver_in_order(False)
        for request in requests:
            if request.state == RUNNING:
                self.hand_out(request, later)
        if not later:
            return 0
        # Who waits does not wait for the callbacks of others.
        functions = []
        for on_done, request in later:
            function = call_safely(on_done, request)
            if function is not None:
                functions.append(function)
        for function in functions:
            call_safely(function, None)
        return 0

    cdef int deliver_in_order(self, bint apart) except -1:
        # States first, then who is told, then users' own functions. Of the latter two a thread may be at it, or have
        # called back: what is ready now follows there.
        cdef Request request
        while self.order and (<Request>self.order[0]).finished:
            request = self.order.popleft()
            if request.state == RUNNING:
                self.hand_out(request, self.to_tell)
        if not self.telling:
            self.telling = True
            try:
                while self.to_tell:
                    on_done, request = self.to_tell.popleft()
                    function = call_safely(on_done, request)
                    if function is not None:
                        self.in_turn.append(function)
            finally:
                self.telling = False
        if not self.delivering:
            self.delivering = True
            try:
                while self.in_turn:
                    function = self.in_turn.popleft()
                    if apart or self.calling:
                        self.call_apart(function)
                    else:
                        call_safely(function, None)
            finally:
                self.delivering = False
        return 0

    cdef int hand_out(self, Request request, object later) except -1:
        # A request counts as what its caller gets: until then it may still be late.
        if request.error is None:
            self.count_success(request, request.batch)
        else:
            self.count_failure(request, request.batch.reason)
        return self.settle(request, DONE, False, later)

    cdef int settle(self, Request request, RequestState state, bint apart, object later=None) except -1:
        request.state = state
        if request.heap_index >= 0:
            self.heap_remove(request)
        return self.tell(request, apart, later)

    cdef int tell(self, Request request, bint apart, object later) except -1:
        cdef object on_done = request.on_done
        if request.state != LEFT:
            request.arrays = None  # else its batch may still have to be gathered
        request.on_done = None
        if request.cell != NULL:
            self.in_transit += 1
            self.to_wake.append(request)
            request.told = True
            if self.waking == 0 or now_ns() - self.woken_at > WAKE_PATIENCE_NS:
                self.wake_next()
        elif on_done is None:
            pass
        elif request.bridge is not None:
            request.bridge.add(on_done)
            request.bridge = None
        elif later is not None:
            later.append((on_done, request))
        else:
            function = call_safely(on_done, request)
            if function is None:
                pass
            elif apart or (self.ordered and self.calling):
                self.call_apart(function)
            else:
                call_safely(function, None)
        return 0

    cdef void wake_next(self) noexcept:
        cdef PyThread_type_lock cell = self.next_cell()
        if cell != NULL:
            open_cell(cell)

    cdef PyThread_type_lock next_cell(self) noexcept:
        # What the next answered caller waits on, to be opened now; it counts as woken.
        cdef Request request
        while self.to_wake:
            request = self.to_wake.popleft()
            if request.cell != NULL:
                request.woken = True
                self.waking += 1
                self.woken_at = now_ns()
                return request.cell
        return NULL

    cdef inline void count_batch(self, RequestBatch batch) noexcept:
        cdef ModelCounters counters = batch.counters
        cdef int64_t gathered
        # How long a run hung that all had left says nothing of how long the model takes.
        if batch.ended - batch.begun > self.longest and batch.left < batch.count:
            self.longest = batch.ended - batch.begun
        if counters is not None:
            gathered = batch.gathered if batch.gathered else batch.begun
            if batch.computed == 0:
                batch.computed = batch.ended
            counters.batch_done(
                batch.rows, batch.padded_rows, gathered - batch.begun, batch.computed - gathered,
                batch.ended - batch.computed,
            )

    cdef inline void count_success(self, Request request, RequestBatch batch) noexcept:
        cdef ModelCounters counters = batch.counters
        cdef int64_t gathered
        if counters is not None:
            gathered = batch.gathered if batch.gathered else batch.begun
            counters.request_done(
                request.rows, batch.ended - request.called, batch.begun - request.queued,
                (request.queued - request.called) + (gathered - batch.begun), batch.computed - gathered,
                batch.ended - batch.computed, 1 if request.parts is None else len(request.parts),
            )

    cdef inline void count_failure(self, Request request, int reason) noexcept:
        # One that no instance has taken counts on the first device.
        cdef ModelCounters counters = self.counters if request.batch is None else request.batch.counters
        cdef Py_ssize_t requests = 1
        if request.parts is not None:
            requests = len(request.parts)
            if requests > 1 and isinstance(request.error, ModelExecutionError):
                return  # each runs again, and counts for itself
        if counters is not None:
            counters.request_failed(reason, (request.ended if request.ended else now_ns()) - request.called, requests)

    def count_refused(self, int64_t nanoseconds):
        """Count a request that was wrong at its call and never queued."""
        if self.counters is not None:
            self.counters.request_failed(OTHER, nanoseconds, 1)
