// The settings of runs. A run that may be told to stop has its own, because the wish to stop lies in them.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ort_runtime.hpp"

namespace ascend_infer {

using OrtEntries = std::vector<std::pair<std::string, std::string>>;

class OrtRunOptions {
 public:
  static OrtFailure make(const OrtRuntime &runtime, const OrtEntries &entries,
                         std::shared_ptr<OrtRunOptions> &out) noexcept {
    std::shared_ptr<OrtRunOptions> made;
    try {
      made = std::make_shared<OrtRunOptions>(runtime);
    } catch (const std::exception &) {
      return OrtFailure::no_memory();
    }
    OrtFailure failure = runtime.ask<ort::CreateRunOptions>(&made->options_);
    // A failure is in its status; onnxruntime would print it as well, in colour.
    if (failure.ok())
      failure = runtime.ask<ort::RunOptionsSetRunLogSeverityLevel>(made->options_, static_cast<int>(ort::log_nothing));
    for (const auto &[key, value] : entries)
      if (failure.ok()) failure = runtime.ask<ort::AddRunConfigEntry>(made->options_, key.c_str(), value.c_str());
    if (failure.ok()) out = std::move(made);
    return failure;
  }

  explicit OrtRunOptions(const OrtRuntime &runtime) noexcept : runtime_(runtime) {}
  ~OrtRunOptions() { runtime_.call<ort::ReleaseRunOptions>(options_); }
  OrtRunOptions(const OrtRunOptions &) = delete;
  OrtRunOptions &operator=(const OrtRunOptions &) = delete;

  // Ends the run that has these options, between two nodes, and every later one. From any thread; returns at once.
  OrtFailure terminate() noexcept { return runtime_.ask<ort::RunOptionsSetTerminate>(options_); }
  const ort::RunOptions *get() const noexcept { return options_; }

 private:
  const OrtRuntime &runtime_;
  ort::RunOptions *options_ = nullptr;
};

}  // namespace ascend_infer
