// A tensor that onnxruntime allocated: a result, owned. It may outlive the session, whose allocator it keeps alive.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ort_runtime.hpp"

namespace ascend_infer {

class OrtTensor {
 public:
  OrtTensor() noexcept = default;
  OrtTensor(const OrtRuntime *runtime, ort::Value *value) noexcept : runtime_(runtime), value_(value) {}
  OrtTensor(OrtTensor &&other) noexcept { *this = std::move(other); }
  OrtTensor &operator=(OrtTensor &&other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(value_, other.value_);
    return *this;
  }
  OrtTensor(const OrtTensor &) = delete;
  OrtTensor &operator=(const OrtTensor &) = delete;
  ~OrtTensor() {
    if (value_ != nullptr) runtime_->call<ort::ReleaseValue>(value_);
  }

  explicit operator bool() const noexcept { return value_ != nullptr; }
  bool held() const noexcept { return value_ != nullptr; }

  // What is in it; the memory is this tensor's.
  OrtFailure look(void *&data, int &type, std::vector<std::int64_t> &dims) const noexcept {
    int is_tensor = 0;
    OrtFailure failure = runtime_->ask<ort::IsTensor>(static_cast<const ort::Value *>(value_), &is_tensor);
    if (!failure.ok()) return failure;
    if (is_tensor == 0) return OrtFailure::of(ort::invalid_argument, "the output is no tensor");
    ort::TensorInfo *info = nullptr;
    failure = runtime_->ask<ort::GetTensorTypeAndShape>(static_cast<const ort::Value *>(value_), &info);
    if (!failure.ok()) return failure;
    const ort::TensorInfo *seen = info;
    std::size_t rank = 0;
    failure = runtime_->ask<ort::GetDimensionsCount>(seen, &rank);
    if (failure.ok()) {
      try {
        dims.assign(rank, 0);
      } catch (const std::exception &) {
        failure = OrtFailure::no_memory();
      }
    }
    if (failure.ok()) failure = runtime_->ask<ort::GetDimensions>(seen, dims.data(), rank);
    if (failure.ok()) failure = runtime_->ask<ort::GetTensorElementType>(seen, &type);
    runtime_->call<ort::ReleaseTensorInfo>(info);
    if (failure.ok()) failure = runtime_->ask<ort::GetTensorMutableData>(value_, &data);
    return failure;
  }

 private:
  const OrtRuntime *runtime_ = nullptr;
  ort::Value *value_ = nullptr;
};

}  // namespace ascend_infer
