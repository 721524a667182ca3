# What core/ offers of ACL. Nothing in there throws.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t
from libcpp cimport bool as cpp_bool
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from core_pool cimport AnyPool, PoolOptions, Status

cdef extern from "<core/acl_status.hpp>" namespace "ascend_infer" nogil:
    enum class AclOutcome(int):
        ok
        failed_call
        invalid_argument
        missing_symbol
        pool
        host_out_of_memory
        closed
        forked
        interrupted
        retired
        busy

    cppclass AclStatus:
        AclStatus() noexcept
        cpp_bool ok() noexcept
        AclOutcome outcome() noexcept
        int code() noexcept
        const char *function() noexcept
        const string &text() noexcept
        const string &input() noexcept
        const Status &memory() noexcept
        cpp_bool pinned() noexcept

cdef extern from "<core/acl_library.hpp>" namespace "ascend_infer" nogil:
    cppclass AclSymbol:
        const char *name
        cpp_bool required
        const char *since
        cpp_bool found
        void *address

    cppclass CoreLibrary "ascend_infer::AclLibrary":
        const string &path() noexcept
        cpp_bool is_simulator() noexcept
        const vector[AclSymbol] &symbols() noexcept

    const char *acl_symbol_since(const char *name) noexcept

    CoreLibrary *open_library "ascend_infer::AclLibrary::open"(
        const string &path, const vector[string] &companions, cpp_bool global_symbols, string &reason,
        vector[string] &missing) except +

cdef extern from "<core/acl_process.hpp>" namespace "ascend_infer" nogil:
    cppclass AclProcess:
        cpp_bool pause(int timeout_ms) noexcept
        void resume() noexcept
        void set_exiting() noexcept

    AclProcess &the_process "ascend_infer::AclProcess::get"() noexcept

cdef extern from "<core/acl_device.hpp>" namespace "ascend_infer" nogil:
    cppclass DeviceMemory:
        size_t free
        size_t total
        cpp_bool hbm

    cppclass AclResource:
        pass

    cppclass CoreDevice "ascend_infer::AclDevice":
        AclStatus close() noexcept
        AclStatus memory(DeviceMemory &out) noexcept
        AclStatus utilization(int &percent) noexcept
        AclStatus synchronise() noexcept
        AclStatus reap() noexcept
        void adopt(shared_ptr[AclResource] orphan) noexcept
        int index() noexcept
        const string &soc_name() noexcept
        cpp_bool unified() noexcept
        cpp_bool closed() noexcept

    AclStatus open_device "ascend_infer::AclDevice::open"(
        const CoreLibrary &library, int index, shared_ptr[CoreDevice] &out) noexcept
    AclStatus count_devices "ascend_infer::AclDevice::count"(const CoreLibrary &library, uint32_t &out) noexcept

cdef extern from "<core/acl_pools.hpp>" namespace "ascend_infer" nogil:
    size_t acl_malloc_extra
    Status open_device_pool(const PoolOptions &options, const shared_ptr[CoreDevice] &device,
                            shared_ptr[AnyPool] &out) noexcept
    Status open_pinned_pool(const PoolOptions &options, const shared_ptr[CoreDevice] &device,
                            shared_ptr[AnyPool] &out) noexcept

cdef extern from "<core/acl_model.hpp>" namespace "ascend_infer" nogil:
    enum class ShapeKind(int):
        fixed
        batch
        hw
        dims
        dynamic

    cppclass TensorDescription:
        string name
        int dtype
        int format
        vector[int64_t] dims
        size_t bytes
        size_t itemsize
        int aipp

    cppclass ModelDescription:
        ShapeKind shapes
        vector[TensorDescription] inputs
        vector[TensorDescription] outputs
        size_t hidden
        vector[vector[int64_t]] gears
        vector[vector[vector[int64_t]]] gear_outputs
        vector[int64_t] input_dims(size_t input, size_t gear) except +

    size_t no_input "ascend_infer::ModelDescription::none"

    cppclass ModelSizes:
        size_t work
        size_t weights

    AclStatus query_model_sizes(const CoreDevice &device, const string &path, ModelSizes &out) noexcept

cdef extern from "<core/batch.hpp>" namespace "ascend_infer" nogil:
    cppclass WaitPolicy:
        cpp_bool (*go_on)(void *argument)
        void *argument

    cppclass PinnedLease:
        void *data() noexcept
        size_t bytes() noexcept

    cppclass InputPiece:
        const void *data
        size_t bytes
        cpp_bool on_device

    cppclass BatchOutput:
        BatchOutput() noexcept
        size_t index
        size_t bytes
        void *target
        shared_ptr[PinnedLease] lease

    cppclass DynamicOutput:
        vector[int64_t] dims
        size_t bytes
        shared_ptr[PinnedLease] lease

    cppclass Batch:
        Batch() except +
        size_t gear
        vector[vector[InputPiece]] inputs
        vector[BatchOutput] outputs
        WaitPolicy wait
        vector[vector[int64_t]] input_dims
        vector[size_t] wanted
        vector[DynamicOutput] results
        int64_t gathered_ns
        int64_t computed_ns
        int64_t device_ns

    size_t no_gear "ascend_infer::Batch::no_gear"

cdef extern from "<core/kept_object.hpp>" namespace "ascend_infer" nogil:
    cppclass KeptObject:
        KeptObject(void *object, void (*let_go)(void *) noexcept) noexcept

cdef extern from "<core/acl_instance.hpp>" namespace "ascend_infer" nogil:
    cppclass InstanceOptions:
        string path
        string name
        size_t slots
        size_t work_bytes
        uintptr_t weights
        size_t weight_bytes
        shared_ptr[KeptObject] weights_owner

    cppclass CoreInstance "ascend_infer::AclInstance"(AclResource):
        AclStatus run(Batch &batch) noexcept
        AclStatus close(int timeout_ms) noexcept
        shared_ptr[PinnedLease] lease(size_t bytes) noexcept
        const ModelDescription &description() noexcept
        size_t input_bytes(size_t gear, size_t input) noexcept
        size_t output_bytes(size_t gear, size_t output) noexcept
        size_t slots() noexcept
        uint32_t model_id() noexcept
        int64_t reclaim() noexcept
        cpp_bool left() noexcept
        cpp_bool retired() noexcept
        uint64_t batches() noexcept

    AclStatus open_instance "ascend_infer::AclInstance::open"(
        shared_ptr[CoreDevice] device, shared_ptr[AnyPool] device_pool, shared_ptr[AnyPool] pinned_pool,
        const InstanceOptions &options, shared_ptr[CoreInstance] &out) noexcept

    cpp_bool retires_instance(int code) noexcept
