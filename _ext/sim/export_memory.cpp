// Device memory and pinned host memory.
#include <algorithm>
#include <cstring>

#include "call.hpp"
#include "device.hpp"
#include "host_memory.hpp"
#include "options.hpp"
#include "stream.hpp"

using namespace aclsim;

namespace {

constexpr std::uint16_t app_module = 33;  // the module id under which an application's memory is listed

int allocate(const char* function, void** out, std::size_t size, int policy, bool padding, std::uint16_t module) {
  if (out == nullptr) return fail_null(function, "devPtr");
  if (size == 0) return fail_value(function, "0", "size", "it must be greater than 0");
  const Lock lock(big_lock());
  int code = 0;
  const auto context = current_context(function, code);
  if (context == nullptr) return code;
  if (size + 64 < size) return fail_value(function, std::to_string(size), "size", "it is too large");
  // ACL's own rounding: up to a multiple of 32, and 32 more unless the caller did not want that.
  const std::size_t padded = (size + (padding ? 64 : 32) - 1) / 32 * 32;
  DeviceMemory::Pages pages = DeviceMemory::Pages::normal;
  switch (policy & 0xFF) {
    case ACL_MEM_MALLOC_HUGE_FIRST:
    case ACL_MEM_MALLOC_HUGE_FIRST_P2P:
      pages = DeviceMemory::Pages::huge_first;
      break;
    case ACL_MEM_MALLOC_HUGE_ONLY:
    case ACL_MEM_MALLOC_HUGE_ONLY_P2P:
      pages = DeviceMemory::Pages::huge_only;
      break;
    case ACL_MEM_MALLOC_HUGE1G_ONLY:
    case ACL_MEM_MALLOC_HUGE1G_ONLY_P2P:
      return fail(feature_unsupported, "EE1005", "%s failed. This SoC has no pages of 1 GiB.", function);
    default:
      break;
  }
  DeviceMemory& memory = context->device->memory;
  const DeviceBlock* block = memory.allocate(size, padded, pages, module);
  if (block == nullptr)
    return fail(rt_memory_allocation, "EL0004",
                "Failed to allocate memory requested by APP module. %s of %zu bytes: device %d has %llu bytes free "
                "(%llu in huge pages) of %llu.",
                function, size, context->device->id, static_cast<unsigned long long>(memory.free_bytes()),
                static_cast<unsigned long long>(memory.free_huge_bytes()),
                static_cast<unsigned long long>(memory.total()));
  *out = reinterpret_cast<void*>(block->begin);
  return 0;
}

int release(const char* function, void* address) {
  const Lock lock(big_lock());
  Device* device = Machine::get().device_at(reinterpret_cast<Address>(address));
  const int result = device == nullptr ? -1 : device->memory.release(reinterpret_cast<Address>(address));
  if (result == 0) return 0;
  return fail(rt_memory_free, "EE9999", "%s failed: %p %s.", function, address,
              result == -2 ? "was freed before" : "is not the begin of device memory that lives");
}

int release_host(const char* function, void* address) {
  const Lock lock(big_lock());
  const int result = HostMemory::get().release(address);
  if (result == 0) return 0;
  return fail(rt_memory_free, "EE9999", "%s failed: %p %s.", function, address,
              result == -2 ? "was freed before" : "is not the begin of pinned host memory that lives");
}

// Waits for everything on the current device, as the functions "WithDevSync" do.
int drain(const char* function) {
  Lock lock(big_lock());
  int code = 0;
  const auto context = current_context(function, code);
  if (context == nullptr) return code;
  std::vector<std::shared_ptr<Stream>> streams;
  for (Stream* stream : context->device->streams) streams.push_back(stream->shared_from_this());
  for (const auto& stream : streams)
    if (!stream->dead() && (code = stream->synchronize(lock, -1, function)) != 0) return code;
  return 0;
}

int read_config(const char* function, const aclrtMallocConfig* config, std::uint16_t& module) {
  if (config == nullptr) return 0;
  if (config->numAttrs != 0 && config->attrs == nullptr)
    return fail_value(function, std::to_string(config->numAttrs), "cfg->numAttrs", "cfg->attrs is null");
  for (std::size_t i = 0; i < config->numAttrs; ++i) {
    const aclrtMallocAttribute& attribute = config->attrs[i];
    if (attribute.attr == ACL_RT_MEM_ATTR_MODULE_ID)
      module = attribute.value.moduleId;
    else if (attribute.attr < ACL_RT_MEM_ATTR_RSV || attribute.attr > ACL_RT_MEM_ATTR_VA_FLAG)
      return fail_value(function, std::to_string(attribute.attr), "cfg->attrs", "it is no attribute");
  }
  return 0;
}

int allocate_host(const char* function, void** out, std::size_t size) {
  if (out == nullptr) return fail_null(function, "hostPtr");
  if (size == 0) return fail_value(function, "0", "size", "it must be greater than 0");
  const Lock lock(big_lock());
  int code = 0;
  const auto context = current_context(function, code);
  if (context == nullptr) return code;
  void* address = HostMemory::get().allocate(size, context->device->id);
  if (address == nullptr)
    return fail(
        rt_memory_allocation, "EL0004",
        "Failed to allocate memory requested by APP module. %s of %zu bytes: the host has no such pinned memory.",
        function, size);
  *out = address;
  return 0;
}

int enlist(const char* function, void* address, std::size_t size) {
  if (address == nullptr) return fail_null(function, "ptr");
  if (size == 0) return fail_value(function, "0", "size", "it must be greater than 0");
  const Lock lock(big_lock());
  int code = 0;
  const auto context = current_context(function, code);
  if (context == nullptr) return code;
  if (reinterpret_cast<std::uintptr_t>(address) % 4096 != 0)
    return fail(rt_param_invalid, "EE1011",
                "%s failed. Value %p for parameter ptr is invalid. Reason: it is not aligned to 4 KiB.", function,
                address);
  if (HostMemory::get().add(address, size, context->device->id) != 0)
    return fail(rt_host_registered, "EE1011", "%s failed. The host memory at %p is registered already.", function,
                address);
  return 0;
}

}  // namespace

