// An ONNX model in onnxruntime: one session, which any number of threads may run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fork_generation.hpp"
#include "ort_request.hpp"
#include "ort_run_options.hpp"
#include "ort_runtime.hpp"

namespace ascend_infer {

struct OrtSettings {
  int intra_threads = 0;  // 0: onnxruntime's default
  int inter_threads = 0;
  bool parallel = false;
  int graph_level = 99;
  int log_severity = ort::log_nothing;
  int mem_arena = -1;  // -1: onnxruntime's default, 0 off, 1 on
  int mem_pattern = -1;
  OrtEntries session_entries;
  OrtEntries run_entries;
};

struct OrtTensorDescription {
  std::string name;
  int type = 0;                    // ONNX element type; 0: no tensor
  std::vector<std::int64_t> dims;  // -1: open; empty for a scalar, and where the rank is not known
  bool optional = false;           // the model has a value of its own for it
};

class OrtModel {
 public:
  static OrtFailure load(const OrtRuntime &runtime, const char *path, const OrtSettings &settings,
                         std::shared_ptr<OrtModel> &out) noexcept;
  // The bytes may go once this has returned.
  static OrtFailure load(const OrtRuntime &runtime, const void *data, std::size_t size, const OrtSettings &settings,
                         std::shared_ptr<OrtModel> &out) noexcept;

  explicit OrtModel(const OrtRuntime &runtime) noexcept : runtime_(runtime) {}
  ~OrtModel();
  OrtModel(const OrtModel &) = delete;
  OrtModel &operator=(const OrtModel &) = delete;

  // Those that must be fed come first.
  const std::vector<OrtTensorDescription> &inputs() const noexcept { return inputs_; }
  const std::vector<OrtTensorDescription> &outputs() const noexcept { return outputs_; }
  const OrtRuntime &runtime() const noexcept { return runtime_; }
  bool forked() const noexcept { return process_.forked(); }

  // Own settings for a run that may be told to stop.
  OrtFailure run_options(std::shared_ptr<OrtRunOptions> &out) const noexcept {
    return OrtRunOptions::make(runtime_, run_entries_, out);
  }

  // Runs one request on this thread; sets its outputs, failure and duration. `options` null: those all runs share.
  void run(OrtRequest &request, const OrtRunOptions *options) const noexcept;

 private:
  struct Tensors;
  OrtFailure create(const char *path, const void *data, std::size_t size, const OrtSettings &settings) noexcept;
  OrtFailure describe() noexcept;
  template <typename Count, typename Type, typename Name>
  OrtFailure describe(std::vector<OrtTensorDescription> &found, bool optional);
  OrtFailure borrow(void *data, std::size_t bytes, const std::int64_t *dims, std::size_t rank, int type,
                    ort::Value **out) const noexcept;
  OrtFailure run_tensors(OrtRequest &request, const OrtRunOptions *options) const noexcept;

  const OrtRuntime &runtime_;
  const OfOneProcess process_;
  ort::Session *session_ = nullptr;
  OrtEntries run_entries_;
  std::shared_ptr<OrtRunOptions> shared_options_;
  std::vector<OrtTensorDescription> inputs_, outputs_;
};

}  // namespace ascend_infer
