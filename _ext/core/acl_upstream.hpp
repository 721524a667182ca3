// Where the memory pools of a device get memory from: the device itself, and host memory pinned for its copies.
#pragma once
#include <memory>

#include "acl_device.hpp"
#include "upstream.hpp"

namespace ascend_infer {

// Codes by which ACL says that memory is short.
inline bool means_out_of_memory(aclError code) noexcept {
  return code == 207001 || code == 207018 || code == 200000 || code == 245000;
}

inline Status as_pool_status(const AclStatus &status) noexcept {
  if (status.ok()) return {};
  if (status.outcome() == AclOutcome::closed || status.outcome() == AclOutcome::forked) return StatusCode::closed;
  if (status.outcome() == AclOutcome::host_out_of_memory) return StatusCode::host_out_of_memory;
  const StatusCode code =
      means_out_of_memory(status.code()) ? StatusCode::out_of_memory : StatusCode::upstream_failed;
  try {
    return Status(code, StatusDetail{status.text(), {}}).with_call_of(Status::of_call(code, status.function(), status.code()));
  } catch (const std::bad_alloc &) {
    return code;
  }
}

// Device memory. Huge pages where they serve, ordinary ones where those are used up (HUGE_ONLY would fail).
class AclDeviceUpstream {
 public:
  static constexpr bool host_accessible = false;

  explicit AclDeviceUpstream(std::shared_ptr<AclDevice> device) noexcept : device_(std::move(device)) {}

  Status allocate(std::size_t bytes, void **out) noexcept {
    const ContextGuard guard(*device_);
    if (!guard.ok()) return as_pool_status(guard.status());
    return as_pool_status(device_->library().check(
        "aclrtMalloc", device_->api().aclrtMalloc(out, bytes, ACL_MEM_MALLOC_HUGE_FIRST)));
  }
  void free(void *address) noexcept {
    const ContextGuard guard(*device_);
    if (guard.ok()) device_->api().aclrtFree(address);  // otherwise the device is gone, and its memory with it
  }
  std::size_t available() noexcept { return memory().free; }
  std::size_t total() noexcept { return memory().total; }

 private:
  DeviceMemory memory() noexcept {
    DeviceMemory memory;
    return device_->memory(memory).ok() ? memory : DeviceMemory();
  }
  std::shared_ptr<AclDevice> device_;
};

class AclPinnedUpstream {
 public:
  static constexpr bool host_accessible = true;

  explicit AclPinnedUpstream(std::shared_ptr<AclDevice> device) noexcept : device_(std::move(device)) {}

  Status allocate(std::size_t bytes, void **out) noexcept {
    const ContextGuard guard(*device_);
    if (!guard.ok()) return as_pool_status(guard.status());
    return as_pool_status(
        device_->library().check("aclrtMallocHost", device_->api().aclrtMallocHost(out, bytes)));
  }
  void free(void *address) noexcept {
    const ContextGuard guard(*device_);
    if (guard.ok()) device_->api().aclrtFreeHost(address);
  }
  std::size_t available() noexcept { return 0; }  // the library does not say
  std::size_t total() noexcept { return 0; }

 private:
  std::shared_ptr<AclDevice> device_;
};

}  // namespace ascend_infer
