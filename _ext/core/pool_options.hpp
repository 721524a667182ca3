// What a pool is told once, when it is opened.
#pragma once
#include "pool_layout.hpp"
#include "status.hpp"

namespace ascend_infer {

struct PoolOptions {
  std::size_t pool_bytes = 0;   // taken from the upstream at once and kept until the pool closes
  std::size_t limit_bytes = 0;  // most that may be taken from the upstream; 0: whatever it gives
  bool growable = true;         // false: pool_bytes is all there is
  bool guard = false;           // fences and patterns; only for memory that the CPU may touch, and slow
  PoolLayout layout;

  Status check(bool host_accessible) const noexcept {
    const auto refuse = [](const char *why) { return Status(StatusCode::invalid_argument, why); };
    if (!layout.valid()) return refuse("the layout's sizes contradict each other");
    if (guard && !host_accessible) return refuse("guard needs memory that the CPU may touch");
    if (!growable && pool_bytes == 0) return refuse("a pool that may not grow needs pool_bytes");
    if (pool_bytes > PoolLayout::largest_request || limit_bytes > PoolLayout::largest_request)
      return refuse("pool_bytes and limit_bytes may be at most 2**62");
    if (limit_bytes != 0 && limit_bytes < layout.granularity) return refuse("limit_bytes is less than one block takes");
    if (limit_bytes != 0 && round_up(pool_bytes, layout.granularity) > limit_bytes)
      return refuse("pool_bytes is more than limit_bytes allows");
    return {};
  }
};

}  // namespace ascend_infer
