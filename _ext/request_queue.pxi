# RequestQueue: who comes in, who leads, who runs. Guarded by the GIL, see request.pxi.
from ascend_infer.cpu_budget import cpu_budget

# Callers that were just answered mostly come back with their next request within microseconds; a leader that takes the
# first of them leaves the others a batch behind. It waits this long at most, and only while they wait for the interpreter.
cdef int64_t GRACE_NS = 200000
cdef Py_ssize_t STREAK = 24
# Waiting for another thread and being answered by it takes longer than this: what runs as quickly by itself is not
# better off in company.
cdef int64_t HANDOVER_NS = 10000
# For so long of that it keeps its core from falling idle: waking a thread on an idle core takes longer than a request here,
# and as long as this core is not idle the system has the callers follow each other on another one, without that.
cdef int64_t SPIN_NS = 100000
# Where others have the core for longer than callers of this queue ever do, no core is idle anyhow: none of it for a while.
cdef int64_t PREEMPTED_NS = 400000
cdef int64_t NO_SPIN_NS = 100000000


@cython.final
cdef class RequestQueue(_Room):
    cdef object decide            # scheduling.policy.decide; None: each request by itself
    cdef Py_ssize_t wake_rows
    cdef Py_ssize_t streak            # runs on callers' own threads since something was queued
    cdef int64_t spin
    cdef int64_t spin_from            # no earlier than then
    cdef Py_ssize_t crowd             # requests of the batch before
    cdef int64_t alone_ns             # what a request by itself takes to run, roughly

    def __init__(
        self, str model, *, lanes, watch, abandoned=None, recover=None, counters=None, decide=None, rules=None,
        summary=None, bint ordered=False, level_rules=((0, False, 0),), level_of=None,
    ):
        self.model = model
        self.lanes = list(lanes)
        self.free = list(reversed(self.lanes))
        self.usable = len(self.lanes)
        for lane in self.lanes:
            (<Lane>lane).free = True
        self.watch = watch
        self.abandoned = abandoned
        self.recover = recover
        self.counters = counters
        self.decide = decide
        self.summary = summary
        self.ordered = ordered
        self.seekers = collections.deque()
        self.level_rules = tuple(level_rules)
        self.level_of = level_of
        self.levels = []
        self.levels_by_number = {}
        self.heap = []
        self.to_call = collections.deque()
        self.to_wake = collections.deque()
        self.wake_rows = 1
        self.alone_ns = HANDOVER_NS
        self.spin = SPIN_NS if cpu_budget() > 1 else 0
        self.set_rules(rules)

    # `push` and `take` go by the clock; tests hand them moments instead, so that what comes of them is always the same.
    def push(self, Request request not None, on_done not None, int64_t now=0, bint waits=False):
        """Queue a request; returns at once, or with `waits` when the queue has room for it. `on_done` is called with it
        once, by the thread that ended it."""
        self.enqueue(request, on_done, now, waits)

    cdef int enqueue(self, Request request, object on_done, int64_t now=0, bint waits=False) except -1:
        cdef _PriorityLevel level
        cdef Request last
        cdef Lane leader
        cdef int64_t until
        cdef bint ahead
        level = self.level_for(request)
        if self.closed or not self.usable or (level.most and level.count >= level.most):
            self.admit(request, level, waits)
        if on_done is None:
            request.cell = take_cell()
            request.of_main_thread = PyThread_get_thread_ident() == main_thread
        request.on_done = on_done
        if self.ordered:
            self.order.append(request)
        request.queued = now if now else now_ns()
        until = request.final_deadline
        if level.timeout and (until == 0 or request.queued + level.timeout < until):
            until = request.queued + level.timeout
        request.deadline = until
        if until:
            self.heap_push(request)
        ahead = self.is_ahead(level)
        if ahead:
            self.changes += 1
        last = self.last_before(level)
        level.append(request)
        request.state = QUEUED
        self.count += 1
        self.rows += request.rows
        self.count_waiting()
        leader = self.leader
        if leader is None:
            if self.free:
                try:
                    self.appoint()
                except BaseException:
                    # No thread could be had: it was not queued.
                    self.withdraw(request)
                    self.reclaim(request)
                    raise
        elif self.in_grace:
            if (self.in_transit == 0 or self.rows >= self.max_rows) and leader.asleep:
                if on_done is None:
                    leader.asleep = False
                    request.opens = leader.cell
                else:
                    leader.wake()
        elif leader.asleep and (
            self.count == 1
            or self.rows >= self.wake_rows
            or self.leader_until == 0
            or (until != 0 and until < self.leader_until)
            or (last is not None and last.key is not request.key and last.key != request.key)
            or ahead
        ):
            leader.wake()
        if until and on_done is not None and (self.watched == 0 or until < self.watched):
            self.watched = until
            try:
                self.watch(self, until)
            except BaseException:
                self.watched = 0  # a signal: the next request asks again
                raise
        return 0

    def run_here(self, Request request not None, work):
        """Run `work(lane)` on the caller's own thread if nothing waits and a lane is idle; returns whether it did.

        One step, so that no signal comes between taking a lane and giving it back. Raises what `work` raises.
        """
        cdef Lane lane = self.borrow_lane(request)
        if lane is None:
            return False
        try:
            arrays = work(lane)
        except BaseException as error:
            self.end_run(lane, request, None, error)
            raise
        self.end_run(lane, request, arrays, None)
        return True

    def run_queued(self, Request request not None):
        """Queue a request and block until it is done; raises its error, or what a signal's handler raises."""
        self.enqueue(request, None)
        self.wait_for(request)
        if request.error is not None:
            raise request.error

    cdef Lane borrow_lane(self, Request request):
        cdef Lane lane = self.idle_lane(request)
        if lane is None:
            lane = self.own_lane()
            if lane is None:
                return None
            if not lane.free:
                lane.outer = lane.batch
        if lane.outer is None:
            self.occupy(lane)
        lane.borrowed = True
        request.queued = now_ns()
        request.state = RUNNING
        lane.batch = new_batch([request], lane.name, lane.counters)
        return lane

    cdef Lane idle_lane(self, Request request):
        cdef Lane lane
        if self.count or not self.free or self.closed or self.ordered:
            return None
        if self.decide is not None:
            if self.crowd > 1 and self.alone_ns >= HANDOVER_NS:
                return None  # company is likely on its way: one batch of it. A lone caller has this once
            self.streak += 1  # a caller whose runs never let the interpreter go would keep others from their turn
            if self.streak % STREAK == 0:
                return None
        lane = self.free[len(self.free) - 1]
        if len(self.free) > 1 and lane.instance is not None:
            for other in self.free:
                if (<Lane>other).instance.busy < lane.instance.busy:
                    lane = other
        return lane if lane.inline else None

    cdef int64_t end_run(self, Lane lane, Request request, list arrays, object error) except -1:
        cdef RequestBatch batch = lane.batch
        batch.ended = request.ended = now_ns()
        if batch.computed == 0:
            batch.computed = batch.ended
        # One that was held up changes nothing by itself.
        self.alone_ns = (7 * self.alone_ns + min(batch.computed - batch.begun, 2 * HANDOVER_NS)) // 8
        batch.requests = None
        request.arrays = None
        request.state = DONE
        lane.borrowed = False
        if lane.outer is None:
            self.vacate(lane)
        else:
            lane.batch, lane.outer = lane.outer, None
        if error is not None and lane.recovers:
            self.after_failure(lane)
        if self.count and self.leader is None and self.free:
            self.appoint()
        self.count_batch(batch)
        if error is None:
            request.outputs = arrays
            self.count_success(request, batch)
        else:
            request.error = error
            self.count_failure(request, reason_of(error))
        return batch.ended - batch.begun

    def take(self, Lane lane not None, int64_t at=0):
        """Wait for a batch to run on this lane's own thread; None when the thread is to end. Ends the batch before.

        With a moment `at` nothing is waited for: None also where there is nothing to run yet.
        """
        cdef int64_t now, until
        cdef list requests
        lane.thread = PyThread_get_thread_ident()
        if lane.batch is not None and not lane.borrowed:
            if lane.batch.computed > lane.batch.begun:
                # None of its requests would have taken longer by itself.
                self.alone_ns = min(self.alone_ns, lane.batch.computed - lane.batch.begun)
            self.vacate(lane)
        if at:
            PyThread_acquire_lock_timed(lane.cell, 0, 0)  # what a wait does that was over
            lane.asleep = False
        while True:
            if not lane.usable or (self.closed and self.count == 0):
                self.let_go(lane)
                if self.closed:
                    for other in self.lanes:  # those that slept while something was queued have nothing to wait for now
                        (<Lane>other).wake()
                return None
            if lane.faulty:
                lane.faulty = False
                self.recover(lane)
                continue
            if lane.free and (self.leader is None or self.leader is lane):
                self.leader = lane
                until = 0
                if self.count:
                    now = at if at else now_ns()
                    self.expire_until(now)
                    if self.heap and not at and (<Request>self.heap[0]).deadline <= now_ns():
                        continue  # it came while the errors of others were made, which is plain Python
                    if self.count:
                        requests = self.next_batch(now, &until)
                        if self.leader is not lane or not lane.free:
                            # The decision is plain Python: others may have run meanwhile.
                            self.unpop(requests)
                            continue
                        if requests:
                            self.occupy(lane)
                            lane.batch = new_batch(requests, lane.name, lane.counters)
                            self.crowd = len(requests)
                            if self.count and self.free:
                                self.appoint()
                            return lane.batch
                if self.closed and self.count == 0:
                    continue
                if self.count == 0 and self.in_transit:
                    self.in_grace = True
                    until = now_ns() + GRACE_NS
                self.leader_until = until
            else:
                until = 0
            lane.asleep = True
            if at:
                return None
            if not (self.in_grace and self.leader is lane and self.spins(lane)):
                wait_cell(lane.cell, until)
            if self.leader is lane:
                self.in_grace = False
                if self.to_wake:
                    self.wake_next()
            lane.asleep = False

    cdef bint spins(self, Lane lane) noexcept:
        # The leader's wait for callers that are on their way back begins like this; whether that was enough.
        cdef int64_t longest
        cdef bint opened
        if self.spin == 0 or now_ns() < self.spin_from:
            return False
        opened = spin_on(lane.cell, self.spin, &longest)
        if longest > PREEMPTED_NS:
            self.spin_from = now_ns() + NO_SPIN_NS
        return opened

    cdef list next_batch(self, int64_t now, int64_t *until):
        # What goes now, taken out of the queue; an empty list and when to look again otherwise.
        cdef Py_ssize_t n, count
        cdef unsigned long changes
        if self.decide is None:
            return self.pop(1)
        if self.count == 1 and self.rows >= self.max_rows:
            return self.pop(1)
        while True:
            self.summarise()
            changes, count = self.changes, self.count
            decision = self.decide(self.summary, now, self.rules)
            n = decision.requests
            # What joined meanwhile found nobody asleep to wake: it may be what is waited for.
            if changes == self.changes and (n > 0 or count == self.count):
                break
            if self.count == 0:
                return []
        if n == 0 and self.closed:
            n = self.summary.requests  # no company comes any more
        if n > 0:
            return self.pop(n)
        until[0] = decision.wait_until
        self.wake_rows = decision.wake_rows
        if self.heap and (until[0] == 0 or (<Request>self.heap[0]).deadline < until[0]):
            until[0] = (<Request>self.heap[0]).deadline
        return []

    cdef int wait_for(self, Request request) except -1:
        cdef bint opened
        cdef int64_t now, until
        cdef RequestBatch batch
        cdef PyThread_type_lock other
        while True:
            until = request.deadline if request.heap_index >= 0 else request.final_deadline
            if request.told:
                until = 0  # its turn comes at once
            other, request.opens = request.opens, NULL
            try:
                opened = wait_cell(request.cell, until, other)
            except BaseException:
                # Ctrl-C: the caller has gone, and takes the cell along. The books come first: signals raise in Python.
                batch = self.withdraw(request)
                self.reclaim(request)
                if self.ordered:
                    self.deliver_in_order(True)
                if batch is not None:
                    self.stop(batch)
                raise
            if opened:
                break
            now = now_ns()
            if request.state == QUEUED:
                self.expire_until(now)
            elif request.state == RUNNING and request.final_deadline and request.final_deadline <= now:
                self.leave(request, True)
        give_cell(request.cell)
        request.cell = NULL
        other = self.arrived()
        if other != NULL:
            with nogil:  # else the one that is woken only waits again, for the interpreter
                open_cell(other)
        return 0

    cdef PyThread_type_lock arrived(self) noexcept:
        # An answered caller runs again; returns the cell of the next, to be opened.
        self.in_transit -= 1
        self.waking -= 1
        if self.in_transit == 0 and self.in_grace and self.count and self.leader is not None:
            self.leader.wake()
        return self.next_cell()

    cdef void reclaim(self, Request request) noexcept:
        cdef PyThread_type_lock other = NULL
        if request.cell == NULL:
            return
        if request.woken:
            with nogil:  # it is open, or another thread is just about to open it
                PyThread_acquire_lock_timed(request.cell, -1, 0)
            other = self.arrived()
        elif request.told:
            self.in_transit -= 1
        give_cell(request.cell)
        request.cell = NULL  # `tell` and `next_cell` leave it alone now
        if other != NULL:
            open_cell(other)

    def close(self, bint cancel_pending=False):
        """Refuse new requests; those that wait are served, or ended with ClosedError. Returns at once."""
        cdef Lane lane
        self.closed = True
        if cancel_pending:
            self.end_all(
                ClosedError(f"model {self.model!r}: the session was closed before this request ran"), OTHER
            )
        elif self.count and self.leader is None and self.free:
            self.appoint()
        for lane in self.lanes:
            lane.wake()
        self.let_in(None)
