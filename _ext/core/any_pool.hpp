// A pool whatever its upstream is: what the rest of the library uses.
#pragma once
#include <string>
#include <vector>

#include "block.hpp"
#include "owner_table.hpp"
#include "pool_history.hpp"
#include "pool_stats.hpp"
#include "status.hpp"

namespace ascend_infer {

// Every function may be called from any thread, throws nothing, and takes no lock of the caller's. In a forked child
// requests are StatusCode::forked, giving back does nothing (the memory is the parent's) and there are no numbers.
class AnyPool {
 public:
  virtual ~AnyPool() = default;

  // An owner's id by its name, the same for the same name. Each acquire needs a release; an owner's blocks may
  // outlive it.
  virtual Status acquire_owner(const std::string &name, OwnerId &out) noexcept = 0;
  virtual Status release_owner(OwnerId owner) noexcept = 0;

  // Memory for `bytes` bytes, aligned to PoolLayout::alignment, contents undefined. May wait for the upstream when the
  // pool has to grow; never otherwise.
  virtual Status allocate(std::size_t bytes, OwnerId owner, Allocation &out) noexcept = 0;
  // The same out of held memory alone. False when the pool would have to grow for it; true when the matter is settled,
  // well or badly. Never waits for the upstream.
  virtual bool try_allocate(std::size_t bytes, OwnerId owner, Allocation &out, Status &status) noexcept = 0;

  // Nothing may use the block any more, queued device tasks included. Never waits for the upstream, unless the pool
  // is closed.
  virtual Status free(const Allocation &allocation) noexcept = 0;

  // Gives regions without any active block back, but for the preallocated one; the bytes that were given back.
  virtual std::size_t trim() noexcept = 0;

  // Refuses requests from now on and gives every region back as soon as it has no active block.
  virtual void close() noexcept = 0;

  virtual PoolStats stats() const noexcept = 0;
  // Throws nothing: what cannot be listed for want of host memory is left out.
  virtual std::vector<OwnerUsage> owners() const noexcept = 0;

  // Records requests and frees, up to so many; stop_recording gives them. Starting again forgets what there was.
  virtual Status start_recording(std::size_t most_events) noexcept = 0;
  virtual std::vector<PoolEvent> stop_recording() noexcept = 0;

  virtual bool host_accessible() const noexcept = 0;
  virtual bool forked() const noexcept = 0;
};

}  // namespace ascend_infer
