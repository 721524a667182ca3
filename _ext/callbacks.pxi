# Callbacks: what users want to be called when a request is over, and the thread for those that must hold up nobody.
import collections
import logging
from _thread import start_new_thread

cdef object log_exception = logging.getLogger("ascend_infer").exception


cdef class _Callbacks(_WaitingRequests):
    cdef readonly bint calling    # a thread is there that calls them
    cdef object to_call           # by that thread, in order: a deque
    cdef unsigned long calls_on   # that thread, once it runs

    @property
    def calls_elsewhere(self):
        # Whether callbacks are called on a thread of theirs that is not this one.
        return self.calling and self.calls_on != PyThread_get_thread_ident()

    cdef int call_apart(self, object callback) except -1:
        # Whoever keeps the time, or ended others' requests, has no time for what strangers do.
        self.to_call.append(callback)
        if not self.calling:
            self.calling = True
            try:
                # One step: no Python runs before the thread does, and so no signal comes in between.
                start_new_thread(self.call_back, ())
            except BaseException:
                self.call_back()  # no thread could be had: late for others, but not lost
        return 0

    def call_back(self):
        """Call what has to be called, in order, until there is no more; what a thread of its own does."""
        self.calls_on = PyThread_get_thread_ident()
        while self.to_call:
            callback = self.to_call.popleft()
            try:
                callback()
            except BaseException:
                log_exception("a callback of a request failed")
            callback = None  # its end may be Python too: nothing runs between the last look and the end
        self.calling = False
        self.calls_on = 0
