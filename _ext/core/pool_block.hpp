// A block that goes back to its pool by itself.
#pragma once
#include <memory>
#include <utility>

#include "acl_process.hpp"
#include "any_pool.hpp"

namespace ascend_infer {

class PoolBlock {
 public:
  PoolBlock() noexcept = default;
  PoolBlock(PoolBlock &&other) noexcept : pool_(std::move(other.pool_)), allocation_(other.allocation_) {}
  PoolBlock &operator=(PoolBlock &&other) noexcept {
    if (this != &other) {
      reset();
      pool_ = std::move(other.pool_);
      allocation_ = other.allocation_;
    }
    return *this;
  }
  ~PoolBlock() { reset(); }

  static Status take(const std::shared_ptr<AnyPool> &pool, std::size_t bytes, OwnerId owner, PoolBlock &out) noexcept {
    Allocation allocation;
    const Status status = pool->allocate(bytes, owner, allocation);
    if (!status.ok()) return status;
    out.reset();
    out.pool_ = pool;
    out.allocation_ = allocation;
    return status;
  }

  void reset() noexcept {
    // In a forked child the pool's lock may be held by a thread that is not there; the memory is the parent's anyway.
    if (pool_ != nullptr && AclProcess::get().callable()) (void)pool_->free(allocation_);
    pool_.reset();
  }

  explicit operator bool() const noexcept { return pool_ != nullptr; }
  Address address() const noexcept { return allocation_.address; }
  void *data() const noexcept { return reinterpret_cast<void *>(allocation_.address); }
  std::size_t bytes() const noexcept { return pool_ == nullptr ? 0 : allocation_.bytes; }

 private:
  std::shared_ptr<AnyPool> pool_;
  Allocation allocation_;
};

// An owner's name in a pool's books for as long as this lives.
class PoolOwner {
 public:
  PoolOwner() noexcept = default;
  PoolOwner(const PoolOwner &) = delete;
  PoolOwner &operator=(const PoolOwner &) = delete;
  ~PoolOwner() { release(); }
  void release() noexcept {
    if (pool_ != nullptr && AclProcess::get().callable()) (void)pool_->release_owner(id_);
    pool_.reset();
  }
  Status acquire(const std::shared_ptr<AnyPool> &pool, const std::string &name) noexcept {
    const Status status = pool->acquire_owner(name, id_);
    if (status.ok()) pool_ = pool;
    return status;
  }
  OwnerId id() const noexcept { return id_; }

 private:
  std::shared_ptr<AnyPool> pool_;
  OwnerId id_ = 0;
};

}  // namespace ascend_infer
