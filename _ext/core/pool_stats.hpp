// A pool's numbers at one moment.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ascend_infer {

struct PoolStats {
  // active + held == reserved, always.
  std::size_t active_bytes = 0;     // strides of the blocks in use
  std::size_t held_bytes = 0;       // free in the pool
  std::size_t reserved_bytes = 0;   // taken from the upstream
  std::size_t requested_bytes = 0;  // of the active blocks, before rounding
  std::size_t peak_active_bytes = 0;
  std::size_t peak_reserved_bytes = 0;
  std::size_t largest_held_bytes = 0;  // the largest free block
  std::size_t limit_bytes = 0;         // 0: none
  std::size_t active_blocks = 0;
  std::size_t held_blocks = 0;
  std::size_t regions = 0;  // pieces that came from the upstream in one call each
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t failures = 0;              // requests that were refused for want of memory
  std::uint64_t upstream_allocations = 0;  // calls, failed ones too
  std::uint64_t upstream_frees = 0;

  // Share of the free memory that its largest block cannot serve; 0 when nothing is free.
  double fragmentation() const noexcept {
    if (held_bytes == 0) return 0.0;
    return 1.0 - static_cast<double>(largest_held_bytes) / static_cast<double>(held_bytes);
  }
};

}  // namespace ascend_infer
