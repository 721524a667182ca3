# What core/ offers of onnxruntime. Nothing in there throws.
from libc.stdint cimport int64_t, uint64_t
from libcpp cimport bool as cpp_bool
from libcpp.memory cimport shared_ptr
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.vector cimport vector

cdef extern from "<core/ort_failure.hpp>" namespace "ascend_infer" nogil:
    cppclass OrtFailure:
        OrtFailure() noexcept
        cpp_bool ok() noexcept
        int code() noexcept
        const string &text() noexcept
        cpp_bool of_shape() noexcept

    int no_host_memory "ascend_infer::OrtFailure::no_host_memory"
    int forked_failure "ascend_infer::OrtFailure::forked"
    int no_library "ascend_infer::OrtFailure::no_library"

cdef extern from "<core/ort_runtime.hpp>" namespace "ascend_infer" nogil:
    cppclass OrtRuntime:
        const char *version() noexcept

    OrtFailure open_runtime "ascend_infer::OrtRuntime::open"(const string &path, const OrtRuntime *&out) noexcept

cdef extern from "<core/ort_tensor.hpp>" namespace "ascend_infer" nogil:
    cppclass OrtTensor:
        OrtTensor() noexcept
        cpp_bool held() noexcept
        OrtFailure look(void *&data, int &type, vector[int64_t] &dims) noexcept

cdef extern from "<core/ort_run_options.hpp>" namespace "ascend_infer" nogil:
    cppclass OrtRunOptions:
        OrtFailure terminate() noexcept

cdef extern from "<core/ort_request.hpp>" namespace "ascend_infer" nogil:
    cppclass OrtInput:
        OrtInput() noexcept
        size_t index
        const void *data
        size_t bytes
        const int64_t *dims
        size_t rank

    cppclass OrtOutput:
        OrtOutput() noexcept
        size_t index
        void *data
        size_t bytes
        const int64_t *dims
        size_t rank
        OrtTensor made

    cppclass OrtRequest:
        OrtRequest() noexcept
        vector[OrtInput] inputs
        vector[OrtOutput] outputs
        OrtFailure failure
        int64_t nanoseconds

cdef extern from "<core/ort_shape_rule.hpp>" namespace "ascend_infer" nogil:
    cppclass OrtDimRule:
        OrtDimRule() noexcept
        int64_t size
        size_t input
        size_t axis

    cppclass OrtShapeRule:
        OrtShapeRule() noexcept
        cpp_bool known() noexcept
        size_t rank() noexcept
        void set(const vector[OrtDimRule] &dims) noexcept
        void forget() noexcept
        cpp_bool predict(const OrtRequest &request, size_t item_bytes, int64_t *dims, size_t &bytes) noexcept

    enum: most_dims "ascend_infer::OrtShapeRule::most_dims"

cdef extern from "<core/ort_pace.hpp>" namespace "ascend_infer" nogil:
    cppclass OrtPace:
        OrtPace() noexcept
        cpp_bool quick(uint64_t key) noexcept
        void note(uint64_t key, int64_t nanoseconds) noexcept

    uint64_t pace_key "ascend_infer::OrtPace::key"(const OrtRequest &request) noexcept

cdef extern from "<core/ort_model.hpp>" namespace "ascend_infer" nogil:
    cppclass OrtSettings:
        OrtSettings() noexcept
        int intra_threads
        int inter_threads
        cpp_bool parallel
        int graph_level
        int log_severity
        int mem_arena
        int mem_pattern
        vector[pair[string, string]] session_entries
        vector[pair[string, string]] run_entries

    cppclass OrtTensorDescription:
        string name
        int type
        vector[int64_t] dims
        cpp_bool optional

    cppclass OrtModel:
        const vector[OrtTensorDescription] &inputs() noexcept
        const vector[OrtTensorDescription] &outputs() noexcept
        const OrtRuntime &runtime() noexcept
        OrtFailure run_options(shared_ptr[OrtRunOptions] &out) noexcept
        void run(OrtRequest &request, const OrtRunOptions *options) noexcept

    OrtFailure load_path "ascend_infer::OrtModel::load"(
        const OrtRuntime &runtime, const char *path, const OrtSettings &settings, shared_ptr[OrtModel] &out) noexcept
    OrtFailure load_bytes "ascend_infer::OrtModel::load"(
        const OrtRuntime &runtime, const void *data, size_t size, const OrtSettings &settings,
        shared_ptr[OrtModel] &out) noexcept
