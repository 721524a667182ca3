# What core/ offers of memory pools. Nothing in there throws.
from libc.stdint cimport int32_t, uint32_t, uint64_t, uintptr_t
from libcpp cimport bool as cpp_bool
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

cdef extern from "<core/status.hpp>" namespace "ascend_infer" nogil:
    enum class StatusCode(int32_t):
        ok
        invalid_argument
        out_of_memory
        host_out_of_memory
        upstream_failed
        misaligned_upstream
        double_free
        foreign_block
        closed
        forked
        overrun
        written_after_free

    cppclass Holder "ascend_infer::MemoryShortage::Holder":
        string owner
        size_t active_bytes
        size_t active_blocks

    cppclass MemoryShortage:
        size_t needed
        size_t stride
        size_t free
        size_t total
        size_t limit
        size_t reserved
        size_t active
        size_t held
        size_t largest_held
        cpp_bool limited
        vector[Holder] holders

    cppclass StatusDetail:
        string message
        MemoryShortage shortage

    cppclass Status:
        Status() noexcept
        Status(StatusCode code) noexcept
        cpp_bool ok() noexcept
        StatusCode code() noexcept
        int32_t native_code() noexcept
        const char *function() noexcept
        const StatusDetail *detail() noexcept

cdef extern from "<core/block.hpp>" namespace "ascend_infer" nogil:
    ctypedef uint32_t OwnerId

    cppclass Allocation:
        uintptr_t address
        size_t bytes
        uint64_t serial
        uint32_t slot

cdef extern from "<core/owner_table.hpp>" namespace "ascend_infer" nogil:
    cppclass CoreOwnerUsage "ascend_infer::OwnerUsage":
        string name
        size_t active_bytes
        size_t peak_active_bytes
        size_t active_blocks
        size_t allocations

cdef extern from "<core/pool_stats.hpp>" namespace "ascend_infer" nogil:
    cppclass CorePoolStats "ascend_infer::PoolStats":
        size_t active_bytes
        size_t held_bytes
        size_t reserved_bytes
        size_t requested_bytes
        size_t peak_active_bytes
        size_t peak_reserved_bytes
        size_t largest_held_bytes
        size_t limit_bytes
        size_t active_blocks
        size_t held_blocks
        size_t regions
        uint64_t allocations
        uint64_t frees
        uint64_t failures
        uint64_t upstream_allocations
        uint64_t upstream_frees

cdef extern from "<core/pool_options.hpp>" namespace "ascend_infer" nogil:
    cppclass PoolLayout:
        size_t granularity
        size_t step
        size_t upstream_extra
        size_t stride(size_t bytes) noexcept

    cppclass PoolOptions:
        PoolOptions() noexcept
        size_t pool_bytes
        size_t limit_bytes
        cpp_bool growable
        cpp_bool guard
        PoolLayout layout

cdef extern from "<core/pool_history.hpp>" namespace "ascend_infer" nogil:
    cppclass PoolEvent:
        uint64_t serial
        size_t bytes

cdef extern from "<core/any_pool.hpp>" namespace "ascend_infer" nogil:
    cppclass AnyPool:
        Status acquire_owner(const string &name, OwnerId &out) noexcept
        Status release_owner(OwnerId owner) noexcept
        Status allocate(size_t bytes, OwnerId owner, Allocation &out) noexcept
        cpp_bool try_allocate(size_t bytes, OwnerId owner, Allocation &out, Status &status) noexcept
        Status free(const Allocation &allocation) noexcept
        size_t trim() noexcept
        void close() noexcept
        CorePoolStats stats() noexcept
        vector[CoreOwnerUsage] owners() noexcept
        Status start_recording(size_t most_events) noexcept
        vector[PoolEvent] stop_recording() noexcept
        cpp_bool host_accessible() noexcept
        cpp_bool forked() noexcept

cdef extern from "<core/pool_factories.hpp>" namespace "ascend_infer" nogil:
    Status open_counting_pool(const PoolOptions &options, size_t capacity, const vector[size_t] &failing_calls,
                              shared_ptr[AnyPool] &out) noexcept
    Status open_host_pool(const PoolOptions &options, shared_ptr[AnyPool] &out) noexcept
