# The counters of core/. Nothing in there throws but what says so.
from libc.stdint cimport int64_t
from libcpp cimport bool as cpp_bool
from libcpp.map cimport map as cpp_map
from libcpp.vector cimport vector

cdef extern from "<array>" namespace "std" nogil:
    cppclass PhaseTimes "std::array<std::int64_t, ascend_infer::phase_count>":
        int64_t& operator[](size_t)

    cppclass FailureCounts "std::array<std::int64_t, ascend_infer::failure_reason_count>":
        int64_t& operator[](size_t)

cdef extern from "<core/latency_histogram.hpp>" namespace "ascend_infer" nogil:
    size_t histogram_size "ascend_infer::LatencyHistogram::size"

cdef extern from "<core/batch_sizes.hpp>" namespace "ascend_infer" nogil:
    cppclass BatchSums:
        int64_t count
        int64_t input_ns
        int64_t infer_ns
        int64_t output_ns

    cppclass BatchSizes:
        cpp_map[int64_t, BatchSums]& all() noexcept

cdef extern from "<core/model_counters.hpp>" namespace "ascend_infer" nogil:
    cppclass PhaseHistograms:
        pass

    cppclass LatencyWindow:
        cpp_bool open() noexcept
        void open(const PhaseHistograms &now, int64_t now_ns, int64_t window_ns) except +
        void rotate(const PhaseHistograms &now, int64_t now_ns) noexcept

    cppclass CoreCounters "ascend_infer::ModelCounters":
        void batch_done(int64_t rows, int64_t padded, int64_t input_ns, int64_t infer_ns, int64_t output_ns) noexcept
        void request_done(int64_t rows, const PhaseTimes &durations_ns, int64_t requests) noexcept
        void request_failed(size_t reason, int64_t request_ns, int64_t requests) noexcept
        int64_t counted(size_t phase, size_t bucket) noexcept
        int64_t counted_lately(size_t phase, size_t bucket) noexcept
        int64_t successes
        int64_t inferences
        int64_t executions
        int64_t executed_rows
        int64_t padding_rows
        int64_t failed_ns
        int64_t last_inference_ns
        FailureCounts failures
        PhaseTimes sums_ns
        PhaseHistograms histograms
        BatchSizes batches
        vector[int64_t] response_bounds_ns
        vector[int64_t] response_counts
        LatencyWindow window

    int64_t coarse_now_ns(cpp_bool since_1970) noexcept
