// What an output's shape will be, said before the run: then onnxruntime writes into memory that is there already.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ort_request.hpp"

namespace ascend_infer {

struct OrtDimRule {
  std::int64_t size = 0;  // of a fixed dimension; -1: that of an input's
  std::size_t input = 0, axis = 0;
};

class OrtShapeRule {
 public:
  static constexpr std::size_t most_dims = 32;  // of any numpy

  // False: the shape is known only after the run.
  bool known() const noexcept { return known_; }
  std::size_t rank() const noexcept { return dims_.size(); }
  void set(std::vector<OrtDimRule> dims) noexcept {
    dims_ = std::move(dims);
    known_ = dims_.size() <= most_dims;
  }
  // The model did not keep to what it declares.
  void forget() noexcept { known_ = false; }

  // The dims for these inputs, and the bytes; false where they cannot be said.
  bool predict(const OrtRequest &request, std::size_t item_bytes, std::int64_t *dims, std::size_t &bytes) const noexcept {
    if (!known_) return false;
    bytes = item_bytes;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      const OrtDimRule &rule = dims_[i];
      dims[i] = rule.size;
      if (rule.size < 0) {
        const OrtInput *input = find(request, rule.input);
        if (input == nullptr || rule.axis >= input->rank) return false;
        dims[i] = input->dims[rule.axis];
      }
      if (dims[i] < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(dims[i]), &bytes)) return false;
    }
    return bytes <= most_bytes;
  }

 private:
  // A declaration that asks for more is not believed before the model has run.
  static constexpr std::size_t most_bytes = std::size_t{1} << 32;

  static const OrtInput *find(const OrtRequest &request, std::size_t index) noexcept {
    if (index < request.inputs.size() && request.inputs[index].index == index) return &request.inputs[index];
    for (const OrtInput &input : request.inputs)
      if (input.index == index) return &input;
    return nullptr;
  }

  bool known_ = false;
  std::vector<OrtDimRule> dims_;
};

}  // namespace ascend_infer