extern "C" aclError aclrtMalloc(void** out, size_t size, aclrtMemMallocPolicy policy) {
  return run(Function::aclrtMalloc, [&] { return allocate("aclrtMalloc", out, size, policy, true, app_module); });
}
extern "C" aclError aclrtMallocAlign32(void** out, size_t size, aclrtMemMallocPolicy policy) {
  return run(Function::aclrtMallocAlign32,
             [&] { return allocate("aclrtMallocAlign32", out, size, policy, false, app_module); });
}
extern "C" aclError aclrtMallocCached(void** out, size_t size, aclrtMemMallocPolicy policy) {
  return run(Function::aclrtMallocCached,
             [&] { return allocate("aclrtMallocCached", out, size, policy, true, app_module); });
}
extern "C" aclError aclrtMallocWithCfg(void** out, size_t size, aclrtMemMallocPolicy policy,
                                       aclrtMallocConfig* config) {
  return run(Function::aclrtMallocWithCfg, [&] {
    std::uint16_t module = app_module;
    if (const int code = read_config("aclrtMallocWithCfg", config, module); code != 0) return code;
    return allocate("aclrtMallocWithCfg", out, size, policy, true, module);
  });
}

extern "C" aclError aclrtFree(void* address) {
  return run(Function::aclrtFree,
             [&] { return address == nullptr ? fail_null("aclrtFree", "devPtr") : release("aclrtFree", address); });
}
extern "C" aclError aclrtFreeWithDevSync(void* address) {
  return run(Function::aclrtFreeWithDevSync, [&] {
    if (address == nullptr) return fail_null("aclrtFreeWithDevSync", "devPtr");
    const int code = drain("aclrtFreeWithDevSync");
    return code != 0 ? code : release("aclrtFreeWithDevSync", address);
  });
}

