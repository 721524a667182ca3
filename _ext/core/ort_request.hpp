// One run's tensors: memory that is borrowed, and outputs that onnxruntime is to allocate.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ort_tensor.hpp"

namespace ascend_infer {

struct OrtInput {
  std::size_t index = 0;  // in OrtModel::inputs()
  const void *data = nullptr;
  std::size_t bytes = 0;
  const std::int64_t *dims = nullptr;
  std::size_t rank = 0;
};

struct OrtOutput {
  std::size_t index = 0;  // in OrtModel::outputs()
  void *data = nullptr;   // null: onnxruntime allocates, and `made` has it
  std::size_t bytes = 0;
  const std::int64_t *dims = nullptr;
  std::size_t rank = 0;
  OrtTensor made;
};

struct OrtRequest {
  std::vector<OrtInput> inputs;
  std::vector<OrtOutput> outputs;
  OrtFailure failure;
  std::int64_t nanoseconds = 0;
};

}  // namespace ascend_infer
