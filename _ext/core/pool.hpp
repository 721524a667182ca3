// A caching pool over one upstream: device memory, pinned host memory, or a stand-in for tests.
#pragma once
#include <algorithm>
#include <memory>
#include <mutex>

#include "any_pool.hpp"
#include "block_fault.hpp"
#include "block_list.hpp"
#include "fork_generation.hpp"
#include "guard.hpp"
#include "pool_options.hpp"
#include "upstream.hpp"

namespace ascend_infer {

// Two locks, taken in this order. growth_lock_ is held around every upstream call, so that growth, trimming and the
// limit never race; lock_ guards all the rest, briefly, and is never held around an upstream call. allocate takes lock_
// alone while free memory fits; free takes lock_ alone until the pool is closed.
template <typename Upstream>
class Pool final : public AnyPool {
  static_assert(is_upstream<Upstream>::value, "see upstream.hpp for what an upstream has");

 public:
  // A pool over Upstream(arguments...), its pool_bytes taken. Null and the reason when that fails.
  template <typename... Arguments>
  static Status open(const PoolOptions &options, std::unique_ptr<Pool> &out, Arguments &&...arguments) noexcept {
    out.reset();
    Status status = options.check(Upstream::host_accessible);
    if (!status.ok()) return status;
    try {
      std::unique_ptr<Pool> pool(new Pool(options, std::forward<Arguments>(arguments)...));
      status = pool->preallocate();
      if (status.ok()) out = std::move(pool);
      return status;
    } catch (const std::bad_alloc &) {
      return StatusCode::host_out_of_memory;
    }
  }

  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;
  // Gives everything back, active blocks included: no one may hold any.
  ~Pool() override {
    if (process_.forked()) return;
    for (const Region &region : blocks_.regions()) upstream_.free(reinterpret_cast<void *>(region.first->address));
  }

  Status acquire_owner(const std::string &name, OwnerId &out) noexcept override {
    if (process_.forked()) return StatusCode::forked;
    const std::lock_guard lock(lock_);
    try {
      out = owners_.acquire(name);
      return {};
    } catch (const std::bad_alloc &) {
      return StatusCode::host_out_of_memory;
    }
  }

  Status release_owner(OwnerId owner) noexcept override {
    if (process_.forked()) return {};
    const std::lock_guard lock(lock_);
    return owners_.release(owner) ? Status() : Status(StatusCode::invalid_argument, "no such owner");
  }

  Status allocate(std::size_t bytes, OwnerId owner, Allocation &out) noexcept override {
    Status status;
    if (try_allocate(bytes, owner, out, status)) return status;
    return grow_and_serve(Request{bytes, options_.layout.stride(bytes), owner}, out);
  }

  bool try_allocate(std::size_t bytes, OwnerId owner, Allocation &out, Status &status) noexcept override {
    if (bytes == 0 || bytes > PoolLayout::largest_request) {
      status = Status(StatusCode::invalid_argument, "a block has 1 to 2**62 bytes");
      return true;
    }
    if (process_.forked()) {
      status = StatusCode::forked;
      return true;
    }
    const std::lock_guard lock(lock_);
    return serve(Request{bytes, options_.layout.stride(bytes), owner}, out, status);
  }

  Status free(const Allocation &allocation) noexcept override {
    if (process_.forked()) return {};
    Status status;
    {
      const std::lock_guard lock(lock_);
      Block *block = blocks_.find(allocation);
      if (block == nullptr) return block_fault::unknown(allocation, blocks_.gave(allocation.serial));
      if (options_.guard) status = undress(*block);
      owners_.freed(block->owner, block->bytes);
      counts_.requested_bytes -= block->requested;
      ++counts_.frees;
      history_.freed(*block);
      blocks_.put_back(block);
      if (!closed_) return status;
    }
    const std::lock_guard growth(growth_lock_);
    give_back_idle(true);
    return status;
  }

  std::size_t trim() noexcept override {
    if (process_.forked()) return 0;
    const std::lock_guard growth(growth_lock_);
    return give_back_idle(false);
  }

  void close() noexcept override {
    if (process_.forked()) return;
    const std::lock_guard growth(growth_lock_);
    {
      const std::lock_guard lock(lock_);
      closed_ = true;
    }
    give_back_idle(true);
  }

  PoolStats stats() const noexcept override {
    if (process_.forked()) return {};
    const std::lock_guard lock(lock_);
    PoolStats stats = counts_;
    stats.active_bytes = blocks_.active_bytes();
    stats.held_bytes = blocks_.held_bytes();
    stats.reserved_bytes = blocks_.reserved_bytes();
    stats.largest_held_bytes = blocks_.largest_free_bytes();
    stats.limit_bytes = options_.limit_bytes;
    stats.active_blocks = blocks_.active_blocks();
    stats.held_blocks = blocks_.free_blocks();
    stats.regions = blocks_.regions().size();
    return stats;
  }

