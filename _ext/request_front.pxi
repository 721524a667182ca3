# RequestFront: a session's calls, from arrays to arrays, where there is nothing special about them.
#
# What it does not settle at a glance (another data type, a list, a choice of outputs, an error) is left to
# signature.Signature, which is the rule; this is its quick half.
from cpython.dict cimport PyDict_GetItem

# For so long requests that will travel together are held back at most while nothing runs.
cdef int64_t READING_NS = 1000000


@cython.final
cdef class _InputQuick:
    cdef str name
    cdef object dtype
    cdef cnp.npy_intp sizes[64]
    cdef int ndim
    cdef bint varies     # has open dims that requests of one batch must share


@cython.final
cdef class RequestFront:
    """Makes requests of plain arrays and runs them."""
    cdef RequestQueue queue
    cdef list inputs
    cdef tuple model_inputs
    cdef tuple names            # all outputs by the model's names
    cdef tuple public_names     # the same by the configuration's; None where one of them needs more than a name
    cdef object origin
    cdef object result
    cdef Py_ssize_t limit
    cdef RunTimes times
    cdef int64_t pace           # how long the last request that joined others ran

    def __init__(
        self, RequestQueue queue not None, signature, origin, result, *, names, public_names, model_inputs, keyed,
        RunTimes times not None,
    ):
        cdef _InputQuick quick
        self.queue = queue
        self.origin = origin
        self.result = result
        self.limit = signature.max_batch_size
        self.names = tuple(names)
        self.public_names = None if public_names is None else tuple(public_names)
        self.model_inputs = tuple(model_inputs)
        self.times = times
        self.inputs = []
        for rule in signature.rules.values():
            found = signature.quick_rule(rule.name)
            if found is None:
                self.inputs = None
                break
            dtype, dims = found
            quick = _InputQuick.__new__(_InputQuick)
            quick.name = rule.name
            quick.dtype = dtype
            quick.ndim = len(dims)
            if quick.ndim > 60:
                self.inputs = None
                break
            for i, dim in enumerate(dims):
                quick.sizes[i] = dim
            quick.varies = rule.name in keyed
            self.inputs.append(quick)

    def request(self, inputs, request_id=""):
        """Return the request of these inputs, or None where it takes a closer look."""
        return self.make(inputs, request_id)

    cdef Request make(self, object inputs, object request_id):
        cdef Request request
        cdef _InputQuick quick
        cdef cnp.ndarray array
        cdef PyObject *found
        cdef object value
        cdef list arrays, key
        cdef cnp.npy_intp rows = 0
        cdef int i, ndim, offset = 1 if self.limit else 0
        cdef Py_ssize_t n
        if self.inputs is None or self.public_names is None or type(request_id) is not str:
            return None
        n = len(self.inputs)
        named = type(inputs) is dict
        if named:
            if len(<dict>inputs) != n:
                return None
        elif n != 1:
            return None
        arrays = []
        key = None
        for quick in self.inputs:
            if named:
                found = PyDict_GetItem(inputs, quick.name)
                if found == NULL:
                    return None
                value = <object>found
            else:
                value = inputs
            if not cnp.PyArray_CheckExact(value):
                return None
            array = value
            ndim = cnp.PyArray_NDIM(array)
            if (
                ndim != quick.ndim + offset
                or <PyObject *>cnp.PyArray_DESCR(array) != <PyObject *>quick.dtype
                or not cnp.PyArray_ISCARRAY_RO(array)
            ):
                return None
            if offset:
                if rows == 0:
                    rows = cnp.PyArray_DIM(array, 0)
                    if rows < 1 or rows > self.limit:
                        return None
                elif cnp.PyArray_DIM(array, 0) != rows:
                    return None
            for i in range(quick.ndim):
                if quick.sizes[i] != cnp.PyArray_DIM(array, i + offset) and quick.sizes[i] != -1:
                    return None
            if quick.varies:
                if key is None:
                    key = []
                key.append(value.shape[1:])
            arrays.append(value)
        request = Request.__new__(Request)
        request.called = now_ns()
        request.arrays = arrays
        request.names = self.names
        request.rows = rows if rows else 1
        request.request_id = request_id
        request.level = 0
        if key is not None:
            request.key = tuple(key)
        return request

    @property
    def joins(self):
        # Whether rows of several requests may travel as one.
        return self.inputs is not None and self.public_names is not None and self.limit > 1

    def join(self, items, Py_ssize_t chunk, int64_t timeout=0, bint busy=False):
        """Take requests of up to `chunk` rows from an iterator, as one request; and the item at which it stopped short.

        They are fewer where the iterator is slow: what was read goes off after a millisecond, or where instances are
        `busy` anyhow, when reading has taken as long as the last of such requests ran.

        Returns
        -------
        (Request or None, list)
            The list holds an item that could not join, or nothing.
        """
        cdef list parts = [], columns
        cdef Request request, joined
        cdef Py_ssize_t rows = 0, i
        cdef int64_t until = now_ns() + (max(READING_NS, self.pace) if busy else READING_NS)
        rest = []
        for item in items:
            request = self.make(item, "")
            if request is None or rows + request.rows > chunk or (parts and request.key != (<Request>parts[0]).key):
                rest.append(item)
                break
            parts.append(request)
            rows += request.rows
            if rows >= chunk or request.called > until:
                break
        if not parts:
            return None, rest
        joined = Request.__new__(Request)
        request = parts[0]
        joined.names = self.names
        joined.rows = rows
        joined.key = request.key
        joined.request_id = ""
        set_call(joined, now_ns(), timeout)
        columns = []
        for i in range(len(request.arrays)):
            column = []
            for request in parts:
                column.append(request.arrays[i])
            columns.append(gather_rows(column))
        joined.arrays = columns
        joined.parts = parts
        return joined, rest

    def results_of(self, Request joined not None):
        """Return the results of the requests that travelled in this one; raises its error."""
        cdef Request request
        cdef list outputs, own, results
        cdef Py_ssize_t i, start = 0
        if joined.error is not None:
            raise joined.error
        outputs = joined.take_outputs()
        self.pace = joined.batch.ended - joined.batch.begun
        results = []
        for request in joined.parts:
            own = []
            for i in range(len(outputs)):
                own.append(take_rows(outputs[i], start, request.rows))
            start += request.rows
            request.outputs = own
            request.batch = joined.batch
            request.called = joined.called
            request.queued = joined.queued
            request.ended = joined.ended
            request.arrays = None
            request.state = DONE
            results.append(self.finish(request))
        joined.parts = None
        return results

    def apart(self, Request part not None, int64_t timeout=0):
        """Return a request that travelled in another one and is to be sent by itself now."""
        set_call(part, now_ns(), timeout)
        return part

    cdef dict feed(self, list arrays):
        cdef dict fed = {}
        cdef Py_ssize_t i
        for i in range(len(arrays)):
            if arrays[i] is not None:
                fed[self.model_inputs[i]] = arrays[i]
        return fed

    def infer(self, inputs, request_id=""):
        """Run a plain request; blocks. None where it takes a closer look. Raises as Session.infer."""
        cdef Request request = self.make(inputs, request_id)
        if request is None:
            return None
        return self.run(request)

    cdef object run(self, Request request):
        cdef Lane lane = None
        cdef list given = request.arrays
        cdef bint main = PyThread_get_thread_ident() == main_thread
        if not main or not self.takes_long(request):
            lane = self.queue.borrow_lane(request)
        if lane is None:
            self.queue.enqueue(request, None)
            self.queue.wait_for(request)
            if request.error is not None:
                raise request.error
            if main and request.batch.count == 1:
                self.times.note(given, request.batch.computed - request.batch.begun)
        else:
            self.run_here(lane, request, main)
        return self.finish(request)

    cdef bint takes_long(self, Request request) except -1:
        # On the main thread, a run that cannot be left goes to a lane's own thread when it may be long: Ctrl-C has to
        # get through.
        cdef Lane lane = self.queue.lanes[0]
        if lane.interruptible:
            return False
        return self.times.is_long(request.arrays)

    cdef int run_here(self, Lane lane, Request request, bint main) except -1:
        cdef list given = request.arrays
        cdef int64_t took
        try:
            if lane.reports:
                arrays = lane.execute(self.feed(given), request.names, None, None, lane.batch)
            else:
                arrays = lane.execute(self.feed(given), request.names)
            self.queue.check(request, arrays)
        except BaseException as error:
            self.queue.end_run(lane, request, None, error)
            raise
        took = self.queue.end_run(lane, request, arrays, None)
        if main and not lane.interruptible:
            self.times.note(given, took)
        return 0

    def result_of(self, Request request not None):
        """Return the result of a request that is done; raises its error."""
        if request.error is not None:
            raise request.error
        return self.finish(request)

    cdef object finish(self, Request request):
        cdef dict named = {}
        cdef Py_ssize_t i
        cdef list outputs = request.outputs
        request.outputs = None
        for i in range(len(outputs)):
            named[self.public_names[i]] = outputs[i]
        return self.result(named, self.origin, request)
