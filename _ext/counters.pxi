# ModelCounters: what a loaded model counts of its requests. Cheap calls for the scheduler, one snapshot for who reads.
from core_counters cimport (
    BatchSums,
    CoreCounters,
    PhaseTimes,
    coarse_now_ns,
    histogram_size,
)
from libc.stdint cimport INT64_MAX, int64_t
from libcpp.pair cimport pair

from ascend_infer.metrics.histogram import Histogram
from ascend_infer.metrics.snapshot import BatchSizeSums, CountersSnapshot


cdef tuple phase_counts(CoreCounters *core, bint lately):
    """For each phase pairs of bucket and count."""
    cdef size_t phase, bucket
    cdef int64_t count
    cdef list phases = [], found
    for phase in range(5):
        found = []
        for bucket in range(histogram_size):
            count = core.counted_lately(phase, bucket) if lately else core.counted(phase, bucket)
            if count != 0:
                found.append((bucket, count))
        phases.append(tuple(found))
    return tuple(phases)


# Every recording method is one step under the GIL.
@cython.final
@cython.no_gc
cdef class ModelCounters:
    cdef CoreCounters _core
    cdef public int64_t pending

    def __init__(self, *, response_bounds_ms=(100, 500, 2000, 5000)):
        cdef vector[int64_t] bounds
        for bound in response_bounds_ms:
            if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 < bound < 1e12:
                raise InvalidOptionError(
                    f"response_bounds_ms: got {bound!r}, expected milliseconds, 0 < ms < 1e12",
                    option="response_bounds_ms", got=bound,
                )
            bounds.push_back(<int64_t>round(bound * 1e6))
            if bounds.size() > 1 and bounds[bounds.size() - 2] >= bounds.back():
                raise InvalidOptionError(
                    f"response_bounds_ms: got {bound!r} behind a bound as large; expected rising bounds",
                    option="response_bounds_ms", got=bound,
                )
        self._core.response_bounds_ns = bounds
        self._core.response_counts.assign(bounds.size() + 1, 0)

    cdef inline void batch_done(
        self, Py_ssize_t rows, Py_ssize_t padded_rows, int64_t input_ns, int64_t infer_ns, int64_t output_ns
    ) noexcept:
        self._core.batch_done(rows, padded_rows, input_ns, infer_ns, output_ns)

    cdef inline void request_done(
        self, Py_ssize_t rows, int64_t request_ns, int64_t queue_ns, int64_t input_ns, int64_t infer_ns,
        int64_t output_ns, Py_ssize_t requests
    ) noexcept:
        cdef PhaseTimes durations
        durations[0], durations[1], durations[2] = request_ns, queue_ns, input_ns
        durations[3], durations[4] = infer_ns, output_ns
        self._core.request_done(rows, durations, requests)

    cdef inline void request_failed(self, int reason, int64_t request_ns, Py_ssize_t requests) noexcept:
        self._core.request_failed(<size_t>reason if reason >= 0 else 3, request_ns, requests)

    def record_batch(
        self, Py_ssize_t rows, Py_ssize_t padded_rows, int64_t input_ns, int64_t infer_ns, int64_t output_ns
    ):
        self.batch_done(rows, padded_rows, input_ns, infer_ns, output_ns)

    def record_request(
        self, Py_ssize_t rows, int64_t request_ns, int64_t queue_ns, int64_t input_ns, int64_t infer_ns,
        int64_t output_ns
    ):
        self.request_done(rows, request_ns, queue_ns, input_ns, infer_ns, output_ns, 1)

    def record_failure(self, int reason, int64_t request_ns):
        self.request_failed(reason, request_ns, 1)

    def keep_window(self, double seconds):
        if not 0 < seconds < 1e9:
            raise InvalidOptionError(
                f"seconds: got {seconds!r}, expected 0 < seconds < 1e9", option="seconds", got=seconds
            )
        if not self._core.window.open():
            self._core.window.open(self._core.histograms, coarse_now_ns(False), <int64_t>(seconds * 1e9))

    def rotate_window(self, now_ns=None):
        cdef int64_t now = coarse_now_ns(False) if now_ns is None else now_ns
        if self._core.window.open():
            self._core.window.rotate(self._core.histograms, now)

    def snapshot(self):
        cdef size_t i
        cdef pair[int64_t, BatchSums] batch
        cdef CoreCounters *core = &self._core
        if core.window.open():
            core.window.rotate(core.histograms, coarse_now_ns(False))
        # All is read into tuples of ints before the first call into Python, where another thread may come in.
        cdef tuple failures = tuple([core.failures[i] for i in range(4)])
        cdef tuple sums = tuple([core.sums_ns[i] for i in range(5)])
        cdef tuple histograms = phase_counts(core, False)
        cdef tuple window = phase_counts(core, True) if core.window.open() else None
        cdef tuple counts = tuple([core.response_counts[i] for i in range(core.response_counts.size())])
        cdef list batches = []
        for batch in core.batches.all():
            batches.append(
                (batch.first, batch.second.count, batch.second.input_ns, batch.second.infer_ns, batch.second.output_ns)
            )
        cdef tuple scalars = (
            self.pending, core.successes, core.inferences, core.executions, core.executed_rows, core.padding_rows,
            core.failed_ns, core.last_inference_ns // 1_000_000,
        )
        return CountersSnapshot(
            pending=scalars[0],
            successes=scalars[1],
            inferences=scalars[2],
            executions=scalars[3],
            executed_rows=scalars[4],
            padding_rows=scalars[5],
            failures=failures,
            failed_ns=scalars[6],
            last_inference_ms=scalars[7],
            sums_ns=sums,
            histograms=tuple(map(Histogram, histograms)),
            window=None if window is None else tuple(map(Histogram, window)),
            batch_sizes=tuple([BatchSizeSums(*sums_of_size) for sums_of_size in batches]),
            response_bounds_ms=tuple([core.response_bounds_ns[i] / 1e6 for i in range(core.response_bounds_ns.size())]),
            response_counts=counts,
        )

    def __reduce__(self):
        raise CopyError("a model's counters cannot be copied or pickled; a snapshot() can")