  std::vector<OwnerUsage> owners() const noexcept override {
    if (process_.forked()) return {};
    const std::lock_guard lock(lock_);
    try {
      return owners_.largest_first();
    } catch (const std::bad_alloc &) {
      return {};
    }
  }

  Status start_recording(std::size_t most_events) noexcept override {
    if (process_.forked()) return StatusCode::forked;
    if (most_events > PoolLayout::largest_request / sizeof(PoolEvent))
      return {StatusCode::invalid_argument, "that many events cannot be recorded"};
    const std::lock_guard lock(lock_);
    try {
      history_.start(most_events);
      return {};
    } catch (const std::bad_alloc &) {
      return StatusCode::host_out_of_memory;
    }
  }

  std::vector<PoolEvent> stop_recording() noexcept override {
    if (process_.forked()) return {};
    const std::lock_guard lock(lock_);
    return history_.stop();
  }

  bool host_accessible() const noexcept override { return Upstream::host_accessible; }
  bool forked() const noexcept override { return process_.forked(); }

  Upstream &upstream() noexcept { return upstream_; }
  const char *find_fault() const {  // for tests
    const std::lock_guard lock(lock_);
    return blocks_.find_fault();
  }

 private:
  struct Request {
    std::size_t bytes;
    std::size_t stride;
    OwnerId owner;
  };

  template <typename... Arguments>
  explicit Pool(const PoolOptions &options, Arguments &&...arguments)
      : options_(options), upstream_(std::forward<Arguments>(arguments)...) {}

  // Under lock_: serves the request from free memory. False when that has no block large enough; true when the matter
  // is settled, well or badly.
  bool serve(const Request &request, Allocation &out, Status &status) noexcept {
    try {
      if (closed_) {
        status = Status(StatusCode::closed, "the memory pool is closed");
        return true;
      }
      if (!owners_.knows(request.owner)) {
        status = Status(StatusCode::invalid_argument, "no such owner");
        return true;
      }
      Block *block = blocks_.take(request.stride);
      if (block == nullptr) return false;
      block->requested = request.bytes;
      block->owner = request.owner;
      if (options_.guard && !dress(block, status)) return true;
      owners_.allocated(block->owner, block->bytes);
      counts_.requested_bytes += block->requested;
      counts_.peak_active_bytes = std::max(counts_.peak_active_bytes, blocks_.active_bytes());
      ++counts_.allocations;
      history_.allocated(*block);
      out = Allocation{block->address, block->requested, block->serial, block->slot};
    } catch (const std::bad_alloc &) {
      status = StatusCode::host_out_of_memory;
    }
    return true;
  }

  Status grow_and_serve(const Request &request, Allocation &out) noexcept {
    const std::lock_guard growth(growth_lock_);
    Status status;
    {
      // While this thread waited, another may have grown the pool or freed what fits.
      const std::lock_guard lock(lock_);
      if (serve(request, out, status)) return status;
    }
    const std::size_t stepped = options_.layout.region_bytes(request.stride);
    Status grown = grow(stepped, request, out, status);
    if (grown.code() == StatusCode::out_of_memory && trimming_may_help(request.stride) && give_back_idle(false) != 0)
      grown = grow(stepped, request, out, status);
    if (grown.code() == StatusCode::out_of_memory && options_.growable && request.stride < stepped)
      grown = grow(request.stride, request, out, status);  // the upstream's last bytes
    if (grown.ok()) return status;
    const std::lock_guard lock(lock_);
    // A block may have been freed while the upstream was asked.
    if (serve(request, out, status)) return status;
    ++counts_.failures;
    return grown;
  }

  // Under growth_lock_: a new region of `bytes`, or what the limit leaves of them, and the request served from it before
  // anyone else sees it. Not ok when there is no region; `status` is the request's fate when there is one.
  Status grow(std::size_t bytes, const Request &request, Allocation &out, Status &status) noexcept {
    if (options_.limit_bytes != 0) {
      const std::lock_guard lock(lock_);
      const std::size_t room = options_.limit_bytes - blocks_.reserved_bytes();
      bytes = std::min(bytes, round_down(room, options_.layout.granularity));
    }
    if (!options_.growable || bytes < request.stride) return shortage(request, Status(), true);
    void *address = nullptr;
    const Status taken = take_from_upstream(bytes, &address);
    if (taken.code() == StatusCode::out_of_memory) return shortage(request, taken, false);
    if (!taken.ok()) return taken;
    return add_region(address, bytes, false, [&] {
      if (!serve(request, out, status)) status = StatusCode::host_out_of_memory;  // cannot be: the region fits
    });
  }

  // Under growth_lock_: whether idle regions are what the upstream or the limit lacks. A request that can never be served
  // does not cost the others their held memory.
  bool trimming_may_help(std::size_t stride) noexcept {
    const std::size_t total = upstream_.total(), limit = options_.limit_bytes;
    const std::lock_guard lock(lock_);
    const std::size_t stays = blocks_.reserved_bytes() - blocks_.idle_bytes();
    return options_.growable && (limit == 0 || stays + stride <= limit) && (total == 0 || stays + stride <= total);
  }

