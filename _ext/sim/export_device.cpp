// Devices: opening, closing, asking.
#include <algorithm>
#include <cstring>

#include "call.hpp"
#include "cores.hpp"
#include "device.hpp"
#include "options.hpp"
#include "stream.hpp"

using namespace aclsim;

namespace {

int reset(const char* function, std::int32_t id, bool force) {
  Lock lock(big_lock());
  int code = require_init(function);
  if (code != 0) return code;
  Device* device = Machine::get().device(function, id, code);
  if (device == nullptr) return code;
  if (device->sets == 0)
    return fail(rt_context_release, "EE1001", "The argument is invalid. Reason: %s failed, device %d was not set.",
                function, id);
  device->sets = force ? 0 : device->sets - 1;
  if (device->sets == 0) device->shut(lock);
  return 0;
}

int synchronize(const char* function, int timeout_ms) {
  Lock lock(big_lock());
  int code = 0;
  const auto context = current_context(function, code);
  if (context == nullptr) return code;
  if (timeout_ms < -1)
    return fail(rt_param_invalid, "EE1003", "%s failed because value %d for parameter timeout is invalid.", function,
                timeout_ms);
  std::vector<std::shared_ptr<Stream>> streams;
  for (Stream* stream : context->device->streams) streams.push_back(stream->shared_from_this());
  for (const auto& stream : streams) stream->hurry();
  int first = 0;
  for (const auto& stream : streams) {
    if (stream->dead()) continue;
    code = stream->synchronize(lock, timeout_ms, function);
    if (code != 0 && first == 0) first = code;
  }
  return first;
}

}  // namespace

