#include "ort_runtime.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

namespace ascend_infer {
namespace {

// While onnxruntime starts: since 1.32 it writes a device id and a database of usage events below ~/.cache/Microsoft
// unless this variable is set at that moment. Whoever set it himself has decided.
class TelemetryOff {
 public:
  TelemetryOff() noexcept : ours_(std::getenv(name) == nullptr) {
    if (ours_) setenv(name, "1", 0);
  }
  ~TelemetryOff() {
    if (ours_) unsetenv(name);
  }
  TelemetryOff(const TelemetryOff &) = delete;
  TelemetryOff &operator=(const TelemetryOff &) = delete;

 private:
  static constexpr const char *name = "ORT_DISABLE_TELEMETRY";
  bool ours_;
};

struct Opened {
  std::mutex lock;
  std::map<std::string, const OrtRuntime *> by_path;
};

// Never freed: sessions may outlive whatever order statics end in.
Opened &opened() {
  static auto *all = new Opened;
  return *all;
}

}  // namespace

OrtFailure OrtRuntime::open(const std::string &path, const OrtRuntime *&out) noexcept {
  try {
    Opened &all = opened();
    const std::lock_guard<std::mutex> lock(all.lock);
    const OrtRuntime *&known = all.by_path[path];
    if (known == nullptr) {
      std::unique_ptr<OrtRuntime> made(new OrtRuntime);
      OrtFailure failure = made->start(path);
      if (!failure.ok()) return failure;
      known = made.release();
    }
    out = known;
    return {};
  } catch (const std::exception &) {
    return OrtFailure::no_memory();
  }
}

OrtFailure OrtRuntime::start(const std::string &path) noexcept {
  const TelemetryOff quiet;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char *why = dlerror();
    return OrtFailure::of(OrtFailure::no_library, why == nullptr ? "it cannot be loaded" : why);
  }
  const auto base_of = reinterpret_cast<const ort::ApiBase *(*)() noexcept>(dlsym(library, "OrtGetApiBase"));
  const ort::ApiBase *base = base_of == nullptr ? nullptr : base_of();
  if (base != nullptr) table_ = base->get_api(ort::table_version);
  if (table_ == nullptr) return OrtFailure::of(OrtFailure::no_library, "it is no onnxruntime of version 1.17 or newer");
  version_ = base->get_version();
  OrtFailure failure = ask<ort::CreateEnv>(static_cast<int>(ort::log_nothing), "ascend_infer", &env_);
  // Nothing that runs here is anybody else's business.
  if (failure.ok()) failure = ask<ort::DisableTelemetryEvents>(env_);
  if (failure.ok()) failure = ask<ort::CreateCpuMemoryInfo>(0, 0, &memory_);
  if (failure.ok()) failure = ask<ort::GetAllocatorWithDefaultOptions>(&allocator_);
  return failure;
}

OrtFailure OrtRuntime::failure_of(ort::Status *status) const noexcept {
  const int code = call<ort::GetErrorCode>(status);
  OrtFailure failure = OrtFailure::of(code == 0 ? static_cast<int>(ort::fail) : code, call<ort::GetErrorMessage>(status));
  call<ort::ReleaseStatus>(status);
  return failure;
}

}  // namespace ascend_infer
