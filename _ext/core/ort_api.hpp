// The part of onnxruntime's C interface that we use, declared by ourselves: a table of functions that only grows at its
// end. Numbers and signatures are those of onnxruntime_c_api.h; table version 17 is in every wheel that has a library.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ascend_infer::ort {

struct Allocator;
struct Env;
struct MemoryInfo;
struct RunOptions;
struct Session;
struct SessionOptions;
struct Status;  // null: success
struct TensorInfo;
struct TypeInfo;
struct Value;

constexpr std::uint32_t table_version = 17;
constexpr std::size_t last_slot = 275;  // of that version

enum ErrorCode : int { fail = 1, invalid_argument = 2, invalid_protobuf = 7 };
enum LogSeverity : int { log_nothing = 4 };  // fatal alone: whatever goes wrong is in the status
enum ExecutionMode : int { sequential = 0, parallel = 1 };

template <std::size_t Index, typename R, typename... A>
struct Slot {
  static_assert(Index <= last_slot);
  static constexpr std::size_t index = Index;
  using Function = R (*)(A...) noexcept;
};

using GetErrorCode = Slot<1, int, const Status *>;
using GetErrorMessage = Slot<2, const char *, const Status *>;
using CreateEnv = Slot<3, Status *, int, const char *, Env **>;
using DisableTelemetryEvents = Slot<6, Status *, const Env *>;
using CreateSession = Slot<7, Status *, const Env *, const char *, const SessionOptions *, Session **>;
using CreateSessionFromArray =
    Slot<8, Status *, const Env *, const void *, std::size_t, const SessionOptions *, Session **>;
using Run = Slot<9, Status *, Session *, const RunOptions *, const char *const *, const Value *const *, std::size_t,
                 const char *const *, std::size_t, Value **>;
using CreateSessionOptions = Slot<10, Status *, SessionOptions **>;
using SetSessionExecutionMode = Slot<13, Status *, SessionOptions *, int>;
using EnableMemPattern = Slot<16, Status *, SessionOptions *>;
using DisableMemPattern = Slot<17, Status *, SessionOptions *>;
using EnableCpuMemArena = Slot<18, Status *, SessionOptions *>;
using DisableCpuMemArena = Slot<19, Status *, SessionOptions *>;
using SetSessionLogSeverityLevel = Slot<22, Status *, SessionOptions *, int>;
using SetSessionGraphOptimizationLevel = Slot<23, Status *, SessionOptions *, int>;
using SetIntraOpNumThreads = Slot<24, Status *, SessionOptions *, int>;
using SetInterOpNumThreads = Slot<25, Status *, SessionOptions *, int>;
// The three kinds of tensors a session names, each with a count, a type and a name.
using SessionGetInputCount = Slot<30, Status *, const Session *, std::size_t *>;
using SessionGetOutputCount = Slot<31, Status *, const Session *, std::size_t *>;
using SessionGetOverridableInitializerCount = Slot<32, Status *, const Session *, std::size_t *>;
using SessionGetInputTypeInfo = Slot<33, Status *, const Session *, std::size_t, TypeInfo **>;
using SessionGetOutputTypeInfo = Slot<34, Status *, const Session *, std::size_t, TypeInfo **>;
using SessionGetOverridableInitializerTypeInfo = Slot<35, Status *, const Session *, std::size_t, TypeInfo **>;
using SessionGetInputName = Slot<36, Status *, const Session *, std::size_t, Allocator *, char **>;
using SessionGetOutputName = Slot<37, Status *, const Session *, std::size_t, Allocator *, char **>;
using SessionGetOverridableInitializerName = Slot<38, Status *, const Session *, std::size_t, Allocator *, char **>;
using CreateRunOptions = Slot<39, Status *, RunOptions **>;
using RunOptionsSetRunLogSeverityLevel = Slot<41, Status *, RunOptions *, int>;
using RunOptionsSetTerminate = Slot<46, Status *, RunOptions *>;
// Borrows the memory until the value is released and every run with it is over.
using CreateTensorWithDataAsOrtValue = Slot<49, Status *, const MemoryInfo *, void *, std::size_t, const std::int64_t *,
                                            std::size_t, int, Value **>;
using IsTensor = Slot<50, Status *, const Value *, int *>;
using GetTensorMutableData = Slot<51, Status *, Value *, void **>;
using CastTypeInfoToTensorInfo = Slot<55, Status *, const TypeInfo *, const TensorInfo **>;
using GetTensorElementType = Slot<60, Status *, const TensorInfo *, int *>;
using GetDimensionsCount = Slot<61, Status *, const TensorInfo *, std::size_t *>;
using GetDimensions = Slot<62, Status *, const TensorInfo *, std::int64_t *, std::size_t>;
using GetTensorTypeAndShape = Slot<65, Status *, const Value *, TensorInfo **>;
using CreateCpuMemoryInfo = Slot<69, Status *, int, int, MemoryInfo **>;
using AllocatorFree = Slot<76, Status *, Allocator *, void *>;
using GetAllocatorWithDefaultOptions = Slot<78, Status *, Allocator **>;
using ReleaseStatus = Slot<93, void, Status *>;
using ReleaseSession = Slot<95, void, Session *>;
using ReleaseValue = Slot<96, void, Value *>;
using ReleaseRunOptions = Slot<97, void, RunOptions *>;
using ReleaseTypeInfo = Slot<98, void, TypeInfo *>;
using ReleaseTensorInfo = Slot<99, void, TensorInfo *>;
using ReleaseSessionOptions = Slot<100, void, SessionOptions *>;
using AddSessionConfigEntry = Slot<130, Status *, SessionOptions *, const char *, const char *>;
using AddRunConfigEntry = Slot<165, Status *, RunOptions *, const char *, const char *>;

// What OrtGetApiBase gives; its layout never changes.
struct ApiBase {
  void *const *(*get_api)(std::uint32_t version) noexcept;
  const char *(*get_version)() noexcept;
};

}  // namespace ascend_infer::ort
