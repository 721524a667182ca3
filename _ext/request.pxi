# Request: one call's inputs on their way to an instance, and what came of them.
#
# Requests, batches and their queue are guarded by the GIL, and by nothing else: no code in here runs Python between
# two steps that belong together. The GIL is given up only where a thread waits, and in `execute`.
cdef enum RequestState:
    FRESH = 0    # nobody else knows it
    QUEUED = 1
    RUNNING = 2
    DONE = 3     # outputs or an error are there
    LEFT = 4     # runs, and nobody wants what comes of it


@cython.final
@cython.freelist(256)
cdef class Request:
    # In the order of the model's inputs; None for one that was left out. Dropped when its batch is over.
    cdef readonly list arrays
    # signature.Prepared where outputs were chosen, reshaped or are single samples; else None.
    cdef readonly object prepared
    cdef readonly tuple names
    cdef readonly object key
    cdef readonly str request_id
    cdef readonly Py_ssize_t rows
    cdef readonly Py_ssize_t level
    cdef readonly int state
    cdef readonly int64_t called
    cdef readonly int64_t queued
    cdef readonly int64_t ended
    cdef readonly int64_t timeout
    cdef readonly RequestBatch batch
    cdef readonly list outputs
    cdef readonly list parts      # requests that travel in this one, see RequestFront.join
    cdef readonly object error
    # Called with the request when it is done, by whichever thread ended it; an InferCall goes through its loop's bridge.
    cdef object on_done
    cdef LoopBridge bridge
    cdef PyThread_type_lock cell
    cdef PyThread_type_lock opens # what its caller opens as its wait begins: the leader's
    cdef int64_t final_deadline   # the caller's own; 0 for none
    cdef int64_t deadline         # when the queue has to look at it again; 0 for never
    cdef Py_ssize_t heap_index
    cdef bint of_main_thread      # whose waits end with Ctrl-C
    cdef bint told                # its blocking caller is answered
    cdef bint woken               # and its cell is open, or just about to be
    cdef bint delayed
    cdef bint finished            # its outcome is there, and may still wait for earlier ones
    cdef Request before
    cdef Request after
    cdef _PriorityLevel queue_level

    def __cinit__(self):
        self.cell = NULL
        self.opens = NULL
        self.heap_index = -1

    def take_outputs(self):
        """Return the outputs; the request lets go of them."""
        outputs, self.outputs = self.outputs, None
        return outputs

    @property
    def done(self):
        return self.state == DONE or self.state == LEFT

    @property
    def running(self):
        return self.state == RUNNING

    @property
    def single(self):
        return self.prepared is not None and self.prepared.single

    @property
    def times(self):
        # The fields of result.Timing.
        cdef RequestBatch batch = self.batch
        cdef int64_t gathered
        if batch is None:
            return (max(0, self.queued - self.called), 0, 0, 0)
        gathered = batch.gathered if batch.gathered else batch.begun
        return (
            max(0, self.queued - self.called) + gathered - batch.begun,
            max(0, batch.begun - self.queued),
            max(0, batch.computed - gathered),
            max(0, batch.ended - batch.computed),
            batch.rows,
            batch.padded_rows,
            "" if batch.gear is None else str(batch.gear),
            batch.instance,
        )


def new_request(
    list arrays, tuple names, Py_ssize_t rows, *, prepared=None, key=None, str request_id="", Py_ssize_t level=0,
    int64_t called=0, int64_t timeout=0,
):
    cdef Request request = Request.__new__(Request)
    request.arrays = arrays
    request.names = names
    request.rows = rows
    request.prepared = prepared
    request.key = key
    request.request_id = request_id
    request.level = level
    set_call(request, called if called else now_ns(), timeout)
    return request


cdef inline void set_call(Request request, int64_t called, int64_t timeout) noexcept:
    request.called = called
    request.timeout = timeout
    if timeout:
        # Negative: over before it began, and the error says by how much.
        request.final_deadline = called + max(timeout, <int64_t>1)


@cython.final
cdef class RequestBatch(RunReport):
    """Requests that run together, and how that went. Results keep it for its numbers."""
    cdef readonly list requests      # None once it is over
    cdef readonly tuple names
    cdef readonly Py_ssize_t rows
    cdef readonly Py_ssize_t count
    cdef readonly str instance
    cdef ModelCounters counters   # of the device that it runs on
    cdef readonly int64_t begun
    cdef readonly int64_t ended
    cdef public object cancellation
    cdef Py_ssize_t left
    cdef int reason                  # of its failure

    def parts(self, bint gathers):
        # The batch's inputs in the model's order: arrays, or lists of arrays where the executable gathers by itself.
        cdef Request first = self.requests[0], request
        cdef Py_ssize_t i
        if len(self.requests) == 1:
            return first.arrays
        result = []
        for i in range(len(first.arrays)):
            if first.arrays[i] is None:
                result.append(None)
                continue
            column = []
            for request in self.requests:
                column.append(request.arrays[i])
            result.append(column if gathers else gather_rows(column))
        return result

    def begin(self):
        # It did not run as it was made: others of its lane did.
        self.begun = now_ns()

    def halves(self):
        # Two batches in this one's place; their requests count as running still.
        cdef Py_ssize_t middle = len(self.requests) // 2
        return (
            new_batch(self.requests[:middle], self.instance, self.counters),
            new_batch(self.requests[middle:], self.instance, self.counters),
        )

    @property
    def may_be_left(self):
        # Whether somebody may want the run itself to stop.
        cdef Request request
        for request in self.requests:
            if request.final_deadline or request.of_main_thread:
                return True
        return False

    @property
    def wanted(self):
        # Whether somebody still waits for it.
        return self.requests is not None and self.left < len(self.requests)


cdef tuple union_of_names(list requests):
    cdef Request request = requests[0]
    cdef tuple names = request.names
    cdef bint same = True
    for request in requests:
        if request.names is not names:
            same = False
    if same:
        return names
    found = {}
    for request in requests:
        for name in request.names:
            found[name] = None
    return tuple(found)


cdef RequestBatch new_batch(list requests, str instance, ModelCounters counters):
    cdef RequestBatch batch = RequestBatch.__new__(RequestBatch)
    cdef Request request
    batch.requests = requests
    batch.count = len(requests)
    batch.names = union_of_names(requests)
    batch.instance = instance
    batch.counters = counters
    batch.begun = now_ns()
    for request in requests:
        batch.rows += request.rows
        if request.state == LEFT:
            batch.left += 1
        request.batch = batch
    return batch