extern "C" aclError aclrtSetDevice(int32_t id) {
  return run(Function::aclrtSetDevice, [&] {
    Lock lock(big_lock());
    int code = require_init("aclrtSetDevice");
    if (code != 0) return code;
    Device* device = Machine::get().device("aclrtSetDevice", id, code);
    if (device == nullptr) return code;
    if (const int lost = device->lost_code(); lost != 0)
      return fail(lost, "EE9999", "aclrtSetDevice failed: device %d is lost.", id);
    if (code = device->open(lock, "aclrtSetDevice"); code != 0) return code;
    ++device->sets;
    if (device->primary == nullptr) {
      device->primary = std::make_shared<Context>();
      device->primary->device = device;
      device->primary->primary = true;
      device->primary->slot = HandleTable::get().insert(device->primary);
      device->primary->slot->device.store(id, std::memory_order_release);
    }
    set_current(device->primary.get());
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtResetDevice(int32_t id) {
  return run(Function::aclrtResetDevice, [&] { return reset("aclrtResetDevice", id, false); });
}

extern "C" aclError aclrtResetDeviceForce(int32_t id) {
  return run(Function::aclrtResetDeviceForce, [&] { return reset("aclrtResetDeviceForce", id, true); });
}

extern "C" aclError aclrtGetDevice(int32_t* id) {
  return run(Function::aclrtGetDevice, [&] {
    if (id == nullptr) return fail_null("aclrtGetDevice", "deviceId");
    // The one call that needs no lock: a thread's own context, checked by its slot's atomics.
    const ThreadState& thread = this_thread();
    if (thread.context != nullptr) {
      const std::int32_t device = thread.context->device.load(std::memory_order_acquire);
      if (thread.context->generation.load(std::memory_order_acquire) == thread.generation && device >= 0) {
        *id = device;
        return static_cast<int>(ok);
      }
    }
    const Lock lock(big_lock());
    int code = 0;
    const auto context = current_context("aclrtGetDevice", code);
    if (context == nullptr) return code;
    *id = context->device->id;
    return code;
  });
}

extern "C" aclError aclrtGetDeviceCount(uint32_t* count) {
  return run(Function::aclrtGetDeviceCount, [&] {
    if (count == nullptr) return fail_null("aclrtGetDeviceCount", "count");
    const Lock lock(big_lock());
    Machine::get().read_options();
    std::vector<int> ids;
    const int code = Machine::get().visible(ids);
    if (code != 0)
      return fail(code, "EE1001", "aclrtGetDeviceCount failed: no device, or ASCEND_RT_VISIBLE_DEVICES names none.");
    *count = static_cast<std::uint32_t>(ids.size());
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtGetRunMode(aclrtRunMode* mode) {
  return run(Function::aclrtGetRunMode, [&] {
    if (mode == nullptr) return fail_null("aclrtGetRunMode", "runMode");
    const Lock lock(big_lock());
    Machine::get().read_options();
    *mode = options().run_mode;
    return static_cast<int>(ok);
  });
}

extern "C" const char* aclrtGetSocName(void) {
  return ask(Function::aclrtGetSocName, static_cast<const char*>(nullptr), [] {
    const Lock lock(big_lock());
    Machine::get().read_options();
    thread_local std::string name;
    name = options().soc;
    return options().devices == 0 || name.empty() ? nullptr : name.c_str();
  });
}

extern "C" aclError aclrtSynchronizeDevice(void) {
  return run(Function::aclrtSynchronizeDevice, [] { return synchronize("aclrtSynchronizeDevice", -1); });
}

extern "C" aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return run(Function::aclrtSynchronizeDeviceWithTimeout,
             [&] { return synchronize("aclrtSynchronizeDeviceWithTimeout", timeout); });
}

extern "C" aclError aclrtQueryDeviceStatus(int32_t id, aclrtDeviceStatus* status) {
  return run(Function::aclrtQueryDeviceStatus, [&] {
    if (status == nullptr) return fail_null("aclrtQueryDeviceStatus", "deviceStatus");
    const Lock lock(big_lock());
    int code = 0;
    const Device* device = Machine::get().device("aclrtQueryDeviceStatus", id, code);
    if (device == nullptr) return code;
    *status = device->lost_code() != 0 ? ACL_RT_DEVICE_STATUS_ABNORMAL : ACL_RT_DEVICE_STATUS_NORMAL;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtGetDeviceUtilizationRate(int32_t id, aclrtUtilizationInfo* info) {
  return run(Function::aclrtGetDeviceUtilizationRate, [&] {
    if (info == nullptr) return fail_null("aclrtGetDeviceUtilizationRate", "utilizationInfo");
    if (info->utilizationExtend != nullptr)
      return fail_value("aclrtGetDeviceUtilizationRate", "a pointer", "utilizationExtend", "it must be null");
    const Lock lock(big_lock());
    int code = 0;
    const Device* device = Machine::get().device("aclrtGetDeviceUtilizationRate", id, code);
    if (device == nullptr) return code;
    const Nanoseconds age = device->set_up ? std::max<Nanoseconds>(Clock::get().now() - device->first_use, 1) : 1;
    const int busy = static_cast<int>(std::min<Nanoseconds>(100, device->busy_ns * 100 / age));
    info->cubeUtilization = info->vectorUtilization = busy;
    info->aicpuUtilization = 0;
    info->memoryUtilization =
        device->memory.total() == 0 ? 0 : static_cast<int>(device->memory.used() * 100 / device->memory.total());
    return static_cast<int>(ok);
  });
}

namespace {

int attribute(const char* function, std::int64_t id, aclrtDevAttr which, std::int64_t* value) {
  if (value == nullptr) return fail_null(function, "value");
  const Lock lock(big_lock());
  int code = 0;
  if (Machine::get().device(function, id, code) == nullptr) return code;
  switch (which) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
      *value = cores().aicpu;
      return 0;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      *value = cores().aicore;
      return 0;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      *value = cores().vector;
      return 0;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      *value = static_cast<std::int64_t>(options().hbm_bytes);
      return 0;
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      *value = std::int64_t{16} << 20;
      return 0;
    default:
      return fail(feature_unsupported, "EE1005", "%s: the simulator has no attribute %d.", function, which);
  }
}

}  // namespace

extern "C" aclError aclrtGetDeviceInfo(uint32_t id, aclrtDevAttr which, int64_t* value) {
  return run(Function::aclrtGetDeviceInfo, [&] { return attribute("aclrtGetDeviceInfo", id, which, value); });
}

extern "C" aclError aclGetDeviceCapability(uint32_t id, aclDeviceInfo info, int64_t* value) {
  return run(Function::aclGetDeviceCapability, [&] {
    const int which = info == ACL_DEVICE_INFO_AI_CORE_NUM       ? ACL_DEV_ATTR_AICORE_CORE_NUM
                      : info == ACL_DEVICE_INFO_VECTOR_CORE_NUM ? ACL_DEV_ATTR_VECTOR_CORE_NUM
                      : info == ACL_DEVICE_INFO_L2_SIZE         ? ACL_DEV_ATTR_L2_CACHE_SIZE
                                                                : -1;
    if (which < 0)
      return fail_value("aclGetDeviceCapability", std::to_string(info), "deviceInfo", "it is no capability");
    return attribute("aclGetDeviceCapability", id, which, value);
  });
}

extern "C" aclError aclrtDeviceGetStreamPriorityRange(int32_t* least, int32_t* greatest) {
  return run(Function::aclrtDeviceGetStreamPriorityRange, [&] {
    if (least != nullptr) *least = 7;
    if (greatest != nullptr) *greatest = 0;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtGetPrimaryCtxState(int32_t id, uint32_t* flags, int32_t* active) {
  return run(Function::aclrtGetPrimaryCtxState, [&] {
    if (active == nullptr) return fail_null("aclrtGetPrimaryCtxState", "active");
    const Lock lock(big_lock());
    int code = 0;
    const Device* device = Machine::get().device("aclrtGetPrimaryCtxState", id, code);
    if (device == nullptr) return code;
    if (flags != nullptr) *flags = 0;
    *active = device->primary != nullptr ? 1 : 0;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtCheckArchCompatibility(const char* soc, int32_t* compatible) {
  return run(Function::aclrtCheckArchCompatibility, [&] {
    if (soc == nullptr || compatible == nullptr) return fail_null("aclrtCheckArchCompatibility", "socVersion");
    const Lock lock(big_lock());
    Machine::get().read_options();
    // Kinds of one family differ in the letters after the family's: Ascend310P1, Ascend310P3.
    const auto family = [](const std::string& name) { return name.substr(0, std::strlen("Ascend310P")); };
    *compatible = family(soc) == family(options().soc) ? 1 : 0;
    return static_cast<int>(ok);
  });
}

namespace {

int peer(const char* function, std::int32_t id) {
  const Lock lock(big_lock());
  int code = 0;
  const auto context = current_context(function, code);
  if (context == nullptr || Machine::get().device(function, id, code) == nullptr) return code;
  if (context->device->id == id)
    return fail(rt_invalid_device, "EE1003", "%s failed: device %d is the current one.", function, id);
  return 0;
}

}  // namespace

extern "C" aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t id, int32_t other) {
  return run(Function::aclrtDeviceCanAccessPeer, [&] {
    if (can == nullptr) return fail_null("aclrtDeviceCanAccessPeer", "canAccessPeer");
    const Lock lock(big_lock());
    int code = 0;
    if (Machine::get().device("aclrtDeviceCanAccessPeer", id, code) == nullptr) return code;
    if (Machine::get().device("aclrtDeviceCanAccessPeer", other, code) == nullptr) return code;
    *can = id != other ? 1 : 0;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtDeviceEnablePeerAccess(int32_t id, uint32_t flags) {
  return run(Function::aclrtDeviceEnablePeerAccess, [&] {
    if (flags != 0) return fail_value("aclrtDeviceEnablePeerAccess", std::to_string(flags), "flags", "it must be 0");
    return peer("aclrtDeviceEnablePeerAccess", id);
  });
}

extern "C" aclError aclrtDeviceDisablePeerAccess(int32_t id) {
  return run(Function::aclrtDeviceDisablePeerAccess, [&] { return peer("aclrtDeviceDisablePeerAccess", id); });
}
