#include "acl_pools.hpp"

#include "acl_upstream.hpp"
#include "pool.hpp"

namespace ascend_infer {
namespace {

template <typename Upstream>
Status open(const PoolOptions &options, const std::shared_ptr<AclDevice> &device, std::shared_ptr<AnyPool> &out) noexcept {
  out.reset();
  std::unique_ptr<Pool<Upstream>> pool;
  const Status status = Pool<Upstream>::open(options, pool, device);
  if (!status.ok()) return status;
  try {
    out = std::shared_ptr<AnyPool>(std::move(pool));
    return status;
  } catch (const std::bad_alloc &) {
    return StatusCode::host_out_of_memory;
  }
}

}  // namespace

Status open_device_pool(const PoolOptions &options, const std::shared_ptr<AclDevice> &device,
                        std::shared_ptr<AnyPool> &out) noexcept {
  return open<AclDeviceUpstream>(options, device, out);
}

Status open_pinned_pool(const PoolOptions &options, const std::shared_ptr<AclDevice> &device,
                        std::shared_ptr<AnyPool> &out) noexcept {
  return open<AclPinnedUpstream>(options, device, out);
}

}  // namespace ascend_infer
