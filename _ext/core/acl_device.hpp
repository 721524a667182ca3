// One device in our hands: its primary context, which torch_npu and other users of the process share.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>
#include <mutex>

#include "acl_library.hpp"
#include "acl_process.hpp"

namespace ascend_infer {

struct DeviceMemory {
  std::size_t free = 0, total = 0;
  bool hbm = true;  // false: the chip has DDR only
};

// Something that must be given back through ACL. release() may block, is idempotent and never throws; a destructor
// calls nothing: who drops one unreleased hands it to AclDevice::adopt.
class AclResource {
 public:
  virtual ~AclResource() = default;
  virtual AclStatus release() noexcept = 0;
};

class AclDevice {
 public:
  // Initialises ACL if need be. The calling thread's own context is what it was afterwards. The first device of a
  // process may take seconds.
  static AclStatus open(const AclLibrary &library, int index, std::shared_ptr<AclDevice> &out) noexcept;
  static AclStatus count(const AclLibrary &library, std::uint32_t &out) noexcept;

  // Gives the device back; everything that was created on it must be released before. Idempotent.
  AclStatus close() noexcept;

  AclStatus memory(DeviceMemory &out) const noexcept;
  // How busy the cores are, in percent: the cube cores or the vector cores, whichever are more; -1 where the library
  // does not know the question.
  AclStatus utilization(int &percent) const noexcept;
  // Waits until the device has done all that was queued on it.
  AclStatus synchronise() const noexcept;

  // Takes over what nobody will release; given back at the next reap(), on a thread that may block.
  void adopt(std::shared_ptr<AclResource> orphan) noexcept;
  AclStatus reap() noexcept;

  const AclLibrary &library() const noexcept { return library_; }
  const acl_api &api() const noexcept { return library_.api(); }
  int index() const noexcept { return index_; }
  aclrtContext context() const noexcept { return context_; }
  const std::string &soc_name() const noexcept { return soc_name_; }
  // Host and device are one memory: copies between them are needless.
  bool unified() const noexcept { return unified_; }
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  AclDevice(const AclLibrary &library, int index) noexcept : library_(library), index_(index) {}

 private:
  AclStatus bind() noexcept;

  const AclLibrary &library_;
  const int index_;
  aclrtContext context_ = nullptr;
  std::string soc_name_;
  bool unified_ = false;
  std::atomic<bool> closed_{false};
  std::mutex orphans_lock_;
  std::vector<std::shared_ptr<AclResource>> orphans_;
};

// Binds a device's context to this thread for a scope and puts the caller's own back. status() says whether it could:
// nothing may be called on the device otherwise.
class ContextGuard {
 public:
  explicit ContextGuard(const AclDevice &device) noexcept;
  ~ContextGuard();
  ContextGuard(const ContextGuard &) = delete;
  ContextGuard &operator=(const ContextGuard &) = delete;

  bool ok() const noexcept { return status_.ok(); }
  const AclStatus &status() const noexcept { return status_; }

 private:
  const AclDevice &device_;
  aclrtContext caller_ = nullptr;
  bool restore_ = false;
  AclStatus status_;
};

}  // namespace ascend_infer
