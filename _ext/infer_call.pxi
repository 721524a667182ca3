# InferCall: what `await session.ainfer(...)` waits for, without a coroutine and a task of its own.
import collections.abc


@cython.final
@cython.freelist(256)
cdef class InferCall:
    """A request that one event loop waits for; a coroutine, so that create_task takes it."""
    cdef RequestQueue queue
    cdef Request request
    cdef object finish         # request -> result; raises its error
    cdef object new_future     # loop.create_future
    cdef object future
    cdef object __weakref__
    cdef bint over

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        return self.send(None)

    def send(self, value):
        if self.over:
            raise RuntimeError("cannot reuse already awaited ainfer()")
        if self.request.state == DONE or self.request.state == LEFT:
            self.over = True
            raise StopIteration(self.finish(self.request))
        if self.future is None or self.future.done():
            self.future = self.new_future()
        self.future._asyncio_future_blocking = True
        return self.future

    def throw(self, kind, value=None, traceback=None):
        # The task was cancelled, or its timeout passed: the request is taken back too.
        self.over = True
        self.queue.cancel(self.request)
        if value is None:
            value = kind() if isinstance(kind, type) else kind
        if traceback is not None:
            value = value.with_traceback(traceback)
        raise value

    def close(self):
        if not self.over:
            self.over = True
            self.queue.cancel(self.request)


collections.abc.Coroutine.register(InferCall)


@cython.final
cdef class LoopBridge:
    """Hands finished requests to one event loop: one wake-up for all that end before it gets to run."""
    cdef object wake      # loop.call_soon_threadsafe
    cdef object new_future
    cdef list ready
    cdef bint woken

    def __init__(self, loop):
        self.wake = loop.call_soon_threadsafe
        self.new_future = loop.create_future
        self.ready = []

    cdef int add(self, InferCall call) except -1:
        self.ready.append(call)
        if not self.woken:
            self.woken = True
            try:
                self.wake(self.drain)
            except RuntimeError:
                self.ready.clear()  # the loop is closed: nobody is left to tell
                self.woken = False
        return 0

    def drain(self):
        cdef InferCall call
        ready, self.ready = self.ready, []
        self.woken = False
        for call in ready:
            if call.future is not None and not call.future.done():
                call.future.set_result(None)

    def call(self, RequestQueue queue not None, Request request not None, finish):
        """Queue a request; its result is awaited in this loop."""
        cdef InferCall call = InferCall.__new__(InferCall)
        call.queue = queue
        call.request = request
        call.finish = finish
        call.new_future = self.new_future
        request.bridge = self
        queue.enqueue(request, call)
        return call
