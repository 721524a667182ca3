# WaitingRequests: what waits, by priority and in order of arrival, and when the time of each is over. No threads in here.
import bisect


cdef class _WaitingRequests:
    cdef object __weakref__
    cdef readonly str model
    cdef readonly Py_ssize_t count
    cdef readonly Py_ssize_t rows
    cdef readonly ModelCounters counters
    cdef object rules
    cdef object summary
    cdef readonly Py_ssize_t max_rows
    cdef tuple preferred
    cdef tuple gear_sizes
    cdef Py_ssize_t largest       # of the preferred sizes
    cdef list levels              # those that were used, the one served first at 0
    cdef dict levels_by_number
    cdef tuple level_rules        # scheduling.policy.LevelRules of each
    cdef object level_of          # a request's priority to its place there; None: all in one
    cdef list heap                # requests that the queue has to look at again, soonest first
    cdef object seekers           # a deque of those who wait for room, see room.pxi
    cdef unsigned long changes    # of what is ahead of others: removals, and arrivals that are served first

    def set_rules(self, rules):
        """Go on with other rules: costs of compiled sizes that were measured meanwhile."""
        self.rules = rules
        self.max_rows = 1 if rules is None else rules.max_rows
        self.preferred = () if rules is None else rules.preferred
        self.largest = self.preferred[len(self.preferred) - 1] if self.preferred else self.max_rows
        self.gear_sizes = () if rules is None else tuple([gear.rows for gear in rules.gears])

    cdef _PriorityLevel level_for(self, Request request):
        cdef Py_ssize_t number = 0
        if self.level_of is not None:
            number = self.level_of(request.level)
        level = self.levels_by_number.get(number)
        if level is None:
            level = self.add_level(number)
        return level

    cdef _PriorityLevel add_level(self, Py_ssize_t number):
        cdef _PriorityLevel level = _PriorityLevel.__new__(_PriorityLevel)
        level.number = number
        level.timeout, level.delays, level.most = self.level_rules[number]
        self.levels_by_number[number] = level
        bisect.insort(self.levels, level, key=_level_number)
        return level

    cdef bint is_ahead(self, _PriorityLevel level) except -1:
        # Whether something that was queued before is served after what joins this level now.
        cdef _PriorityLevel other
        if level.delayed_head is not None:
            return True
        if len(self.levels) == 1:
            return False
        for other in self.levels:
            if other.number > level.number and other.count:
                return True
        return False

    cdef Request last_before(self, _PriorityLevel level):
        # What is served before that which joins this level now: the last of the same level, else one of a better one.
        cdef _PriorityLevel other
        if level.tail is not None or len(self.levels) == 1:
            return level.tail
        for other in self.levels:
            if other.number < level.number and other.count:
                return other.head if other.head is not None else other.delayed_head
        return None

    def head(self):
        """What the policy is told of the queue, as it is now; filled anew each time."""
        self.summarise()
        return self.summary

    cdef int summarise(self) except -1:
        # What scheduling.policy.QueueSummary says, in one walk over at most one batch.
        cdef object summary = self.summary
        cdef _PriorityLevel level
        cdef Request request, first = None
        cdef Py_ssize_t n = 0, rows = 0, best = 0, best_rows = 0, largest = self.largest, size
        cdef int64_t oldest = 0, newest = 0
        cdef bint closed = False, overshoot = False, is_delayed
        cdef bint varied = bool(self.gear_sizes)
        if varied:
            gear_requests, gear_rows = [0] * len(self.gear_sizes), [0] * len(self.gear_sizes)
        for level in self.levels:
            request = level.head
            is_delayed = False
            while True:
                if request is None:
                    if is_delayed or level.delayed_head is None:
                        break
                    is_delayed = True
                    request = level.delayed_head
                if n:
                    if rows + request.rows > self.max_rows or (
                        first.key is not request.key and first.key != request.key
                    ):
                        closed = True
                        break
                    if best == 0 and rows + request.rows > largest:
                        best, best_rows, overshoot = n, rows, True
                else:
                    first = request
                n += 1
                rows += request.rows
                if oldest == 0 or request.queued < oldest:
                    oldest = request.queued
                if request.queued > newest:
                    newest = request.queued
                if not overshoot:
                    for size in self.preferred:
                        if size == rows:
                            best, best_rows = n, rows
                if varied:
                    for size in range(len(self.gear_sizes)):
                        if rows <= <Py_ssize_t>self.gear_sizes[size]:
                            gear_requests[size], gear_rows[size] = n, rows
                if rows >= self.max_rows:
                    closed = self.count > n
                    break
                request = request.after
            if closed or rows >= self.max_rows:
                break
        summary.requests = n
        summary.rows = rows
        summary.closed = closed
        summary.best_requests = best
        summary.best_rows = best_rows
        summary.overshoot = overshoot
        summary.oldest = oldest
        summary.newest = newest
        summary.next_deadline = (<Request>self.heap[0]).deadline if self.heap else 0
        if varied:
            summary.gear_requests, summary.gear_rows = gear_requests, gear_rows
        return 0

    cdef list pop(self, Py_ssize_t n):
        cdef list taken = []
        cdef _PriorityLevel level
        cdef Request request
        for level in self.levels:
            while n and level.count:
                request = level.head if level.head is not None else level.delayed_head
                taken.append(request)
                self.unlink(request)
                request.state = RUNNING
                if request.final_deadline and request.on_done is not None:
                    # No thread of a caller waits for its end: it is looked at until then.
                    request.deadline = request.final_deadline
                    self.heap_push(request)
                n -= 1
            if not n:
                break
        return taken

    cdef int unpop(self, list requests) except -1:
        # Never happens to more than a batch: put it back where it was.
        cdef Request request, head
        cdef _PriorityLevel level
        for request in reversed(requests):
            level = self.level_for(request)
            request.state = QUEUED
            request.queue_level = level
            level.count += 1
            self.count += 1
            self.rows += request.rows
            if request.deadline and request.heap_index < 0:
                self.heap_push(request)
            head = level.delayed_head if request.delayed else level.head
            request.before = None
            request.after = head
            if head is not None:
                head.before = request
            if request.delayed:
                level.delayed_head = request
                if head is None:
                    level.delayed_tail = request
            else:
                level.head = request
                if head is None:
                    level.tail = request
        self.count_waiting()
        return 0

    cdef int unlink(self, Request request) except -1:
        cdef _PriorityLevel level = request.queue_level
        level.remove(request)
        self.count -= 1
        self.rows -= request.rows
        self.changes += 1
        self.count_waiting()
        if request.heap_index >= 0:
            self.heap_remove(request)
        if self.seekers:
            self.let_in(level)
        return 0

    cdef int let_in(self, _PriorityLevel level) except -1:
        # There is room for one more.
        return 0

    cdef inline void count_waiting(self) noexcept:
        cdef ModelCounters counters = self.counters
        if counters is not None:
            counters.pending = self.count

    cdef int heap_push(self, Request request) except -1:
        self.heap.append(request)
        request.heap_index = len(self.heap) - 1
        self.heap_up(request.heap_index)
        return 0

    cdef int heap_remove(self, Request request) except -1:
        cdef Py_ssize_t at = request.heap_index
        cdef Request last = self.heap.pop()
        request.heap_index = -1
        if last is not request:
            self.heap[at] = last
            last.heap_index = at
            self.heap_down(at)
            self.heap_up(at)
        return 0

    cdef int heap_up(self, Py_ssize_t at) except -1:
        cdef Request request = self.heap[at], parent
        cdef Py_ssize_t above
        while at:
            above = (at - 1) >> 1
            parent = self.heap[above]
            if parent.deadline <= request.deadline:
                break
            self.heap[at] = parent
            parent.heap_index = at
            at = above
        self.heap[at] = request
        request.heap_index = at
        return 0

    cdef int heap_down(self, Py_ssize_t at) except -1:
        cdef Request request = self.heap[at], child
        cdef Py_ssize_t below, size = len(self.heap)
        while True:
            below = 2 * at + 1
            if below >= size:
                break
            child = self.heap[below]
            if below + 1 < size and (<Request>self.heap[below + 1]).deadline < child.deadline:
                below += 1
                child = self.heap[below]
            if request.deadline <= child.deadline:
                break
            self.heap[at] = child
            child.heap_index = at
            at = below
        self.heap[at] = request
        request.heap_index = at
        return 0