  Status preallocate() noexcept {
    if (options_.pool_bytes == 0) return {};
    const std::lock_guard growth(growth_lock_);
    std::size_t bytes = options_.layout.region_bytes(round_up(options_.pool_bytes, options_.layout.granularity));
    if (options_.limit_bytes != 0)
      bytes = std::min(bytes, round_down(options_.limit_bytes, options_.layout.granularity));
    void *address = nullptr;
    const Status taken = take_from_upstream(bytes, &address);
    if (taken.code() == StatusCode::out_of_memory) return shortage(Request{options_.pool_bytes, bytes, 0}, taken, false);
    if (!taken.ok()) return taken;
    return add_region(address, bytes, true, [] {});
  }

  Status take_from_upstream(std::size_t bytes, void **address) noexcept {
    Status taken = upstream_.allocate(bytes, address);
    {
      const std::lock_guard lock(lock_);
      ++counts_.upstream_allocations;
    }
    if (taken.ok() && reinterpret_cast<Address>(*address) % PoolLayout::alignment != 0) {
      upstream_.free(*address);
      const std::lock_guard lock(lock_);
      ++counts_.upstream_frees;
      return {StatusCode::misaligned_upstream, "the upstream gave memory that is not aligned to 64 bytes"};
    }
    return taken;
  }

  template <typename Then>
  Status add_region(void *address, std::size_t bytes, bool kept, Then &&then) noexcept {
    if (options_.guard) guard::fill(reinterpret_cast<Address>(address), bytes, guard::free_pattern);
    try {
      const std::lock_guard lock(lock_);
      blocks_.add_region(reinterpret_cast<Address>(address), bytes, kept);
      counts_.peak_reserved_bytes = std::max(counts_.peak_reserved_bytes, blocks_.reserved_bytes());
      then();
      return {};
    } catch (const std::bad_alloc &) {
      upstream_.free(address);
      const std::lock_guard lock(lock_);
      ++counts_.upstream_frees;
      return StatusCode::host_out_of_memory;
    }
  }

  // Under growth_lock_.
  std::size_t give_back_idle(bool kept_too) noexcept {
    std::size_t from = 0, sum = 0, bytes = 0;
    for (Address address = 0;; sum += bytes) {
      {
        const std::lock_guard lock(lock_);
        if (!blocks_.remove_idle_region(from, kept_too, address, bytes)) return sum;
        ++counts_.upstream_frees;
      }
      upstream_.free(reinterpret_cast<void *>(address));
    }
  }

  // Under growth_lock_: why there is no memory, with all that helps to find some.
  Status shortage(const Request &request, const Status &cause, bool limited) noexcept {
    try {
      StatusDetail detail;
      if (cause.detail() != nullptr) detail.message = cause.detail()->message;
      MemoryShortage &numbers = detail.shortage;
      numbers.needed = request.bytes;
      numbers.stride = request.stride;
      numbers.free = upstream_.available();
      numbers.total = upstream_.total();
      numbers.limit = options_.limit_bytes;
      numbers.limited = limited;
      const std::lock_guard lock(lock_);
      numbers.reserved = blocks_.reserved_bytes();
      numbers.active = blocks_.active_bytes();
      numbers.held = blocks_.held_bytes();
      numbers.largest_held = blocks_.largest_free_bytes();
      for (const OwnerUsage &usage : owners_.largest_first())
        if (usage.active_bytes != 0 && numbers.holders.size() < 5)
          numbers.holders.push_back({usage.name, usage.active_bytes, usage.active_blocks});
      return Status(StatusCode::out_of_memory, std::move(detail)).with_call_of(cause);
    } catch (const std::bad_alloc &) {
      return Status(StatusCode::out_of_memory).with_call_of(cause);
    }
  }

  // Under lock_: of a block just taken. False when someone wrote into it while it was free; it is free again then.
  bool dress(Block *block, Status &status) noexcept {
    const std::size_t found = guard::check_free(*block);
    if (found == block->bytes) {
      guard::dress(*block);
      return true;
    }
    status = block_fault::written_after_free(*block, found);
    guard::fill(block->address, block->bytes, guard::free_pattern);
    blocks_.put_back(block);
    return false;
  }

  // Under lock_: of a block about to be freed.
  Status undress(const Block &block) noexcept {
    const std::size_t found = guard::check_fence(block);
    Status status;
    if (found != block.bytes - block.requested)
      status = block_fault::overrun(block, found, owners_.usage(block.owner).name.c_str());
    guard::fill(block.address, block.bytes, guard::free_pattern);
    return status;
  }

  const OfOneProcess process_;
  const PoolOptions options_;
  Upstream upstream_;
  std::mutex growth_lock_;
  mutable std::mutex lock_;
  BlockList blocks_;
  OwnerTable owners_;
  PoolHistory history_;
  PoolStats counts_;  // only what no one else knows: requested, peaks, calls
  bool closed_ = false;
};

}  // namespace ascend_infer