// Caches between CPU and device exist only where both share memory; elsewhere these have nothing to do.
extern "C" aclError aclrtMemFlush(void* address, size_t size) {
  return run(Function::aclrtMemFlush, [&] {
    if (address == nullptr) return fail_null("aclrtMemFlush", "devPtr");
    return size == 0 ? fail_value("aclrtMemFlush", "0", "size", "it must be greater than 0") : static_cast<int>(ok);
  });
}
extern "C" aclError aclrtMemInvalidate(void* address, size_t size) {
  return run(Function::aclrtMemInvalidate, [&] {
    if (address == nullptr) return fail_null("aclrtMemInvalidate", "devPtr");
    return size == 0 ? fail_value("aclrtMemInvalidate", "0", "size", "it must be greater than 0")
                     : static_cast<int>(ok);
  });
}

extern "C" aclError aclrtMallocHost(void** out, size_t size) {
  return run(Function::aclrtMallocHost, [&] { return allocate_host("aclrtMallocHost", out, size); });
}
extern "C" aclError aclrtMallocHostWithCfg(void** out, uint64_t size, aclrtMallocConfig* config) {
  return run(Function::aclrtMallocHostWithCfg, [&] {
    std::uint16_t module = app_module;
    if (const int code = read_config("aclrtMallocHostWithCfg", config, module); code != 0) return code;
    return allocate_host("aclrtMallocHostWithCfg", out, size);
  });
}
extern "C" aclError aclrtFreeHost(void* address) {
  return run(Function::aclrtFreeHost, [&] {
    return address == nullptr ? fail_null("aclrtFreeHost", "hostPtr") : release_host("aclrtFreeHost", address);
  });
}
extern "C" aclError aclrtFreeHostWithDevSync(void* address) {
  return run(Function::aclrtFreeHostWithDevSync, [&] {
    if (address == nullptr) return fail_null("aclrtFreeHostWithDevSync", "hostPtr");
    const int code = drain("aclrtFreeHostWithDevSync");
    return code != 0 ? code : release_host("aclrtFreeHostWithDevSync", address);
  });
}

