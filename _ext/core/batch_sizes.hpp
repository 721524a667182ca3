// What executions took, by their number of rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>

namespace ascend_infer {

struct BatchSums {
  std::int64_t count = 0;
  std::int64_t input_ns = 0;
  std::int64_t infer_ns = 0;
  std::int64_t output_ns = 0;
};

class BatchSizes {
 public:
  BatchSizes() = default;
  BatchSizes(const BatchSizes &) = delete;  // last_ points into this object's own map
  BatchSizes &operator=(const BatchSizes &) = delete;

  // Without host memory for a size that is new, the execution is missing here and in the totals elsewhere it is not.
  void add(std::int64_t rows, std::int64_t input_ns, std::int64_t infer_ns, std::int64_t output_ns) noexcept {
    if (last_ == nullptr || rows != last_rows_) {
      try {
        last_ = &sums_[rows];
      } catch (const std::bad_alloc &) {
        return;
      }
      last_rows_ = rows;
    }
    ++last_->count;
    last_->input_ns += input_ns;
    last_->infer_ns += infer_ns;
    last_->output_ns += output_ns;
  }
  std::map<std::int64_t, BatchSums> &all() noexcept { return sums_; }  // for reading; Cython knows no const iterators

 private:
  std::map<std::int64_t, BatchSums> sums_;  // its nodes stay where they are
  BatchSums *last_ = nullptr;
  std::int64_t last_rows_ = 0;
};

}  // namespace ascend_infer
