#include "acl_device.hpp"

#include <algorithm>

namespace ascend_infer {
namespace {

// The context this thread came with. None is no failure, but the library notes it as one: its words are dropped, or the
// next real failure would carry them.
aclrtContext current_context(const AclLibrary &library) noexcept {
  aclrtContext context = nullptr;
  if (library.api().aclrtGetCurrentContext(&context) == 0) return context;
  if (library.api().aclGetRecentErrMsg != nullptr) library.api().aclGetRecentErrMsg();
  return nullptr;
}

}  // namespace

AclStatus AclDevice::count(const AclLibrary &library, std::uint32_t &out) noexcept {
  if (AclStatus status = AclProcess::get().initialise(library); !status.ok()) return status;
  AclStatus counted = library.check("aclrtGetDeviceCount", library.api().aclrtGetDeviceCount(&out));
  AclStatus finished = AclProcess::get().finish(library);
  return counted.ok() ? finished : counted;
}

AclStatus AclDevice::open(const AclLibrary &library, int index, std::shared_ptr<AclDevice> &out) noexcept {
  out.reset();
  if (AclStatus status = AclProcess::get().initialise(library); !status.ok()) return status;
  AclStatus status = without_throwing([&]() -> AclStatus {
    std::uint32_t devices = 0;
    ACL_TRY(library, aclrtGetDeviceCount, &devices);
    if (index < 0 || static_cast<std::uint32_t>(index) >= devices)
      return {AclOutcome::invalid_argument, "device " + std::to_string(index) + " is not there: the library counts " +
                                                std::to_string(devices) + " (ASCEND_RT_VISIBLE_DEVICES may hide some)"};
    const auto device = std::make_shared<AclDevice>(library, index);
    const aclrtContext caller = current_context(library);
    AclStatus bound = library.check("aclrtSetDevice", library.api().aclrtSetDevice(index));
    if (bound.ok()) {
      bound = device->bind();
      if (!bound.ok()) library.api().aclrtResetDevice(index);
    }
    if (caller != nullptr) library.api().aclrtSetCurrentContext(caller);
    if (bound.ok()) out = device;
    return bound;
  });
  if (!status.ok()) (void)AclProcess::get().finish(library);
  return status;
}

AclStatus AclDevice::bind() noexcept {
  ACL_TRY(library_, aclrtGetCurrentContext, &context_);
  aclrtRunMode mode = ACL_HOST;
  ACL_TRY(library_, aclrtGetRunMode, &mode);
  unified_ = mode == ACL_DEVICE;
  return without_throwing([&]() -> AclStatus {
    const char *soc = api().aclrtGetSocName == nullptr ? nullptr : api().aclrtGetSocName();
    soc_name_ = soc == nullptr ? "" : soc;
    return {};
  });
}

AclStatus AclDevice::close() noexcept {
  AclStatus first = reap();
  if (closed_.exchange(true, std::memory_order_acq_rel) || !AclProcess::get().callable()) return first;
  const aclrtContext caller = current_context(library_);
  AclStatus status = library_.check("aclrtResetDevice", api().aclrtResetDevice(index_));
  // A thread that had our context keeps it only while others keep the device.
  if (caller != nullptr && caller != context_) api().aclrtSetCurrentContext(caller);
  AclStatus finished = AclProcess::get().finish(library_);
  for (AclStatus *one : {&status, &finished})
    if (first.ok()) first = std::move(*one);
  return first;
}

AclStatus AclDevice::memory(DeviceMemory &out) const noexcept {
  const ContextGuard guard(*this);
  if (!guard.ok()) return guard.status();
  out = {};
  if (api().aclrtGetMemInfo(ACL_HBM_MEM, &out.free, &out.total) == 0 && out.total != 0) return {};
  (void)library_.recent_message();
  out.hbm = false;
  ACL_TRY(library_, aclrtGetMemInfo, ACL_DDR_MEM, &out.free, &out.total);
  return {};
}

AclStatus AclDevice::utilization(int &percent) const noexcept {
  percent = -1;
  if (api().aclrtGetDeviceUtilizationRate == nullptr) return {};
  const ContextGuard guard(*this);
  if (!guard.ok()) return guard.status();
  aclrtUtilizationInfo info{};
  ACL_TRY(library_, aclrtGetDeviceUtilizationRate, index_, &info);
  percent = std::clamp(std::max(info.cubeUtilization, info.vectorUtilization), 0, 100);
  return {};
}

AclStatus AclDevice::synchronise() const noexcept {
  const ContextGuard guard(*this);
  if (!guard.ok()) return guard.status();
  ACL_TRY(library_, aclrtSynchronizeDevice);
  return {};
}

void AclDevice::adopt(std::shared_ptr<AclResource> orphan) noexcept {
  const std::lock_guard lock(orphans_lock_);
  try {
    orphans_.push_back(std::move(orphan));
  } catch (const std::bad_alloc &) {  // left to the operating system
  }
}

AclStatus AclDevice::reap() noexcept {
  std::vector<std::shared_ptr<AclResource>> orphans;
  {
    const std::lock_guard lock(orphans_lock_);
    orphans.swap(orphans_);
  }
  AclStatus first;
  for (const auto &orphan : orphans)
    if (AclStatus status = orphan->release(); !status.ok() && first.ok()) first = status;
  return first;
}

ContextGuard::ContextGuard(const AclDevice &device) noexcept : device_(device), status_(AclProcess::get().usable()) {
  if (!status_.ok()) return;
  if (device.closed()) {
    status_ = AclOutcome::closed;
    return;
  }
  caller_ = current_context(device.library());
  if (caller_ == device.context()) return;
  restore_ = caller_ != nullptr;
  status_ = device.library().check("aclrtSetCurrentContext", device.api().aclrtSetCurrentContext(device.context()));
}

ContextGuard::~ContextGuard() {
  if (restore_ && AclProcess::get().callable()) device_.api().aclrtSetCurrentContext(caller_);
}

}  // namespace ascend_infer
