// Pools over the upstreams that need no device.
#pragma once
#include <memory>
#include <vector>

#include "any_pool.hpp"
#include "pool_options.hpp"

namespace ascend_infer {

// Over a CountingUpstream of that capacity, whose calls with these numbers (from 1) fail for want of memory.
Status open_counting_pool(const PoolOptions &options, std::size_t capacity, const std::vector<std::size_t> &failing_calls,
                          std::shared_ptr<AnyPool> &out) noexcept;

// Over ordinary host memory.
Status open_host_pool(const PoolOptions &options, std::shared_ptr<AnyPool> &out) noexcept;

}  // namespace ascend_infer
