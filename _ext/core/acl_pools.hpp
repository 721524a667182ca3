// The two pools of a device.
#pragma once
#include <memory>

#include "acl_device.hpp"
#include "any_pool.hpp"
#include "pool_options.hpp"

namespace ascend_infer {

// aclrtMalloc adds this many bytes to each request by itself.
constexpr std::size_t acl_malloc_extra = 32;

Status open_device_pool(const PoolOptions &options, const std::shared_ptr<AclDevice> &device,
                        std::shared_ptr<AnyPool> &out) noexcept;
Status open_pinned_pool(const PoolOptions &options, const std::shared_ptr<AclDevice> &device,
                        std::shared_ptr<AnyPool> &out) noexcept;

}  // namespace ascend_infer
