// onnxruntime's C interface: a table of functions that is asked for by number.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace aclsim {

struct OrtStatus;
struct OrtEnv;
struct OrtSession;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtValue;
struct OrtMemoryInfo;
struct OrtAllocator;
struct OrtTensorInfo;
struct OrtTypeInfo;

// Numbers of the table's entries, and their types; the table only ever grows at its end.
class OnnxRuntime {
 public:
  // Null with a reason when there is no library; loaded once, never unloaded.
  static const OnnxRuntime* get(const std::string& path, std::string& reason);

  template <typename Result, typename... Arguments>
  auto at(std::size_t index) const {
    return reinterpret_cast<Result (*)(Arguments...) noexcept>(table_[index]);
  }
  // Empty for success; otherwise the status's message, and the status is released.
  std::string take(OrtStatus* status) const;

  OrtStatus* create_env(int level, const char* id, OrtEnv** out) const {
    return at<OrtStatus*, int, const char*, OrtEnv**>(3)(level, id, out);
  }
  OrtStatus* no_telemetry(OrtEnv* env) const { return at<OrtStatus*, const OrtEnv*>(6)(env); }
  OrtStatus* create_session(OrtEnv* env, const char* path, OrtSessionOptions* o, OrtSession** out) const {
    return at<OrtStatus*, const OrtEnv*, const char*, const OrtSessionOptions*, OrtSession**>(7)(env, path, o, out);
  }
  OrtStatus* create_session(OrtEnv* env, const void* data, std::size_t size, OrtSessionOptions* o,
                            OrtSession** out) const {
    return at<OrtStatus*, const OrtEnv*, const void*, std::size_t, const OrtSessionOptions*, OrtSession**>(8)(
        env, data, size, o, out);
  }
  OrtStatus* run(OrtSession* s, const OrtRunOptions* o, const char* const* in, const OrtValue* const* values,
                 std::size_t n, const char* const* out, std::size_t m, OrtValue** results) const {
    return at<OrtStatus*, OrtSession*, const OrtRunOptions*, const char* const*, const OrtValue* const*, std::size_t,
              const char* const*, std::size_t, OrtValue**>(9)(s, o, in, values, n, out, m, results);
  }
  OrtStatus* create_options(OrtSessionOptions** out) const { return at<OrtStatus*, OrtSessionOptions**>(10)(out); }
  OrtStatus* set_log_level(OrtSessionOptions* o, int level) const {
    return at<OrtStatus*, OrtSessionOptions*, int>(22)(o, level);
  }
  OrtStatus* set_intra_threads(OrtSessionOptions* o, int n) const {
    return at<OrtStatus*, OrtSessionOptions*, int>(24)(o, n);
  }
  OrtStatus* set_inter_threads(OrtSessionOptions* o, int n) const {
    return at<OrtStatus*, OrtSessionOptions*, int>(25)(o, n);
  }
  OrtStatus* add_config(OrtSessionOptions* o, const char* key, const char* value) const {
    return at<OrtStatus*, OrtSessionOptions*, const char*, const char*>(130)(o, key, value);
  }
  OrtStatus* count(OrtSession* s, bool inputs, std::size_t* out) const {
    return at<OrtStatus*, const OrtSession*, std::size_t*>(inputs ? 30 : 31)(s, out);
  }
  OrtStatus* name(OrtSession* s, bool inputs, std::size_t i, OrtAllocator* a, char** out) const {
    return at<OrtStatus*, const OrtSession*, std::size_t, OrtAllocator*, char**>(inputs ? 36 : 37)(s, i, a, out);
  }
  OrtStatus* type_info(OrtSession* s, bool inputs, std::size_t i, OrtTypeInfo** out) const {
    return at<OrtStatus*, const OrtSession*, std::size_t, OrtTypeInfo**>(inputs ? 33 : 34)(s, i, out);
  }
  OrtStatus* as_tensor(const OrtTypeInfo* i, const OrtTensorInfo** out) const {
    return at<OrtStatus*, const OrtTypeInfo*, const OrtTensorInfo**>(55)(i, out);
  }
  void release_type(OrtTypeInfo* i) const { at<void, OrtTypeInfo*>(98)(i); }
  OrtStatus* create_run_options(OrtRunOptions** out) const { return at<OrtStatus*, OrtRunOptions**>(39)(out); }
  OrtStatus* set_run_log_level(OrtRunOptions* o, int level) const {
    return at<OrtStatus*, OrtRunOptions*, int>(41)(o, level);
  }
  OrtStatus* tensor_on(const OrtMemoryInfo* m, void* data, std::size_t bytes, const std::int64_t* dims,
                       std::size_t rank, int type, OrtValue** out) const {
    return at<OrtStatus*, const OrtMemoryInfo*, void*, std::size_t, const std::int64_t*, std::size_t, int, OrtValue**>(
        49)(m, data, bytes, dims, rank, type, out);
  }
  OrtStatus* tensor_data(OrtValue* v, void** out) const { return at<OrtStatus*, OrtValue*, void**>(51)(v, out); }
  OrtStatus* tensor_info(const OrtValue* v, OrtTensorInfo** out) const {
    return at<OrtStatus*, const OrtValue*, OrtTensorInfo**>(65)(v, out);
  }
  OrtStatus* element_type(const OrtTensorInfo* i, int* out) const {
    return at<OrtStatus*, const OrtTensorInfo*, int*>(60)(i, out);
  }
  OrtStatus* rank(const OrtTensorInfo* i, std::size_t* out) const {
    return at<OrtStatus*, const OrtTensorInfo*, std::size_t*>(61)(i, out);
  }
  OrtStatus* dims(const OrtTensorInfo* i, std::int64_t* out, std::size_t n) const {
    return at<OrtStatus*, const OrtTensorInfo*, std::int64_t*, std::size_t>(62)(i, out, n);
  }
  OrtStatus* cpu_memory(OrtMemoryInfo** out) const { return at<OrtStatus*, int, int, OrtMemoryInfo**>(69)(0, 0, out); }
  OrtStatus* free(OrtAllocator* a, void* p) const { return at<OrtStatus*, OrtAllocator*, void*>(76)(a, p); }
  OrtStatus* allocator(OrtAllocator** out) const { return at<OrtStatus*, OrtAllocator**>(78)(out); }
  void release_session(OrtSession* s) const { at<void, OrtSession*>(95)(s); }
  void release_value(OrtValue* v) const { at<void, OrtValue*>(96)(v); }
  void release_info(OrtTensorInfo* i) const { at<void, OrtTensorInfo*>(99)(i); }
  void release_options(OrtSessionOptions* o) const { at<void, OrtSessionOptions*>(100)(o); }

  std::string version;
  OrtEnv* env = nullptr;
  OrtMemoryInfo* memory = nullptr;
  OrtRunOptions* quiet = nullptr;

 private:
  void* const* table_ = nullptr;
};

}  // namespace aclsim