extern "C" aclError aclrtHostRegister(void* address, uint64_t size, aclrtHostRegisterType type, void** device_address) {
  return run(Function::aclrtHostRegister, [&] {
    if (device_address == nullptr) return fail_null("aclrtHostRegister", "devPtr");
    if (type != 0 && type != 4 && type != 8)
      return fail_value("aclrtHostRegister", std::to_string(type), "type", "it is no aclrtHostRegisterType");
    const int code = enlist("aclrtHostRegister", address, size);
    // An address for kernels; copies keep using the host's.
    if (code == 0) *device_address = address;
    return code;
  });
}
extern "C" aclError aclrtHostRegisterV2(void* address, uint64_t size, uint32_t flags) {
  return run(Function::aclrtHostRegisterV2, [&] {
    if ((flags & ~0x1000000Eu) != 0 || flags == 0)
      return fail_value("aclrtHostRegisterV2", std::to_string(flags), "flag", "it has unknown bits");
    return enlist("aclrtHostRegisterV2", address, size);
  });
}
extern "C" aclError aclrtHostUnregister(void* address) {
  return run(Function::aclrtHostUnregister, [&] {
    if (address == nullptr) return fail_null("aclrtHostUnregister", "ptr");
    const Lock lock(big_lock());
    if (HostMemory::get().remove(address) == 0) return static_cast<int>(ok);
    return fail(rt_host_not_registered, "EE1011", "aclrtHostUnregister failed. %p is not registered.", address);
  });
}
extern "C" aclError aclrtHostGetDevicePointer(void* address, void** out, uint32_t flags) {
  return run(Function::aclrtHostGetDevicePointer, [&] {
    if (address == nullptr || out == nullptr) return fail_null("aclrtHostGetDevicePointer", "pHost");
    if (flags != 0) return fail_value("aclrtHostGetDevicePointer", std::to_string(flags), "flag", "it must be 0");
    const Lock lock(big_lock());
    if (HostMemory::get().block_of(reinterpret_cast<std::uintptr_t>(address), 1) == nullptr)
      return fail(rt_host_not_registered, "EE1011", "aclrtHostGetDevicePointer failed. %p is not registered.", address);
    *out = address;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtPointerGetAttributes(const void* address, aclrtPtrAttributes* out) {
  return run(Function::aclrtPointerGetAttributes, [&] {
    if (address == nullptr) return fail_null("aclrtPointerGetAttributes", "ptr");
    if (out == nullptr) return fail_null("aclrtPointerGetAttributes", "attributes");
    const Lock lock(big_lock());
    int code = 0;
    if (current_context("aclrtPointerGetAttributes", code) == nullptr) return code;
    *out = aclrtPtrAttributes{};
    out->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    const auto at = reinterpret_cast<Address>(address);
    if (Device* device = Machine::get().device_at(at)) {
      const DeviceBlock* block = device->memory.block_of(at, 1);
      if (block == nullptr) return static_cast<int>(ok);
      out->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
      out->location.id = static_cast<std::uint32_t>(device->id);
      out->pageSize = block->huge ? 2u << 20 : 4096;
    } else if (const HostBlock* host = HostMemory::get().block_of(at, 1)) {
      out->location.type = ACL_MEM_LOCATION_TYPE_HOST;
      out->location.id = static_cast<std::uint32_t>(host->device);
      out->pageSize = 4096;
    }
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtGetMemInfo(aclrtMemAttr which, size_t* free, size_t* total) {
  return run(Function::aclrtGetMemInfo, [&] {
    if (free == nullptr) return fail_null("aclrtGetMemInfo", "free");
    if (total == nullptr) return fail_null("aclrtGetMemInfo", "total");
    if (which < ACL_DDR_MEM || which > ACL_MEM_P2P_HUGE1G)
      return fail_value("aclrtGetMemInfo", std::to_string(which), "attr", "it is no aclrtMemAttr");
    const Lock lock(big_lock());
    int code = 0;
    const auto context = current_context("aclrtGetMemInfo", code);
    if (context == nullptr) return code;
    const DeviceMemory& memory = context->device->memory;
    const bool huge = which == ACL_DDR_MEM_HUGE || which == ACL_HBM_MEM_HUGE || which == 6 || which == 8 ||
                      which == 13 || which == 16;
    const bool none = which == 10 || which == 11 || which == 14 || which == 17;  // pages of 1 GiB
    *free = none ? 0 : huge ? memory.free_huge_bytes() : memory.free_bytes();
    *total = none ? 0 : memory.total();
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtGetMemUsageInfo(int32_t id, aclrtMemUsageInfo* out, size_t room, size_t* number) {
  return run(Function::aclrtGetMemUsageInfo, [&] {
    if (out == nullptr || number == nullptr) return fail_null("aclrtGetMemUsageInfo", "memUsageInfo");
    if (room == 0) return fail_value("aclrtGetMemUsageInfo", "0", "inputNum", "it must be greater than 0");
    const Lock lock(big_lock());
    int code = 0;
    const Device* device = Machine::get().device("aclrtGetMemUsageInfo", id, code);
    if (device == nullptr) return code;
    *number = 0;
    for (const auto& [module, bytes] : device->memory.by_module()) {
      if (*number == room) break;
      aclrtMemUsageInfo& entry = out[(*number)++];
      entry = aclrtMemUsageInfo{};
      const std::string name = module == app_module ? "APP" : "MODULE_" + std::to_string(module);
      std::memcpy(entry.name, name.data(), std::min(name.size(), sizeof entry.name - 1));
      entry.curMemSize = bytes;
      entry.memPeakSize = device->memory.peak();
    }
    return static_cast<int>(ok);
  });
}
