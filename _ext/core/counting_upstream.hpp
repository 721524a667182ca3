// An upstream without memory: addresses rise and are never given twice, capacity is a number, calls fail on demand.
// What a pool does with it is all there is to see.
#pragma once
#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "block.hpp"
#include "pool_layout.hpp"
#include "upstream.hpp"

namespace ascend_infer {

class CountingUpstream {
 public:
  static constexpr bool host_accessible = false;
  static constexpr Address first_address = Address{1} << 40;

  // The calls of allocate with these numbers, from 1, fail for want of memory.
  explicit CountingUpstream(std::size_t capacity, const std::vector<std::size_t> &failing_calls = {})
      : capacity_(capacity) {
    for (const std::size_t call : failing_calls) failing_[call] = StatusCode::out_of_memory;
  }

  // The n-th call of allocate (from 1) fails with that code.
  void fail_call(std::size_t call, StatusCode code = StatusCode::out_of_memory) {
    const std::lock_guard lock(mutex_);
    failing_[call] = code;
  }
  // Addresses are off their alignment by that much from now on.
  void misalign(std::size_t by) {
    const std::lock_guard lock(mutex_);
    misaligned_by_ = by;
  }

  Status allocate(std::size_t bytes, void **out) noexcept {
    const std::lock_guard lock(mutex_);
    const auto failing = failing_.find(++calls_);
    if (failing != failing_.end()) return failing->second;
    if (bytes == 0 || bytes > capacity_ - taken_) return StatusCode::out_of_memory;
    const Address address = next_ + misaligned_by_;
    try {
      live_.emplace(address, bytes);
    } catch (const std::bad_alloc &) {
      return StatusCode::out_of_memory;
    }
    // A gap, so that blocks of two regions never touch by chance.
    next_ += round_up(bytes, PoolLayout::alignment) + (std::size_t{1} << 20);
    taken_ += bytes;
    peak_ = std::max(peak_, taken_);
    *out = reinterpret_cast<void *>(address);
    return {};
  }

  void free(void *address) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(reinterpret_cast<Address>(address));
    if (found == live_.end()) {
      ++wrong_frees_;
      return;
    }
    taken_ -= found->second;
    live_.erase(found);
  }

  std::size_t available() noexcept {
    const std::lock_guard lock(mutex_);
    return capacity_ - taken_;
  }
  std::size_t total() noexcept { return capacity_; }

  std::size_t calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  std::size_t peak() {
    const std::lock_guard lock(mutex_);
    return peak_;
  }
  std::size_t live() {
    const std::lock_guard lock(mutex_);
    return live_.size();
  }
  std::size_t wrong_frees() {
    const std::lock_guard lock(mutex_);
    return wrong_frees_;
  }

 private:
  std::mutex mutex_;
  const std::size_t capacity_;
  std::map<std::size_t, StatusCode> failing_;
  std::map<Address, std::size_t> live_;
  Address next_ = first_address;
  std::size_t taken_ = 0;
  std::size_t peak_ = 0;
  std::size_t calls_ = 0;
  std::size_t wrong_frees_ = 0;
  std::size_t misaligned_by_ = 0;
};

}  // namespace ascend_infer
