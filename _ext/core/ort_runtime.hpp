// onnxruntime's library, opened once and never closed, and what its sessions share.
#pragma once
#include <string>

#include "ort_api.hpp"
#include "ort_failure.hpp"

namespace ascend_infer {

class OrtRuntime {
 public:
  // Opens a library, or gives the one that was opened before from the same path. Safe from any thread.
  static OrtFailure open(const std::string &path, const OrtRuntime *&out) noexcept;

  template <typename S, typename... A>
  auto call(A... arguments) const noexcept {
    return reinterpret_cast<typename S::Function>(table_[S::index])(arguments...);
  }
  // A call that answers with a status, taken and released.
  template <typename S, typename... A>
  OrtFailure ask(A... arguments) const noexcept {
    ort::Status *status = call<S>(arguments...);
    return status == nullptr ? OrtFailure() : failure_of(status);
  }

  const char *version() const noexcept { return version_; }
  const ort::Env *env() const noexcept { return env_; }
  const ort::MemoryInfo *memory() const noexcept { return memory_; }
  ort::Allocator *allocator() const noexcept { return allocator_; }

 private:
  OrtRuntime() = default;
  OrtFailure start(const std::string &path) noexcept;
  OrtFailure failure_of(ort::Status *status) const noexcept;

  void *const *table_ = nullptr;
  const char *version_ = "";
  ort::Env *env_ = nullptr;
  ort::MemoryInfo *memory_ = nullptr;  // of the CPU
  ort::Allocator *allocator_ = nullptr;
};

}  // namespace ascend_infer
