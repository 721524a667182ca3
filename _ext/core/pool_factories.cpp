#include "pool_factories.hpp"

#include "counting_upstream.hpp"
#include "malloc_upstream.hpp"
#include "pool.hpp"

namespace ascend_infer {
namespace {

template <typename Upstream, typename... Arguments>
Status open(const PoolOptions &options, std::shared_ptr<AnyPool> &out, Arguments &&...arguments) noexcept {
  std::unique_ptr<Pool<Upstream>> pool;
  Status status = Pool<Upstream>::open(options, pool, std::forward<Arguments>(arguments)...);
  if (!status.ok()) return status;
  try {
    out = std::move(pool);
  } catch (const std::bad_alloc &) {
    return StatusCode::host_out_of_memory;
  }
  return status;
}

}  // namespace

Status open_counting_pool(const PoolOptions &options, std::size_t capacity, const std::vector<std::size_t> &failing_calls,
                          std::shared_ptr<AnyPool> &out) noexcept {
  return open<CountingUpstream>(options, out, capacity, failing_calls);
}

Status open_host_pool(const PoolOptions &options, std::shared_ptr<AnyPool> &out) noexcept {
  return open<MallocUpstream>(options, out);
}

}  // namespace ascend_infer
